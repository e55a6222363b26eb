"""PageRank, hubs and authorities over a crawl of several machines, computed by all of them at the same time (rank_share.py, hits_share.py).

The head carries what the shards send to each other: arrays as bytes. It holds the numbers, ranks and degrees of all nodes at the end, 33
bytes each, and no links. Of hosts or sites it gets names, sizes and the links between them, and ranks these itself. Where the URLs of one
page are one node, it finds from the records of pages which these are (storage/representatives.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from thresher.crawler.analysis.rank_messages import Mail, Start, Step, Stepped
from thresher.crawler.analysis.rank_share import RankServer
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.places import Level
from thresher.crawler.graph.collapse import resolve
from thresher.crawler.graph.csr import F64, I64, Bools, Graph
from thresher.crawler.graph.hits import Hits, exact_mean, until_settled
from thresher.crawler.graph.pagerank import JUMP, Ranks, Variant, iterate
from thresher.storage.graph import read_known
from thresher.storage.partitions import Partitions, read_partitions
from thresher.storage.representatives import representatives
from thresher.storage.shards import ShardsView
from thresher.storage.view import View
from thresher.storage.ways import Ask

_encode = msgspec.msgpack.encode


@dataclass(frozen=True, slots=True)
class RankChoice:
    """What is ranked, and how.

    level: what a node is.    variant: of PageRank, for pages.    jump, tolerance: as for `pagerank`.
    collapsed: whether all URLs of one page are one node.    with_redirects, self_links: whether these are links, if nothing is collapsed.
    only_linked: whether URLs without a link are left out.    with_hits: whether hubs and authorities are computed, too
    """

    level: Level = "page"
    variant: Variant = "all"
    jump: float = JUMP
    tolerance: float = 1e-9
    collapsed: bool = False
    with_redirects: bool = True
    self_links: bool = False
    only_linked: bool = False
    with_hits: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FarRanks:
    """The ranks of all known URLs, in the order of their numbers, and what is printed of them."""

    numbers: I64
    found: Ranks
    in_degrees: I64
    out_degrees: I64
    is_fetched: Bools
    n_redirects: int  # known redirects, whether they count as links or not
    n_self_links: int
    hits: Hits | None


@dataclass(frozen=True, slots=True, eq=False)
class FarGroups:
    """The hosts or sites of all known URLs, in the order in which these were found, and the links between them."""

    graph: Graph
    names: list[str]
    n_urls: I64
    n_pages: I64
    n_redirects: int
    n_self_links: int


def rank_far(view: View, choice: RankChoice) -> FarRanks | None:
    """Rank the pages of a crawl of several machines; None if all of it lies on one disk, or some URL is known to its finder alone."""
    with _shares(view) as shares:
        found = None if shares is None else shares.linked(choice)
        return None if shares is None or found is None else _ranked(shares, found, choice)


def rank_twice(view: View, choice: RankChoice, early: Callable[[I64], I64]) -> tuple[FarRanks, F64] | None:
    """Rank the pages of a crawl of several machines, then by those of their links that were known early; None as by `rank_far`.

    Args:
        early: Called with the numbers of all nodes, ascending; returns the numbers of those whose links count the second time.

    Returns:
        (The first ranks; the second ones, in the same order.)
    """
    with _shares(view) as shares:
        found = None if shares is None else shares.linked(choice)
        if shares is None or found is None:
            return None
        whole = _ranked(shares, found, choice)
        numbers = early(whole.numbers).astype("<i8").tobytes()
        shares.mail = {shard: {shard: [numbers]} for shard in shares.mail}
        shares.step("early")
        return whole, _ranked(shares, found, choice).found.ranks


def groups_far(view: View, choice: RankChoice) -> FarGroups | None:
    """Group the pages of a crawl of several machines by host or site; None as by `rank_far`."""
    with _shares(view) as shares:
        found = None if shares is None else shares.linked(choice)
        return None if shares is None or found is None else _grouped(shares, found)


@contextmanager
def _shares(view: View) -> Iterator[_Shares | None]:
    table = read_partitions(view.path) if isinstance(view, ShardsView) else None
    if table is None or len(set(table.machines)) < 2:
        yield None
        return
    assert isinstance(view, ShardsView)
    with ThreadPoolExecutor(table.shards) as pool:
        yield _Shares(view, table, pool)


def _grouped(shares: _Shares, found: _Linked) -> FarGroups:
    shares.step("groups")
    shares.step("pairs")
    n_shards = len(shares.mail)
    told = [shares.mail[shard][shard] for shard in range(n_shards)]
    pairs, firsts, n_urls, n_pages = (np.frombuffer(b"".join(parts), dtype="<i8") for parts in list(zip(*told, strict=True))[:4])
    names = [msgspec.msgpack.decode(parts[4], type=list[str]) for parts in told]
    refs = np.concatenate([np.arange(len(some), dtype=np.int64) * n_shards + shard for shard, some in enumerate(names)])
    order = np.argsort(firsts)
    number_of = np.zeros(int(refs.max(initial=-1)) + 1, dtype=np.int64)
    number_of[refs[order]] = np.arange(len(order))
    ends = number_of[pairs].reshape(-1, 2)
    graph = Graph.from_links(ends[:, 0], ends[:, 1], len(order))
    texts = [name for some in names for name in some]
    return FarGroups(graph, [texts[i] for i in order.tolist()], n_urls[order], n_pages[order], found.n_redirects, found.n_self_links)


def _ranked(shares: _Shares, found: _Linked, choice: RankChoice) -> FarRanks:
    _, idle = shares.step("votes")

    def step(share: float) -> tuple[int, int]:
        change, idle = shares.step("rank", share)
        return change, idle

    run = iterate(found.n_nodes, idle, step, choice.jump, choice.tolerance)
    shares.step("told")
    numbers, ranks, into, out, fetched = shares.told("<i8", "<f8", "<i8", "<i8", "?")
    order = np.argsort(numbers)
    also = _hits(shares, found, order) if choice.with_hits else None
    counts = found.n_redirects, found.n_self_links
    return FarRanks(numbers[order], Ranks(ranks[order], *run), into[order], out[order], fetched[order], *counts, also)


def _hits(shares: _Shares, found: _Linked, order: I64) -> Hits:
    """Let all shards compute hubs and authorities.

    Args:
        order: Puts what they return into the order of the crawl's numbers.
    """
    if found.n_links == 0:
        nothing = np.zeros(found.n_nodes)
        return Hits(nothing, nothing, 0, converged=True)
    for name in ("outward", "ends", "first hubs"):
        shares.step(name)
    mean = 1.0  # of the hubs

    def step() -> float:
        nonlocal mean
        (total,) = shares.step("authorities", mean)
        total, change = shares.step("hubs", exact_mean(total, found.n_nodes))
        mean = exact_mean(total, found.n_nodes)
        return exact_mean(change, found.n_nodes)

    run = until_settled(step)
    shares.step("found", mean)
    hubs, authorities = shares.told("<f8", "<f8")
    return Hits(hubs[order], authorities[order], *run)


def _represented(view: View) -> list[bytes]:
    """Return (numbers of the URLs that another one represents, or none; numbers of these pages, below 0: none), ascending."""
    known = read_known(view)
    ends = resolve(representatives(view, known))
    others = np.flatnonzero((ends != np.arange(len(ends))) & (known.states > 0))
    return [others.astype("<i8").tobytes(), ends[others].astype("<i8").tobytes()]


class _Linked(NamedTuple):
    """What all shards together have."""

    n_nodes: int
    n_links: int
    n_redirects: int
    n_self_links: int


class _Shares:
    """The shares of all shards, here and elsewhere, and the mail between them."""

    def __init__(self, view: ShardsView, table: Partitions, pool: ThreadPoolExecutor) -> None:
        self.mail: dict[int, Mail] = {shard: {} for shard in range(table.shards)}  # to each shard, from each shard
        self._view = view
        self._table = table
        self._pool = pool
        self._takes = [
            RankServer(partial(view.shards.__getitem__, shard)).take if machine == table.machines[0] else _far(view.job_of(shard))
            for shard, machine in enumerate(table.machines)
        ]

    def linked(self, choice: RankChoice) -> _Linked | None:
        """Let all shards join the links to their nodes; None if some URL is known to its finder alone."""
        table = self._table
        counts = {"with_redirects": choice.with_redirects and not choice.collapsed, "self_links": choice.self_links}
        start = Start(0, table.shards, table.table(), choice.jump, level=choice.level, variant=choice.variant, **counts)
        (n_nodes,) = self.step("begin", starts=[replace(start, shard=shard) for shard in range(table.shards)])
        self.step("links")
        n_unknown, n_links, n_redirects, n_self_links = self.step("degrees")
        if choice.collapsed:
            represented = _represented(self._view)
            self.mail = {shard: {shard: represented} for shard in self.mail}
            self.step("collapse")
            n_nodes, n_more, n_links = self.step("collapsed")
            n_unknown, n_redirects = n_unknown + n_more, 0
        if choice.only_linked:
            (n_nodes,) = self.step("linked")
        return None if n_unknown else _Linked(n_nodes, n_links, n_redirects, n_self_links)

    def told(self, *kinds: str) -> list[npt.NDArray[Any]]:
        """Return the columns that all shards have sent to themselves, one after the other."""
        columns = zip(*(self.mail[shard][shard] for shard in self.mail), strict=True)
        return [np.frombuffer(b"".join(parts), dtype=kind) for parts, kind in zip(columns, kinds, strict=True)]

    def step(self, name: str, share: float = 0.0, starts: Sequence[Start] = ()) -> list[int]:
        """Let all shards take a step at the same time; return the sums of what they count.

        Raises:
            StoreError: If a shard cannot be read, or its machine does not answer.
        """
        steps = [Step(name, starts[shard] if starts else None, self.mail[shard], share) for shard in range(len(self._takes))]
        answers = [*self._pool.map(lambda take, step: take(step), self._takes, steps)]
        if fault := next((answer.fault for answer in answers if answer.fault), ""):
            raise StoreError(fault)
        self.mail = {shard: {} for shard in self.mail}
        for sender, answer in enumerate(answers):
            for to, arrays in answer.mail.items():
                self.mail[to][sender] = arrays
        return [sum(map(int, sums)) for sums in zip(*(answer.sums for answer in answers), strict=True)]


def _far(ask: Ask) -> Callable[[Step], Stepped]:
    """Return a function that lets the machine of a shard take a step."""
    return lambda step: msgspec.msgpack.decode(ask(_encode(step)), type=Stepped)
