"""The seen set: every known URL, in exactly one state.

Rows of pages with many links stay decoded in two generations of a dict: a row that was not used during a whole generation is dropped. Below
this cache are the store's unwritten rows, then LMDB.

With native code, a set that was empty when it was opened reads nothing for keys that are certainly new: it has a Bloom filter as in
bloom.py, whose last bitmap takes all further keys. In Python a look-up there takes longer than reading.

Memory: about 350 bytes per decoded row, 2 × 16,384 rows; 128 KiB to 9.2 MiB for the Bloom filter: with more than five million URLs it
recognises fewer and fewer new ones, and the others are looked up. Time for 60 known keys: 5 µs if decoded, 70 µs from disk.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import pack_new, pack_seen, unpack_seen
from thresher.storage.records import UrlRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import SEEN
from thresher.storage.tables.urls import Urls

_GENERATION = 16_384
_BITMAPS = 3
_COUNTER = {state: f"state:{state.name.lower()}" for state in State}


class SeenSet:
    """All known URLs, their states, and their numbers."""

    def __init__(self, rows: Rows, urls: Urls, *, writes: bool = False) -> None:
        """Create the set.

        Args:
            writes: Whether all rows are written by this object.
        """
        self._rows = rows
        self._urls = urls
        self._young: dict[bytes, SeenRow] = {}
        self._old: dict[bytes, SeenRow] = {}
        self._met = native.KeyFilter(_BITMAPS) if NATIVE and writes and _is_empty(rows) else None

    def row(self, key: bytes) -> SeenRow | None:
        """Return the row of a URL; None if it is new."""
        row = self._young.get(key)
        return row if row is not None else self._colder([key]).get(key)

    def rows(self, keys: Sequence[bytes]) -> list[SeenRow | None]:
        """Return the row of each URL, in order; None if it is new."""
        found = [*map(self._young.get, keys)]
        cold = [key for key, row in zip(keys, found, strict=True) if row is None]
        if not (cold and (met := self._colder(cold))):
            return found
        return [row if row is not None else met.get(key) for key, row in zip(keys, found, strict=True)]

    def _colder(self, keys: list[bytes]) -> dict[bytes, SeenRow]:
        """Return the rows that are not in the young generation, by key, and put them there; new URLs have none."""
        if self._met is not None:
            keys = [keys[at] for at in self._met.among(keys)]
        found = {key: row for key in keys if (row := self._old.get(key)) is not None}
        if rest := [key for key in keys if key not in found]:
            for key, value in zip(rest, self._rows.get_many(SEEN, rest), strict=True):
                if value is not None:
                    found[key] = unpack_seen(value)
        for key, row in found.items():
            self._keep(key, row)
        return found

    def _keep(self, key: bytes, row: SeenRow) -> None:
        if len(self._young) >= _GENERATION:
            self._young, self._old = {}, self._young
        self._young[key] = row

    def add(self, url: CrawlURL, state: State, reason: Reason | None, now: float, worth: int = 0) -> int:
        """Make a new URL known; returns its sequence number. Its key must not be known."""
        assert url.key not in self._young, f"{url.text} is known: {self._young[url.key]}"
        seq = self._rows.take_seq()
        row = SeenRow(state, reason, url.site_depth, url.seed_distance, url.hops, url.purpose, seq, 0, worth)
        self._put_new(url.key, row)
        self._urls.add(seq, [url.text], [url.key], url.via, now)
        self._rows.counters.add(_COUNTER[state])
        self._keep(url.key, row)
        return seq

    def add_links(self, links: LinkBatch, at: slice, state: State, worth: int, now: float) -> int:
        """Make new links of a page known, all in one state; return the number of the first; the others follow in order.

        None of their keys may be known. Their rows are not cached: few are read soon.
        """
        keys, depths = links.keys[at], links.site_depths[at]
        assert not any(map(self._young.__contains__, keys)), "a new link is known"
        first = self._rows.take_seq(len(keys))
        like = SeenRow(state, None, 0, links.seed_distance, links.hops, Purpose.PAGE, first, 0, worth)
        self._rows.put_many(SEEN, pack_new(keys, depths, like))
        if self._met is not None:
            self._met.add([*keys])
        self._urls.add(first, links.texts[at], keys, links.source.key, now)
        self._rows.counters.add(_COUNTER[state], len(keys))
        return first

    def adopt(self, record: UrlRecord, row: SeenRow) -> None:
        """Make a URL of another shard known, with a number of this shard. Its key must not be known."""
        seq = self._rows.take_seq()
        self._put_new(record.key, row._replace(seq=seq))
        self._urls.add(seq, [record.text], [record.key], record.via, record.found_at)
        self._rows.counters.add(_COUNTER[row.state])

    def _put_new(self, key: bytes, row: SeenRow) -> None:
        self._rows.put(SEEN, key, pack_seen(row))
        if self._met is not None:
            self._met.add([key])

    def update(self, key: bytes, row: SeenRow) -> None:
        """Replace the row of a URL; its number never changes."""
        old = self.row(key)
        assert old is not None, f"{key.hex()} is not known"
        assert old.seq == row.seq, f"{key.hex()}: number {old.seq} would become {row.seq}"
        if old.state is not row.state:
            self._rows.counters.add(_COUNTER[old.state], -1)
            self._rows.counters.add(_COUNTER[row.state])
        self._rows.put(SEEN, key, pack_seen(row))
        self._keep(key, row)

    def settle(self, key: bytes, state: State, reason: Reason | None = None) -> None:
        """Set the state and reason of a known URL, by the current visit."""
        row = self.row(key)
        assert row is not None, f"{key.hex()} is not known"
        self.update(key, row._replace(state=state, reason=reason, visit=self._rows.visit))

    def scan(self, start: bytes, limit: int) -> list[tuple[bytes, SeenRow]]:
        """Return up to `limit` (key, row) whose keys are not below `start`, in key order."""
        return [(key, unpack_seen(value)) for key, value in self._rows.scan(SEEN, start=start, limit=limit)]

    def record(self, seq: int) -> UrlRecord:
        """Return text, key, first referrer and time of discovery of the URL numbered `seq`."""
        record = self._urls.get(seq)
        assert record is not None, f"no URL has number {seq}"
        return record

    def url_of(self, seq: int) -> str:
        """Return the text of the URL numbered `seq`."""
        return self.record(seq).text

    def count(self, state: State) -> int:
        """Return how many URLs are in a state."""
        return self._rows.counters.get(_COUNTER[state])

    def __len__(self) -> int:
        return sum(self.count(state) for state in State)


def _is_empty(rows: Rows) -> bool:
    """Return whether no URL is known."""
    try:
        return not rows.scan(SEEN, limit=1)
    except StoreError:  # a damaged row: reading it will raise the error
        return False
