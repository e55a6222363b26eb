"""robots.txt by origin; a file that many origins share is stored once, by its hash, compressed by the writer thread.

A new host is asked about before anything is known of it: a table that was empty when a crawl opened it knows which origins certainly have
no record (bloom.py), and reads nothing for them. Files that were written lately stay in memory, since they are read at once.

Memory: 1 MiB of files; the Bloom filter.
"""

from __future__ import annotations

from backports import zstd

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.lru_cache import LruCache
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.storage.records import Codec
from thresher.storage.rows import Rows
from thresher.storage.schema import ROBOTS, ROBOTS_FILES, Raw
from thresher.storage.tables.bloom import BloomFilter

_RECORD = Codec(RobotsRecord)
_LATELY = 1 << 20  # bytes of files; each counts with its size and `_EACH`
_EACH = 256


class RobotsTable:
    """The robots.txt of each origin, and until when it is valid."""

    def __init__(self, rows: Rows, *, writes: bool = False) -> None:
        """Create the table.

        Args:
            writes: Whether all rows are written by this object.
        """
        self._rows = rows
        self._met = BloomFilter() if writes and not rows.scan(ROBOTS, limit=1) else None
        self._lately: LruCache[bytes, bytes] = LruCache(_LATELY)

    def may_have(self, origin: str) -> bool:
        """Return False if an origin certainly has no record."""
        return self._met is None or origin.encode() in self._met

    def put(self, origin_key: bytes, record: RobotsRecord, body: bytes) -> None:
        """Write a record, and the file it names unless it is known."""
        if record.file and self._rows.get(ROBOTS_FILES, record.file) is None:
            assert file_hash(body) == record.file, f"{record.origin}: the record names another file than its body"
            self._rows.put(ROBOTS_FILES, record.file, Raw(body))
            self._lately.put(record.file, body, len(body) + _EACH)
        self._rows.put(ROBOTS, origin_key, _RECORD.encode(record))
        if self._met is not None:
            self._met.add(record.origin.encode())

    def record(self, origin_key: bytes) -> RobotsRecord | None:
        value = self._rows.get(ROBOTS, origin_key)
        return None if value is None else _RECORD.decode(value)

    def body(self, name: bytes) -> bytes:
        """Return the file of this hash.

        Raises:
            StoreError: If it is gone, since an empty file would allow everything.
        """
        lately = self._lately.get(name)
        if lately is not None:
            return lately
        value = self._rows.get(ROBOTS_FILES, name)
        if value is None:
            raise StoreError(f"robots.txt {name.hex()} is named by a record and not stored. Restore the store from a backup")
        return bytes(value) if isinstance(value, Raw) else zstd.decompress(value)
