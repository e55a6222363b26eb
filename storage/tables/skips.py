"""The log of skipped URLs: all are counted by reason (in the crawl's totals); the first of each host and reason are logged.

Beyond `store.skip_sample` lines of one host and reason, one in a hundred is logged, with its number, so that a reader can estimate the
total. The numbers start anew with each process, and when too many hosts have been skipped to count each.
"""

from __future__ import annotations

import msgspec

from thresher.crawler.core.model import Reason
from thresher.storage.records import SkipLine
from thresher.storage.rows import Rows

_SAMPLE_EVERY = 100
_MOST_COUNTS = 100_000
_SHOWN = 2_048  # characters of a URL that are logged: a refused URL may have any length

_encode = msgspec.json.Encoder().encode


class Skips:
    """Writes the log of skipped URLs."""

    def __init__(self, rows: Rows, sample: int) -> None:
        self._rows = rows
        self._sample = sample
        self._counts: dict[tuple[str, Reason], int] = {}

    def add(self, url: str, reason: Reason, via: bytes = b"", by: str = "", detail: str = "") -> None:
        """Record that `url`, named by the page with key `via`, was refused by the filter or rule `by`."""
        place = (_host(url), reason)
        n = self._counts.get(place, 0) + 1
        if n == 1 and len(self._counts) >= _MOST_COUNTS:
            self._counts.clear()
        self._counts[place] = n
        if n <= self._sample or n % _SAMPLE_EVERY == 0:
            shown = url[:_SHOWN].encode("utf-8", "replace").decode()
            self._rows.log(_encode(SkipLine(shown, reason.value, via.hex(), by, detail, n)))


def _host(url: str) -> str:
    """Return the authority of a URL as written, "" if it has none."""
    _, found, rest = url.partition("://")
    return rest.partition("/")[0] if found else ""
