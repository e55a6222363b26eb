"""State of recently met sites that the gates of the filter share; entries of the lists of first pages (filters/evidence/early.py)."""

from __future__ import annotations

from thresher.crawler.core.ports import Memory
from thresher.filters.evidence.decay import Recent
from thresher.filters.pattern_yield.evidence import HoldRule, YieldEvidence
from thresher.filters.pattern_yield.records import SUMMARY, Pattern, SiteSummary, first_pages, head_key
from thresher.filters.pattern_yield.tree import Tree

_MOST_GLANCES = 20_000
_MOST_HELD = 4_096


class Sites:
    """State that the filter's gates share: the records of each site that are needed most, decoded.

    Valid as long as all writing goes through `save`. Memory: 200 bytes a site, at most 20,000 sites; 200 a class, at most 4,096.
    """

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._summaries: dict[bytes, SiteSummary] = {}
        self._held: dict[str, Recent] = {}

    def hold(self, holder: str, of: YieldEvidence) -> None:
        """Remember the counts of a pattern whose URLs are about to be held, for `recent`."""
        if len(self._held) >= _MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[holder] = of.opinion.recent

    def recent(self, holder: str, memory: Memory, /) -> Recent:
        """Return what the latest fetches of a class gave before its URLs were held. Called right after the first URL was held."""
        found = self._held.get(holder, Recent())
        return Recent(found.n, found.s, found.streak)

    def glance(self, memory: Memory, site: bytes) -> SiteSummary:
        """Return the first fields of a site's head."""
        if memory is not self._memory or len(self._summaries) > _MOST_GLANCES:
            self._memory, self._summaries = memory, {}
        found = self._summaries.get(site)
        if found is None:
            value = memory.get(head_key(site))
            found = self._summaries[site] = SUMMARY.decode(value) if value else SiteSummary()
        return found

    def drop(self, site: bytes, /) -> None:
        """Drop the cached state of a site: its records were restored to earlier ones."""
        self._summaries.pop(site, None)

    def tree(self, memory: Memory, site: bytes, rule: HoldRule) -> Tree:
        """Return a site's tree.

        Args:
            memory: The filter's memory.
            site: First 8 bytes of the keys of the site's URLs.
            rule: Decides when a pattern is barren.
        """
        return Tree(memory, site, rule)

    def enter(self, memory: Memory, site: bytes, url: str, news: int, n_bytes: int) -> bool:
        """List one of a site's first pages, which was new, until a tree is needed; return whether nothing else is known of the site.

        Args:
            news: What the page shows (news.py).
            n_bytes: Its size.
        """
        first = first_pages(memory, site)
        first.head.good_run += 1
        first.head.usual.learn(n_bytes)
        n = first.enter(lambda listed: None if any(shown == news for _, shown in listed) else (url, news))
        if n:
            self._summaries[site] = SiteSummary(good_run=n)
        return n > 0

    def save(self, memory: Memory, tree: Tree) -> None:
        """Write what has changed in a tree."""
        tree.save()
        if memory is self._memory:
            head = tree.head
            self._summaries[tree.site] = SiteSummary(head.n_barren, head.awaits, head.good_run, head.n_sources)


def patterns_of(memory: Memory, site: bytes) -> list[Pattern]:
    """Return all patterns of a site that are in a memory."""
    return Tree(memory, site, HoldRule()).all_patterns()
