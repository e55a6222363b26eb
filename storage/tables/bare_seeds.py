"""Seeds given without a scheme: https is tried first, then http if no https connection can be made.

The store has the list of these seeds, so that a crawl that was killed before their turn still knows them. A seed that cannot be reached by
https is refused as `no_https` in the visit that found out, and its http form is queued instead, in the same host queue. If there is any
answer by https, also an invalid certificate, http is not tried.

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
        """Return the bare seeds of a store."""
        content = store.get(META, Meta.BARE)
        return cls(msgspec.msgpack.decode(content, type=list[str]) if content else ())

    def encoded(self) -> bytes:
        """Return the value for the store, b"" if there are none."""
        return msgspec.msgpack.encode(sorted(self.urls)) if self.urls else b""

    def gives_way(self, url: CrawlURL, outcome: Outcome) -> bool:
        """Return whether the http form of a URL must be requested instead, after this outcome."""
        return isinstance(outcome, Failed) and outcome.cause in _NO_TLS and url.text in self.urls

    def http_forms(self) -> list[str]:
        """Return the http forms that may be requested."""
        return [http_form(url) for url in sorted(self.urls)]
