"""Computes over a crawl of several machines as tasks on exports of its partitions: the head's side.

    export   the machine of a shard reads what a job needs of it, as columns, which stay on that machine
    task     a function of exports and of what other tasks return, by its name (jobs.py); it runs on the machine of its shard, or on any one
    fetch    the head reads results

What a task returns stays where it was made until another task or the head wants it, so the head carries nothing from one task to another.
All of it is bytes. The engine (crawler/machines/ray_engine.py) places the tasks; each may be run again, since a task changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from thresher.storage.far import FarView
from thresher.storage.shards import ShardsView
from thresher.storage.view import View
from thresher.storage.ways import FarConnection, Part

NOTHING = b""


class Export(Protocol):
    """An order to export columns of a shard, a message that jobs.py knows."""

    def export(self, view: View) -> bytes:
        """Return the columns of a shard on this machine's disk."""
        ...


class Tasks:
    """Exports and tasks of one crawl."""

    def __init__(self, view: ShardsView, way: FarConnection) -> None:
        self._view = view
        self._way = way

    @property
    def stride(self) -> int:
        """The difference between consecutive numbers of one shard."""
        return self._view.stride

    def export(self, shard: int, order: Export) -> Part:
        """Let the machine of a shard export columns of it.

        Raises:
            StoreError: If it is on this machine and cannot be read; of another machine, `fetch` says so.
        """
        view = self._view.shards[shard]
        if isinstance(view, FarView):
            return self._way.export(shard, msgspec.msgpack.encode(order))
        return self._way.put(order.export(view))

    def put(self, packed: bytes) -> Part:
        """Keep bytes of the head for several tasks."""
        return self._way.put(packed)

    def run(self, name: str, parts: Sequence[Part], *, n_results: int = 1, shard: int | None = None) -> list[Part]:
        """Start a task.

        Args:
            name: In jobs.py.
            shard: On whose machine it runs; None for any.
        """
        return self._way.task(name, parts, n_results, shard)

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        """Return results.

        Raises:
            StoreError: If a shard cannot be read, or a machine does not answer.
        """
        return self._way.fetch(parts)


def tasks_of(view: View) -> Tasks | None:
    """Return what runs tasks; None if the whole crawl lies on one machine."""
    way = view.way if isinstance(view, ShardsView) else None
    if way is None:
        return None
    assert isinstance(view, ShardsView)
    return Tasks(view, way)


def in_turn(begins: Iterable[Callable[[], list[Part]]], tasks: Tasks, at_once: int) -> Iterator[bytes]:
    """Begin tasks, of which at most `at_once` are under way, and yield the first result of each, in order."""
    coming: deque[Part] = deque()
    for begin in begins:
        coming.append(begin()[0])
        if len(coming) == at_once:
            yield tasks.fetch([coming.popleft()])[0]
    yield from tasks.fetch([*coming])
