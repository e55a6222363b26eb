"""Freezes one moment of a running crawl: transactions that keep LMDB from reusing the pages of that moment.

While the write locks of all shards' states are held (for milliseconds), no process commits. So the shards are consistent with each other:
no message is acknowledged that its receiver does not have, and none has arrived that its sender does not know. Results are frozen later
than their state, and rows after the state's watermark do not count; the same holds for logs and archives, which only grow.

While the transactions are open, no page of the moment is overwritten. Files are read without a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import lmdb

from thresher.storage.check import check_data_file, meta_pages
from thresher.storage.export.reading import damage_as_ours
from thresher.storage.schema import RESULTS, STATE

_SPARE_BYTES = 1 << 30  # bytes of address space: the file may grow until we have the lock


class Frozen(NamedTuple):
    """An LMDB file at the moment: its first two pages, and its length."""

    path: Path
    head: bytes
    n_bytes: int


@contextmanager
def frozen(shards: Sequence[Path]) -> Iterator[list[Frozen]]:
    """Yield the LMDB files of all shards as of one moment, which stay so while the block lasts."""
    with ExitStack() as held, damage_as_ours(shards[0]):
        with ExitStack() as locks:
            states = [_freeze(shard / STATE, held, locks) for shard in shards]
        found = [*states]
        for shard in shards:
            with ExitStack() as lock:
                found.append(_freeze(shard / RESULTS, held, lock))
        yield found


def _freeze(folder: Path, held: ExitStack, locks: ExitStack) -> Frozen:
    """Take the write lock of an environment until `locks` ends, and keep its pages until `held` ends."""
    path = folder / "data.mdb"
    check_data_file(path)
    map_size = 2 * path.stat().st_size + _SPARE_BYTES
    env = held.enter_context(lmdb.open(str(folder), map_size=map_size, create=False, readahead=False, max_readers=126, lib_version=0))
    writing = env.begin(write=True)
    locks.callback(writing.abort)
    held.callback(env.begin().abort)
    head, n_bytes = meta_pages(path)
    return Frozen(path, head, n_bytes)
