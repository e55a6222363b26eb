"""Takes a snapshot of every machine's shards by hand, where the crawl takes its own: `thresher cluster lost` finds it there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from thresher.config.settings import SnapshotSettings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.machines.far_moves import TakeSnapshot
from thresher.crawler.machines.moving import Asks
from thresher.storage.partitions import Partitions
from thresher.storage.snapshots.manifest import TakenSnapshot


def snapshots(
    directory: Path, table: Partitions, settings: SnapshotSettings, where: str, keep: int, asks: Asks
) -> Iterator[tuple[str, TakenSnapshot]]:
    """Take a snapshot of one machine after the other, and yield (machine, its snapshot). Agents may run.

    Args:
        where: The target, which must be the crawl's own: others can be restored by no command.
        keep: How many snapshots of each machine stay there.

    Raises:
        UsageError: If it is another one.
    """
    wanted = settings.target.rstrip("/")
    if where.rstrip("/") not in (wanted, str(Path(wanted).absolute())) or not wanted:
        has = f"is {wanted}" if wanted else "is not set"
        raise UsageError(
            f"{where}: expected `snapshots.target` of {directory}, which {has}: on several machines only what lies there can take the "
            f"place of a lost disk. Name that, or set it: `thresher resume {directory} --set snapshots.target={where}`"
        )
    for machine in dict.fromkeys(table.machines):
        agents = [agent for agent, name in enumerate(table.machines) if name == machine]
        taken = asks.ask(machine, "snapshot", TakeSnapshot(agents, f"{wanted}/{machine}", keep))
        yield machine, msgspec.json.decode(taken, type=TakenSnapshot)
