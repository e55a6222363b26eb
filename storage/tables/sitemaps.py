"""Sitemaps, the URLs they announce, and chunks that wait to be admitted.

sitemaps    key of the sitemap 16            → SitemapRecord
announcers  host queue 16                    → AnnouncerRecord
announced   key of a URL 16                  → AnnouncedRecord
announcing  key of the sitemap 16 ‖ number 4 → msgpack of a list of `Entry`: as many as one commit admits
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from thresher.storage.records import ANNOUNCED_URL, ANNOUNCER, SITEMAP, AnnouncedRecord, AnnouncerRecord, SitemapRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import ANNOUNCED, ANNOUNCERS, ANNOUNCING, SITEMAPS
from thresher.storage.tables.requests import Requester

REQUESTER: Final = Requester("sitemaps")  # name in `requests`; no filter has it
_NUMBER = 4  # bytes


class SitemapTables:
    """Rows of sitemaps. Keys of all of them begin with a site."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._after = b""  # key of the last chunk that was taken; earlier ones are deleted
        self._may_have_chunks = True  # False once there are none

    def sitemap(self, key: bytes) -> SitemapRecord | None:
        value = self._rows.get(SITEMAPS, key)
        return None if value is None else SITEMAP.decode(value)

    def save_sitemap(self, key: bytes, record: SitemapRecord) -> None:
        self._rows.put(SITEMAPS, key, SITEMAP.encode(record))

    def announcer(self, queue: bytes) -> AnnouncerRecord | None:
        value = self._rows.get(ANNOUNCERS, queue)
        return None if value is None else ANNOUNCER.decode(value)

    def save_announcer(self, queue: bytes, record: AnnouncerRecord) -> None:
        self._rows.put(ANNOUNCERS, queue, ANNOUNCER.encode(record))

    def announced(self, key: bytes) -> AnnouncedRecord | None:
        value = self._rows.get(ANNOUNCED, key)
        return None if value is None else ANNOUNCED_URL.decode(value)

    def save_announced(self, key: bytes, record: AnnouncedRecord) -> None:
        self._rows.put(ANNOUNCED, key, ANNOUNCED_URL.encode(record))

    def add_chunks(self, sitemap: bytes, chunks: Iterable[bytes]) -> None:
        """Queue the entries of a sitemap for admission, in its order."""
        for number, chunk in enumerate(chunks):
            self._rows.put(ANNOUNCING, sitemap + number.to_bytes(_NUMBER, "big"), chunk)
        self._after, self._may_have_chunks = b"", True

    def take_chunk(self) -> tuple[bytes, bytes] | None:
        """Remove the next chunk; return (key of its sitemap, chunk), None if there is none."""
        rows = self._rows.scan(ANNOUNCING, start=self._after, limit=1) or self._rows.scan(ANNOUNCING, limit=1)
        if not rows:
            return None
        key, chunk = rows[0]
        self._rows.delete(ANNOUNCING, key)
        self._after = key
        return key[:-_NUMBER], chunk

    @property
    def has_chunks(self) -> bool:
        """Whether a chunk waits to be admitted."""
        if self._may_have_chunks:
            self._may_have_chunks = bool(self._rows.scan(ANNOUNCING, limit=1))
        return self._may_have_chunks
