"""A view of a store for commands: an error of a damaged file becomes one message with an exit code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import msgspec
from backports import zstd

from thresher.storage.faults import as_readers
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import local_shard_paths
from thresher.storage.rot import require_sound_pages
from thresher.storage.shards import open_view
from thresher.storage.view import View


@contextmanager
def reading_shard(path: Path, *, at_once: bool = False) -> Iterator[View]:
    """Open the store of one agent for reading; if it is damaged, `StoreError` is raised whenever that is noticed.

    Args:
        at_once: Whether all reads see the store as of one moment.
    """
    with damage_as_ours(path), View(path, at_once=at_once) as view:
        yield view


@contextmanager
def reading(path: Path, *, walks: bool = False) -> Iterator[View]:
    """Open a store for reading; if it is damaged, `StoreError` is raised whenever that is noticed.

    Args:
        walks: Whether the pages of a small store that no process writes are checked first, so that no row is missed. The view has the
            CPU seconds of that as `checked_s`.
    """
    with damage_as_ours(path), open_view(path) as view:
        if walks and not lock_holder(path):
            began = time.process_time()
            for shard in local_shard_paths(path):
                require_sound_pages(shard)
            view.checked_s = time.process_time() - began
        yield view


@contextmanager
def damage_as_ours(path: Path) -> Iterator[None]:
    try:
        yield
    except (lmdb.Error, msgspec.DecodeError, zstd.ZstdError) as error:
        raise as_readers(path, error) from None
