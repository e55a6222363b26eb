"""One shard's part of hubs and authorities over a crawl of several machines, computed where the shard is.

As for PageRank (rank_share.py), what a node gets is added up in one place, in the order of the crawl's numbers. These steps follow when the
links are joined (link_share.py); values travel as they were added up, and each shard divides them by the mean that the head tells:

    outward      send each link to the shard that has its source
    ends         join these links to own nodes; send to each shard whose hubs and authorities are wanted here
    first hubs   send the first hubs, 1 each
    authorities  compute authorities from the hubs that came; send them. share: the mean of the hubs
    hubs         the same the other way round. share: the mean of the authorities
    found        return both. share: the mean of the hubs

Memory: 8 bytes a link, 40 bytes a node. Network: 16 bytes once for each link; 8 bytes, twice an iteration, for each URL with links to or
from another shard and each such shard.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thresher.crawler.analysis.link_share import Answer, LinkShare, gathered
from thresher.crawler.analysis.rank_messages import Mail, Step
from thresher.crawler.graph.csr import F64, I64, Graph
from thresher.crawler.graph.pagerank import InLinks, exact_sum


class HitsShare:
    """The hubs and authorities of the nodes of one shard."""

    def __init__(self, links: LinkShare) -> None:
        self._links = links
        self.steps: dict[str, Callable[[Step], Answer]] = {
            "outward": self._outward,
            "ends": self._ends,
            "first hubs": self._first_hubs,
            "authorities": self._authorities,
            "hubs": self._hubs,
            "found": self._found,
        }

    def _outward(self, _step: Step) -> Answer:
        links = self._links
        sources, targets = links.sources(), np.repeat(links.numbers, links.in_degrees())
        shards = sources % links.of.n_shards
        pairs = np.stack([sources, targets], axis=1).astype("<i8")
        return {shard: [pairs[shards == shard].tobytes()] for shard in np.unique(shards).tolist()}, []

    def _ends(self, step: Step) -> Answer:
        links = self._links
        pairs = np.frombuffer(b"".join(packed for (packed,) in step.mail.values()), dtype="<i8").reshape(-1, 2)
        nodes = links.nodes_of(pairs[:, 0])
        order = np.lexsort((pairs[:, 1], nodes))
        offsets = np.searchsorted(nodes[order], np.arange(len(links.numbers) + 1)).astype(np.int64)
        forwards, targets_of = gathered(offsets, pairs[order, 1], links.of.n_shards)
        self.forwards = forwards
        mail: Mail = {}
        for shard in links.sources_of.keys() | targets_of.keys():
            wanted = (of.get(shard, np.zeros(0, dtype=np.int64)) for of in (links.sources_of, targets_of))
            mail[shard] = [numbers.astype("<i8").tobytes() for numbers in wanted]
        return mail, []

    def _first_hubs(self, step: Step) -> Answer:
        self.hubs_to: dict[int, I64] = {}  # shard → the own nodes whose hubs it wants
        self.authorities_to: dict[int, I64] = {}
        for shard, packed in step.mail.items():
            of_hubs, of_authorities = (self._links.nodes_of(np.frombuffer(numbers, dtype="<i8")) for numbers in packed)
            self.hubs_to |= {shard: of_hubs} if len(of_hubs) else {}
            self.authorities_to |= {shard: of_authorities} if len(of_authorities) else {}
        n = len(self._links.numbers)
        self.raw_hubs = np.ones(n)  # before they are divided by their mean
        self.raw_authorities, self.authority = np.zeros(n), np.zeros(n)
        return _sent(self.raw_hubs, self.hubs_to), []

    def _authorities(self, step: Step) -> Answer:
        """Compute authorities. Sums: of these, before they are divided by their mean."""
        self.raw_authorities = _added(self._links.backwards, step, len(self.authority))
        return _sent(self.raw_authorities, self.authorities_to), [exact_sum(self.raw_authorities)]

    def _hubs(self, step: Step) -> Answer:
        """Compute hubs. Sums: of these, before they are divided by their mean; the change of authorities."""
        new = self.raw_authorities / step.share
        change, self.authority = exact_sum(np.abs(new - self.authority)), new
        self.raw_hubs = _added(self.forwards, step, len(new))
        return _sent(self.raw_hubs, self.hubs_to), [exact_sum(self.raw_hubs), change]

    def _found(self, step: Step) -> Answer:
        columns = self.raw_hubs / step.share, self.authority
        return {self._links.of.shard: [column.astype("<f8").tobytes() for column in columns]}, []


def _sent(values: F64, to: dict[int, I64]) -> Mail:
    return {shard: [values[nodes].astype("<f8").tobytes()] for shard, nodes in to.items()}


def _added(links: Graph, step: Step, n: int) -> F64:
    """Return [n] the sums over links of the values that came, each divided by their mean."""
    parts = [np.frombuffer(packed, dtype="<f8") for _, (packed,) in sorted(step.mail.items())]
    found = np.zeros(n)
    InLinks(links).add(np.concatenate(parts) / step.share if parts else np.zeros(0), 1.0, found)
    return found
