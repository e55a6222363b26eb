"""What filters have held in a crawl, class by class: how much was drawn of it, what that came to, and what was left alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from thresher.crawler.analysis.tail_replay import notes
from thresher.filters.tail.history import Closed
from thresher.filters.tail.records import TailClass
from thresher.storage.view import View

_decode = msgspec.msgpack.Decoder(TailClass).decode


class ClassFigures(NamedTuple):
    """One class of one host."""

    host: str
    holder: str  # the filter, and what it holds
    known: int  # URLs ever held in it
    drawn: int  # of them fetched
    new: int  # of them that gave something new
    left: int  # that were not fetched
    left_alone: int  # of these, that are not worth their price


def classes(view: View) -> Iterator[ClassFigures]:
    """Yield the classes of all hosts."""
    for queue, _ in view.tables.tail.hosts():
        host = view.tables.queues.host(queue)
        for record in view.tables.tail.classes(queue):
            yield _figures(host.name if host is not None else queue.hex(), _decode(record))


def class_of(view: View, key: bytes) -> ClassFigures | None:
    """Return the class in which a URL waits, None if it waits in none."""
    place = view.tables.tail.place(key)
    record = view.tables.tail.class_(place.queue, place.tag) if place is not None else None
    if place is None or record is None:
        return None
    host = view.tables.queues.host(place.queue)
    return _figures(host.name if host is not None else "", _decode(record))


def _figures(host: str, of: TailClass) -> ClassFigures:
    drawn = sum(cohort.drawn for cohort in of.cohorts)
    new = sum(cohort.hits for cohort in of.cohorts)
    left_alone = sum(cohort.left for cohort in of.cohorts if cohort.is_closed)
    return ClassFigures(host, of.holder, of.known, drawn, new, of.left, left_alone)


class LeftAlone(NamedTuple):
    """What was left alone of a host at one time."""

    host: str
    at: float  # s, unix time
    holders: list[str]
    n: int  # URLs
    at_most: int  # of these that are new, as was proved; -1: nothing was


def left_alone(view: View) -> Iterator[LeftAlone]:
    """Yield from the journal, in order of time, what was left alone; a class that was opened and closed again comes twice."""
    for note in notes(view):
        for step in note.steps:
            if isinstance(step, Closed):
                host = view.tables.queues.host(step.queue)
                yield LeftAlone(host.name if host is not None else step.queue.hex(), note.at, step.holders, step.n, step.n_good)
