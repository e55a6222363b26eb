"""PageRank over a crawl of several machines, computed by all of them at the same time (rank_share.py).

The head carries the votes from shard to shard: arrays as bytes. It holds the numbers, ranks and degrees of all nodes at the end, 33 bytes
each, and no links. Of hosts or sites it gets names, sizes and the links between them, and ranks these itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from thresher.crawler.analysis.rank_share import Mail, RankServer, Start, Step, Stepped
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.places import Level
from thresher.crawler.graph.csr import I64, Bools, Graph
from thresher.crawler.graph.pagerank import Ranks, iterate
from thresher.storage.partitions import Partitions, read_partitions
from thresher.storage.shards import ShardsView
from thresher.storage.view import View
from thresher.storage.ways import Ask

_encode = msgspec.msgpack.encode


@dataclass(frozen=True, slots=True, eq=False)
class FarRanks:
    """The ranks of all known URLs, in the order of their numbers, and what is printed of them."""

    numbers: I64
    found: Ranks
    in_degrees: I64
    out_degrees: I64
    is_fetched: Bools
    n_links: int
    n_redirects: int  # known redirects, whether they count as links or not
    n_self_links: int


@dataclass(frozen=True, slots=True, eq=False)
class FarGroups:
    """The hosts or sites of all known URLs, in the order in which these were found, and the links between them."""

    graph: Graph
    names: list[str]
    n_urls: I64
    n_pages: I64
    n_redirects: int
    n_self_links: int


def rank_far(view: View, *, jump: float, tolerance: float, with_redirects: bool, self_links: bool) -> FarRanks | None:
    """Rank the pages of a crawl of several machines; None if all of it lies on one disk, or some URL is known to its finder alone.

    Args:
        view: The crawl.
        jump, tolerance: As for `pagerank`.
        with_redirects, self_links: Whether these are links.
    """
    with _shares(view) as shares:
        start = Start(0, 0, b"", jump, with_redirects=with_redirects, self_links=self_links)
        return None if shares is None else _ranked(shares, start, tolerance)


def groups_far(view: View, level: Level, *, with_redirects: bool, self_links: bool) -> FarGroups | None:
    """Group the pages of a crawl of several machines by host or site; None as by `rank_far`.

    Args:
        view: The crawl.
        level: What a group is.
        with_redirects, self_links: Whether these are links.
    """
    with _shares(view) as shares:
        if shares is None:
            return None
        found = shares.linked(Start(0, 0, b"", 0.0, with_redirects=with_redirects, self_links=self_links, level=level))
        return None if found is None else _grouped(shares, found)


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


def _ranked(shares: _Shares, start: Start, tolerance: float) -> FarRanks | None:
    found = shares.linked(start)
    if found is None:
        return None
    _, idle = shares.step("votes")

    def step(share: float) -> tuple[int, int]:
        change, idle = shares.step("rank", share)
        return change, idle

    run = iterate(found.n_nodes, idle, step, start.jump, tolerance)
    shares.step("told")
    columns = zip(*(shares.mail[shard][shard] for shard in shares.mail), strict=True)
    numbers, ranks, into, out, fetched = (
        np.frombuffer(b"".join(parts), dtype=kind) for parts, kind in zip(columns, ("<i8", "<f8", "<i8", "<i8", "?"), strict=True)
    )
    order = np.argsort(numbers)
    counts = found.n_links, found.n_redirects, found.n_self_links
    return FarRanks(numbers[order], Ranks(ranks[order], *run), into[order], out[order], fetched[order], *counts)


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
        self._table = table
        self._pool = pool
        self._takes = [
            RankServer(partial(view.shards.__getitem__, shard)).take if machine == table.machines[0] else _far(view.job_of(shard))
            for shard, machine in enumerate(table.machines)
        ]

    def linked(self, start: Start) -> _Linked | None:
        """Let all shards join the links to their nodes; None if some URL is known to its finder alone.

        Args:
            start: What is the same for all of them.
        """
        table = self._table
        starts = [replace(start, shard=shard, n_shards=table.shards, owners=table.table()) for shard in range(table.shards)]
        (n_nodes,) = self.step("begin", starts=starts)
        self.step("links")
        n_unknown, *counts = self.step("degrees")
        return None if n_unknown else _Linked(n_nodes, *counts)

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
