"""Records of one site in a filter's memory (key: the site's 8 bytes, then)

    h                   → SiteHead: limits, kinds of URLs that were met, levels, vocabulary; or the first pages (early.py)
    p ‖ hash of a form  → PlaceCounts (filters/depth_cutoff/evidence.py)
    t ‖ hash of a form  → table of the word pairs that a directory has shown
    w ‖ hash of a URL   → it showed nothing new; POOR: and only worthless pages had named it
    b ‖ hash of a URL   → only worthless pages have named it; POOR: the first of them was POOR itself, or of the URL's pattern

Memory: 60 bytes a pattern, up to 2 KiB a directory, 50 a worthless page, 17 a URL that such a page named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from thresher.crawler.core.ports import Memory
from thresher.filters.depth_cutoff.evidence import PlaceCounts
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.early import HeadList, LastWritten
from thresher.filters.evidence.standing import Standing

LOW: Final = 16  # limits below this are counted one by one
SAMPLE: Final = 16  # of a plain site, one page in so many is learned from
MET: Final = 2  # the first pages of each kind of URL are always learned from
N_KINDS: Final = 128
POOR: Final = b"p"
HEAD_WEIGHT: Final = 1e12
TABLE_WEIGHT: Final = 16.0
BARREN_WEIGHT: Final = 1.0
_MOST_CREDIT, _PLAIN, _OLD = 12, 8, 8
_MOST_SITES = 20_000
_MOST_HELD = 4_096


class Level(msgspec.Struct, array_like=True):
    """The counts of a site's pages at one depth, estimated: a page that was chosen out of sixteen counts for sixteen."""

    fetched: int = 0
    new: int = 0
    links: int = 0  # links on its pages
    new_links: int = 0  # links that named a URL first
    drops: dict[str, int] = {}  # of the fetched, by kind: duplicate, near_replica, soft_error, alias, error, other

    @property
    def dropped(self) -> int:
        return sum(self.drops.values())


class SiteSummary(msgspec.Struct, array_like=True):
    """The first fields of a `SiteHead`: all that is needed of most sites."""

    low: list[int] = msgspec.field(default_factory=lambda: [0] * LOW)  # number of places with each limit, for limits below LOW
    n_limited: int = 0  # places with a lower limit than a new place has
    n_old: int = 0  # fetches that showed nothing new
    credit: int = _MOST_CREDIT  # +1 for a new page, -8 for an old one that no filter dropped; a new site begins with the most
    awaits: bytes = b""  # 8 bytes of the page learned from last, then for how many it counts
    kinds: bytes = b""  # by hash of a URL's kind: pages learned from, at most MET; after a collision a kind looks known

    @property
    def is_plain(self) -> bool:
        """Whether nothing is cut on the site, and hardly any of its latest pages was old."""
        return not self.n_limited and self.credit >= _PLAIN

    def met(self, kind: int) -> bool:
        """Return whether enough pages of a kind of URL were learned from, so that a sample of the next ones is enough."""
        return bool(self.kinds) and self.kinds[kind] >= MET

    def least_limit(self) -> int:
        """Return a depth up to which no place cuts anything, at most LOW."""
        return next((limit for limit, n in enumerate(self.low) if n > 0), LOW) if self.n_limited else LOW


class EarlyPage(msgspec.Struct, array_like=True):
    """One of a site's first pages, which was new (early.py)."""

    url: str
    depth: int
    text: int
    n_links: int
    key: bytes  # 8
    new_links: int = 0
    stands_for: int = 1


class SiteHead(SiteSummary, array_like=True):
    """What a site's places share."""

    levels: list[Level] = []
    run_text: int = 0
    run_length: int = 0
    n_counted: int = 0
    counters: bytes = b""
    standing: Standing = msgspec.field(default_factory=Standing)  # what its fetches came to
    early: list[EarlyPage] = []  # its first pages, while nothing else is known of it

    def taught(self, kind: int, *, is_new: bool, is_dropped: bool) -> None:
        """Count a fetch that is learned from.

        Args:
            kind: The kind of its URL, -1: none.
        """
        if not is_dropped:
            self.credit = min(_MOST_CREDIT, self.credit + 1) if is_new else max(0, self.credit - _OLD)
        self.n_old += not is_new
        if kind >= 0 and not self.met(kind):
            kinds = bytearray(self.kinds or N_KINDS)
            kinds[kind] += 1
            self.kinds = bytes(kinds)


