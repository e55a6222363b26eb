"""Reads pages whose bodies arrived in one round of the event loop together: each stage for all of them before the next stage.

Decoding, parsing, hashing words, resolving links and each filter's measuring are different pieces of code, some of hundreds of kilobytes.
Page by page, they would push each other out of the processor's caches: reading a page took half as long again. A batch is bounded, and is
spread over as many rounds of the loop as keep each round short, since nothing else runs during a round. A page that must be parsed in a
child process leaves the batch, and its own journey waits for it; so do all pages of a host of which one page has blocked the loop.

Nothing here writes the state of the crawl. Filters may read their memories, to compute ahead what learning from a page will probably need
(`Panel.foreseers`): no outcome depends on that. Pages are judged after their batch was read, one after the other, so that of two copies
in one batch the second is compared with the first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from thresher.config.settings import Settings
from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.core import html
from thresher.crawler.core.document_types import DOCUMENTS
from thresher.crawler.core.model import FILTERS_OWN, U64, CrawlURL, Directives, Fetched, Flag, Page
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.core.sketch import body_digest, fingerprint, token_hashes
from thresher.crawler.core.url import BadURL, URLSpace, origin_of, queue_name
from thresher.crawler.gates.link_gate import NONE_GATED, Gated, LinkGate, Skip
from thresher.crawler.page.browser_need import browser_need
from thresher.crawler.page.loop_watch import LoopStep
from thresher.crawler.page.page_links import PageLinks
from thresher.crawler.page.parser import Parser
from thresher.filters.panel import Panel
from thresher.storage.tables.bodies import digests

_PAGES: Final = 64  # pages of a batch: with more, a page takes less time; with 16 it takes 5 to 8 % more, with 100 not less
_BYTES: Final = 2 << 20
_ROUND_S: Final = 0.005  # seconds after which a round of the loop begins no further step
_APART: Final = 10_000  # most hosts that are remembered
_SITE: Final = 8
_TURN: Final = itemgetter(0)
_WOKEN: Final = 8  # most journeys that go on in a round: the rest of a page's journey takes as long as reading it
_HTML: Final = frozenset(("text/html", "application/xhtml+xml", ""))
_PLAIN: Final = "text/plain"
_FEEDS: Final = frozenset(("application/rss+xml", "application/atom+xml"))
_NO_TOKENS: Final[U64] = np.empty(0, dtype=np.uint64)


class PageReading(msgspec.Struct):
    """What was read from a body, and the filters' measures of it, before any filter judges it."""

    page: Page
    charset: str
    links: Gated  # the page's links before the seen test
    skips: list[Skip]  # links that cannot be followed at all
    measures: list[Any]  # measures by the page gate's filters, in their order; none for a filter's own request
    sha256: bytes = b""  # of the body, if it was computed together with those of other pages


class _Ticket(msgspec.Struct, eq=False):
    """A page in the batch, and its progress."""

    outcome: Fetched
    read: asyncio.Future[PageReading | None]  # None: it must be parsed in a child process
    source: html.DecodedBody | None = None
    parsed: Parsed | None = None  # None: it is not text, or must not be parsed here
    tokens: U64 = _NO_TOKENS
    links: list[str] = []
    gated: Gated = NONE_GATED
    skips: list[Skip] = []
    page: Page | None = None
    measures: list[Any] = []
    sha256: bytes = b""

    @property
    def reading(self) -> PageReading:
        assert self.page is not None
        return PageReading(self.page, self.parsed.charset if self.parsed else "", self.gated, self.skips, self.measures, self.sha256)


_Stage = Callable[[_Ticket], None]


