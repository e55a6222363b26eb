"""Gives up a machine whose disk is lost: its shards are restored from its last snapshot on the disks of other machines. No agent runs
meanwhile.

A restored shard is older than what the other shards know. Still nothing is lost:

- Messages that it had carried out since the snapshot are sent again: senders have kept them (storage/snapshots/marks.py).
- Messages that it had sent since the snapshot: it finds the same again, and sends it again under numbers that the receivers have not had.
  They do not count twice what they know already.
- Its hosts rest first: the time of their last request may be lost, and the lost machine may still have a lease. A host with a longer
  back-off keeps it: the head has recorded that (back_offs.py).
- What was taken down since (`thresher forget`) is taken down in it, too, and a round of revisits that it does not know begins in it.

If the disk comes back, its shards belong to no agent: the table on the head says where the agents' shards are, and nothing starts without
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.ownership import partition
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.machines.back_offs import read
from thresher.crawler.machines.directory import SPARE_S
from thresher.crawler.machines.far_changes import ChangeShard
from thresher.crawler.machines.far_moves import CountReceived, Restore, Succeed
from thresher.crawler.machines.far_places import FarPlaces
from thresher.crawler.machines.moving import Asks
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.start import rounds
from thresher.storage import forget
from thresher.storage.export.reading import reading_shard
from thresher.storage.forget import takedowns
from thresher.storage.partitions import Partitions, write_partitions
from thresher.storage.snapshots.taking import owners_digest


async def watch(places: FarPlaces, supervisor: Supervisor, settings: Settings, is_gone: Callable[[str], bool]) -> str:
    """Stop the crawl once a machine is away for `snapshots.lost_after`, so that it can be given up; return its name.

    Args:
        is_gone: Whether the engine says so, too.
    """
    after_s = settings.snapshots.lost_after
    if after_s is None:
        return ""
    machine = await places.gone(after_s, lambda name: asyncio.to_thread(is_gone, name))
    supervisor.give_over(f"machine {machine} is away for {after_s:g} s: it is given up")
    return machine


def give_up(directory: Path, table: Partitions, machine: str, settings: Settings, asks: Asks) -> list[int]:
    """Give the shards of a lost machine to other machines; each is entered in the table once it is complete. Return their agents.

    Raises:
        UsageError: If the machine has no shards, is the head, or has no snapshots.
    """
    if machine not in table.machines:
        raise UsageError(f"{machine}: expected a machine with shards of {directory}: {', '.join(dict.fromkeys(table.machines))}")
    if machine == table.machines[0]:
        raise UsageError(f"{machine}: is the head of {directory}, whose disk has the table. Restore that disk from a backup")
    if not settings.snapshots.target:
        raise UsageError(f"{directory}: snapshots.target was not configured, so there is nothing that {machine} could be restored from")
    if table.moving:
        raise UsageError(f"{directory}: partitions were being moved when {machine} was lost; no snapshot has all of them")
    left = [name for name in dict.fromkeys(table.machines) if name != machine]
    lost = [agent for agent, name in enumerate(table.machines) if name == machine]
    rest_s = max(settings.politeness.max_delay, LEASE_S + SPARE_S)
    rests, since = _back_offs(directory, table), _changes(directory)
    where, owners = f"{settings.snapshots.target.rstrip('/')}/{machine}", owners_digest(directory)
    for agent in lost:
        to = left[agent % len(left)]
        asks.ask(to, "restore", Restore(agent, where, owners))
        received = {other: _received(asks, name, other, agent) for other, name in enumerate(table.machines) if name != machine}
        asks.ask(to, "succeed", Succeed(agent, received, rest_s, rests.get(agent, [])))
        for change in since:
            asks.ask(to, "change", ChangeShard(agent, *change))
        table.machines[agent] = to
        write_partitions(directory, table)
    return lost


def _back_offs(directory: Path, table: Partitions) -> dict[int, list[BackOff]]:
    """Return the recorded back-offs, by agent."""
    with reading_shard(directory) as view:
        urls, owners = URLSpace(view.secret, url_rules(view.settings)), table.table()
    found: dict[int, list[BackOff]] = {}
    for one in read(directory):
        found.setdefault(owners[partition(urls.queue_key(f"http://{one.name}"))], []).append(one)
    return found


def _changes(directory: Path) -> list[tuple[str, msgspec.Raw]]:
    """Return what the head's shard knows of changes in all shards, and an older snapshot of another may not: takedowns, the last round."""
    with reading_shard(directory) as view:
        taken_down, last = takedowns(view), view.tables.rounds.last()
    found = [(forget.TAKE_OVER.name, msgspec.Raw(msgspec.json.encode(taken_down)))] if taken_down else []
    if last is not None and not last.is_continuous:  # an endless one begins by itself
        found.append((rounds.TAKE_OVER.name, msgspec.Raw(msgspec.json.encode(last))))
    return found


def _received(asks: Asks, machine: str, agent: int, sender: int) -> int:
    """Return how many messages of a lost shard (`sender`) another agent has carried out."""
    return msgspec.json.decode(asks.ask(machine, "received", CountReceived(agent, sender)), type=int)
