"""Who asked for the requests that are no part of the crawl: probes and validations wait in the queues with a number of their own."""

from __future__ import annotations

from thresher.crawler.core.model import CrawlURL
from thresher.storage.packing import pack_u64
from thresher.storage.rows import Rows
from thresher.storage.schema import REQUESTS, URL, URLS, UrlRecord


class Requests:
    """A request's number stands in `urls` while it waits, and never in `seen`: its URL may be known or not."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, url: CrawlURL, prober: str, now: float) -> int:
        """Number a request; returns the sequence number of its row in a queue."""
        seq = self._rows.take_seq()
        self._rows.put(URLS, pack_u64(seq), URL.encode(UrlRecord(url.text, url.key, url.via, now)))
        self._rows.put(REQUESTS, pack_u64(seq), prober.encode())
        return seq

    def prober(self, seq: int) -> str:
        """Return the name of the filter that asked, "" if the number is of no request."""
        value = self._rows.get(REQUESTS, pack_u64(seq))
        return "" if value is None else value.decode()

    def pop(self, seq: int) -> str:
        """Forget a request that is answered; returns who asked."""
        prober = self.prober(seq)
        if prober:
            self._rows.delete(REQUESTS, pack_u64(seq))
            self._rows.delete(URLS, pack_u64(seq))
        return prober
