"""One shard's part of PageRank over a crawl of several machines, computed where the shard is.

The votes for a node are added up in one place, in the order of the crawl's numbers, as if everything lay on one disk (storage/shards.py):
the ranks are the same to the last bit. These steps follow when the links are joined (link_share.py):

    votes     send to each shard the votes that it wants, in the order in which it named their nodes
    rank      compute new ranks from the votes that came; send the next ones
    told      return the ranks, and what else is printed of own nodes

For the ranks of hosts or sites, which each lie in one shard, others follow:

    groups    group own nodes; send to the shard that has links from some of them what groups these are in
    pairs     return the groups, and which groups link to own ones: one task ranks them all (rank_groups.py)

Hubs and authorities have steps of their own (hits_share.py). A step is a task: what a share knows it has from the task before, as columns,
and leaves to the next one (`take`). Memory: 40 bytes a node. Network: 8 bytes an iteration for each URL with links to another shard and
each such shard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from thresher.crawler.analysis.columns import Value, pack, pack_bytes, unpack, unpack_bytes
from thresher.crawler.analysis.hits_share import HitsShare
from thresher.crawler.analysis.link_share import Answer, LinkShare
from thresher.crawler.analysis.rank_messages import Mail, Start, Step
from thresher.crawler.graph.csr import F64, I64, Bools
from thresher.crawler.graph.pagerank import LOCAL_WEIGHT, InLinks, RankedNodes

OF_EXPORT: Final = ("begin", "links")  # steps that read what the shard's machine has exported
ITERATED: Final = ("rank", "authorities", "hubs")  # steps that change nothing but the few columns below
_CHANGING: Final = ("ranks.ranks", "hits.raw_hubs", "hits.raw_authorities", "hits.authority")
_read_step = msgspec.msgpack.Decoder(Step).decode


def take(packed: bytes, exported: bytes, fixed: bytes, changing: bytes, *mail: bytes) -> list[bytes]:
    """Take a step, as a task.

    Args:
        packed: The step.
        exported: The shard's export, for the steps that read it, else b"".
        fixed, changing: What the share knows: b"" of the first step.
        mail: From each shard, b"" for none.

    Returns:
        What the step counts; what the share knows afterwards, `fixed` and `changing`, the first b"" if it is as before; to each shard.
    """
    step = _read_step(packed)
    step = replace(step, mail={sender: unpack_bytes(one) for sender, one in enumerate(mail) if one})
    share = RankShare(step.start, unpack(exported))
    share.known = unpack(fixed) | unpack(changing)
    sent, sums = share.steps[step.name](step)
    known = share.known
    left = {name: value for name, value in known.items() if name not in _CHANGING}
    return [
        msgspec.msgpack.encode([*map(str, sums)]),  # some have more than 64 bits
        b"" if step.name in ITERATED else pack(left),
        pack({name: value for name, value in known.items() if name in _CHANGING}),
        *(pack_bytes(sent[shard]) if shard in sent else b"" for shard in range(step.start.n_shards)),
    ]


class RankShare:
    """The nodes of one shard, their in-links and their ranks."""

    def __init__(self, start: Start, exported: Mapping[str, Any]) -> None:
        self._of = start
        self._links = LinkShare(start, exported)
        self._hits = HitsShare(self._links)
        self.steps: dict[str, Callable[[Step], Answer]] = {
            **self._links.steps,
            **self._hits.steps,
            "votes": self._votes,
            "rank": self._rank,
            "told": self._told,
            "groups": self._groups,
            "pairs": self._pairs,
        }

    @property
    def known(self) -> dict[str, Value]:
        """What the share knows: the public arrays, links and texts of its parts."""
        parts = {"ranks": self, "links": self._links, "hits": self._hits}
        found: dict[str, Value] = {}
        for part, of in parts.items():
            own = {name: value for name, value in vars(of).items() if not name.startswith("_") and name not in ("steps", "of")}
            found |= {f"{part}.{name}": value for name, value in own.items()}
        return found

    @known.setter
    def known(self, found: Mapping[str, Value]) -> None:
        parts = {"ranks": self, "links": self._links, "hits": self._hits}
        for name, value in found.items():
            part, _, own = name.partition(".")
            setattr(parts[part], own, value)

    # -- ranks

    def _votes(self, step: Step) -> Answer:
        links = self._links
        self.wanted: dict[int, I64] = {  # shard → the own nodes whose votes it wants
            shard: links.nodes_of(np.frombuffer(numbers, dtype="<i8")) for shard, (numbers, _) in sorted(step.mail.items())
        }
        self.out_degrees = links.out_degrees(step.mail)
        self.weights = self._weigh()
        nodes = self._nodes()
        self.ranks = nodes.ranks
        return self._outgoing(nodes), [0, nodes.idle()]

    def _weigh(self) -> F64:
        """Find the in-links that the variant counts; return the sum of the weights of the links of each node."""
        weights = np.zeros(len(self.out_degrees))
        if self._of.variant == "all":
            return weights + self.out_degrees
        backwards, is_local = self._links.backwards, self._is_local()
        own = self._links.nodes_of(self._links.sources()[is_local])
        n_local = np.bincount(own, minlength=len(weights))
        weights += self.out_degrees - n_local
        self.remote = backwards.keeping(~is_local)
        if self._of.variant == "weighted":
            weights += LOCAL_WEIGHT * n_local
            self.local = backwards.keeping(is_local)
        return weights

    def _nodes(self) -> RankedNodes:
        in_links = [(InLinks(self._links.backwards if self._of.variant == "all" else self.remote), 1.0)]
        if self._of.variant == "weighted":
            in_links.append((InLinks(self.local), LOCAL_WEIGHT))
        return RankedNodes(in_links, self.weights, self._of.jump)

    def _is_local(self) -> Bools:
        """Return for each in-link whether it starts at the same host; this shard has all URLs of a host."""
        hosts = self._links.place_of
        sources, targets = self._links.sources(), np.repeat(hosts, self._links.in_degrees())
        is_own = sources % self._of.n_shards == self._of.shard
        is_local = np.zeros(len(sources), dtype=np.bool_)
        is_local[is_own] = hosts[self._links.nodes_of(sources[is_own])] == targets[is_own]
        return is_local

    def _rank(self, step: Step) -> Answer:
        """Compute new ranks; what each node gets from those without links is `share`. Sums: their change, ranks of nodes without links."""
        votes = [np.frombuffer(packed, dtype="<f8") for _, (packed,) in sorted(step.mail.items())]
        nodes = self._nodes()
        nodes.ranks = self.ranks
        change = nodes.step(np.concatenate(votes) if votes else np.zeros(0), step.share)
        self.ranks = nodes.ranks
        return self._outgoing(nodes), [change, nodes.idle()]

    def _outgoing(self, of: RankedNodes) -> Mail:
        votes: F64 = of.votes()
        return {shard: [votes[nodes].astype("<f8").tobytes()] for shard, nodes in self.wanted.items()}

    def _told(self, _step: Step) -> Answer:
        links = self._links
        columns = ((links.numbers, "<i8"), (self.ranks, "<f8"), (links.in_degrees(), "<i8"), (self.out_degrees, "<i8"))
        return {self._of.shard: [*(column.astype(kind).tobytes() for column, kind in columns), links.is_fetched.tobytes()]}, []

    # -- hosts or sites

    def _groups(self, step: Step) -> Answer:
        assert self._of.level != "page"
        found = self._links.places()
        self.names, self.group_of = found.names, found.of.astype(np.int64)
        refs = self.group_of * self._of.n_shards + self._of.shard  # the crawl's name of each group, before all are numbered
        mail: Mail = {}
        for shard, (numbers, _) in step.mail.items():
            mail[shard] = [refs[self._links.nodes_of(np.frombuffer(numbers, dtype="<i8"))].astype("<i8").tobytes()]
        return mail, []

    def _pairs(self, step: Step) -> Answer:
        links = self._links
        refs = [np.frombuffer(packed, dtype="<i8") for _, (packed,) in sorted(step.mail.items())]
        sources = (np.concatenate(refs) if refs else np.zeros(0, dtype=np.int64))[links.backwards.targets]
        targets = np.repeat(self.group_of, links.in_degrees()) * self._of.n_shards + self._of.shard
        pairs = np.unique(np.stack([sources, targets], axis=1)[sources != targets], axis=0)
        n = len(self.names)
        firsts = links.numbers[np.unique(self.group_of, return_index=True)[1]]  # nodes ascend by number
        n_urls = np.bincount(self.group_of, minlength=n)
        n_pages = np.bincount(self.group_of[links.is_fetched], minlength=n)
        columns = [column.astype("<i8").tobytes() for column in (pairs, firsts, n_urls, n_pages)]
        return {self._of.shard: [*columns, msgspec.msgpack.encode(self.names)]}, []
