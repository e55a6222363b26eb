"""The sketches of a store's pages, host by host. On several machines each exports the words of its pages, and tasks there sketch them; the
words of a host whose pages lie on several, as after a move of partitions, go to a task on any machine.

Time: 0.8 ms a page of 25 KB. Memory: the words of one host's first pages, at most 256 MB of them, and of 500 pages for each task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec
import numpy as np

from thresher.crawler.analysis.tasks import NOTHING, Tasks, tasks_of
from thresher.crawler.analysis.words_export import WordsExport, words_in
from thresher.crawler.core.model import U64
from thresher.filters.near_replica.random_projection import Counting
from thresher.filters.near_replica.sketching import MOST_LEARNED, PageSketch, Recipe, first_pages, shared_by, sketch, sketch_host
from thresher.storage.export.words import words_of
from thresher.storage.view import View
from thresher.storage.ways import Part

_CHUNK: Final = 200
_PAGES: Final = 500  # of one export; a host with fewer is not divided
_AT_ONCE: Final = 4  # exports of each shard that are sketched or wait for that
_NO_TOKENS: U64 = np.empty(0, dtype=np.uint64)

Visits = Sequence[int]  # of one host's pages, in order
_Packed = tuple[bool, bytes, bytes, bytes, bytes]


class SketchOrder(msgspec.Struct, frozen=True):
    """An order to sketch pages. rows: for each host, the places of its pages in the exports, taken together; others: as of `Recipe`"""

    rows: list[list[int]]
    k: int
    counting: Counting
    slots: int
    shingle: int
    strip: bool

    @classmethod
    def of(cls, rows: list[list[int]], recipe: Recipe) -> SketchOrder:
        return cls(rows, recipe.k, recipe.counting, recipe.slots, recipe.shingle, recipe.strip)

    def recipe(self) -> Recipe:
        return Recipe(k=self.k, counting=self.counting, slots=self.slots, shingle=self.shingle, strip=self.strip)


class StoredSketch(NamedTuple):
    """The sketch of a stored page. has_words: whether its body is stored, with a text that can be read"""

    visit: int
    has_words: bool
    found: PageSketch


class _Group(NamedTuple):
    """Hosts that are sketched together, or a part of one host. shards: that have the pages; shared: what its pages share, if known"""

    hosts: list[Visits]
    shards: tuple[int, ...]
    shared: Part = NOTHING


_read_order = msgspec.msgpack.Decoder(SketchOrder).decode
_read_rows = msgspec.msgpack.Decoder(list[_Packed]).decode


def sketches(view: View, hosts: Mapping[str, Visits], recipe: Recipe) -> Iterator[StoredSketch]:
    """Yield the sketch of every page.

    Args:
        hosts: The visits of each host's pages.
    """
    tasks = tasks_of(view)
    if tasks is not None:
        yield from _Far(tasks, recipe).sketches(hosts)
        return
    for visits in hosts.values():
        yield from _of_host(view, visits, recipe)


def learned(order: bytes, *exports: bytes) -> list[bytes]:
    """Learn what the pages of a host share from its first pages, as a task; it comes after a zero, so that it is never b""."""
    wanted = _read_order(order)
    pages = [page.words for page in words_in(exports)]
    held = first_pages(_NO_TOKENS if words is None else words for words in (pages[row] for row in wanted.rows[0]))
    return [bytes(8) + shared_by(held, wanted.recipe()).astype("<u8").tobytes()]


def sketched(order: bytes, shared: bytes, *exports: bytes) -> list[bytes]:
    """Sketch pages, as a task; return a row for each, host by host.

    Args:
        shared: What the one host's pages share, as `learned`; b"" of whole hosts, where it is learned from these pages.
    """
    wanted, pages = _read_order(order), [page.words for page in words_in(exports)]
    recipe, rows = wanted.recipe(), list[_Packed]()
    for host in wanted.rows:
        own = [pages[row] for row in host]
        tokens = [_NO_TOKENS if words is None else words for words in own]
        known = np.frombuffer(shared, dtype="<u8").astype(np.uint64) if shared else None
        found = sketch_host(tokens, recipe) if known is None else (sketch(some, known[1:], recipe) for some in tokens)
        rows += [_packed(words is not None, one) for words, one in zip(own, found, strict=True)]
    return [msgspec.msgpack.encode(rows)]


def _packed(has_words: bool, found: PageSketch) -> _Packed:
    columns = found.projection.astype("<f8"), found.minima.astype("<u4"), found.least.astype("<u4")
    return (has_words, found.text, columns[0].tobytes(), columns[1].tobytes(), columns[2].tobytes())


class _Far:
    """Sketches pages that lie on several machines."""

    def __init__(self, tasks: Tasks, recipe: Recipe) -> None:
        self._tasks = tasks
        self._recipe = recipe

    def sketches(self, hosts: Mapping[str, Visits]) -> Iterator[StoredSketch]:
        coming: list[tuple[list[int], Part]] = []
        groups = self._groups(hosts)
        while group := next(groups, None):
            coming.append(self._begun(group))
            if len(coming) >= _AT_ONCE * self._tasks.stride:
                yield from self._came(*coming.pop(0))
        for visits, part in coming:
            yield from self._came(visits, part)

    def _groups(self, hosts: Mapping[str, Visits]) -> Iterator[_Group]:
        """Yield small hosts together, by the shards that have them, and large ones in parts."""
        waiting: dict[tuple[int, ...], list[Visits]] = {}
        for visits in hosts.values():
            shards = tuple(sorted({visit % self._tasks.stride for visit in visits}))
            if len(visits) > _PAGES:
                yield from self._parts(visits, shards)
                continue
            some = waiting.setdefault(shards, [])
            some.append(visits)
            if sum(map(len, some)) >= _PAGES:
                yield _Group(waiting.pop(shards), shards)
        for shards, some in waiting.items():
            yield _Group(some, shards)

    def _parts(self, visits: Visits, shards: tuple[int, ...]) -> Iterator[_Group]:
        parts = [visits[first : first + _PAGES] for first in range(0, len(visits), _PAGES)]
        rows, exports = self._exported([visits[:MOST_LEARNED]])
        (shared,) = self._tasks.run("learn", [self._order(rows), *exports], shard=shards[0] if len(shards) == 1 else None)
        for part in parts:
            yield _Group([part], tuple(sorted({visit % self._tasks.stride for visit in part})), shared)

    def _begun(self, group: _Group) -> tuple[list[int], Part]:
        rows, exports = self._exported(group.hosts)
        shard = group.shards[0] if len(group.shards) == 1 else None
        (made,) = self._tasks.run("sketch", [self._order(rows), group.shared, *exports], shard=shard)
        return [visit for host in group.hosts for visit in host], made

    def _exported(self, hosts: Sequence[Visits]) -> tuple[list[list[int]], list[Part]]:
        """Let the machines export the words of pages; return (the place of each page in the exports, by host; exports)."""
        stride, place = self._tasks.stride, dict[int, int]()
        exports: list[Part] = []
        visits = sorted((visit for host in hosts for visit in host), key=lambda visit: (visit % stride, visit))
        for shard in sorted({visit % stride for visit in visits}):
            own = iter([visit for visit in visits if visit % stride == shard])
            while some := [*islice(own, _PAGES)]:
                place |= {visit: len(place) + n for n, visit in enumerate(some)}
                exports.append(self._tasks.export(shard, WordsExport([visit // stride for visit in some])))
        return [[place[visit] for visit in host] for host in hosts], exports

    def _order(self, rows: list[list[int]]) -> bytes:
        return msgspec.msgpack.encode(SketchOrder.of(rows, self._recipe))

    def _came(self, visits: list[int], part: Part) -> Iterator[StoredSketch]:
        rows = _read_rows(self._tasks.fetch([part])[0])
        for visit, (has_words, text, projection, minima, least) in zip(visits, rows, strict=True):
            values = np.frombuffer(projection, dtype="<f8"), np.frombuffer(minima, dtype="<u4"), np.frombuffer(least, dtype="<u4")
            yield StoredSketch(visit, has_words, PageSketch(text, *values))


def _of_host(view: View, visits: Visits, recipe: Recipe) -> Iterator[StoredSketch]:
    """Sketch a host's pages, whose words are read as far as possible while they are sketched."""
    have_words: list[bool] = []

    def pages() -> Iterator[U64]:
        for first in range(0, len(visits), _CHUNK):
            for tokens in words_of(view, visits[first : first + _CHUNK]):
                have_words.append(tokens is not None)
                yield _NO_TOKENS if tokens is None else tokens

    for n, found in enumerate(sketch_host(pages(), recipe)):
        yield StoredSketch(visits[n], have_words[n], found)
