"""One shard's part of the link graph of a crawl of several machines: the nodes of its own sites, and all links to them.

It begins with what the shard's machine has exported (link_export.py). What is ranked there, rank_share.py and hits_share.py say. The head
(rank_far.py) orders the steps; each is a task, which knows what the one before it has left and what the others' have sent:

    begin      read the known URLs; send to the shard that has a visit's results what URL that visit settled
    links      read the links and redirects; send each to the shard that has its target, which is named by its key
    degrees    join the links to own nodes; send to the shard that has a source how many links it has here
    collapse   of the head's list of URLs that another one represents: send each link to the shard of the page that its target stands for
    collapsed  join these links to the nodes that stand for themselves; send as `degrees` does
    linked     leave out own nodes without a link; send as `degrees` does
    early      of the links, keep those from nodes of the head's list, whose pages were fetched early; send as `degrees` does

Messages are arrays as bytes. A URL that its owner does not know yet, since a message is under way, has no node here: then `degrees` says
so, and the ranks cannot be computed this way.

Memory: 70 bytes a known URL of the shard, 24 bytes a link while they are joined, then 12. Network: 24 bytes once for each link from one
shard to another; 16 to each shard for each URL that another one represents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.analysis.link_export import KEY
from thresher.crawler.analysis.rank_messages import Mail, Start, Step
from thresher.crawler.core.places import UrlGroups
from thresher.crawler.graph.csr import I64, Bools, Graph
from thresher.storage.packing import visits_of

_PLACED: Final = np.dtype([("visit", "<i8"), ("number", "<i8")])
_LINK: Final = np.dtype([("source", "<i8"), ("target", KEY)])
_LOW: Final = np.int64(2**32 - 1)
Answer = tuple[Mail, list[int]]  # what a step sends, and what it counts


class LinkShare:
    """The nodes of one shard and their in-links."""

    def __init__(self, start: Start, exported: Mapping[str, Any]) -> None:
        """Create a share that knows nothing.

        Args:
            exported: The columns of its shard, for the steps that read them.
        """
        self.of = start
        self._exported = exported
        self.steps: dict[str, Callable[[Step], Answer]] = {
            "begin": self._begin,
            "links": self._links,
            "degrees": self._degrees,
            "collapse": self._collapse,
            "collapsed": self._collapsed,
            "linked": self._linked,
            "early": self._early,
        }

    # -- known URLs

    def _begin(self, _step: Step) -> Answer:
        n, is_own = int(self._exported["n"]), self._exported["is_own"]
        all_keys, all_seqs = self._exported["key"], self._exported["seq"]
        self.node_of = np.full(n, -1, dtype=np.int64)  # number in the shard → node, in this order
        self.foreign_keys = np.zeros(n, dtype=KEY)  # number in the shard → key of another agent's URL
        self.foreign_keys[all_seqs[~is_own]] = all_keys[~is_own]
        keys, seqs, visits = all_keys[is_own], all_seqs[is_own], self._exported["visit"][is_own]
        order = np.argsort(seqs, kind="stable")
        self.keys, self.by_key = keys, np.empty(len(keys), dtype=np.int64)  # keys ascend; the node of each
        self.by_key[order] = np.arange(len(order))
        self.numbers = seqs[order] * self.of.n_shards + self.of.shard  # the crawl's number of each node
        self.node_of[seqs[order]] = np.arange(len(order))
        self.place_of = self._exported.get("place", np.zeros(len(order), dtype=np.int32))  # the host or site of each node
        self.place_names: list[str] = self._exported.get("name", [])
        visits, shards = visits_of(visits[order], self.of.shard)
        self.is_fetched = np.zeros(len(order), dtype=np.bool_)
        mail: Mail = {}
        for shard in np.unique(shards[visits > 0]).tolist():
            there = (shards == shard) & (visits > 0)
            placed = np.empty(int(there.sum()), dtype=_PLACED)
            placed["visit"], placed["number"] = visits[there], self.numbers[there]
            mail[shard] = [placed.tobytes()]
        return mail, [len(order)]

    # -- links

    def _links(self, step: Step) -> Answer:
        end, pages = int(self._exported["end"]), self._exported["page"]
        sources_of = np.zeros(end, dtype=np.int64)  # visit → the crawl's number of the URL that it settled last; 0: none
        mail: Mail = {}
        for shard, (packed,) in step.mail.items():
            placed = np.frombuffer(packed, dtype=_PLACED)
            older = placed[placed["visit"] < end]
            sources_of[older["visit"]] = older["number"]
            is_page = np.isin(placed["visit"], pages)
            mail[shard] = [b"", b"", placed["number"][is_page].astype("<i8").tobytes()]
        for which, found in enumerate((self._stored(sources_of), self._redirects())):
            owners = self._owner_of(found["target"])
            for shard in np.unique(owners).tolist():
                mail.setdefault(shard, [b"", b"", b""])[which] = found[owners == shard].tobytes()
        return mail, []

    def _stored(self, sources_of: I64) -> npt.NDArray[Any]:
        """Return the links of the last visits of URLs."""
        own_keys = np.zeros(len(self.numbers), dtype=KEY)
        own_keys[self.by_key] = self.keys
        exported = self._exported
        sources = np.repeat(sources_of[exported["visit_of_links"]], exported["count"])
        kept = (sources > 0) & (exported["target"] < len(self.node_of))
        targets = exported["target"][kept]
        nodes = self.node_of[targets]
        links = np.empty(len(targets), dtype=_LINK)
        links["source"] = sources[kept]
        foreign = self.foreign_keys[targets]
        links["target"] = np.where(nodes >= 0, own_keys[nodes] if len(own_keys) else foreign, foreign)
        found: npt.NDArray[Any] = links[links["target"] != b""]  # others are numbers of no URL
        return found

    def _redirects(self) -> npt.NDArray[Any]:
        """Return the redirects of own URLs."""
        nodes = self._find(self._exported["source_key"])
        links = np.empty(len(nodes), dtype=_LINK)
        links["source"] = np.where(nodes >= 0, self.numbers[nodes], 0) if len(self.numbers) else 0
        links["target"] = self._exported["target_key"]
        found: npt.NDArray[Any] = links[links["source"] > 0]
        return found

    def _owner_of(self, keys: npt.NDArray[np.bytes_]) -> I64:
        first: I64 = np.ascontiguousarray(keys).view(np.uint8).reshape(-1, 16)[:, :2].astype(np.int64)
        owners: I64 = np.frombuffer(self.of.owners, dtype=np.uint8)[first[:, 0] << 4 | first[:, 1] >> 4].astype(np.int64)
        return owners

    def _find(self, keys: npt.NDArray[np.bytes_]) -> I64:
        """Return the own node of each key, -1 if there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.by_key[at], -1)

    # -- the graph

    def _degrees(self, step: Step) -> Answer:
        """Join the links to own nodes. Sums: links to URLs that are not known here, links, redirects, links of a page to itself."""
        packed: list[list[bytes]] = [[], [], []]
        for parts in step.mail.values():
            for which, part in enumerate(parts):
                packed[which].append(part)
        fetched = np.frombuffer(b"".join(packed[2]), dtype="<i8")
        self.is_fetched = self.is_fetched.copy()
        self.is_fetched[self.nodes_of(fetched)] = True
        links, redirects = (np.frombuffer(b"".join(part), dtype=_LINK) for part in packed[:2])
        n_self_links = int(self._is_self(links).sum())
        n_redirects = int((self._find(redirects["target"]) >= 0).sum())
        n_unknown = int((self._find(links["target"]) < 0).sum())
        counted = np.concatenate([links, redirects]) if self.of.with_redirects else links
        counted = counted if self.of.self_links else counted[~self._is_self(counted)]
        nodes = self._find(counted["target"])
        self._join(nodes[nodes >= 0], counted["source"][nodes >= 0])
        del self.keys, self.by_key, self.foreign_keys
        return self._counted(), [n_unknown, self.backwards.n_links, n_redirects, n_self_links]

    def _is_self(self, links: npt.NDArray[Any]) -> Bools:
        nodes = self._find(links["target"])
        numbers = self.numbers[nodes] if len(self.numbers) else nodes
        return np.asarray((nodes >= 0) & (numbers == links["source"]), dtype=np.bool_)

    def _collapse(self, step: Step) -> Answer:
        """Move links and fetches to the pages that their URLs stand for; links within a page are none."""
        ((originals, ends),) = ([np.frombuffer(packed, dtype="<i8") for packed in arrays] for arrays in step.mail.values())

        def ends_of(numbers: I64) -> I64:
            at = np.minimum(np.searchsorted(originals, numbers), max(0, len(originals) - 1))
            return np.where(originals[at] == numbers, ends[at], numbers) if len(originals) else numbers

        sources, targets = ends_of(self.sources()), ends_of(np.repeat(self.numbers, self.in_degrees()))
        stays = (sources >= 0) & (targets >= 0) & (sources != targets)
        links = np.unique(np.stack([targets, sources], axis=1)[stays], axis=0)
        own, fetched = ends_of(self.numbers), np.unique(ends_of(self.numbers[self.is_fetched]))
        self._keep(own == self.numbers)
        mail: Mail = {}
        for shard in range(self.of.n_shards):
            here = links[links[:, 0] % self.of.n_shards == shard], fetched[(fetched >= 0) & (fetched % self.of.n_shards == shard)]
            mail[shard] = [array.astype("<i8").tobytes() for array in here]
        return mail, []

    def _collapsed(self, step: Step) -> Answer:
        """Join the moved links. Sums: nodes, links and fetches of pages that are not known here, links."""
        packed_links, packed_fetches = (b"".join(parts) for parts in zip(*step.mail.values(), strict=True))
        links, fetched = np.frombuffer(packed_links, dtype="<i8").reshape(-1, 2), self.nodes_of(np.frombuffer(packed_fetches, dtype="<i8"))
        nodes = self.nodes_of(links[:, 0])
        self.is_fetched = self.is_fetched.copy()
        self.is_fetched[fetched[fetched >= 0]] = True
        self._join(nodes[nodes >= 0], links[nodes >= 0, 1])
        return self._counted(), [len(self.numbers), int((nodes < 0).sum() + (fetched < 0).sum()), self.backwards.n_links]

    def _linked(self, step: Step) -> Answer:
        """Sums: nodes."""
        has_links = self.in_degrees() + self.out_degrees(step.mail) > 0
        in_links = np.repeat(np.cumsum(has_links) - 1, self.in_degrees()), self.sources()
        self._keep(has_links)
        self._join(*in_links)
        return self._counted(), [len(self.numbers)]

    def _early(self, step: Step) -> Answer:
        ((numbers,),) = step.mail.values()
        stays = np.isin(self.sources(), np.frombuffer(numbers, dtype="<i8"))
        self._join(np.repeat(np.arange(len(self.numbers)), self.in_degrees())[stays], self.sources()[stays])
        return self._counted(), []

    def _keep(self, kept: Bools) -> None:
        """Leave out the other nodes. What is known of links does not hold any more."""
        self.node_of = self.node_of.copy()
        self.node_of[self.numbers // self.of.n_shards] = np.where(kept, np.cumsum(kept) - 1, -1)
        self.numbers, self.is_fetched, self.place_of = self.numbers[kept], self.is_fetched[kept], self.place_of[kept]

    def _join(self, nodes: I64, sources: I64) -> None:
        """Take these for the in-links of own nodes.

        Args:
            nodes: Where each leads.
            sources: The number of the URL where each starts.
        """
        joined = np.unique(nodes << 32 | sources)
        offsets = np.searchsorted(joined, np.arange(len(self.numbers) + 1, dtype=np.int64) << 32).astype(np.int64)
        self.backwards, self.sources_of = gathered(offsets, joined & _LOW, self.of.n_shards)

    def _counted(self) -> Mail:
        """Send to the shards that have sources of own in-links how many links each of these has here."""
        counts = np.bincount(self.backwards.targets)  # each source has a link
        ends = np.cumsum([len(numbers) for numbers in self.sources_of.values()])
        parts = zip(self.sources_of.items(), np.split(counts, ends[:-1]), strict=True) if len(ends) else ()
        return {shard: [numbers.astype("<i8").tobytes(), some.astype("<i8").tobytes()] for (shard, numbers), some in parts}

    # -- for what is ranked

    def nodes_of(self, numbers: I64) -> I64:
        """Return the own nodes of the crawl's numbers of this shard, -1 where it has none."""
        seqs = numbers // self.of.n_shards
        nodes: I64 = np.where(seqs < len(self.node_of), self.node_of[np.minimum(seqs, len(self.node_of) - 1)], -1)
        return nodes

    def places(self) -> UrlGroups:
        """Group own nodes as the export does."""
        found, firsts, of = np.unique(self.place_of, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        number_of = np.empty(len(found), dtype=np.int32)
        number_of[order] = np.arange(len(found))
        return UrlGroups(number_of[of], [self.place_names[place] for place in found[order].tolist()])

    def in_degrees(self) -> I64:
        """Return how many links lead to each own node."""
        return self.backwards.out_degrees()

    def out_degrees(self, mail: Mail) -> I64:
        """Return how many links start at each own node.

        Args:
            mail: What all shards have sent in the last of these steps.
        """
        degrees = np.zeros(len(self.numbers), dtype=np.int64)
        for numbers, counts in mail.values():
            degrees[self.nodes_of(np.frombuffer(numbers, dtype="<i8"))] += np.frombuffer(counts, dtype="<i8")
        return degrees

    def sources(self) -> I64:
        """Return the crawl's number of the URL where each in-link starts."""
        numbers = [*self.sources_of.values()]
        return np.concatenate(numbers)[self.backwards.targets] if numbers else np.zeros(0, dtype=np.int64)


def gathered(offsets: I64, others: I64, n_shards: int) -> tuple[Graph, dict[int, I64]]:
    """Return the links of own nodes with URLs anywhere, as places in what the shards of these send.

    Args:
        offsets: Where the links of each node begin, as in `Graph`.
        others: The crawl's number of each link's other URL, ascending for each node.
        n_shards: Of the crawl.

    Returns:
        (The links: their ends are places among the values of all these URLs, shard by shard, by number.
        By shard: the numbers of its URLs whose values are wanted, ascending.)
    """
    distinct, places = np.unique(others, return_inverse=True)
    shards = distinct % n_shards
    order = np.argsort(shards, kind="stable")
    place = np.empty(len(distinct), dtype=np.int32)
    place[order] = np.arange(len(order))
    return Graph(offsets, place[places]), {shard: distinct[shards == shard] for shard in np.unique(shards).tolist()}
