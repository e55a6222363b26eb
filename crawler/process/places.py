"""Where the agents of a crawl run, as the supervisor uses it: on this machine (here), or on several (crawler/machines).

An agent runs on the machine of its shard, so the code that starts it also reads what the shard has committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from thresher.crawler.cluster.shard import counted, progress
from thresher.crawler.cluster.shared_addresses import strike
from thresher.crawler.process.agent_life import AgentLife
from thresher.crawler.status import AgentOrder, AgentReport, StateName, Status
from thresher.storage.partitions import ADDRESSES, channels_path, shard_path
from thresher.storage.rot import damage

SETTLE = "--settle"
Note = Callable[[str], None]


class Away(Exception):  # noqa: N818 - named for what it says
    """The machine of an agent cannot be reached. It is not known whether the agent runs; it requests nothing once its lease is over."""


class Life(Protocol):
    """One start of an agent; the next start is another object."""

    async def run(self, signals: Iterable[int], on_report: Callable[[AgentReport], None]) -> int:
        """Run the agent to its end; return its exit code (negative: the signal that killed it)."""
        ...

    def signal(self, number: int) -> None: ...

    def order(self, order: AgentOrder) -> None: ...


class AgentPlaces(Protocol):
    """Where each agent of a crawl runs. Methods that read a shard raise StoreError if it cannot be read, and Away if its machine does not
    answer.
    """

    def life(self, agent: int, note: Note) -> Life:
        """Return the next start of an agent.

        Args:
            note: Shows a message to the operator.
        """
        ...

    async def ready(self, agent: int, is_over: Callable[[], bool]) -> bool:
        """Wait until the agent can be started and return True; return False once `is_over()` is true."""
        ...

    async def progress(self, agent: int) -> int: ...

    async def counted(self, agent: int, state: StateName) -> Status: ...

    async def damage(self, agent: int) -> str:
        """Return what is damaged in the agent's store, "" if nothing is."""
        ...

    async def strike(self, agent: int) -> None:
        """Free the reservations of an agent that has ended."""
        ...


class ThisMachine:
    """Runs every agent as a process of this machine, with all shards below one directory."""

    def __init__(self, directory: Path, command: Sequence[str], *, silence_s: float, settle: bool) -> None:
        """Create the place.

        Args:
            command: Starts an agent; its shard is added as an argument.
            silence_s: Seconds without a report after which an agent counts as hanging.
            settle: Whether agents fetch nothing, and only settle their messages.
        """
        self._directory = directory
        self._command = command
        self._silence_s = silence_s
        self._settle = settle

    def life(self, agent: int, note: Note) -> AgentLife:
        command = (*self._command, str(shard_path(self._directory, agent)), *((SETTLE,) if self._settle else ()))
        return AgentLife(command, silence_s=self._silence_s, note=note)

    async def ready(self, agent: int, is_over: Callable[[], bool]) -> bool:
        return True

    async def progress(self, agent: int) -> int:
        return progress(shard_path(self._directory, agent))

    async def counted(self, agent: int, state: StateName) -> Status:
        return counted(shard_path(self._directory, agent), state)

    async def damage(self, agent: int) -> str:
        found = await asyncio.to_thread(damage, shard_path(self._directory, agent))
        return found[0] if found else ""

    async def strike(self, agent: int) -> None:
        strike(channels_path(self._directory) / ADDRESSES, agent)
