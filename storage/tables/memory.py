"""A filter's memory: implements `thresher.crawler.core.ports.Memory` over one table, with a byte cap per site.

    filter hash 2 ‖ key (its first 8 bytes are the site's) → weight f32 ‖ touched u32 ‖ value

When a site's records exceed the cap, those of least weight are deleted (of equal weight the longest unwritten, then by key), until a tenth
of the cap is free, so that many puts share one sort. `touched` is the number of the visit that wrote the record last; the same visits
therefore always leave the same records.

Recently read or written records are cached (record_cache.py): the pages of one host read the same records again and again. If a memory was
empty when it was opened, it also knows which keys were never written.

Written records are collected here until the group closes (`save`) or a scan begins: a record that is written several times is one row.

Memory: 2 to 4 MiB of cached records per filter, the records written by the open group, and bloom.py. Time: .5 µs per put, .1 µs per read
of a record that is cached or was never written, else 4; an eviction costs 2 µs per record of the site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Final, cast

from thresher.crawler.core.ports import Change, Put
from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import MEMORY_HEADER, pack_u64, unpack_memory, unpack_u64
from thresher.storage.rows import Rows
from thresher.storage.schema import MEMORY, MEMORY_BYTES
from thresher.storage.tables.bloom import BloomFilter
from thresher.storage.tables.record_cache import RecordCache

_SITE: Final = 8
_TAG: Final = 2
_KEPT_SHARE = 0.9
_GENERATION = 2 << 20  # bytes: a crawl of 2,000 hosts finds again what it wrote a round of its hosts ago
_MET_SITES = 10_000  # sites whose used bytes are cached; about 1 MB


def filter_tag(filter_name: str) -> bytes:
    """Return the two bytes that begin every key of a filter."""
    return blake2b(filter_name.encode(), digest_size=_TAG).digest()


class StoredMemory:
    """The records of one filter."""

    def __init__(self, rows: Rows, filter_name: str, site_bytes: int, *, writes: bool = False) -> None:
        """Create the memory.

        Args:
            writes: Whether all writes of this filter's records are made by this object.
        """
        self._rows = rows
        self._tag = filter_tag(filter_name)
        begins_empty = writes and not rows.scan(MEMORY, self._tag, limit=1)
        self._sites = BloomFilter() if begins_empty else None
        self._site_bytes = site_bytes
        self._ahead: dict[bytes, bytes | None] = {}  # records that were read together, until the cache has taken each
        self._cache = RecordCache(self._read, _GENERATION, begins_empty, rows, self._grow, self._tag, site_bytes)
        self._remember = self._cache.put
        self._unwritten, self._used, self._unsaved = self._cache.unwritten, self._cache.used, self._cache.unsaved
        self.get: Callable[[bytes], bytes | None] = self._cache.get
        self.put = self._cache.write  # may evict lighter records of the site, or the written record itself if it is the lightest

    def noting(self, name: str, noted: dict[bytes, set[bytes]], changes: dict[bytes, list[Change]], /) -> Put | None:
        """Return a `put` that records earlier values (see `thresher.crawler.core.ports.NotingMemory`), if there is native code."""
        if not NATIVE or not isinstance(self._cache, native.RecordCache):
            return None
        self._cache.note_in(name, noted, changes)
        return self._cache.write_noted

    def _read(self, key: bytes) -> bytes | None:
        """Return a record that is not cached."""
        if key in self._ahead:
            return self._ahead[key]
        name = self._tag + key
        row = self._unwritten[name] if name in self._unwritten else self._rows.get(MEMORY, name)
        return None if row is None else row[MEMORY_HEADER:]

    def get_many(self, keys: Iterable[bytes], /) -> list[bytes | None]:
        keys, tag = list(keys), self._tag
        unread = [key for key in self._cache.unread(keys) if tag + key not in self._unwritten]
        if unread:
            rows = zip(unread, self._rows.get_many(MEMORY, [tag + key for key in unread]), strict=True)
            self._ahead = {key: None if row is None else row[MEMORY_HEADER:] for key, row in rows}
        found = [*map(self.get, keys)]
        self._ahead = {}
        return found

    def _grow(self, site: bytes, grown: int) -> int:
        """Return the bytes of a site's records after they have grown by `grown`."""
        used = self.used(site)
        if not used and self._sites is not None:
            self._sites.add(site)
        used += grown
        return used if used <= self._site_bytes else self._evict(site, used)

    def delete(self, key: bytes, /) -> None:
        value = self._remember(key, None)
        if value is not None:
            self._unwritten[self._tag + key] = None
            site = key[:_SITE]
            self._used[site] = self.used(site) - _TAG - len(key) - MEMORY_HEADER - len(value)
            self._unsaved.add(site)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) in key order; records written meanwhile may be missed."""
        if self._sites is not None and len(prefix) >= _SITE and prefix[:_SITE] not in self._sites:
            return
        self._write()
        for row, value in self._rows.scan(MEMORY, self._tag + prefix):
            yield row[_TAG:], value[MEMORY_HEADER:]

    def used(self, site: bytes) -> int:
        """Return the bytes of keys and values that a site's records take."""
        used = self._used.get(site)
        if used is None:
            is_new = self._sites is not None and site not in self._sites
            value = None if is_new else self._rows.get(MEMORY_BYTES, self._tag + site)
            used = self._used[site] = 0 if value is None else unpack_u64(value)
        return used

    def save(self) -> None:
        """Write the records since the last flush to the open group, and the used bytes of each site that has changed."""
        self._write()
        used, tag = self._used, self._tag
        for site in [site for site in self._unsaved if not used[site]]:
            self._rows.delete(MEMORY_BYTES, tag + site)
        if booked := {tag + site: pack_u64(n) for site in self._unsaved if (n := used[site])}:
            self._rows.put_many(MEMORY_BYTES, booked)
        self._unsaved.clear()
        if len(self._used) >= _MET_SITES:
            self._used.clear()

    def _write(self) -> None:
        """Write the collected records to the open group."""
        unwritten = self._unwritten
        if None in unwritten.values():
            for name in [name for name, row in unwritten.items() if row is None]:
                self._rows.delete(MEMORY, name)
                del unwritten[name]
        if unwritten:
            self._rows.put_many(MEMORY, cast("dict[bytes, bytes]", unwritten))
            unwritten.clear()

    def _evict(self, site: bytes, used: int) -> int:
        """Delete the site's records of least weight until a tenth of the cap is free; return the bytes used now."""
        self._write()
        records = self._rows.scan(MEMORY, self._tag + site)
        records.sort(key=lambda record: (*unpack_memory(record[1]), record[0]))
        for row, value in records:
            if used <= self._site_bytes * _KEPT_SHARE:
                break
            self._rows.delete(MEMORY, row)
            self._remember(row[_TAG:], None)
            used -= len(row) + len(value)
        return used
