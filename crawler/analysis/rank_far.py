"""PageRank over all pages of a crawl of several machines, computed by all of them at the same time (rank_share.py).

The head carries the votes from shard to shard: arrays as bytes. It holds the numbers, ranks and degrees of all nodes at the end, 33 bytes
each, and no links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from thresher.crawler.analysis.rank_share import Mail, RankServer, Start, Step, Stepped
from thresher.crawler.core.errors import StoreError
from thresher.crawler.graph.csr import I64, Bools
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


def rank_far(view: View, *, jump: float, tolerance: float, with_redirects: bool, self_links: bool) -> FarRanks | None:
    """Rank the pages of a crawl of several machines; None if all of it lies on one disk, or some URL is known to its finder alone.

    Args:
        view: The crawl.
        jump, tolerance: As for `pagerank`.
        with_redirects, self_links: Whether these are links.
    """
    table = read_partitions(view.path) if isinstance(view, ShardsView) else None
    if table is None or len(set(table.machines)) < 2:
        return None
    assert isinstance(view, ShardsView)
    with ThreadPoolExecutor(table.shards) as pool:
        return _ranked(_Shares(view, table, pool), table, jump, tolerance, with_redirects=with_redirects, self_links=self_links)


def _ranked(
    shares: _Shares, table: Partitions, jump: float, tolerance: float, *, with_redirects: bool, self_links: bool
) -> FarRanks | None:
    starts = [
        Start(shard, table.shards, table.table(), jump, with_redirects=with_redirects, self_links=self_links)
        for shard in range(table.shards)
    ]
    (n_nodes,) = shares.step("begin", starts=starts)
    shares.step("links")
    n_unknown, n_links, n_redirects, n_self_links = shares.step("degrees")
    if n_unknown:
        return None
    _, idle = shares.step("votes")

    def step(share: float) -> tuple[int, int]:
        change, idle = shares.step("rank", share)
        return change, idle

    run = iterate(n_nodes, idle, step, jump, tolerance)
    shares.step("told")
    columns = zip(*(shares.mail[shard][shard] for shard in range(table.shards)), strict=True)
    numbers, ranks, into, out, fetched = (
        np.frombuffer(b"".join(parts), dtype=kind) for parts, kind in zip(columns, ("<i8", "<f8", "<i8", "<i8", "?"), strict=True)
    )
    order = np.argsort(numbers)
    return FarRanks(numbers[order], Ranks(ranks[order], *run), into[order], out[order], fetched[order], n_links, n_redirects, n_self_links)


class _Shares:
    """The shares of all shards, here and elsewhere, and the mail between them."""

    def __init__(self, view: ShardsView, table: Partitions, pool: ThreadPoolExecutor) -> None:
        self.mail: dict[int, Mail] = {shard: {} for shard in range(table.shards)}  # to each shard, from each shard
        self._pool = pool
        self._takes = [
            RankServer(partial(view.shards.__getitem__, shard)).take if machine == table.machines[0] else _far(view.job_of(shard))
            for shard, machine in enumerate(table.machines)
        ]

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
