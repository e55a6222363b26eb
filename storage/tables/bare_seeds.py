"""Seeds given without a scheme: https first, then http where no connection by https can be made.

Which seeds those are stands in the store, so that a crawl that was killed before their turn still knows. One that cannot be reached by
https is refused as `no_https` in the visit that found out, and its http form is queued in its place, at the pace of their common host
queue. What answers by https, a certificate that does not hold included, is taken at its word.

Memory: the text of each such seed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from thresher.crawler.core.model import Cause, CrawlURL, Failed, Outcome
from thresher.storage.rows import Rows
from thresher.storage.schema import META, Meta

_NO_TLS = frozenset((Cause.CONN_REFUSED, Cause.CONN_TIMEOUT, Cause.CONN_RESET, Cause.UNREACHABLE, Cause.TLS_PROTO))


def http_form(url: str) -> str:
    """Return the http form of a canonical https URL, at port 80 if it names none."""
    return "http://" + url.removeprefix("https://")


class BareSeeds:
    """The canonical https forms of seeds given without a scheme."""

    def __init__(self, urls: Iterable[str] = ()) -> None:
        self.urls = frozenset(urls)

    @classmethod
    def of(cls, store: Rows) -> BareSeeds:
        """Return those that a store knows."""
        content = store.get(META, Meta.BARE)
        return cls(msgspec.msgpack.decode(content, type=list[str]) if content else ())

    def encoded(self) -> bytes:
        """Return what the store keeps, b"" if there are none."""
        return msgspec.msgpack.encode(sorted(self.urls)) if self.urls else b""

    def gives_way(self, url: CrawlURL, outcome: Outcome) -> bool:
        """Return whether the http form of a URL is to be asked for in its place."""
        return isinstance(outcome, Failed) and outcome.cause in _NO_TLS and url.text in self.urls

    def http_forms(self) -> list[str]:
        """Return what may come to be asked for."""
        return [http_form(url) for url in sorted(self.urls)]
