"""The sketches of a store's pages, host by host: on several machines each sketches the hosts of which it has all pages, at the same time,
and no word leaves it. Of a host whose pages lie in several shards, as after a move of partitions, the head gets the words.

Time: 0.8 ms a page of 25 KB. Memory: the words of one host, at most 256 MB of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec
import numpy as np

from thresher.crawler.core.model import U64
from thresher.filters.near_replica.random_projection import Counting
from thresher.filters.near_replica.sketching import PageSketch, Recipe, sketch_host
from thresher.storage.export.words import words_of
from thresher.storage.far import FarView
from thresher.storage.shards import ShardsView
from thresher.storage.view import View

_CHUNK = 200
_PAGES = 500  # of the hosts that one question is about; one host may have more
_NO_TOKENS: U64 = np.empty(0, dtype=np.uint64)

Visits = Sequence[int]  # of one host's pages, in order
_Packed = tuple[bool, bytes, bytes, bytes, bytes]


class SketchJob(msgspec.Struct, tag=True, frozen=True):
    """A job for the machine of a shard: sketch the pages of these visits, host by host. The other fields are those of `Recipe`."""

    hosts: list[list[int]]
    k: int
    counting: Counting
    slots: int
    shingle: int
    strip: bool


class StoredSketch(NamedTuple):
    """The sketch of a stored page. has_words: whether its body is stored, with a text that can be read"""

    visit: int
    has_words: bool
    found: PageSketch


def sketches(view: View, hosts: Mapping[str, Visits], recipe: Recipe) -> Iterator[StoredSketch]:
    """Yield the sketch of every page.

    Args:
        hosts: The visits of each host's pages.
    """
    here, far, mixed = _placed(view, hosts)
    with ThreadPoolExecutor(max(1, len(far))) as pool:
        coming = [pool.submit(_there, view, shard, found, recipe) for shard, found in far.items()]
        for visits in here:
            yield from _of_host(view, visits, recipe)
        for said in coming:
            yield from said.result()
    for visits in mixed:  # last, since they may ask the same machines
        yield from _of_host(view, visits, recipe)


def sketches_here(view: View, job: SketchJob) -> list[_Packed]:
    """Do the job with a shard on this machine's disk; return a row for each visit."""
    recipe = Recipe(k=job.k, counting=job.counting, slots=job.slots, shingle=job.shingle, strip=job.strip)
    rows: list[_Packed] = []
    for visits in job.hosts:
        for _, has_words, (text, projection, minima, least) in _of_host(view, visits, recipe):
            packed = projection.astype("<f8").tobytes(), minima.astype("<u4").tobytes(), least.astype("<u4").tobytes()
            rows.append((has_words, text, *packed))
    return rows


def _placed(view: View, hosts: Mapping[str, Visits]) -> tuple[list[Visits], dict[int, list[Visits]], list[Visits]]:
    """Sort the hosts: those with all pages on this machine's disk, by shard those with all pages in one that lies elsewhere, the others."""
    if not isinstance(view, ShardsView):
        return [*hosts.values()], {}, []
    here, mixed = list[Visits](), list[Visits]()
    far: dict[int, list[Visits]] = {}
    for visits in hosts.values():
        shards = {visit % view.stride for visit in visits}
        if not any(isinstance(view.shards[shard], FarView) for shard in shards):
            here.append(visits)
        elif len(shards) == 1:
            far.setdefault(shards.pop(), []).append(visits)
        else:
            mixed.append(visits)
    return here, far, mixed


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


def _there(view: View, shard: int, hosts: Sequence[Visits], recipe: Recipe) -> list[StoredSketch]:
    """Let the machine of a shard sketch the pages of hosts."""
    assert isinstance(view, ShardsView), "it has shards elsewhere"
    ask, stride = view.job_of(shard), view.stride
    found: list[StoredSketch] = []
    for some in _questions(hosts):
        own = [[visit // stride for visit in visits] for visits in some]
        job = SketchJob(own, recipe.k, recipe.counting, recipe.slots, recipe.shingle, recipe.strip)
        rows = msgspec.msgpack.decode(ask(msgspec.msgpack.encode(job)), type=list[_Packed])
        visits = [visit for visits in own for visit in visits]
        for visit, (has_words, text, projection, minima, least) in zip(visits, rows, strict=True):
            values = np.frombuffer(projection, dtype="<f8"), np.frombuffer(minima, dtype="<u4"), np.frombuffer(least, dtype="<u4")
            found.append(StoredSketch(visit * stride + shard, has_words, PageSketch(text, *values)))
    return found


def _questions(hosts: Sequence[Visits]) -> Iterator[list[Visits]]:
    some: list[Visits] = []
    for visits in hosts:
        some.append(visits)
        if sum(map(len, some)) >= _PAGES:
            yield some
            some = []
    if some:
        yield some