class BatchReader:
    """Reads bodies. One per agent."""

    def __init__(
        self,
        parser: Parser,
        suspects: Suspects,
        links: LinkGate,
        panel: Panel,
        *,
        urls: URLSpace,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._parser = parser
        self._suspects = suspects
        self._gate = links.gate
        self._settings = settings
        self._overriding = Overriding(settings)
        self.links = PageLinks(urls, settings)
        self._urls = urls
        self._clock = clock
        self._waiting: list[_Ticket] = []
        self._batch: list[_Ticket] = []  # pages that are being read, or whose journeys will go on
        self._is_busy = False
        self.must_pause: Callable[[], bool] = lambda: False  # whether others need the round of the loop that goes on
        self.step = LoopStep()  # for the watch of the loop
        self._apart: set[str] = set()  # hosts whose pages are parsed in a child process
        self._n_woken, self._woken_at = 0, 0.0  # number of journeys that were woken last, and when
        self._journey_s = _ROUND_S  # seconds that each of the journeys woken lately took
        filters: list[_Stage] = [partial(_measure, measure) for measure in panel.measurers()]
        filters += [partial(self._foresee, foresee) for foresee in panel.foreseers()]
        self._after_parsing: tuple[_Stage, ...] = (self._hash_words, self._resolve_links, self._gate_links, self._describe, *filters)
        self._stages: tuple[_Stage, ...] = (self._prepare, self._parse, *self._after_parsing)

    @property
    def is_behind(self) -> bool:
        """Whether more pages wait than the next batch takes."""
        return len(self._waiting) > _PAGES

    def hands_out(self) -> bool:
        """Return whether more journeys go on in the next round of the loop."""
        return bool(self._batch) and self._n_woken > 0

    def isolate(self, host: str) -> None:
        """Parse the host's pages in a child process from now on. May be called by any thread."""
        if len(self._apart) >= _APART:
            self._apart.clear()
        self._apart.add(host)

    async def read(self, outcome: Fetched) -> PageReading:
        """Read a page; a body that is not text gives little. Raises any exception of our own code on this page."""
        ticket = _Ticket(outcome, asyncio.get_running_loop().create_future())
        if self._is_document(outcome):
            return await self._read_apart(ticket)
        if not self._is_text(outcome):
            return self._rest(ticket)
        if not self._suspects.crashes(outcome.url.key):
            self._join(ticket)
            if (reading := await ticket.read) is not None:
                return reading
        return await self._read_apart(ticket)

    async def _read_apart(self, ticket: _Ticket) -> PageReading:
        outcome, head = ticket.outcome, ticket.outcome.head
        ticket.parsed = await self._parser.apart(
            outcome.body, head.get(b"content-type"), head.mime_type, head.all(b"x-robots-tag"), max_links=self._max_links(outcome.url)
        )
        return self._rest(ticket)

    def _max_links(self, url: CrawlURL) -> int:
        return self._overriding.of(url.text).limits.max_links_per_page

    def _is_text(self, outcome: Fetched) -> bool:
        """Return whether to parse a body; not if it has killed too many processes."""
        mime_type = outcome.head.mime_type
        is_text = mime_type in _HTML or mime_type == _PLAIN
        return is_text and Flag.UNSUPPORTED_ENCODING not in outcome.flags and not self._is_quarantined(outcome)

    def _is_document(self, outcome: Fetched) -> bool:
        """Return whether a body is a document to read."""
        is_wanted = outcome.head.mime_type in DOCUMENTS and self._overriding.of(outcome.url.text).parse.documents
        return is_wanted and Flag.UNSUPPORTED_ENCODING not in outcome.flags and not self._is_quarantined(outcome)

    def _is_quarantined(self, outcome: Fetched) -> bool:
        return self._suspects.crashes(outcome.url.key) >= self._suspects.limit

    def _join(self, ticket: _Ticket) -> None:
        self._waiting.append(ticket)
        if not self._is_busy:
            self._is_busy = True
            asyncio.get_running_loop().call_soon(self._work)

    def _rest(self, ticket: _Ticket) -> PageReading:
        """Read the rest of a page that is parsed already, or must not be parsed."""
        for stage in self._after_parsing:
            stage(ticket)
        return ticket.reading

    def _work(self) -> None:
        """Begin a batch; other pages wait until the journeys of this batch have gone on."""
        self._batch = batch = self._next_batch()
        steps = ((stage, ticket) for stage in self._stages for ticket in batch)
        together = digests([ticket.outcome.body for ticket in batch]) if self._settings.store.bodies else []
        if not together:
            self._take(steps)
            return
        for ticket, sha256 in zip(batch, together, strict=True):
            ticket.sha256 = sha256
        asyncio.get_running_loop().call_soon(self._take, steps)

    def _take(self, steps: Iterator[tuple[_Stage, _Ticket]]) -> None:
        """Do as many steps for the batch as fit into this round of the loop; the others follow in later rounds."""
        if self.must_pause():
            asyncio.get_running_loop().call_soon(self._take, steps)
            return
        step, clock, name = self.step, self._clock, self._suspects.name  # there are twenty steps a page
        step.begin()
        late = clock() + _ROUND_S
        soon = asyncio.get_running_loop().call_soon
        for stage, ticket in steps:
            if not ticket.read.done():
                url = ticket.outcome.url
                name(url.key)
                step.host = url.host
                try:
                    stage(ticket)
                except Exception as error:  # noqa: BLE001 - one page's fault is its own journey's, which records it; the others go on
                    ticket.read.set_exception(error)
                if clock() > late:
                    soon(self._take, steps)
                    break
        else:
            self._n_woken = 0
            soon(self._hand_out)
        self._suspects.clear()
        step.host = ""

    def _hand_out(self) -> None:
        """Wake journeys, a few in each round of the loop: as many as fit, by the time that the last ones took. After the last, begin the
        next batch.
        """
        now, n = self._clock(), _WOKEN
        if self._n_woken:
            self._journey_s = (now - self._woken_at) / self._n_woken
        if self.must_pause():
            self._n_woken = 0
            asyncio.get_running_loop().call_soon(self._hand_out)
            return
        while n > 1 and n * self._journey_s > _ROUND_S:
            n -= 1
        woken, self._batch = self._batch[:n], self._batch[n:]
        self._n_woken, self._woken_at = len(woken), now
        for ticket in woken:
            if not ticket.read.done():
                ticket.read.set_result(ticket.reading)
        self._is_busy = bool(woken or self._waiting)
        if self._is_busy:
            asyncio.get_running_loop().call_soon(self._hand_out if woken else self._work)

    def _next_batch(self) -> list[_Ticket]:
        n_pages = n_bytes = 0
        for ticket in self._waiting[:_PAGES]:
            n_bytes += len(ticket.outcome.body)
            if n_pages and n_bytes > _BYTES:
                break
            n_pages += 1
        batch = self._waiting[:n_pages]
        del self._waiting[:n_pages]
        return _spread(batch)

    # the stages, in their order

    def _prepare(self, ticket: _Ticket) -> None:
        outcome = ticket.outcome
        if outcome.url.host not in self._apart:
            content_type, mime_type = outcome.head.get(b"content-type"), outcome.head.mime_type
            ticket.source = self._parser.prepared(outcome.body, content_type, mime_type, max_links=self._max_links(outcome.url))
        if ticket.source is None:
            ticket.read.set_result(None)

    def _parse(self, ticket: _Ticket) -> None:
        assert ticket.source is not None
        outcome = ticket.outcome
        ticket.parsed = self._parser.finished(ticket.source, outcome.head.all(b"x-robots-tag"), max_links=self._max_links(outcome.url))
        ticket.source = None

    def _hash_words(self, ticket: _Ticket) -> None:
        if ticket.parsed is not None:
            ticket.tokens = token_hashes(ticket.parsed.raw_text)

    def _resolve_links(self, ticket: _Ticket) -> None:
        if ticket.parsed is not None:
            if target := html.refresh_target(ticket.outcome.head.get(b"refresh")):
                refresh = Link(target, "", "refresh")
                ticket.parsed = replace(ticket.parsed, links=(refresh, *ticket.parsed.links), n_links=ticket.parsed.n_links + 1)
            ticket.links, ticket.skips = self.links.of(ticket.outcome.url, ticket.parsed)

    def _gate_links(self, ticket: _Ticket) -> None:
        if ticket.outcome.url.purpose not in FILTERS_OWN:
            ticket.gated = self._gate(ticket.links)

    def _describe(self, ticket: _Ticket) -> None:
        outcome, parsed = ticket.outcome, ticket.parsed
        unparsed = frozenset((Flag.PARSE_SKIPPED,)) if self._is_quarantined(outcome) else frozenset()
        ticket.page = Page(
            url=outcome.url,
            status=outcome.head.status,
            mime_type=outcome.head.mime_type,
            title=parsed.title if parsed else "",
            text=parsed.raw_text if parsed else "",
            tokens=ticket.tokens,
            fingerprint=fingerprint(ticket.tokens),
            links=tuple(ticket.links),
            canonical=self._canonical(outcome.url, parsed.canonical) if parsed and parsed.canonical else "",
            directives=parsed.directives if parsed else Directives(),
            n_bytes=len(outcome.body),
            flags=outcome.flags | (parsed.flags | self._need(ticket) if parsed else unparsed),
            at=self._clock(),
            form=parsed.form if parsed else "",
            feed=self._feed(outcome.url, parsed) if parsed and self._settings.feeds else "",
            digest=body_digest(ticket.tokens, outcome.body),
        )

    def _foresee(self, foresee: Callable[[Page, bytes], None], ticket: _Ticket) -> None:
        if ticket.page is not None and ticket.page.url.purpose not in FILTERS_OWN:
            foresee(ticket.page, self._urls.queue_key(ticket.page.url.host))

    def _feed(self, url: CrawlURL, parsed: Parsed) -> str:
        """Return the first feed on its own host that a page names: further feeds have the same in another format, or belong to this page
        only.
        """
        base, own = self._urls.base(url.text, parsed.base), queue_name(url.host)
        for link in parsed.links:
            is_feed = link.tag == "link" and link.type.partition(";")[0].strip().lower() in _FEEDS
            if is_feed and "alternate" in link.rel and "nofollow" not in link.rel:
                for text in self._urls.resolve(base, [link.href])[0]:
                    if queue_name(origin_of(text)) == own:
                        return text
        return ""

    def _need(self, ticket: _Ticket) -> frozenset[Flag]:
        """Return the flag of a page that only a browser can read."""
        need = browser_need(ticket.outcome.head, ticket.outcome.body, n_words=ticket.tokens.size, n_links=len(ticket.links))
        return frozenset() if need is None else frozenset((need,))

    def _canonical(self, url: CrawlURL, named: str) -> str:
        try:
            return self._urls.canonical(named, url.text)
        except BadURL:
            return ""


def _measure(measure: Callable[[Page], Any], ticket: _Ticket) -> None:
    assert ticket.page is not None
    if ticket.page.url.purpose not in FILTERS_OWN:
        ticket.measures.append(measure(ticket.page))


def _spread(batch: list[_Ticket]) -> list[_Ticket]:
    """Return the first page of each site, then the second ones, and so on: what settles them takes pages of several sites together."""
    n_before: Counter[bytes] = Counter()
    turns: list[tuple[int, _Ticket]] = []
    for ticket in batch:
        site = ticket.outcome.url.key[:_SITE]
        turns.append((n_before[site], ticket))
        n_before[site] += 1
    return [ticket for _, ticket in sorted(turns, key=_TURN)]
