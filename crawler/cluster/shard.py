"""What an agent opens: its shard, and the table that says which sites are its; and what shards hold that have no agent any more."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.children.crash_suspects import is_about_to_know
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import StateName, Status, merged
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import crawl_of, read_partitions, retired_paths
from thresher.storage.store import PATIENCE_S, Store


def ownership_of(shard: Path) -> Ownership | None:
    """Return which sites are the agent's whose shard this is, None if it is alone."""
    crawl, agent = crawl_of(shard)
    found = read_partitions(crawl)
    if found is not None and found.moving:
        raise StoreError(f"{crawl}: its partitions are being moved. `thresher resume {crawl}` ends that first")
    ownership = Ownership(found.table(), agent) if found is not None else None
    return ownership if ownership is not None and ownership.n_agents > 1 else None


def left_behind(crawl: Path) -> Status:
    """Return what the shards count that have no agent any more: requests, pages, bytes. What was to be done there, others have."""
    return merged([counted(path, "done") for path in retired_paths(crawl)])


def counted(shard: Path, state: StateName) -> Status:
    """Return what a shard counts, as of its last commit.    state: that the status is to say"""
    status = Status(state=state)
    with reading_shard(shard) as view:
        status.at = view.clock
        Totals(view.counters).fill(status)
    return status


def progress(shard: Path) -> int:
    """Return a number that has grown if the shard's agent got any further: by a page, or by knowing what it dies of. 0 without a store.

    What its next life will know before all else, by what the last one died over, is known.
    """
    with suppress(StoreError), reading_shard(shard) as view:
        totals = Totals(view.counters)
        return totals.pages + totals.accused + is_about_to_know(shard, view)
    return 0


def open_store(path: Path, *, patience_s: float = PATIENCE_S) -> tuple[Store, Settings]:
    """Open a store for its agent, under the configuration it was left with. patience_s: how long a disk that refuses is tried again."""
    store = Store.open(path, None, time.time(), patience_s=patience_s)
    return store, store.settings
