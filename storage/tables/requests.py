"""Who asked for requests beside the crawl's own: probes and validations wait in the queues with their own numbers."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from thresher.crawler.core.model import CrawlURL
from thresher.storage.packing import pack_u64
from thresher.storage.rows import Rows
from thresher.storage.schema import REQUESTS
from thresher.storage.tables.urls import Urls

_AT: Final = "\n"  # on disk, separates the name from the agent; no name contains it


class Requester(NamedTuple):
    """Who asked for a request: a filter, or a part of the crawl (no filter has its name)."""

    who: str
    agent: int | None = None  # the agent of the filter; None: this agent

    @property
    def stored(self) -> str:
        """Name and agent as on disk."""
        return self.who if self.agent is None else f"{self.who}{_AT}{self.agent}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """Return what was stored."""
        who, _, agent = stored.partition(_AT)
        return cls(who, int(agent) if agent else None)


class Requests:
    """A request's number is in `urls` while it waits, and never in `seen`: its URL may be known or not."""

    def __init__(self, rows: Rows, urls: Urls) -> None:
        self._rows = rows
        self._urls = urls

    def add(self, url: CrawlURL, requester: Requester, now: float) -> int:
        """Give a request a number; return it, the sequence number of its row in a queue."""
        seq = self._rows.take_seq()
        self._urls.add(seq, [url.text], [url.key], url.via, now)
        self._rows.put(REQUESTS, pack_u64(seq), requester.stored.encode())
        return seq

    def requester(self, seq: int) -> Requester | None:
        """Return who asked; None if the number belongs to no request."""
        value = self._rows.get(REQUESTS, pack_u64(seq))
        return None if value is None else Requester.read(value.decode())

    def pop(self, seq: int) -> Requester | None:
        """Delete an answered request; return who asked."""
        requester = self.requester(seq)
        if requester is not None:
            self._rows.delete(REQUESTS, pack_u64(seq))
            self._urls.forget(seq)
        return requester
