"""Records of one site's patterns in a filter's memory (key: the site's 8 bytes, then)

    h                     → SiteHead: the run, the site's vocabulary; or the site's first pages, while nothing else is known of it
    p ‖ hash of a form    → Pattern: its evidence, and what it showed lately
    s ‖ URL's hash        → LinkSource: a page or redirect whose links are not settled yet
    t ‖ text's hash       → hash of the URL that was kept with it (only if no other filter finds copies)

A pattern takes 100 bytes, 80 of them for what it showed lately; one with a `<w>` up to 16 forms more.

If a site's records outgrow `filters.site_bytes`, those with the least evidence are dropped first: sources, then patterns fetched once and
texts, and barren patterns last.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
import xxhash

from thresher.crawler.core.ports import Memory
from thresher.filters.evidence.cost import UsualSize
from thresher.filters.evidence.early import HeadList
from thresher.filters.evidence.standing import Standing
from thresher.filters.pattern_yield.evidence import YieldEvidence
from thresher.filters.pattern_yield.patterns import CACHE_URLS, Parts

HEAD_WEIGHT: Final = 1e12
BARREN_WEIGHT: Final = 1e9
SOURCE_WEIGHT: Final = 0.5
GOOD_RUN: Final = 8  # answers in a row that were worth it, from which only a sample is learned from
SAMPLE: Final = 16  # one answer in so many
MOST_KINDS: Final = 16  # of a pattern
LATELY: Final = 8  # latest texts that a pattern remembers


class ShownText(msgspec.Struct, array_like=True):
    """One of the texts that a pattern showed lately."""

    news: int
    times: int
    is_kept: bool  # its first page counts as new


class Pattern(msgspec.Struct, array_like=True):
    """One pattern of a site."""

    form: str
    evidence: YieldEvidence
    n_taught: int = 0  # fetches that were also counted for the coarser pattern
    text: int = 0  # text of its last barren fetch, 0: none
    lately: list[ShownText] = []  # what its pages showed apart from what their URLs repeat (news.py)
    kinds: list[str] = []  # forms of its URLs with words that came back: each is a class of its own

    @property
    def classes(self) -> list[str]:
        """The names of the classes in which its URLs are held, without that of the filter."""
        return [self.form, *self.kinds]

    def on_page(self, news: int, *, is_kept: bool) -> ShownText | None:
        """Record what a page shows; return the earlier record if another page showed the same lately."""
        for shown in self.lately:
            if shown.news == news:
                shown.times += 1
                return shown
        self.lately = [*self.lately[1 - LATELY :], ShownText(news, 1, is_kept)]
        return None


class PendingFetch(msgspec.Struct, array_like=True):
    """A barren fetch that has not been learned from yet."""

    key: bytes  # the URL's 8
    forms: list[str]
    spelled: str = ""  # its pattern with all its words (patterns.py), from which the others are made anew; "" in old stores
    cost: int = 1  # usual pages that cost as many bytes


class LinkSource(msgspec.Struct, array_like=True):
    """A page or redirect that may still be worth its fetch, by the links that it named first."""

    forms: list[str]  # none for a redirect: it is learned from when its last page is settled
    via: bytes  # 16 bytes: the page that named it first
    n_waiting: int  # links whose pages are not settled; 0 for a redirect whose target is held: it has been learned from
    worth: bool = False
    counted_at: int = 0  # the site's clock (`SiteHead.fresh`) when the page was counted


class SiteHead(msgspec.Struct, array_like=True):
    """What a site's patterns share. Of most sites only the first fields are needed (`SiteSummary`)."""

    n_barren: int = 0
    awaits: bytes = b""  # 8 bytes: the last learned page, if its admitted links are not counted yet
    good_run: int = 0  # fetches in a row that were worth it
    n_sources: int = 0
    run_text: int = 0
    run_length: int = 0
    run_forms: list[str] = []  # patterns that all URLs of the run have in common
    n_worth: int = 0  # fetches that were worth it, roughly
    pending: list[PendingFetch] = []
    leading: list[str] = []  # patterns of the last learned page, if it was barren and its links are followed
    n_counted: int = 0
    counters: bytes = b""
    fresh: Standing = msgspec.field(default_factory=Standing)  # counts of its fetches that nothing held; `at` is their number
    early: list[tuple[str, int]] = []  # URLs and news of its first pages (filters/evidence/early.py); `good_run` is their number
    usual: UsualSize = msgspec.field(default_factory=UsualSize)
    runs: bytes = b""  # of the words of barren URLs (word_runs.py)

    def on_worth(self, n_bytes: int) -> None:
        """Count a fetch that was worth it, of a page of this size; 0: not known."""
        self.n_worth += SAMPLE if self.good_run >= GOOD_RUN else 1
        self.good_run += 1
        self.usual.learn(n_bytes)


class SiteSummary(msgspec.Struct, array_like=True):
    """The first fields of a `SiteHead`."""

    n_barren: int = 0
    awaits: bytes = b""
    good_run: int = 0
    n_sources: int = 0


class PatternFetch(NamedTuple):
    """One answered request, as patterns learn from it."""

    key: bytes  # 16
    parts: Parts
    text: int  # code of what it showed
    worth: bool | None  # None: not known
    may_lead: bool = False  # its links are followed
    n_bytes: int = 0  # size of the page, 0: not known


HEAD: Final = msgspec.msgpack.Decoder(SiteHead)
SUMMARY: Final = msgspec.msgpack.Decoder(SiteSummary)
PATTERN: Final = msgspec.msgpack.Decoder(Pattern)
SOURCE: Final = msgspec.msgpack.Decoder(LinkSource)
encode: Final = msgspec.msgpack.Encoder().encode


def head_key(site: bytes) -> bytes:
    return site + b"h"


def first_pages(memory: Memory, site: bytes) -> HeadList[tuple[str, int], SiteHead]:
    """Read a site's head, with the list of its first pages."""
    return HeadList(memory, head_key(site), HEAD, HEAD_WEIGHT)


def pattern_key(site: bytes, form: str) -> bytes:
    return site + b"p" + _digest(form)


def source_key(url: bytes) -> bytes:
    """Return the memory key of a URL's source, from the URL's 16 bytes."""
    return url[:8] + b"s" + url[8:]


def text_key(site: bytes, text: bytes) -> bytes:
    return site + b"t" + text


@lru_cache(maxsize=CACHE_URLS)
def _digest(form: str) -> bytes:
    return xxhash.xxh3_64_digest(form.encode())


def source_of(memory: Memory, key: bytes) -> LinkSource | None:
    """Return the record of a page or redirect, given its key of 16 bytes, whose links are not settled yet; None if there is none."""
    value = memory.get(source_key(key))
    return None if value is None else SOURCE.decode(value)


def put_source(memory: Memory, key: bytes, source: LinkSource) -> None:
    memory.put(source_key(key), encode(source), SOURCE_WEIGHT)
