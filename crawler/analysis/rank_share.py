"""One shard's part of PageRank over all pages of a crawl of several machines, computed where the shard is.

Each shard has the nodes of its own sites, and all links to them. So the votes for a node are added up in one place, in the order of the
crawl's numbers, as if everything lay on one disk (storage/shards.py): the ranks are the same to the last bit. The head (rank_far.py) orders
the steps, and carries what the shards send to each other:

    begin     read the known URLs; send to the shard that has a visit's results what URL that visit settled
    links     read the links and redirects; send each to the shard that has its target, which is named by its key
    degrees   join the links to own nodes; send to the shard that has a source how many links it has here
    votes     send to each shard the votes that it wants, in the order in which it named their nodes
    rank      compute new ranks from the votes that came; send the next ones
    told      return the ranks, and what else is printed of own nodes

For the ranks of hosts or sites, which each lie in one shard, other steps follow on `degrees`:

    groups    group own nodes; send to the shard that has links from some of them what groups these are in
    pairs     return the groups, and which groups link to own ones: the head ranks them, since they are few

Messages are arrays as bytes. A URL that its owner does not know yet, since a message is under way, has no node here: then `degrees` says
so, and the ranks cannot be computed this way.

Memory: 70 bytes a known URL of the shard, 24 bytes a link while they are joined, then 4. Network: 24 bytes once for each link from one
shard to another, 8 bytes an iteration for each URL with such links and each shard that they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import State
from thresher.crawler.core.places import Level, places
from thresher.crawler.graph.csr import F64, I64, Bools, Graph
from thresher.crawler.graph.pagerank import InLinks, RankedNodes
from thresher.storage.graph import link_rows
from thresher.storage.packing import SEEN_ROW, unpack_u64, visits_of
from thresher.storage.schema import PAGES, SEEN, Meta
from thresher.storage.view import View

Mail = dict[int, list[bytes]]  # shard → arrays
_KEY: Final = "S16"  # compares as the bytes of a key do
_PLACED: Final = np.dtype([("visit", "<i8"), ("number", "<i8")])
_LINK: Final = np.dtype([("source", "<i8"), ("target", _KEY)])
_LOW: Final = np.int64(2**32 - 1)
_CHUNK: Final = 4096


class Start(msgspec.Struct, frozen=True):
    """What a share is of. owners: agent of each partition, a byte each"""

    shard: int
    n_shards: int
    owners: bytes
    jump: float
    with_redirects: bool
    self_links: bool
    level: Level = "page"  # what is ranked


class Step(msgspec.Struct, tag=True, frozen=True):
    """An order of the head. mail: what other shards have sent; share: of each node, from nodes without links"""

    name: str
    start: Start | None = None
    mail: Mail = {}
    share: float = 0.0


class Stepped(msgspec.Struct, frozen=True):
    """The answer. sums: integers as decimal digits, since some have more than 64 bits; fault: why the shard cannot be read, "" if it can"""

    mail: Mail = {}
    sums: list[str] = []
    fault: str = ""


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
        self._view = view
        self._of = start
        self._owners = np.frombuffer(start.owners, dtype=np.uint8)
        self.steps: dict[str, Callable[[Step], tuple[Mail, list[int]]]] = {
            "begin": self._begin,
            "links": self._links,
            "degrees": self._degrees,
            "votes": self._votes,
            "rank": self._rank,
            "told": self._told,
            "groups": self._groups,
            "pairs": self._pairs,
        }

    # -- known URLs

    def _begin(self, _step: Step) -> tuple[Mail, list[int]]:
        n = unpack_u64(self._view.meta(Meta.NEXT_SEQ))
        self._node_of = np.full(n, -1, dtype=np.int64)  # number in the shard → node, in this order
        self._foreign_keys = np.zeros(n, dtype=_KEY)  # number in the shard → key of another agent's URL
        keys, seqs, visits = self._own(n)
        order = np.argsort(seqs, kind="stable")
        self._keys, self._by_key = keys, np.empty(len(keys), dtype=np.int64)  # keys ascend; the node of each
        self._by_key[order] = np.arange(len(order))
        self._numbers = seqs[order] * self._of.n_shards + self._of.shard  # the crawl's number of each node
        self._node_of[seqs[order]] = np.arange(len(order))
        visits, shards = visits_of(visits[order], self._of.shard)
        self._is_fetched = np.zeros(len(order), dtype=np.bool_)
        mail: Mail = {}
        for shard in np.unique(shards[visits > 0]).tolist():
            there = (shards == shard) & (visits > 0)
            placed = np.empty(int(there.sum()), dtype=_PLACED)
            placed["visit"], placed["number"] = visits[there], self._numbers[there]
            mail[shard] = [placed.tobytes()]
        return mail, [len(order)]

    def _own(self, n: int) -> tuple[npt.NDArray[np.bytes_], I64, I64]:
        """Read the known URLs below number `n`; return (keys, numbers in the shard, visits as stored) of own ones."""
        found: list[tuple[Any, I64, I64]] = []
        rows = self._view.rows(SEEN)
        while chunk := list(islice(rows, _CHUNK)):
            values = np.frombuffer(b"".join(value for _, value in chunk), dtype=SEEN_ROW)
            keys = np.frombuffer(b"".join(key for key, _ in chunk), dtype=_KEY)
            seqs = values["seq"].astype(np.int64)
            is_older, is_own = seqs < n, values["state"] != State.OUTBOX
            away, own = is_older & ~is_own, is_older & is_own
            self._foreign_keys[seqs[away]] = keys[away]
            found.append((keys[own], seqs[own], values["visit"][own].astype(np.int64)))
        if not found:
            return np.zeros(0, dtype=_KEY), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        keys, seqs, visits = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return keys, seqs, visits

    # -- links

    def _links(self, step: Step) -> tuple[Mail, list[int]]:
        end = self._view.visit
        sources_of = np.zeros(end, dtype=np.int64)  # visit → the crawl's number of the URL that it settled last; 0: none
        mail: Mail = {}
        pages = np.fromiter((unpack_u64(key) for key in self._view.keys(PAGES)), dtype=np.int64)
        for shard, (packed,) in step.mail.items():
            placed = np.frombuffer(packed, dtype=_PLACED)
            older = placed[placed["visit"] < end]
            sources_of[older["visit"]] = older["number"]
            is_page = np.isin(placed["visit"], pages)
            mail[shard] = [b"", b"", placed["number"][is_page].astype("<i8").tobytes()]
        for which, found in enumerate((self._stored(sources_of, end), self._redirects())):
            owners = self._owner_of(found["target"])
            for shard in np.unique(owners).tolist():
                mail.setdefault(shard, [b"", b"", b""])[which] = found[owners == shard].tobytes()
        return mail, []

    def _stored(self, sources_of: I64, end: int) -> npt.NDArray[Any]:
        """Return the links of the last visits of URLs."""
        parts = [np.zeros(0, dtype=_LINK)]
        own_keys = np.zeros(len(self._numbers), dtype=_KEY)
        own_keys[self._by_key] = self._keys
        for visits, counts, all_targets in link_rows(self._view, end):
            sources = np.repeat(sources_of[visits], counts)
            kept = (sources > 0) & (all_targets < len(self._node_of))
            targets = all_targets[kept]
            nodes = self._node_of[targets]
            links = np.empty(len(targets), dtype=_LINK)
            links["source"] = sources[kept]
            links["target"] = np.where(
                nodes >= 0, own_keys[nodes] if len(own_keys) else self._foreign_keys[targets], self._foreign_keys[targets]
            )
            parts.append(links[links["target"] != b""])  # others are numbers of no URL
        return np.concatenate(parts)

    def _redirects(self) -> npt.NDArray[Any]:
        """Return the redirects of own URLs."""
        pairs = [(key, edge.to_key) for key, edge in self._view.all_edges() if edge.to_key]
        nodes = self._find(np.array([key for key, _ in pairs], dtype=_KEY))
        links = np.empty(len(pairs), dtype=_LINK)
        links["source"] = np.where(nodes >= 0, self._numbers[nodes], 0) if len(self._numbers) else 0
        links["target"] = [key for _, key in pairs]
        return links[links["source"] > 0]

    def _owner_of(self, keys: npt.NDArray[np.bytes_]) -> I64:
        first: I64 = np.ascontiguousarray(keys).view(np.uint8).reshape(-1, 16)[:, :2].astype(np.int64)
        owners: I64 = self._owners[first[:, 0] << 4 | first[:, 1] >> 4].astype(np.int64)
        return owners

    def _find(self, keys: npt.NDArray[np.bytes_]) -> I64:
        """Return the own node of each key, -1 if there is none."""
        if not len(self._keys):
            return np.full(len(keys), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._by_key[at], -1)

    # -- the graph

    def _degrees(self, step: Step) -> tuple[Mail, list[int]]:
        """Join the links to own nodes. Sums: links to URLs that are not known here, links, redirects, links of a page to itself."""
        packed: list[list[bytes]] = [[], [], []]
        for parts in step.mail.values():
            for which, part in enumerate(parts):
                packed[which].append(part)
        fetched = np.frombuffer(b"".join(packed[2]), dtype="<i8") // self._of.n_shards
        self._is_fetched[self._node_of[fetched]] = True
        links, redirects = (np.frombuffer(b"".join(part), dtype=_LINK) for part in packed[:2])
        n_self_links = int(self._is_self(links).sum())
        n_redirects = int((self._find(redirects["target"]) >= 0).sum())
        n_unknown = int((self._find(links["target"]) < 0).sum())
        counted = np.concatenate([links, redirects]) if self._of.with_redirects else links
        counted = counted if self._of.self_links else counted[~self._is_self(counted)]
        nodes = self._find(counted["target"])
        joined = np.unique(nodes[nodes >= 0] << 32 | counted["source"][nodes >= 0])
        offsets = np.searchsorted(joined, np.arange(len(self._numbers) + 1, dtype=np.int64) << 32).astype(np.int64)
        self._in_degrees = np.diff(offsets)
        sources, places, counts = np.unique(joined & _LOW, return_inverse=True, return_counts=True)
        homes = sources % self._of.n_shards
        order = np.argsort(homes, kind="stable")  # votes come shard by shard, and in the order of numbers
        place = np.empty(len(sources), dtype=np.int32)
        place[order] = np.arange(len(order))
        self._backwards = Graph(offsets, place[places])
        mail: Mail = {}
        for shard in np.unique(homes).tolist():
            there = homes == shard
            mail[shard] = [sources[there].astype("<i8").tobytes(), counts[there].astype("<i8").tobytes()]
        return mail, [n_unknown, len(joined), n_redirects, n_self_links]

    def _is_self(self, links: npt.NDArray[Any]) -> Bools:
        nodes = self._find(links["target"])
        numbers = self._numbers[nodes] if len(self._numbers) else nodes
        return np.asarray((nodes >= 0) & (numbers == links["source"]), dtype=np.bool_)

    # -- ranks

    def _votes(self, step: Step) -> tuple[Mail, list[int]]:
        self._wanted: dict[int, I64] = {}  # shard → the own nodes whose votes it wants
        self._out_degrees = np.zeros(len(self._numbers), dtype=np.int64)
        for shard, (numbers, counts) in sorted(step.mail.items()):
            nodes = self._node_of[np.frombuffer(numbers, dtype="<i8") // self._of.n_shards]
            self._out_degrees[nodes] += np.frombuffer(counts, dtype="<i8")
            self._wanted[shard] = nodes
        self._nodes = RankedNodes([(InLinks(self._backwards), 1.0)], self._out_degrees.astype(np.float64), self._of.jump)
        return self._outgoing(), [0, self._nodes.idle()]

    def _rank(self, step: Step) -> tuple[Mail, list[int]]:
        """Compute new ranks. Sums: their change, and the ranks of nodes without links."""
        votes = [np.frombuffer(packed, dtype="<f8") for _, (packed,) in sorted(step.mail.items())]
        change = self._nodes.step(np.concatenate(votes) if votes else np.zeros(0), step.share)
        return self._outgoing(), [change, self._nodes.idle()]

    def _outgoing(self) -> Mail:
        votes: F64 = self._nodes.votes()
        return {shard: [votes[nodes].astype("<f8").tobytes()] for shard, nodes in self._wanted.items()}

    def _told(self, _step: Step) -> tuple[Mail, list[int]]:
        columns = ((self._numbers, "<i8"), (self._nodes.ranks, "<f8"), (self._in_degrees, "<i8"), (self._out_degrees, "<i8"))
        return {self._of.shard: [*(column.astype(kind).tobytes() for column, kind in columns), self._is_fetched.tobytes()]}, []

    # -- hosts or sites

    def _groups(self, step: Step) -> tuple[Mail, list[int]]:
        assert self._of.level != "page"
        found = places(self._texts(), self._of.level)
        self._names, self._group_of = found.names, found.of.astype(np.int64)
        refs = self._group_of * self._of.n_shards + self._of.shard  # the crawl's name of each group, before the head numbers them
        mail: Mail = {}
        for shard, (numbers, _) in step.mail.items():
            nodes = self._node_of[np.frombuffer(numbers, dtype="<i8") // self._of.n_shards]
            mail[shard] = [refs[nodes].astype("<i8").tobytes()]
        return mail, []

    def _texts(self) -> Iterator[str]:
        """Yield the URLs of own nodes, in their order."""
        for first in range(0, len(self._numbers), _CHUNK):
            seqs = self._numbers[first : first + _CHUNK] // self._of.n_shards
            for record in self._view.tables.urls.get_many(seqs.tolist()):
                assert record is not None, "a known URL has a text"
                yield record.text

    def _pairs(self, step: Step) -> tuple[Mail, list[int]]:
        refs = [np.frombuffer(packed, dtype="<i8") for _, (packed,) in sorted(step.mail.items())]
        sources = (np.concatenate(refs) if refs else np.zeros(0, dtype=np.int64))[self._backwards.targets]
        targets = np.repeat(self._group_of, self._in_degrees) * self._of.n_shards + self._of.shard
        pairs = np.unique(np.stack([sources, targets], axis=1)[sources != targets], axis=0)
        n = len(self._names)
        firsts = self._numbers[np.unique(self._group_of, return_index=True)[1]]  # nodes ascend by number
        n_urls = np.bincount(self._group_of, minlength=n)
        n_pages = np.bincount(self._group_of[self._is_fetched], minlength=n)
        columns = [column.astype("<i8").tobytes() for column in (pairs, firsts, n_urls, n_pages)]
        return {self._of.shard: [*columns, msgspec.msgpack.encode(self._names)]}, []
