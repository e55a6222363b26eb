"""One moment of a crawl that goes on: transactions that keep LMDB from using anew the pages of that moment, and which pages those are.

While the write locks of all shards' states are held (for milliseconds), nobody commits. So what the shards say of each other fits together:
no message is acknowledged that its receiver does not have, none has arrived that its sender does not know of. Results are cut later than
their state, and what is past the state's watermark does not count; the same holds for logs and archives, which only grow.

While the transactions are open, no page of the moment is written over. Files are read plainly, without a map.
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

_SPARE_BYTES = 1 << 30  # of address space: the file may grow until the lock is ours


class Frozen(NamedTuple):
    """An LMDB file at the moment: its first two pages as they were, and how long it was."""

    path: Path
    head: bytes
    n_bytes: int


@contextmanager
def frozen(shards: Sequence[Path]) -> Iterator[list[Frozen]]:
    """Give the LMDB files of all shards, as of one moment, while the block lasts."""
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
