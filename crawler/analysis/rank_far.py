"""PageRank, hubs and authorities over a crawl of several machines, computed by all of them at the same time (rank_share.py, hits_share.py).

Each shard's machine exports its links (link_export.py), and each step is a task on every shard's machine (tasks.py). What one sends to
another goes from task to task; the head gets sums of each step, and the numbers, ranks and degrees of all nodes at the end, 33 bytes each.
Hosts and sites are few: one task ranks them (rank_groups.py). Where the URLs of one page are one node, the head finds from the records of
pages which these are (storage/representatives.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.analysis.columns import pack_bytes, unpack_bytes
from thresher.crawler.analysis.link_export import LinksExport
from thresher.crawler.analysis.rank_groups import GroupsOrder, RankedGroups
from thresher.crawler.analysis.rank_messages import Start, Step
from thresher.crawler.analysis.rank_share import ITERATED, OF_EXPORT
from thresher.crawler.analysis.tasks import NOTHING, Tasks, tasks_of
from thresher.crawler.core.places import Level
from thresher.crawler.graph.collapse import resolve
from thresher.crawler.graph.csr import F64, I64, Bools
from thresher.crawler.graph.hits import Hits, exact_mean, until_settled
from thresher.crawler.graph.pagerank import JUMP, Ranks, Variant, iterate
from thresher.storage.graph import read_known
from thresher.storage.partitions import read_partitions
from thresher.storage.representatives import representatives
from thresher.storage.view import View
from thresher.storage.ways import Part

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
    """The ranked hosts or sites of all known URLs."""

    ranked: RankedGroups
    n_redirects: int
    n_self_links: int


def rank_far(view: View, choice: RankChoice) -> FarRanks | None:
    """Rank the pages of a crawl of several machines; None if all of it lies on one disk, or some URL is known to its finder alone."""
    shares = _shares(view, choice)
    found = None if shares is None else shares.linked()
    return None if shares is None or found is None else _ranked(shares, found, choice)


def rank_twice(view: View, choice: RankChoice, early: Callable[[I64], I64]) -> tuple[FarRanks, F64] | None:
    """Rank the pages of a crawl of several machines, then by those of their links that were known early; None as by `rank_far`.

    Args:
        early: Called with the numbers of all nodes, ascending; returns the numbers of those whose links count the second time.

    Returns:
        (The first ranks; the second ones, in the same order.)
    """
    shares = _shares(view, choice)
    found = None if shares is None else shares.linked()
    if shares is None or found is None:
        return None
    whole = _ranked(shares, found, choice)
    shares.tell([early(whole.numbers).astype("<i8").tobytes()])
    shares.step("early")
    return whole, _ranked(shares, found, choice).found.ranks


def groups_far(view: View, choice: RankChoice) -> FarGroups | None:
    """Rank the hosts or sites of a crawl of several machines; None as by `rank_far`."""
    shares = _shares(view, choice)
    found = None if shares is None else shares.linked()
    return None if shares is None or found is None else _grouped(shares, found, choice)


def _shares(view: View, choice: RankChoice) -> _Shares | None:
    tasks = tasks_of(view)
    return None if tasks is None else _Shares(view, tasks, choice)


def _grouped(shares: _Shares, found: _Linked, choice: RankChoice) -> FarGroups:
    shares.step("groups")
    shares.step("pairs")
    order = GroupsOrder(choice.jump, choice.tolerance, choice.with_hits)
    return FarGroups(RankedGroups.unpacked(shares.together("groups", _encode(order))), found.n_redirects, found.n_self_links)


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

    def __init__(self, view: View, tasks: Tasks, choice: RankChoice) -> None:
        """Let all machines export their links."""
        table = read_partitions(view.path)
        assert table is not None, "it has shards"
        level = "host" if choice.variant != "all" else "" if choice.level == "page" else choice.level
        counts = {"with_redirects": choice.with_redirects and not choice.collapsed, "self_links": choice.self_links}
        self._n = table.shards
        self._view = view
        self._tasks = tasks
        self._choice = choice
        self._starts = [
            Start(shard, self._n, table.table(), choice.jump, level=choice.level, variant=choice.variant, **counts)
            for shard in range(self._n)
        ]
        order = LinksExport(level)
        here = [shard for shard in range(self._n) if table.machines[shard] == table.machines[0]]
        exports = {shard: tasks.export(shard, order) for shard in sorted(range(self._n), key=here.__contains__)}  # others read meanwhile
        self._exports: list[Part] = [exports[shard] for shard in range(self._n)]
        self._fixed: list[Part] = [NOTHING] * self._n
        self._changing: list[Part] = [NOTHING] * self._n
        self._mail: list[list[Part]] = [[NOTHING] * self._n] * self._n  # to each shard, from each shard

    def linked(self) -> _Linked | None:
        """Let all shards join the links to their nodes; None if some URL is known to its finder alone."""
        (n_nodes,) = self.step("begin")
        self.step("links")
        self._exports = [NOTHING] * self._n
        n_unknown, n_links, n_redirects, n_self_links = self.step("degrees")
        if self._choice.collapsed:
            self.tell(_represented(self._view))
            self.step("collapse")
            n_nodes, n_more, n_links = self.step("collapsed")
            n_unknown, n_redirects = n_unknown + n_more, 0
        if self._choice.only_linked:
            (n_nodes,) = self.step("linked")
        return None if n_unknown else _Linked(n_nodes, n_links, n_redirects, n_self_links)

    def tell(self, arrays: list[bytes]) -> None:
        """Send arrays of the head to all shards, each as if from itself."""
        told = self._tasks.put(pack_bytes(arrays))
        self._mail = [[told if sender == shard else NOTHING for sender in range(self._n)] for shard in range(self._n)]

    def together(self, name: str, order: bytes) -> bytes:
        """Return the result of a task, on any machine, with what each shard has sent to itself."""
        (made,) = self._tasks.run(name, [order, *(self._mail[shard][shard] for shard in range(self._n))])
        return self._tasks.fetch([made])[0]

    def own_mail(self) -> list[list[bytes]]:
        """Return what each shard has sent to itself, for the head."""
        return [unpack_bytes(packed) for packed in self._tasks.fetch([self._mail[shard][shard] for shard in range(self._n)])]

    def told(self, *kinds: str) -> list[npt.NDArray[Any]]:
        """Return the columns that all shards have sent to themselves, one after the other."""
        columns = zip(*self.own_mail(), strict=True)
        return [np.frombuffer(b"".join(parts), dtype=kind) for parts, kind in zip(columns, kinds, strict=True)]

    def step(self, name: str, share: float = 0.0) -> list[int]:
        """Let all shards take a step at the same time; return the sums of what they count.

        Raises:
            StoreError: If a shard cannot be read, or its machine does not answer.
        """
        counted: list[Part] = []
        sent: list[list[Part]] = []
        for shard, start in enumerate(self._starts):
            exported = self._exports[shard] if name in OF_EXPORT else NOTHING
            parts = [_encode(Step(name, start, share)), exported, self._fixed[shard], self._changing[shard], *self._mail[shard]]
            sums, fixed, changing, *mail = self._tasks.run("rank", parts, n_results=3 + self._n, shard=shard)
            counted.append(sums)
            sent.append(mail)
            self._changing[shard] = changing
            if name not in ITERATED:
                self._fixed[shard] = fixed
        self._mail = [[mail[shard] for mail in sent] for shard in range(self._n)]
        sums = [msgspec.msgpack.decode(packed, type=list[str]) for packed in self._tasks.fetch(counted)]
        return [sum(map(int, column)) for column in zip(*sums, strict=True)]
