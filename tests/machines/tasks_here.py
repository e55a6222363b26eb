"""Exports and tasks of several machines without an engine: function calls, each on one of the machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from thresher.crawler.analysis import jobs
from thresher.storage.view import View
from thresher.storage.ways import Part

HEAD = "the head"
ANYWHERE = "any machine"


class Held(NamedTuple):
    """Bytes that lie on a machine; the head must fetch them. what: the name of the task or export that made them"""

    machine: str
    what: str
    data: bytes


@dataclass
class TasksHere:
    """Runs exports and tasks, and records where."""

    machine_of: Callable[[int], str]
    view_of: Callable[[int], View]  # of a shard
    ran: list[tuple[str, str]] = field(default_factory=list)  # (task, or export of a machine other than the head, machine)
    carried: list[tuple[str, str]] = field(default_factory=list)  # (what made it, where to) of what went to another machine

    def export(self, agent: int, order: bytes) -> Part:
        kind = msgspec.msgpack.decode(order)["type"]
        self.ran.append((kind, self.machine_of(agent)))
        return Held(self.machine_of(agent), kind, jobs.export(self.view_of(agent), order))

    def put(self, packed: bytes) -> Part:
        assert isinstance(packed, bytes)
        return Held(HEAD, "put", packed)

    def task(self, name: str, parts: Sequence[Part], n_results: int, agent: int | None) -> list[Part]:
        machine = ANYWHERE if agent is None else self.machine_of(agent)
        self.ran.append((name, machine))
        self.carried += [(part.what, machine) for part in parts if isinstance(part, Held) and part.machine not in (machine, HEAD)]
        found = jobs.run(name, [part.data if isinstance(part, Held) else part for part in parts])
        assert len(found) == n_results
        assert all(type(one) is bytes for one in found)
        return [Held(machine, name, one) for one in found]

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        self.carried += [(part.what, HEAD) for part in parts]
        return [part.data for part in parts]
