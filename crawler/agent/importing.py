"""Makes a crawl from web archives: each answer in them is read, judged and settled as if it had just arrived, without any request.

Pages, links, redirects, fingerprints and the memories of filters are those of a crawl with the same answers in the same order. A URL that
is linked and has no record stays queued. Filters only observe, so no page of an archive is dropped. Answers of robots.txt are left out. A
URL that is not a seed nor linked from an earlier record counts as a seed.

Time: as a crawl without its requests. Memory: one record, and one group of visits.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from thresher.config.settings import FetchSettings, FilterSettings, IdentitySettings, LimitSettings, ScopeSettings, Settings
from thresher.crawler.agent.wiring import assemble
from thresher.crawler.core.frontier import Frontier, Lease
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Flag, Head, Outcome, Purpose, Redirect, State
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.core.url import BadURL
from thresher.crawler.fetch.content_coding import BodyDecoder, DecodeError
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.visit import imported
from thresher.storage.archive.answers import ArchivedAnswer, ArchivedAnswers
from thresher.storage.archive.record import sha1
from thresher.storage.records import Capture
from thresher.storage.store import Store

_CUT_AS_TOO_LONG: Final = "length"  # as the standard calls it
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_AT_ONCE: Final = 128  # answers between two commits
_HEAD: Final = 2 << 20  # bytes of a record beyond its body that are read
_BODIES, _MOST_BODY = 10_000, 64 << 10  # how many bodies of left-out answers are kept, and at most how many bytes of each


def import_settings() -> Settings:
    """Return the configuration of an imported crawl: every URL is in scope, and filters only observe."""
    names = ("path_trap", "media", "exact_duplicate", "soft_error", "pattern_yield")
    defaults = FilterSettings()
    observing = {name: msgspec.structs.replace(getattr(defaults, name), mode="observe") for name in names}
    filters = msgspec.structs.replace(defaults, audit_share=0.0, **observing)
    copies = msgspec.structs.replace(filters.exact_duplicate, store_copies=True)
    return Settings(
        identity=IdentitySettings(),
        fetch=FetchSettings(allow_ports="any"),
        scope=ScopeSettings(type="any"),
        limits=LimitSettings(max_hosts_per_site=1_000_000, max_pages_per_host=None, max_url_length=8_000),
        filters=msgspec.structs.replace(filters, exact_duplicate=copies),
        sitemaps="off",
    )


class Importer:
    """Settles the answers of archives in a new store; inside a running event loop."""

    def __init__(self, directory: Path, store: Store) -> None:
        self._store = store
        self._at = store.clock
        self._context = assemble(directory, store, store.settings, lambda: self._at)  # type: ignore[arg-type]  # all that is done with a clock is to call it
        rng = random.Random(0)  # noqa: S311 - nothing is requested
        urls, resolver = self._context.urls, self._context.resolver
        self._frontier = Frontier(store.tables.queues, resolver, store.settings, urls=urls, rng=rng, started_at=store.clock)
        self._settler = Settler(store, self._frontier, self._context, Totals(store.counters))
        self._committer = Committer(store, store.settings.store, clock=lambda: self._at, on_failure=_fail, on_commit=lambda: None)
        self._overriding = self._context.overriding
        self._at_most = _HEAD + max(of.fetch.max_body for of in self._overriding.everywhere())
        self._bodies: dict[bytes, bytes] = {}  # bodies of answers that are left out, by their digest
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    async def run(self, files: Sequence[Path], *, on_file: Callable[[Path, Counter[str]], None] = lambda *_: None) -> None:
        """Read all files, in the given order."""
        for path in files:
            answers = ArchivedAnswers(path, self._at_most)
            for n, answer in enumerate(answers, 1):
                await self._take(answer)
                if n % _AT_ONCE == 0:
                    await self._committer.drain()
            self.faults += answers.faults
            if not answers.n_records and not answers.faults:
                self.faults.append(f"{path}: no record could be found in it")
            await self._committer.drain()
            on_file(path, self.counts)

    async def close(self) -> None:
        await self._context.fetcher.close()
        await self._context.parser.close()
        await self._context.resolver.close()
        self._context.suspects.close()

    async def _take(self, answer: ArchivedAnswer) -> None:
        try:
            url = self._context.urls.url(self._context.urls.canonical(answer.url))
        except BadURL as error:
            self.counts[f"left out: {error.reason}"] += 1
            return
        if url.text.endswith("/robots.txt"):
            self.counts["robots.txt, left out"] += 1
            self._remember(answer)
            return
        outcome = self._outcome(url, answer)
        if outcome is None:
            self.counts["revisits whose body is in none of the files, left out"] += 1
            return
        self._at = max(self._at, answer.at)
        placed = self._known(url)
        visit = await imported(Lease(bytes(16), Entry(Lane.FRESH, 0, 0, 0, placed), answer.address), outcome(placed), self._context)
        if answer.payload:
            digest = sha1(answer.payload)
            self._store.tables.captures.remember(digest, Capture(url.text, "", str(self._store.visit), digest))
        self._committer.whole(self._settler.on_import, visit, answer.at or self._at)
        self.counts["answers"] += 1

    def _known(self, url: CrawlURL) -> CrawlURL:
        """Return a URL with its place in the crawl: it leaves its queue, or becomes a seed if it was not known. An answer of
        it that came before makes this one a further visit.
        """
        row = self._store.tables.seen.row(url.key)
        if row is None:
            self._store.tables.seen.add(url, State.DONE, None, self._at)
            return url
        known = self._store.tables.seen.record(row.seq)
        purpose = Purpose.REVISIT if row.visit else Purpose.PAGE
        place = {"seed_distance": row.seed_distance, "site_depth": row.site_depth, "hops": row.hops}
        placed = self._context.urls.url(known.text, **place, purpose=purpose, via=known.via)
        if row.state is State.QUEUED:
            self._frontier.withdraw(placed, row.seq, row.worth)
        return placed

    def _outcome(self, url: CrawlURL, answer: ArchivedAnswer) -> Callable[[CrawlURL], Outcome] | None:
        """Return a function that makes the outcome of an answer; None for a revisit record whose body is missing."""
        head = Head(url, answer.status, answer.headers, answer.address, 0.0)
        size = len(answer.payload)
        if answer.status in _REDIRECTS and (target := head.get(b"location")):
            return lambda placed: Redirect(placed, head, target, size, 0.0)
        body = self._earlier(answer) if answer.same_as else b""
        if body is None:
            return None
        decoder = BodyDecoder(",".join(head.all(b"content-encoding")), self._overriding.of(url.text).fetch.max_body)
        try:
            decoder.feed(answer.payload)
            is_whole = decoder.is_whole() and not answer.cut
        except DecodeError as error:
            cause, detail = error.cause, error.detail
            return lambda placed: Failed(placed, cause, detail, 0.0, size, head=head, body=decoder.body)
        body = body or decoder.body
        if answer.status >= 500 or answer.status == 429:
            cause = Cause.HTTP_429 if answer.status == 429 else Cause.HTTP_5XX
            return lambda placed: Failed(placed, cause, f"status {answer.status}", 0.0, size, head=head, body=body)
        if answer.cut == _CUT_AS_TOO_LONG and body:  # as far as its writer reads any answer: no failure
            return lambda placed: Fetched(placed, head, body, size, 0.0, frozenset((*decoder.flags, Flag.TRUNCATED_SIZE)))
        if not is_whole:
            return lambda placed: Failed(placed, Cause.INCOMPLETE, "cut in the archive", 0.0, size, head=head, body=body)
        return lambda placed: Fetched(placed, head, body, size, 0.0, frozenset(decoder.flags))

    def _remember(self, answer: ArchivedAnswer) -> None:
        """Keep the body of a left-out answer: later records may be revisits of it, as for the error page of a robots.txt."""
        if len(answer.payload) <= _MOST_BODY and len(self._bodies) < _BODIES:
            self._bodies[sha1(answer.payload)] = answer.payload

    def _earlier(self, answer: ArchivedAnswer) -> bytes | None:
        """Return the body that a revisit record refers to; None if no earlier record has it."""
        known = self._store.tables.captures.earlier(answer.digest) if answer.digest else None
        if known is not None:
            return self._store.tables.bodies.get(int(known.id))
        if answer.digest in self._bodies:
            return self._bodies[answer.digest]
        try:
            row = self._store.tables.seen.row(self._context.urls.key(self._context.urls.canonical(answer.same_as)))
        except BadURL:
            return None
        return self._store.tables.bodies.get(row.visit) if row is not None and row.visit else None


def _fail(error: BaseException) -> None:
    raise error
