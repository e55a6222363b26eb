"""What `rank` ranks: the link graph of a file or of a crawl, at the level of pages, hosts or sites.

By default a redirect is a link to its target, and a link of a page to itself does not count; options change both. A crawl knows URLs that
no link leads to or from, a file of links does not: `linked` leaves them out, so that a crawl and the links exported from it give the same
graph under the same options. If the graph is collapsed, all URLs of one page are one node (storage/representatives.py), and errors are no
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from thresher.crawler.analysis.rank_far import RankChoice, groups_far, rank_far
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.places import Level, UrlGroups, places
from thresher.crawler.graph.collapse import DROPPED, collapse, resolve
from thresher.crawler.graph.csr import F64, I64, Bools, Graph
from thresher.crawler.graph.hits import Hits, hits
from thresher.crawler.graph.pagerank import JUMP, Ranks, Variant, layers, pagerank
from thresher.crawler.graph.reading import NamedGraph
from thresher.storage.graph import KnownUrls, read_known, read_links, redirects
from thresher.storage.representatives import representatives
from thresher.storage.view import View

_CHUNK = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Crawled:
    """What a crawl adds to a graph. `fetches`: each node once, in the order in which their pages were fetched."""

    fetches: I64
    depths: I64  # clicks from a seed, [n_nodes]

    def is_fetched(self) -> Bools:
        found = np.zeros(len(self.depths), dtype=np.bool_)
        found[self.fetches] = True
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A graph of URLs. urls: gives the text of nodes, in their order."""

    where: str  # for messages
    graph: Graph
    urls: Callable[[Iterable[int]], Iterator[str]]
    crawled: Crawled | None = None
    n_redirects: int = 0  # known redirects, whether they count as links or not
    n_self_links: int = 0

    def linked(self) -> Subject:
        """Return the subject without nodes that have no link."""
        graph = self.graph
        nodes = np.flatnonzero(graph.out_degrees() + graph.in_degrees())
        found = collapse(graph, np.where(graph.out_degrees() + graph.in_degrees() > 0, np.arange(graph.n_nodes), DROPPED), self_links=True)
        crawled = self.crawled
        if crawled is not None:
            fetches = found.at[crawled.fetches]
            crawled = Crawled(fetches[fetches >= 0], crawled.depths[nodes])
        return replace(self, graph=found.graph, urls=lambda at: self.urls(int(nodes[node]) for node in at), crawled=crawled)

    def places(self, level: Level) -> UrlGroups:
        """Group the nodes by host or site.

        Raises:
            UsageError: If nodes are no URLs.
        """
        assert level != "page"
        try:
            return places(self.urls(range(self.graph.n_nodes)), level)
        except ValueError as error:
            raise UsageError(
                f"{self.where}: expected URLs, as hosts and sites are those of URLs, found the node {error}. Rank by page, over all links"
            ) from None


def of_file(where: str, found: NamedGraph, *, self_links: bool = False) -> Subject:
    """Return the subject that a graph file holds."""
    graph, is_self = found.graph, _self_links(found.graph)
    if not self_links and is_self.any():
        graph = graph.keeping(~is_self)
    return Subject(where, graph, lambda nodes: (found.name(node) for node in nodes), n_self_links=int(is_self.sum()))


def of_store(view: View, *, collapsed: bool, with_redirects: bool = True, self_links: bool = False) -> Subject:
    """Return the link graph of a crawl: all known URLs, or the pages that they stand for.

    Args:
        with_redirects, self_links: Whether these are links, where nothing is collapsed.
    """
    links = read_links(view)
    known = links.known
    graph = Graph(links.offsets, links.targets)
    n_self_links, n_redirects = int(_self_links(graph).sum()), 0
    if collapsed:
        to = representatives(view, known)
    else:
        to = np.where(known.states > 0, np.arange(len(known.states)), -1)
        pairs = _redirects(view, graph.n_nodes)
        n_redirects = len(pairs)
        if with_redirects and n_redirects:
            graph = Graph.from_links(np.append(graph.sources(), pairs[:, 0]), np.append(graph.targets, pairs[:, 1]), graph.n_nodes)
    found = collapse(graph, to, self_links=self_links and not collapsed)
    return Subject(
        str(view.path),
        found.graph,
        lambda nodes: texts_of(view, found.nodes, nodes),
        _crawled(links.known, found.nodes, found.at),
        n_redirects,
        n_self_links,
    )


def _self_links(graph: Graph) -> Bools:
    return np.asarray(graph.sources() == graph.targets, dtype=np.bool_)


def _redirects(view: View, n_nodes: int) -> I64:
    """Return (original, target) of the redirects between known URLs, [n, 2]."""
    pairs = [(source, target) for source, target, _ in redirects(view) if 0 < source < n_nodes and 0 < target < n_nodes]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def crawled_far(view: View, numbers: I64, *, collapsed: bool) -> Crawled:
    """Return what a crawl of several machines adds to a graph whose links stay where they are.

    Args:
        numbers: The numbers of the graph's nodes, ascending.
    """
    known = read_known(view)
    at = np.full(len(known.states), -1, dtype=np.int64)
    at[numbers] = np.arange(len(numbers))
    if collapsed:
        ends = resolve(representatives(view, known))
        at = np.where(ends >= 0, at[ends], -1)
    return _crawled(known, numbers, at)


