"""End-to-end redirect pairs (original, final target), resolved through the table of edges.

A chain of redirects is written edge by edge, in whatever order its URLs are fetched. A pair is complete when the chain's end has settled:
it was fetched, failed for good, or was refused (out of scope, denied). So a hundred originals that end at one page are a hundred pairs,
although the page is fetched once [LEE09, L = {(u, f(u))}, at most 5 hops].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thresher.crawler.core.model import CrawlURL, RedirectPair, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import URLSpace
from thresher.crawler.settlement.outbox import Outbox
from thresher.storage.tables import Tables
from thresher.storage.tables.redirects import MAX_HOPS

_FINAL = (State.DONE, State.REFUSED, State.ALIAS)


class RedirectPairs:
    """Completes pairs from either end, and writes each pair once."""

    def __init__(self, tables: Tables, urls: URLSpace, outbox: Outbox | None = None) -> None:
        """Create the pairs of redirects.

        Args:
            outbox: Messages to the other agents; None: there are none.
        """
        self._outbox = outbox
        self._is_own: Callable[[bytes], bool] = outbox.is_own if outbox is not None else lambda _: True
        self._tables = tables
        self._urls = urls

    def on_redirect(self, url: CrawlURL, target: str, now: float) -> list[RedirectPair]:
        """Handle that `url` redirects to `target`; return the pairs that this completes, if the chain's end has settled before."""
        return self._after(url.key, target, self._ending_at, now)

    def on_foreign_redirect(self, original: bytes, target: str, now: float) -> list[RedirectPair]:
        """Handle a URL of another agent that redirects to one of ours; if the chain's end has settled before, its agent is told at once."""
        self._tables.redirects.put_in(original, self._urls.key(target))
        return self._after(original, target, lambda *_: [], now)

    def on_foreign_end(
        self, original: bytes, hops: int, target: CrawlURL, status: int, fingerprint: bytes, now: float
    ) -> list[RedirectPair]:
        """Handle the end of a chain that continued at another agent after `original`; return the pairs that this completes, none if it did
        not.
        """
        if self._tables.redirects.edge(original) is None:
            return []
        before = [(key, hops + n) for key, n in self._ending_at(original, MAX_HOPS - hops)]
        return self._complete(target, status, fingerprint, [(original, hops), *before], now)

    def _after(
        self, original: bytes, target: str, ending_at: Callable[[bytes, int], list[tuple[bytes, int]]], now: float
    ) -> list[RedirectPair]:
        text, key, hops = target, self._urls.key(target), 1
        while (edge := self._tables.redirects.edge(key)) is not None and edge.to_key:
            text, key, hops = edge.to_text, edge.to_key, hops + 1
            if hops > MAX_HOPS:
                return []
        row = self._tables.seen.row(key)
        if row is not None and row.state not in _FINAL:
            return []
        status, fingerprint = self._answer(key, row) if row is not None and row.state is State.DONE else (0, b"")
        before = [(key, hops + n) for key, n in ending_at(original, MAX_HOPS - hops)]
        return self._complete(self._urls.url(text), status, fingerprint, [(original, hops), *before], now)

    def on_end(self, url: CrawlURL, status: int, fingerprint: bytes, now: float) -> list[RedirectPair]:
        """Handle that `url` has settled without a redirect; return the pairs that end at it."""
        return self._complete(url, status, fingerprint, self._ending_at(url.key, MAX_HOPS), now)

    def _ending_at(self, key: bytes, max_hops: int) -> list[tuple[bytes, int]]:
        return self._tables.redirects.ending_at(key, max_hops, is_own=self._is_own)

    def _answer(self, key: bytes, row: SeenRow) -> tuple[int, bytes]:
        """Return (status, fingerprint) of a settled URL's answer: a page, a failure, or a redirect without a valid target."""
        page = self._tables.pages.read(row.visit)
        if page is not None:
            return page.status, page.fingerprint
        answer = self._tables.redirects.edge(key) or self._tables.failures.get(key)
        return (answer.status if answer is not None else 0), b""

    def _complete(
        self, target: CrawlURL, status: int, fingerprint: bytes, originals: Iterable[tuple[bytes, int]], now: float
    ) -> list[RedirectPair]:
        """Write the pairs from (original's key, hops) to `target`; pairs of other agents are sent to them."""
        pairs = []
        for key, hops in originals:
            if self._outbox is not None and not self._is_own(key):
                self._outbox.end(key, hops, target, status, fingerprint)
                continue
            row = self._tables.seen.row(key)
            if row is not None and key != target.key:
                text = self._tables.seen.url_of(row.seq)
                self._tables.redirects.put_pair(key, target.key, target.text, hops, status)
                original = self._urls.url(text, seed_distance=row.seed_distance)
                pairs.append(RedirectPair(original, target, hops, status, fingerprint, now))
        return pairs
