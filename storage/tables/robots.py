"""robots.txt by origin; a file that many origins share is stored once, by its hash."""

from __future__ import annotations

from backports import zstd

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.storage.records import Codec
from thresher.storage.rows import Rows
from thresher.storage.schema import ROBOTS, ROBOTS_FILES

_RECORD = Codec(RobotsRecord)
_LEVEL = 3


class RobotsTable:
    """The robots.txt of each origin, and until when it is valid."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, origin_key: bytes, record: RobotsRecord, body: bytes) -> None:
        """Write a record, and the file it names unless it is known."""
        if record.file and self._rows.get(ROBOTS_FILES, record.file) is None:
            assert file_hash(body) == record.file, f"{record.origin}: the record names another file than its body"
            self._rows.put(ROBOTS_FILES, record.file, zstd.compress(body, _LEVEL))
        self._rows.put(ROBOTS, origin_key, _RECORD.encode(record))

    def record(self, origin_key: bytes) -> RobotsRecord | None:
        value = self._rows.get(ROBOTS, origin_key)
        return None if value is None else _RECORD.decode(value)

    def body(self, name: bytes) -> bytes:
        """Return the file of this hash.

        Raises:
            StoreError: If it is gone, since an empty file would allow everything.
        """
        value = self._rows.get(ROBOTS_FILES, name)
        if value is None:
            raise StoreError(f"robots.txt {name.hex()} is named by a record and not stored. Restore the store from a backup")
        return zstd.decompress(value)
