"""Ranks the hosts or sites of a crawl of several machines: a task on any of them, from what each shard has found (rank_share.py).

Memory: 100 bytes a host, 16 a link between hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from thresher.crawler.analysis.columns import Value, pack, unpack, unpack_bytes
from thresher.crawler.graph.csr import I64, Graph
from thresher.crawler.graph.hits import Hits, hits
from thresher.crawler.graph.pagerank import Ranks, pagerank


class GroupsOrder(msgspec.Struct, frozen=True):
    """An order to rank groups. The fields are those of `RankChoice`."""

    jump: float
    tolerance: float
    with_hits: bool


@dataclass(frozen=True, slots=True, eq=False)
class RankedGroups:
    """The hosts or sites of all known URLs, in the order in which these were found, the links between them, and their ranks."""

    graph: Graph
    names: list[str]
    n_urls: I64
    n_pages: I64
    found: Ranks
    hits: Hits | None

    def packed(self) -> bytes:
        """Return all of it as bytes."""
        found, also = self.found, self.hits
        columns: dict[str, Value] = {"graph": self.graph, "names": self.names, "n_urls": self.n_urls, "n_pages": self.n_pages}
        columns |= {"ranks": found.ranks, "run": np.array([found.n_iterations, found.error, found.converged], dtype=np.float64)}
        if also is not None:
            columns |= {"hubs": also.hubs, "authorities": also.authorities, "run of hits": np.array([also.n_iterations, also.converged])}
        return pack(columns)

    @classmethod
    def unpacked(cls, packed: bytes) -> RankedGroups:
        """Return what `packed` packed."""
        columns = unpack(packed)
        n, error, is_converged = columns["run"].tolist()
        found = Ranks(columns["ranks"], int(n), error, converged=bool(is_converged))
        also = None
        if "hubs" in columns:
            n, is_converged = columns["run of hits"].tolist()
            also = Hits(columns["hubs"], columns["authorities"], n, converged=bool(is_converged))
        return cls(columns["graph"], columns["names"], columns["n_urls"], columns["n_pages"], found, also)


_read_order = msgspec.msgpack.Decoder(GroupsOrder).decode


def ranked_groups(order: bytes, *told: bytes) -> list[bytes]:
    """Rank groups, as a task.

    Args:
        told: What each shard has found: links, first URLs, sizes, names.
    """
    wanted = _read_order(order)
    parts = [unpack_bytes(packed) for packed in told]
    n_shards = len(parts)
    pairs, firsts, n_urls, n_pages = (np.frombuffer(b"".join(column), dtype="<i8") for column in list(zip(*parts, strict=True))[:4])
    names = [msgspec.msgpack.decode(part[4], type=list[str]) for part in parts]
    refs = np.concatenate([np.arange(len(some), dtype=np.int64) * n_shards + shard for shard, some in enumerate(names)])
    place = np.argsort(firsts)
    number_of = np.zeros(int(refs.max(initial=-1)) + 1, dtype=np.int64)
    number_of[refs[place]] = np.arange(len(place))
    ends = number_of[pairs].reshape(-1, 2)
    graph = Graph.from_links(ends[:, 0], ends[:, 1], len(place))
    texts = [name for some in names for name in some]
    found = pagerank(graph, jump=wanted.jump, tolerance=wanted.tolerance)
    also = hits(graph) if wanted.with_hits else None
    return [RankedGroups(graph, [texts[i] for i in place.tolist()], n_urls[place], n_pages[place], found, also).packed()]
