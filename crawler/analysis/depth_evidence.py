"""What a crawl shows about depth, site by site: levels and places, PageRank by level, entry points by directory depth [BC04].

The evidence is the memory of the filter `depth_cutoff`. For an ordinary site the filter has looked at a sample of the pages; the counts of
all stored pages are estimated from it. If the filter was off, a new one learns from the stored pages in the order of their fetches, and
from their texts if bodies were stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest

import numpy as np

from thresher.config.settings import DepthCutoffSettings
from thresher.crawler.core.model import Judgement, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.core.url import directory_depth, origin_of
from thresher.crawler.graph.collapse import collapse
from thresher.crawler.graph.csr import Graph
from thresher.crawler.graph.pagerank import pagerank
from thresher.filters.depth_cutoff.evidence import PlaceCounts
from thresher.filters.depth_cutoff.filter import NAME, DepthOfPages, DepthPageMeasure, rule_of
from thresher.filters.depth_cutoff.ledger import Ledger
from thresher.filters.depth_cutoff.novelty import sample
from thresher.filters.depth_cutoff.records import Level, Sites
from thresher.filters.pattern_yield.replay import UnboundedMemory
from thresher.storage.export.content import text_of
from thresher.storage.export.judged import is_new
from thresher.storage.export.scans import hosts
from thresher.storage.graph import read_links
from thresher.storage.packing import SEEN_ROW
from thresher.storage.records import PageRecord
from thresher.storage.schema import SEEN
from thresher.storage.view import View

_CHUNK = 4096
_MOST_LEVELS = 64  # the last level counts all deeper ones, too


@dataclass(slots=True)
class SiteEvidence:
    """What is known of one site."""

    name: str
    levels: list[Level]
    places: list[PlaceCounts]
    n_pages: int  # that were stored
    pagerank: list[float] = field(default_factory=list)  # for each depth k: share of the site's PageRank at depths 0 to k
    entries: dict[int, int] = field(default_factory=dict)  # directory depth → number of links from other sites to pages of that depth


@dataclass(slots=True)
class DepthEvidence:
    """Every site of a crawl, and the whole crawl's PageRank by level."""

    sites: list[SiteEvidence]
    is_learned: bool  # the filter learned it during the crawl
    pagerank: list[float]


def read_evidence(view: View, settings: DepthCutoffSettings) -> DepthEvidence:
    """Read a crawl's evidence."""
    names = {queue[:8]: record.site for queue, record in hosts(view)}
    memory: Memory = view.tables.memory(NAME)
    is_learned = any(memory.get(key + b"h") is not None for key in names)
    if not is_learned:
        memory = _told_again(view, settings)
    counts = _counts(view)
    sites = {}
    for key, name in names.items():
        ledger = Ledger(memory, key, rule_of(settings))
        if ledger.head.levels:
            levels = _of_all(ledger.head.levels, counts[key]) if is_learned else ledger.head.levels
            sites[key] = SiteEvidence(name, levels, ledger.all_places(), sum(level.fetched for level in counts[key]))
    return DepthEvidence(list(sites.values()), is_learned, _of_links(view, sites))


# -- all pages, of which the filter learned from a sample


def _counts(view: View) -> defaultdict[bytes, list[Level]]:
    """Return each site's stored pages by level, and their links; the store does not say which of them were new."""
    found: defaultdict[bytes, list[Level]] = defaultdict(list)
    depths: dict[bytes, int] = {}
    for _, page in view.all_pages():
        depth = depths[page.key] = min(page.site_depth, _MOST_LEVELS - 1)
        levels = found[page.key[:8]]
        levels += [Level() for _ in range(depth + 1 - len(levels))]
        levels[depth].fetched += 1
        levels[depth].links += page.n_links
    for url, _ in view.all_urls():
        if url.via in depths:
            found[url.via[:8]][depths[url.via]].new_links += 1
    return found


def _of_all(learned: list[Level], counts: list[Level]) -> list[Level]:
    """Estimate the counts of all pages that no filter dropped from a level's sample, or from the site's if the level has none."""
    n_looked_at = sum(level.fetched - level.dropped for level in learned)
    overall = sum(level.new for level in learned) / n_looked_at if n_looked_at else 0.0
    found = []
    for sampled, counted in zip_longest(learned, counts, fillvalue=Level()):
        n_sampled = sampled.fetched - sampled.dropped
        share = sampled.new / n_sampled if n_sampled else overall
        n_fetched = max(counted.fetched + sampled.drops.get("alias", 0), sampled.dropped)
        n_new = round(share * (n_fetched - sampled.dropped))
        found.append(Level(n_fetched, n_new, counted.links, counted.new_links, sampled.drops))
    return found


