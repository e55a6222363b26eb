"""URLs that filters name: finds what is known about each, and queues it, also again.

Used by effects.py and aliases.py.
"""

from __future__ import annotations

from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.model import CrawlURL, Purpose, State
from thresher.crawler.core.placing import place
from thresher.crawler.core.ports import Entry, Lane, SeenRow
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.settlement.canonical import Canonicals
from thresher.crawler.settlement.tail import Tails
from thresher.crawler.settlement.totals import Totals
from thresher.storage.tables import Tables


class NamedURLs:
    """Finds the URLs that filters name, and queues them."""

    def __init__(self, tables: Tables, frontier: Frontier, urls: URLSpace, totals: Totals, tails: Tails) -> None:
        self._tables = tables
        self._frontier = frontier
        self._urls = urls
        self._totals = totals
        self._tails = tails
        self._canonicals = Canonicals(tables, urls)
        self.settled: list[CrawlURL] = []  # URLs that waited and are final without a request; `take_settled` empties it

    def take_settled(self) -> list[CrawlURL]:
        """Return the URLs that waited and have become final without a request, each once."""
        settled, self.settled = self.settled, []
        return settled

    def canonical(self, text: str) -> str | None:
        """Return the canonical form of a URL that a filter names; None if it is not a URL."""
        try:
            return self._urls.canonical(text)
        except BadURL:
            return None

    def known(self, text: str) -> tuple[CrawlURL, SeenRow] | tuple[None, None]:
        """Return a URL that a filter names, with its place in the crawl, and its row; (None, None) if it is not known."""
        canonical = self.canonical(text)
        row = self._tables.seen.row(self._urls.key(canonical)) if canonical else None
        return (self.placed(row), row) if row is not None else (None, None)

    def placed(self, row: SeenRow) -> CrawlURL:
        """Return a known URL with its place in the crawl."""
        known = self._tables.seen.record(row.seq)
        return self._urls.url(
            known.text, seed_distance=row.seed_distance, site_depth=row.site_depth, hops=row.hops, purpose=row.purpose, via=known.via
        )

    def push_new(self, url: CrawlURL, lane: Lane, now: float, *, rank: int = 0) -> None:
        """Queue a URL that was not known."""
        seq = self._tables.seen.add(url, State.QUEUED, None, now)
        self.push(url, lane, seq, now, rank=rank)

    def requeue(self, key: bytes, row: SeenRow, purpose: Purpose, lane: Lane, now: float, *, rank: int = 0) -> None:
        """Queue a known URL once more; `row` is its current row in `seen`."""
        row = row._replace(state=State.QUEUED, reason=None, purpose=purpose)
        self._tables.seen.update(key, row)
        self.push(self.placed(row), lane, row.seq, now, rank=rank)

    def push(self, url: CrawlURL, lane: Lane, seq: int, now: float, *, rank: int = 0) -> None:
        """Queue a URL whose row in `seen` is written. If its host takes no more, the URL is refused, and so settled.

        Args:
            url: The URL, with its place in the crawl.
            lane: Where it is queued.
            seq: Its number.
            now: The time, in seconds.
            rank: In its lane; for the lane FRESH it is computed.
        """
        row = self._tables.seen.row(url.key)
        assert row is not None, f"{url.text} is queued and not known"
        lane, rank = place(self._frontier.order, url, row.worth) if lane is Lane.FRESH else (lane, rank)
        refusal = self._frontier.push(Entry(lane, rank, seq, 0, url), now)
        if refusal is not None:
            self._totals.skip(refusal)
            self._tables.seen.update(url.key, row._replace(state=State.REFUSED, reason=refusal))
            self._tails.on_no_request(url.key)
            self.settled.append(url)
            self.release_aliases(url.key)

    def release_aliases(self, key: bytes) -> None:
        """Release the aliases of a URL that has given no page: as many with each visit as a commit may hold."""
        if self._tables.aliases.has_any(key) and self._canonicals.has_failed(key):
            self._tables.aliases.release(key)
