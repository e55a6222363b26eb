"""The log of discovered URLs: a row for each page with new URLs, by the number of the first.

A URL is found by its number: it is in the last row with a first number that is not above it. Numbers in a row differ by `Rows.stride`,
which is more than 1 if several shards are read as one crawl. A row is never changed; the row of a filter's own request, which has one URL,
is deleted when the request is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import UrlRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import URLS
from thresher.storage.url_rows import UrlRow, pack_urls, unpack_urls

_ROWS_AT_ONCE = 100


class Urls:
    """Texts, keys and finders of known URLs, by number."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, first: int, texts: Sequence[str], keys: Sequence[bytes], via: bytes, found_at: float) -> None:
        """Write the row of new URLs.

        Args:
            first: Number of the first of them; the others follow in order.
            texts: The URLs.
            keys: Their keys.
            via: Key of the page that named them; b"" for a seed.
            found_at: When, in seconds.
        """
        self._rows.put(URLS, pack_u64(first), pack_urls(texts, keys, via, found_at))

    def forget(self, seq: int) -> None:
        """Delete the row of a request, which has no other URL."""
        self._rows.delete(URLS, pack_u64(seq))

    def get(self, seq: int) -> UrlRecord | None:
        """Return the URL of a number; None if there is none."""
        return self.get_many([seq])[0]

    def get_many(self, seqs: Sequence[int]) -> list[UrlRecord | None]:
        """Return the URL of each number, in their order."""
        found: dict[int, UrlRecord | None] = {}
        numbers, held = range(0), UrlRow((), (), b"", 0.0)
        for seq in sorted(set(seqs), key=lambda seq: (seq % self._rows.stride, seq)):
            if seq not in numbers:
                row = self._rows.floor(URLS, pack_u64(seq), 0)
                if row is not None:
                    held = unpack_urls(row[1])
                    numbers = self._numbers(row[0], len(held.texts))
            found[seq] = held.record(numbers.index(seq)) if seq in numbers else None
        return [found[seq] for seq in seqs]

    def before(self, seq: int) -> tuple[int, UrlRecord] | None:
        """Return the last URL of a shard with a lower number, and that number; None if there is none."""
        row = self._rows.floor(URLS, pack_u64(seq - 1), 0) if seq > 0 else None
        if row is None:
            return None
        held, first = unpack_urls(row[1]), unpack_u64(row[0])
        at = min(seq - first, len(held.texts)) - 1
        return first + at, held.record(at)

    def all(self, start: int = 0) -> Iterator[tuple[int, UrlRecord]]:
        """Yield (number, URL) of all from a number on, in order; of several shards row by row."""
        row = self._rows.floor(URLS, pack_u64(start), 0)
        key = row[0] if row is not None else b""
        while rows := self._rows.scan(URLS, start=key, limit=_ROWS_AT_ONCE):
            for key, value in rows:
                held = unpack_urls(value)
                for at, seq in enumerate(self._numbers(key, len(held.texts))):
                    if seq >= start:
                        yield seq, held.record(at)
            key += b"\0"

    def _numbers(self, key: bytes, n: int) -> range:
        first = unpack_u64(key)
        return range(first, first + n * self._rows.stride, self._rows.stride)