HEAD: Final = msgspec.msgpack.Decoder(SiteHead)
_WRITTEN: Final = LastWritten[SiteHead]()  # a page's links are learned from right after the page
_SUMMARY: Final = msgspec.msgpack.Decoder(SiteSummary)
encode: Final = msgspec.msgpack.Encoder().encode


def head_key(site: bytes) -> bytes:
    return site + b"h"


def first_pages(memory: Memory, site: bytes) -> HeadList[EarlyPage, SiteHead]:
    """Read a site's head, with the list of its first pages."""
    return HeadList(memory, head_key(site), HEAD, HEAD_WEIGHT, _WRITTEN)


def is_barren(memory: Memory, key: bytes) -> bool:
    """Return whether a page was fetched and showed nothing new.

    Args:
        key: 16 bytes.
    """
    return memory.get(barren_key(key)) is not None


def is_poor(memory: Memory, key: bytes) -> bool:
    """Return whether only worthless pages have named a URL.

    Args:
        key: 16 bytes.
    """
    return memory.get(poor_key(key)) is not None


def barren_key(key: bytes) -> bytes:
    return key[:8] + b"w" + key[8:]


def poor_key(key: bytes) -> bytes:
    return key[:8] + b"b" + key[8:]


class Sites:
    """State that the filter's gates share: of each site that was met lately, the records that are needed most.

    Valid as long as all writing goes through `remember`. Memory: 400 bytes a site, at most 20,000 sites.
    """

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._summaries: dict[bytes, SiteSummary] = {}
        self._uncut: set[str] = set()  # names of sites where nothing is cut
        self._names: dict[bytes, str] = {}
        self._any_old = False  # that any site looked at has shown
        self._held: dict[str, Recent] = {}

    def hold(self, holder: str, place: PlaceCounts) -> None:
        """Remember the counts of a place whose URLs are about to be held, for `recent`."""
        if len(self._held) >= _MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[holder] = place.yields()

    def recent(self, holder: str, memory: Memory, /) -> Recent:
        """Return what the latest fetches of a class gave before its URLs were held. Called right after the first URL was held."""
        found = self._held.get(holder, Recent())
        return Recent(found.n, found.s, found.streak)

    def summary(self, memory: Memory, site: bytes) -> SiteSummary:
        """Return the first fields of a site's head.

        Args:
            site: 8 bytes.
        """
        if memory is not self._memory or len(self._summaries) > _MOST_SITES:
            self._memory, self._summaries, self._uncut, self._names = memory, {}, set(), {}
        found = self._summaries.get(site)
        if found is None:
            value = memory.get(head_key(site))
            found = self._summaries[site] = _SUMMARY.decode(value) if value else SiteSummary()
            self._any_old = self._any_old or found.n_old > 0
        return found

    def remember(self, memory: Memory, site: bytes, head: SiteHead) -> None:
        """Remember the head that was just written."""
        self._any_old = self._any_old or head.n_old > 0
        if memory is self._memory:
            self._summaries[site] = SiteSummary(head.low, head.n_limited, head.n_old, head.credit, head.awaits, head.kinds)
            if head.n_limited:
                self._uncut.discard(self._names.pop(site, ""))

    def drop(self, site: bytes, /) -> None:
        """Drop the cached state of a site: its records were restored to earlier ones."""
        self._summaries.pop(site, None)
        self._uncut.discard(self._names.pop(site, ""))

    def any_old(self, memory: Memory, site: bytes) -> bool:
        """Return whether a page of this site, or of any other that was met, showed nothing new."""
        return self._any_old or self.summary(memory, site).n_old > 0

    def all_free(self, memory: Memory, names: Sequence[str], keys: Sequence[bytes]) -> bool:
        """Return whether nothing is cut on the sites of some URLs.

        Args:
            keys: 16 bytes of each.
        """
        if memory is self._memory and self._uncut.issuperset(names):
            return True
        limited = False
        for name, key in dict(zip(names, keys, strict=True)).items():
            if self.summary(memory, key[:8]).n_limited:
                limited = True
            else:
                self._uncut.add(name)
                self._names[key[:8]] = name
        return not limited
