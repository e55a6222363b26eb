"""An agent's shard: opens it, reads its counts from outside, and reads which sites belong to it."""

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
    """Return which sites belong to the agent of this shard; None if the crawl has one agent."""
    crawl, agent = crawl_of(shard)
    found = read_partitions(crawl)
    if found is not None and found.moving:
        raise StoreError(f"{crawl}: its partitions are being moved. `thresher resume {crawl}` ends that first")
    ownership = Ownership(found.table(), agent) if found is not None else None
    return ownership if ownership is not None and ownership.n_agents > 1 else None


def left_behind(crawl: Path) -> Status:
    """Return the requests, pages and bytes counted in shards that no agent has any more. Their queues have moved to others."""
    return merged([counted(path, "done") for path in retired_paths(crawl)])


def counted(shard: Path, state: StateName) -> Status:
    """Return the counts of a shard as of its last commit, as a status.

    Args:
        state: The state of the status.
    """
    status = Status(state=state)
    with reading_shard(shard) as view:
        status.at = view.clock
        Totals(view.counters).fill(status)
    return status


def progress(shard: Path) -> int:
    """Return a number that grows when the shard's agent fetches a page or learns which work kills it; 0 without a store.

    It also counts the work that the last process was doing when it died, which the agent's next process will learn at its start.
    """
    with suppress(StoreError), reading_shard(shard) as view:
        totals = Totals(view.counters)
        return totals.pages + totals.accused + is_about_to_know(shard, view.tables)
    return 0


def open_store(path: Path, *, patience_s: float = PATIENCE_S) -> tuple[Store, Settings]:
    """Open a store for its agent, with the configuration that it has stored.

    Args:
        patience_s: Seconds for which a failed write is tried again.
    """
    store = Store.open(path, None, time.time(), patience_s=patience_s)
    return store, store.settings
