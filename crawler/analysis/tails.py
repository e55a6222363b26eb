"""What filters have held in a crawl, class by class: how many URLs were drawn, how many of these gave something new, how many were left
alone.
"""

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
    left_alone: int  # of these: the URLs that are not worth a request


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
    """The URLs of a host that were left alone at one time."""

    host: str
    at: float  # s, unix time
    holders: list[str]
    n: int  # URLs
    at_most: int  # proved upper bound of how many of these are new; -1: nothing was proved


def left_alone(view: View) -> Iterator[LeftAlone]:
    """Yield from the journal, by time, the URLs that were left alone. A class that was opened and closed again is there twice."""
    for note in notes(view):
        for step in note.steps:
            if isinstance(step, Closed):
                host = view.tables.queues.host(step.queue)
                yield LeftAlone(host.name if host is not None else step.queue.hex(), note.at, step.holders, step.n, step.n_good)
