"""Changes the number of agents of a crawl: creates shards and moves partitions to them (storage/moving.py)."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ownership import N_PARTITIONS, divided
from thresher.storage.moving import Arrival, move, move_quarantined, moves
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds

_ALONE = Partitions(1, [(0, N_PARTITIONS - 1, 0)])


def reshard(path: Path, n_agents: int) -> None:
    """Give each of `n_agents` an equal share of the partitions; as few as possible are moved. No message may be under way.

    A move that a killed process has begun is finished first, to the number of agents that it was for.
    """
    found = read_partitions(path) or _ALONE
    if found.moving:
        _move(path, found)
        found = read_partitions(path) or _ALONE
    after = divided(n_agents, found.table())
    if after != found.table():
        shards = max(found.shards, n_agents)
        _make(path, found.shards, shards)
        planned = Partitions(shards, found.owners, ranges_of(after))
        write_partitions(path, planned)
        _move(path, planned)


def _make(path: Path, first: int, end: int) -> None:
    """Create the stores of new agents, except those that a killed process has created."""
    with Store.open(path, None, time.time()) as store:
        settings, secret, bare = store.settings, store.secret, BareSeeds.of(store).encoded()
    for agent in range(first, end):
        with suppress(StoreError):  # the store exists; if it is damaged, opening it raises
            Store.create(shard_path(path, agent), settings, time.time(), secret=secret, bare=bare).close()


def _move(path: Path, planned: Partitions) -> None:
    before, after = planned.table(), Partitions(planned.shards, planned.moving).table()
    with ExitStack() as opened:
        stores = [opened.enter_context(Store.open(shard_path(path, k), None, time.time())) for k in range(planned.shards)]
        met = set[tuple[int, int]]()
        for first, last, source, target in moves(before, after):
            if (source, target) not in met:
                Arrival(stores[source], stores[target], shard=source, first=first, last=last).copy_common()
                met.add((source, target))
            move(stores[source], stores[target], shard=source, first=first, last=last)
        for k in set(range(planned.shards)) - set(after):
            move_quarantined(stores[k], stores[0])
    write_partitions(path, Partitions(planned.shards, planned.moving))