def _crawled(known: KnownUrls, nodes: I64, at: I64) -> Crawled:
    """Return the fetches in order: of the URLs of one page, the first fetch counts."""
    pages = np.flatnonzero(known.is_page)
    fetched = at[pages[np.argsort(known.visits[pages], kind="stable")]]
    fetched = fetched[fetched >= 0]
    _, firsts = np.unique(fetched, return_index=True)
    return Crawled(fetched[np.sort(firsts)], known.depths[nodes].astype(np.int64))


def texts_of(view: View, seqs: I64, nodes: Iterable[int]) -> Iterator[str]:
    """Yield the URLs of some nodes, by the numbers of all."""
    wanted = iter(nodes)
    while chunk := list(islice(wanted, _CHUNK)):
        for url in view.tables.urls.get_many([int(seqs[node]) for node in chunk]):
            yield "" if url is None else url.text


@dataclass(frozen=True, slots=True, eq=False)
class Degrees:
    """How many links each node has, [n_nodes] from it and to it."""

    into: I64
    out: I64

    @property
    def n_links(self) -> int:
        return int(self.into.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The ranks of the nodes at one level.

    `members`: how many URLs each node has, and how many of these were fetched; None for pages. `fetched`: of a crawl's pages.
    `n_redirects`, `n_self_links`: known ones, whether they count as links or not
    """

    level: Level
    degrees: Degrees
    names: Callable[[Iterable[int]], Iterator[str]]
    found: Ranks
    hits: Hits | None = None
    members: tuple[I64, I64 | None] | None = None
    fetched: Bools | None = None
    n_redirects: int = 0
    n_self_links: int = 0


def rank(
    subject: Subject,
    *,
    level: Level = "page",
    variant: Variant = "all",
    jump: float = JUMP,
    tolerance: float = 1e-9,
    with_hits: bool = False,
) -> Ranking:
    """Rank pages, hosts or sites. All links from one host (or site) to another count as one.

    Args:
        subject: The graph of URLs.
        level: What a node is.
        variant: Of PageRank (`crawler/graph`).
        jump: Probability of a jump to a random node, 0 to 1.
        tolerance: The iteration ends when ranks change by less.
        with_hits: Whether hubs and authorities are computed, too.
    """
    if level == "page":
        hosts = subject.places("host").of if variant != "all" else None
        found = pagerank(layers(subject.graph, variant, hosts), jump=jump, tolerance=tolerance)
        fetched = None if subject.crawled is None else subject.crawled.is_fetched()
        also = hits(subject.graph) if with_hits else None
        n_redirects, n_self_links = subject.n_redirects, subject.n_self_links
        return Ranking(level, _degrees(subject.graph), subject.urls, found, also, None, fetched, n_redirects, n_self_links)
    groups = subject.places(level)
    graph = subject.graph.grouped(groups.of, len(groups.names))
    found = pagerank(graph, jump=jump, tolerance=tolerance)
    return Ranking(
        level,
        _degrees(graph),
        lambda nodes: (groups.names[node] for node in nodes),
        found,
        hits(graph) if with_hits else None,
        _members(subject, groups),
        n_redirects=subject.n_redirects,
        n_self_links=subject.n_self_links,
    )


def rank_by_machines(view: View, choice: RankChoice) -> Ranking | None:
    """Rank a crawl of several machines on these; None where that is not possible (rank_far.py). Of hosts and sites they find the links."""
    if choice.level != "page":
        return _rank_groups(view, choice)
    far = rank_far(view, choice)
    if far is None:
        return None
    return Ranking(
        "page",
        Degrees(far.in_degrees, far.out_degrees),
        lambda nodes: texts_of(view, far.numbers, nodes),
        far.found,
        far.hits,
        fetched=far.is_fetched,
        n_redirects=far.n_redirects,
        n_self_links=far.n_self_links,
    )


def _rank_groups(view: View, choice: RankChoice) -> Ranking | None:
    far = groups_far(view, choice)
    if far is None:
        return None
    of = far.ranked
    return Ranking(
        choice.level,
        _degrees(of.graph),
        lambda nodes: (of.names[node] for node in nodes),
        of.found,
        of.hits,
        (of.n_urls, of.n_pages),
        n_redirects=far.n_redirects,
        n_self_links=far.n_self_links,
    )


def _degrees(graph: Graph) -> Degrees:
    return Degrees(graph.in_degrees(), graph.out_degrees())


def _members(subject: Subject, groups: UrlGroups) -> tuple[I64, I64 | None]:
    n = len(groups.names)
    of_fetches = None if subject.crawled is None else np.bincount(groups.of[subject.crawled.fetches], minlength=n)
    return np.bincount(groups.of, minlength=n), of_fetches


def best(ranks: F64, top: int | None) -> I64:
    """Return the nodes by rank, best first; nodes of equal rank by number."""
    return np.argsort(-ranks, kind="stable")[:top]
