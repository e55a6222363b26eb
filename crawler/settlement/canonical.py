"""Whether the URL to which aliases were rewritten has given a page; the aliases depend on it.

That two URLs show the same page is only the opinion of a rule; it may take one of them out of the crawl only if the other is fetched. So an
alias is not fetched while its target is queued, and never if the target is a good page or a copy of one. If the target is held, refused,
redirects, fails, is an error, or is dropped for another reason than a known text, the alias is released: it is queued as an ordinary URL.

Time: a read of `seen` for each rewrite, and of the page's record if the target is done.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.storage.records import PageRecord
from thresher.storage.tables import Tables

_FAILED: Final = frozenset((State.HELD, State.REFUSED))
_COPIES: Final = frozenset((Reason.DUPLICATE_CONTENT, Reason.NEAR_REPLICA))


class Canonicals:
    """Decides which URLs can stand for their aliases."""

    def __init__(self, tables: Tables, urls: URLSpace) -> None:
        self._tables = tables
        self._urls = urls

    def stands(self, text: str) -> bool:
        """Return whether a URL has given, or may still give, a page that shows what its aliases show."""
        try:
            key = self._urls.key(self._urls.canonical(text))
        except BadURL:
            return False
        return not self.has_failed(key)

    def has_failed(self, key: bytes) -> bool:
        """Return whether a URL is known to give no page that shows what its aliases show."""
        row = self._tables.seen.row(key)
        if row is None:
            return False
        return row.state in _FAILED or (row.state is State.DONE and not self._is_page(row))

    def is_kept(self, text: str) -> bool:
        """Return whether a URL's last visit gave a kept page: then another fetched page can be its alias."""
        try:
            key = self._urls.key(self._urls.canonical(text))
        except BadURL:
            return False
        row, check = self._tables.seen.row(key), self._tables.rounds.check(key)
        if row is None or row.state is not State.DONE or row.reason is not None or (check is not None and check.missing_since):
            return False
        record = self._tables.pages.read(row.visit)
        return record is not None and 200 <= record.status < 300 and not record.failed_cause and record.keep

    def _is_page(self, row: SeenRow) -> bool:
        if row.reason is not None:
            return False
        record = self._tables.pages.read(row.visit)
        return record is not None and 200 <= record.status < 300 and not record.failed_cause and _shows_itself(record)


def _shows_itself(record: PageRecord) -> bool:
    """Return whether a page was kept, or dropped only because its text was known."""
    return record.keep or all(verdict.reason in _COPIES for verdict in record.verdicts if not verdict.keep)