# -- a new filter learns from stored pages


def _told_again(view: View, settings: DepthCutoffSettings) -> Memory:
    memory, pages = UnboundedMemory(), DepthOfPages(Sites(), settings, samples=False)
    fetched = {page.key for _, page in view.all_pages()}
    named = Counter(url.via for url, _ in view.all_urls() if url.via in fetched)
    for visit, page in view.all_pages():
        pages.observe(_measure(view, visit, page), _judgement(page), memory)
        if n := named[page.key]:
            ledger = Ledger(memory, page.key[:8], rule_of(settings))
            ledger.links(page.key[8:], page.site_depth, n)
            ledger.save()
    return memory


def _judgement(page: PageRecord) -> Judgement:
    verdicts = tuple([Verdict(of.filter, of.keep, of.follow, new=of.new) for of in page.verdicts])
    return Judgement(page.keep, page.follow, verdicts, is_new(page.verdicts))


def _measure(view: View, visit: int, page: PageRecord) -> DepthPageMeasure:
    body = view.tables.bodies.get(visit) if page.has_body and page.status == 200 else None
    text = text_of(body, page, view.settings.identity.agent) if body is not None else None
    origin = origin_of(page.url)
    return DepthPageMeasure(
        url=page.url,
        host=origin,
        key=page.key if page.via or not page.seed_distance else b"",
        depth=page.site_depth,
        text=int.from_bytes(page.fingerprint[:8], "big") or page.status,
        sampled=sample(token_hashes(text), page.url[len(origin) :]) if text else b"",
        is_ok=page.status == 200,
        n_links=page.n_links,
    )


# -- the link graph


def _of_links(view: View, sites: Mapping[bytes, SiteEvidence]) -> list[float]:
    """Fill in each site's PageRank by level and its entries; return the whole crawl's PageRank by level."""
    links = read_links(view)
    known = links.known
    found = collapse(Graph(links.offsets, links.targets), np.where(known.states > 0, np.arange(len(known.states)), -1))
    if not len(found.nodes):
        return []
    ranks = pagerank(found.graph).ranks
    depths = np.minimum(_site_depths(view, len(known.states))[found.nodes], _MOST_LEVELS - 1)
    of_site = known.sites[found.nodes]
    for key, site in sites.items():
        ours = of_site == np.frombuffer(key, dtype=">u8")[0]
        site.pagerank = _cumulative(depths[ours], ranks[ours])
    across = Counter(links.targets[links.across_sites()].tolist())
    entries: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
    for key, text, n in _texts(view, across):
        entries[key][directory_depth(text)] += n
    for key, counts in entries.items():
        if key in sites:
            sites[key].entries = dict(sorted(counts.items()))
    return _cumulative(depths, ranks)


def _cumulative(
    depths: np.ndarray[tuple[int, ...], np.dtype[np.int64]], ranks: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> list[float]:
    sums = np.bincount(depths, weights=ranks) if len(ranks) else np.zeros(0)
    return [float(value) for value in np.cumsum(sums) / max(float(sums.sum()), 1e-300)]


def _site_depths(view: View, n: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the clicks from its site's entry of each URL by its number, [n]."""
    depths = np.zeros(n, dtype=np.int64)
    rows = view.rows(SEEN)
    while chunk := list(islice(rows, _CHUNK)):
        found = np.frombuffer(b"".join(value for _, value in chunk), dtype=SEEN_ROW)
        older = found["seq"] < n
        depths[found["seq"][older].astype(np.int64)] = found["site_depth"][older]
    return depths


def _texts(view: View, counts: Mapping[int, int]) -> Iterator[tuple[bytes, str, int]]:
    """Yield (site, URL, count) of numbered URLs."""
    numbers = iter(sorted(counts))
    while chunk := list(islice(numbers, _CHUNK)):
        for number, url in zip(chunk, view.tables.urls.get_many(chunk), strict=True):
            if url is not None:
                yield url.key[:8], url.text, counts[number]
