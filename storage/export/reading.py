"""A view for commands: what a damaged file does to a reader becomes one message with an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import msgspec
from backports import zstd

from storage.faults import as_readers
from storage.shards import open_view
from storage.view import View


@contextmanager
def reading(path: Path) -> Iterator[View]:
    """Open a store for reading; raises `StoreError` for a damaged one, whenever that is noticed."""
    try:
        with open_view(path) as view:
            yield view
    except (lmdb.Error, msgspec.DecodeError, zstd.ZstdError) as error:
        raise as_readers(path, error) from None
