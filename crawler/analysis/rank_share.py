"""One shard's part of PageRank over a crawl of several machines, computed where the shard is.

The votes for a node are added up in one place, in the order of the crawl's numbers, as if everything lay on one disk (storage/shards.py):
the ranks are the same to the last bit. These steps follow when the links are joined (link_share.py):

    votes     send to each shard the votes that it wants, in the order in which it named their nodes
    rank      compute new ranks from the votes that came; send the next ones
    told      return the ranks, and what else is printed of own nodes

For the ranks of hosts or sites, which each lie in one shard, others follow:

    groups    group own nodes; send to the shard that has links from some of them what groups these are in
    pairs     return the groups, and which groups link to own ones: the head ranks them, since they are few

Hubs and authorities have steps of their own (hits_share.py). Memory: 40 bytes a node. Network: 8 bytes an iteration for each URL with links
to another shard and each such shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

import msgspec
import numpy as np

from thresher.crawler.analysis.hits_share import HitsShare
from thresher.crawler.analysis.link_share import Answer, LinkShare
from thresher.crawler.analysis.rank_messages import Mail, Start, Step, Stepped
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.places import UrlGroups, places
from thresher.crawler.graph.csr import F64, I64, Bools
from thresher.crawler.graph.pagerank import LOCAL_WEIGHT, InLinks, RankedNodes
from thresher.storage.view import View

_CHUNK: Final = 4096


class RankServer:
    """Takes the steps with one shard on this machine's disk. To be used by one thread at a time."""

    def __init__(self, view: Callable[[], View]) -> None:
        """view: opens the shard, or returns it if it is open"""
        self._view = view
        self._share: RankShare | None = None

    def take(self, step: Step) -> Stepped:
        """Take a step."""
        try:
            if step.start is not None:
                self._share = RankShare(self._view(), step.start)
            assert self._share is not None, "the first step begins"
            mail, sums = self._share.steps[step.name](step)
        except StoreError as error:
            return Stepped(fault=str(error))
        return Stepped(mail, [str(one) for one in sums])


class RankShare:
    """The nodes of one shard, their in-links and their ranks."""

    def __init__(self, view: View, start: Start) -> None:
        self._of = start
        self._links = LinkShare(view, start)
        self.steps: dict[str, Callable[[Step], Answer]] = {
            **self._links.steps,
            **HitsShare(self._links).steps,
            "votes": self._votes,
            "rank": self._rank,
            "told": self._told,
            "groups": self._groups,
            "pairs": self._pairs,
        }

    # -- ranks

    def _votes(self, step: Step) -> Answer:
        links = self._links
        self._wanted: dict[int, I64] = {  # shard → the own nodes whose votes it wants
            shard: links.nodes_of(np.frombuffer(numbers, dtype="<i8")) for shard, (numbers, _) in sorted(step.mail.items())
        }
        self._out_degrees = links.out_degrees(step.mail)
        in_links, weights = self._weighted()
        self._nodes = RankedNodes(in_links, weights, self._of.jump)
        return self._outgoing(), [0, self._nodes.idle()]

    def _weighted(self) -> tuple[list[tuple[InLinks, float]], F64]:
        """Return (the in-links that the variant counts, with their weights; the sum of the weights of the links of each node)."""
        backwards, weights = self._links.backwards, np.zeros(len(self._out_degrees))
        if self._of.variant == "all":
            weights += self._out_degrees
            return [(InLinks(backwards), 1.0)], weights
        is_local = self._is_local()
        own = self._links.nodes_of(self._links.sources()[is_local])
        n_local = np.bincount(own, minlength=len(weights))
        weights += self._out_degrees - n_local
        remote = InLinks(backwards.keeping(~is_local)), 1.0
        if self._of.variant == "remote":
            return [remote], weights
        weights += LOCAL_WEIGHT * n_local
        return [remote, (InLinks(backwards.keeping(is_local)), LOCAL_WEIGHT)], weights

    def _is_local(self) -> Bools:
        """Return for each in-link whether it starts at the same host; this shard has all URLs of a host."""
        hosts = self._grouped("host").of
        sources, targets = self._links.sources(), np.repeat(hosts, self._links.in_degrees())
        is_own = sources % self._of.n_shards == self._of.shard
        is_local = np.zeros(len(sources), dtype=np.bool_)
        is_local[is_own] = hosts[self._links.nodes_of(sources[is_own])] == targets[is_own]
        return is_local

    def _rank(self, step: Step) -> Answer:
        """Compute new ranks; what each node gets from those without links is `share`. Sums: their change, ranks of nodes without links."""
        votes = [np.frombuffer(packed, dtype="<f8") for _, (packed,) in sorted(step.mail.items())]
        change = self._nodes.step(np.concatenate(votes) if votes else np.zeros(0), step.share)
        return self._outgoing(), [change, self._nodes.idle()]

    def _outgoing(self) -> Mail:
        votes: F64 = self._nodes.votes()
        return {shard: [votes[nodes].astype("<f8").tobytes()] for shard, nodes in self._wanted.items()}

    def _told(self, _step: Step) -> Answer:
        links = self._links
        columns = ((links.numbers, "<i8"), (self._nodes.ranks, "<f8"), (links.in_degrees(), "<i8"), (self._out_degrees, "<i8"))
        return {self._of.shard: [*(column.astype(kind).tobytes() for column, kind in columns), links.is_fetched.tobytes()]}, []

    # -- hosts or sites

    def _groups(self, step: Step) -> Answer:
        assert self._of.level != "page"
        found = self._grouped(self._of.level)
        self._names, self._group_of = found.names, found.of.astype(np.int64)
        refs = self._group_of * self._of.n_shards + self._of.shard  # the crawl's name of each group, before the head numbers them
        mail: Mail = {}
        for shard, (numbers, _) in step.mail.items():
            mail[shard] = [refs[self._links.nodes_of(np.frombuffer(numbers, dtype="<i8"))].astype("<i8").tobytes()]
        return mail, []

    def _grouped(self, level: Literal["host", "site"]) -> UrlGroups:
        return places(self._texts(), level)

    def _texts(self) -> Iterator[str]:
        """Yield the URLs of own nodes, in their order."""
        numbers = self._links.numbers
        for first in range(0, len(numbers), _CHUNK):
            seqs = numbers[first : first + _CHUNK] // self._of.n_shards
            for record in self._links.view.tables.urls.get_many(seqs.tolist()):
                assert record is not None, "a known URL has a text"
                yield record.text

    def _pairs(self, step: Step) -> Answer:
        links = self._links
        refs = [np.frombuffer(packed, dtype="<i8") for _, (packed,) in sorted(step.mail.items())]
        sources = (np.concatenate(refs) if refs else np.zeros(0, dtype=np.int64))[links.backwards.targets]
        targets = np.repeat(self._group_of, links.in_degrees()) * self._of.n_shards + self._of.shard
        pairs = np.unique(np.stack([sources, targets], axis=1)[sources != targets], axis=0)
        n = len(self._names)
        firsts = links.numbers[np.unique(self._group_of, return_index=True)[1]]  # nodes ascend by number
        n_urls = np.bincount(self._group_of, minlength=n)
        n_pages = np.bincount(self._group_of[links.is_fetched], minlength=n)
        columns = [column.astype("<i8").tobytes() for column in (pairs, firsts, n_urls, n_pages)]
        return {self._of.shard: [*columns, msgspec.msgpack.encode(self._names)]}, []
