"""The desk: the pages whose bodies arrived in one round of the event loop are read together, each stage for all of them before the next.

Decoding, parsing, hashing words and resolving links are different programs of hundreds of kilobytes each. Taken page by page they push each
other out of the processor's caches, and each begins cold: that made a page's reading cost half as much again. A batch is bounded, since
nothing else runs meanwhile. A page that must be parsed apart leaves the batch and is awaited by its own journey.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
import numpy as np

from config.settings import Settings
from crawler.core import html
from crawler.core.model import U64, CrawlURL, Fetched, Flag, Reason
from crawler.core.parsed import Parsed
from crawler.core.sketch import token_hashes
from crawler.core.url import URLSpace
from crawler.links import Skip, presentable
from crawler.parse import Parser
from crawler.suspects import Suspects
from storage import failpoint

_PAGES: Final = 16  # of a batch: some 10 ms
_BYTES: Final = 512 << 10
_HTML: Final = frozenset(("text/html", "application/xhtml+xml", ""))
_PLAIN: Final = "text/plain"
_NO_TOKENS: Final[U64] = np.empty(0, dtype=np.uint64)


class Reading(msgspec.Struct):
    """What a body says, before anybody judges it."""

    parsed: Parsed | None = None  # None: it is no text, or nobody dares to parse it
    tokens: U64 = _NO_TOKENS  # hashes of the words, in order
    links: list[str] = []  # canonical, distinct, in page order
    skips: list[Skip] = []  # links that cannot be followed at all


class _Ticket(msgspec.Struct, eq=False):
    """A page in the batch, and how far it has come."""

    outcome: Fetched
    read: asyncio.Future[Reading | None]  # None: it must be parsed apart
    source: html.Source | None = None
    reading: Reading = msgspec.field(default_factory=Reading)


class Desk:
    """Bodies in, readings out. One per agent."""

    def __init__(self, parser: Parser, suspects: Suspects, urls: URLSpace, settings: Settings) -> None:
        self._parser = parser
        self._suspects = suspects
        self._urls = urls
        self._settings = settings
        self._waiting: list[_Ticket] = []
        self._stages = (self._prepare, self._parse, self._hash_words, self._resolve_links)

    async def read(self, outcome: Fetched) -> Reading:
        """Read a document; what is not text has nothing to say. Raises what our own code fails with on the page."""
        head, key = outcome.head, outcome.url.key
        if (head.mime_type not in _HTML and head.mime_type != _PLAIN) or Flag.UNSUPPORTED_ENCODING in outcome.flags:
            return Reading()
        crashes = self._suspects.crashes(key)
        if crashes >= self._suspects.limit:
            return Reading()
        reading = await self._with_others(outcome) if crashes == 0 else None
        if reading is None:
            parsed = await self._parser.apart(outcome.body, head.get(b"content-type"), head.mime_type, head.all(b"x-robots-tag"))
            links, skips = self.links(outcome.url, parsed)
            reading = Reading(parsed, token_hashes(parsed.raw_text), links, skips)
        return reading

    def links(self, url: CrawlURL, parsed: Parsed) -> tuple[list[str], list[Skip]]:
        """Return a page's links in canonical form, distinct, in page order, and those that cannot be followed at all."""
        base = self._urls.base(url.text, parsed.base)
        wanted, skips = parsed.links, []
        if not self._settings.robots.nofollow_links and any(link.rel for link in wanted):
            nofollow = [link for link in wanted if "nofollow" in link.rel]
            wanted = tuple(link for link in wanted if "nofollow" not in link.rel)
            skips = [Skip(text, Reason.NOFOLLOW, "robots") for text in self._urls.resolve(base, [link.href for link in nofollow])[0]]
        texts, refused = self._urls.resolve(base, [link.href for link in wanted])
        skips.extend(Skip(presentable(href), reason, "url") for href, reason in refused)
        if n_dropped := parsed.n_links - len(parsed.links):
            is_cut = Flag.LINKS_TRUNCATED in parsed.flags
            by = f"{n_dropped} links beyond limits.max_links_per_page" if is_cut else f"{n_dropped} links of absurd length"
            skips.append(Skip(url.text, Reason.LINK_LIMIT if is_cut else Reason.TOO_LONG, by))
        return texts, skips

    def _with_others(self, outcome: Fetched) -> asyncio.Future[Reading | None]:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._work)
        ticket = _Ticket(outcome, loop.create_future())
        self._waiting.append(ticket)
        return ticket.read

    def _work(self) -> None:
        """Read a batch; the rest has to wait for the loop's next round."""
        batch = self._next_batch()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._work)
        for stage in self._stages:
            for ticket in batch:
                if not ticket.read.done():
                    try:
                        stage(ticket)
                    except Exception as error:  # one page's fault is its own journey's, which records it; the others go on
                        ticket.read.set_exception(error)
        self._suspects.clear()
        for ticket in batch:
            if not ticket.read.done():
                ticket.read.set_result(ticket.reading)

    def _next_batch(self) -> list[_Ticket]:
        n_pages = n_bytes = 0
        for ticket in self._waiting[:_PAGES]:
            n_bytes += len(ticket.outcome.body)
            if n_pages and n_bytes > _BYTES:
                break
            n_pages += 1
        batch = self._waiting[:n_pages]
        del self._waiting[:n_pages]
        return batch

    def _prepare(self, ticket: _Ticket) -> None:
        outcome = ticket.outcome
        self._suspects.name(outcome.url.key)
        ticket.source = self._parser.prepared(outcome.body, outcome.head.get(b"content-type"), outcome.head.mime_type)
        if ticket.source is None:
            ticket.read.set_result(None)

    def _parse(self, ticket: _Ticket) -> None:
        assert ticket.source is not None
        self._suspects.name(ticket.outcome.url.key)
        failpoint.reached("parsing")
        ticket.reading.parsed = self._parser.finished(ticket.source, ticket.outcome.head.all(b"x-robots-tag"))
        ticket.source = None

    def _hash_words(self, ticket: _Ticket) -> None:
        assert ticket.reading.parsed is not None
        self._suspects.name(ticket.outcome.url.key)
        ticket.reading.tokens = token_hashes(ticket.reading.parsed.raw_text)

    def _resolve_links(self, ticket: _Ticket) -> None:
        assert ticket.reading.parsed is not None
        self._suspects.name(ticket.outcome.url.key)
        ticket.reading.links, ticket.reading.skips = self.links(ticket.outcome.url, ticket.reading.parsed)
