"""Where the shards of a crawl are, and which agent has which partition.

    DIR/                     shard of agent 0: what a crawl of one agent consists of
    DIR/agent-1, agent-2 …   shards of the others, each a store of its own
    DIR/partitions.json      the table; a crawl that never had more than one agent has none
    DIR/directory.json       on the head of several machines: crawler/machines/directory.py
    DIR/channels             while several agents run: their sockets, and the addresses in use (crawler/cluster/shared_addresses.py)

A shard that no longer has an agent keeps its results; they are read with the others.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from pathlib import Path

import msgspec

from thresher.crawler.core.errors import StoreError, UsageError
from thresher.crawler.core.ownership import MOST_AGENTS, N_PARTITIONS
from thresher.storage.durable import replace_file

FILE = "partitions.json"
DIRECTORY = "directory.json"  # on the head of several machines: which of them may request
COMMAND_LOCK = "command.lock"  # there, too: held by the command that runs the crawl
ADDRESSES = "addresses"
_SHARD = "agent-"

Ranges = list[tuple[int, int, int]]  # (first partition, last partition, agent)


class Partitions(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file."""

    shards: int  # number of shards, with and without an agent
    owners: Ranges
    moving: Ranges = []  # the table to come, while partitions move to it
    machines: list[str] = []  # machine of each shard, if there are several machines; the first is the head, whose table is valid

    def table(self) -> bytes:
        """Return the agent of each partition, in a byte."""
        return _table(self.owners)


def shard_path(directory: Path, agent: int) -> Path:
    """Return the path of an agent's shard."""
    return directory / f"{_SHARD}{agent}" if agent else directory


def shard_paths(directory: Path) -> list[Path]:
    """Return the paths of a crawl's shards, with and without an agent.

    Raises:
        UsageError: If some are on other machines.
    """
    found = read_partitions(directory)
    if found is not None and len(set(found.machines)) > 1:
        elsewhere = ", ".join(dict.fromkeys(found.machines[1:]))
        raise UsageError(f"{directory}: a crawl of several machines ({elsewhere}): this needs all of it on one disk, and is not there yet")
    return [shard_path(directory, agent) for agent in range(found.shards if found is not None else 1)]


def on_one_disk(directory: Path, agent: int, others: Collection[int]) -> list[int]:
    """Return those of some agents whose shards are on the disk of an agent's machine."""
    found = read_partitions(directory)
    if found is None or not found.machines:
        return [*others]
    return [other for other in others if found.machines[other] == found.machines[agent]]


def local_shard_paths(directory: Path) -> list[Path]:
    """Return the paths of a crawl's shards on the disk of its head, or of its only machine."""
    found = read_partitions(directory)
    if found is None:
        return [directory]
    head = found.machines[:1]
    return [shard_path(directory, agent) for agent in range(found.shards) if not head or found.machines[agent] == head[0]]


def retired_paths(directory: Path) -> list[Path]:
    """Return the paths of a crawl's shards that no longer have an agent."""
    found = read_partitions(directory)
    owners = set(found.table()) if found is not None else {0}
    if found is not None and len(owners) == found.shards:
        return []
    return [path for agent, path in enumerate(shard_paths(directory)) if agent not in owners]


def channels_path(shard: Path) -> Path:
    """Return the directory of the agents' sockets, by the shard of any agent."""
    return crawl_of(shard)[0] / "channels"


def crawl_of(directory: Path) -> tuple[Path, int]:
    """Return (directory of the crawl to which a shard belongs, the shard's agent)."""
    if is_shard(directory.name) and (directory.parent / FILE).exists():
        return directory.parent, int(directory.name.removeprefix(_SHARD))
    return directory, 0


def require_crawl(directory: Path) -> None:
    """Check that a directory is not a shard of a crawl, nor in the place of one: opened alone, it would damage its crawl.

    Raises:
        UsageError: If it is.
    """
    place = Path.cwd() / directory  # without resolving links: a shard may be a link to another disk
    crawl = place.parent
    if is_shard(place.name) and (crawl / FILE).exists():
        raise UsageError(f"{directory}: expected a crawl, found a shard of the one in {crawl}. Name {crawl}")


def is_shard(name: str) -> bool:
    """Return whether an entry of a crawl's directory is the shard of an agent (other than the first)."""
    return name.startswith(_SHARD) and name.removeprefix(_SHARD).isdigit()


def n_agents_of(directory: Path) -> int:
    """Return the number of agents of a crawl."""
    found = read_partitions(directory)
    return max(found.table()) + 1 if found is not None else 1


def ranges_of(table: bytes) -> Ranges:
    """Return a table as ranges of partitions."""
    ranges: Ranges = []
    for agent, group in groupby(range(N_PARTITIONS), key=table.__getitem__):
        numbers = list(group)
        ranges.append((numbers[0], numbers[-1], agent))
    return ranges


def read_partitions(directory: Path) -> Partitions | None:
    """Return the table of a crawl, None if one agent has everything.

    Raises:
        StoreError: If it is damaged.
    """
    path = directory / FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Partitions)
        tables = [_table(ranges) for ranges in (found.owners, found.moving) if ranges]
        if not tables or not 0 < found.shards <= MOST_AGENTS or any(max(table) >= found.shards for table in tables):
            raise ValueError("it names agents that have no shard")
        if found.machines and len(found.machines) != found.shards:
            raise ValueError("it names another number of machines than of shards")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: expected the table of the crawl's partitions: {error}. Restore it from a backup") from None
    return found


def is_moving(path: Path) -> bool:
    """Return whether a move of partitions is unfinished; `resume` continues it."""
    found = read_partitions(path)
    return found is not None and bool(found.moving)


def write_partitions(directory: Path, partitions: Partitions) -> None:
    """Replace the table, durably and at once."""
    replace_file(directory / FILE, msgspec.json.encode(partitions) + b"\n")


def _table(ranges: Ranges) -> bytes:
    table = bytearray()
    for first, last, agent in ranges:
        if first != len(table) or not first <= last < N_PARTITIONS or not 0 <= agent < MOST_AGENTS:
            raise ValueError(f"partitions {first} to {last} of agent {agent} do not follow {len(table) - 1}")
        table += bytes((agent,)) * (last - first + 1)
    if len(table) != N_PARTITIONS:
        raise ValueError(f"it ends with partition {len(table) - 1}")
    return bytes(table)
