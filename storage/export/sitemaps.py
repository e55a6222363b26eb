"""What sitemaps say, compared with links: `sitemaps`, `announced`, `orphans` and `unannounced`.

An orphan is an announced URL that no link of another page and no redirect names, and that is not a seed. An unannounced page is on a host
that announces pages, and is not announced.

Memory: 150 bytes for each URL that is announced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from thresher.crawler.core.lastmod import believed
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import URLSpace, origin_of
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.fields import PURPOSES, STATES, ExportKind, Field, iso
from thresher.storage.export.labels import with_label
from thresher.storage.export.pages import current_pages
from thresher.storage.packing import unpack_seen
from thresher.storage.records import (
    ANNOUNCED_URL,
    ANNOUNCER,
    SITEMAP,
    AnnouncedRecord,
    AnnouncerRecord,
    PageRecord,
    SitemapRecord,
    UrlRecord,
)
from thresher.storage.schema import ANNOUNCED, ANNOUNCERS, EDGES_IN, SEEN, SITEMAPS
from thresher.storage.view import View

_CHUNK = 1000
T = TypeVar("T")


@dataclass(slots=True)
class AnnouncedRow:
    """A URL that a sitemap announced."""

    url: UrlRecord
    seen: SeenRow
    said: AnnouncedRecord
    sitemap: str
    is_linked: bool
    believed: float


def announced(view: View, _wanted: frozenset[str] = frozenset()) -> Iterator[AnnouncedRow]:
    """Yield every announced URL."""
    linked, names, hosts = _linked(view), _Sitemaps(view), Believed(view)
    for chunk in _chunks(view.timed(ANNOUNCED, ANNOUNCED_URL, lambda said: said.at)):
        keys = [key for key, _ in chunk]
        seen = [unpack_seen(value) if value is not None else None for value in view.get_many(SEEN, keys)]
        urls = view.tables.urls.get_many([row.seq if row is not None else 0 for row in seen])
        for (key, said), row, url in zip(chunk, seen, urls, strict=True):
            if row is not None and url is not None:
                yield AnnouncedRow(url, row, said, names.text(said.sitemap), key in linked, hosts.of(url.text))


def orphans(view: View, _wanted: frozenset[str] = frozenset()) -> Iterator[AnnouncedRow]:
    """Yield announced URLs that no link names."""
    return (row for row in announced(view) if not row.is_linked)


def unannounced(view: View, _wanted: frozenset[str] = frozenset()) -> Iterator[PageRecord]:
    """Yield the pages that the sitemaps of their hosts leave out, for hosts that announce any."""
    hosts, space = {key for key, value in view.rows(ANNOUNCERS) if ANNOUNCER.decode(value).n_urls}, _space(view)
    announcing = hosts | _announcing_hosts(view, space)
    for chunk in _chunks(page for _, page in current_pages(view)):
        of_them = [page for page in chunk if space.queue_key(origin_of(page.url)) in announcing]
        said = view.get_many(ANNOUNCED, [page.key for page in of_them])
        yield from (page for page, value in zip(of_them, said, strict=True) if value is None)


def sitemaps(view: View, _wanted: frozenset[str] = frozenset()) -> Iterator[SitemapRecord]:
    """Yield every sitemap."""
    return (record for _, record in view.timed(SITEMAPS, SITEMAP, lambda record: record.fetched_at))


class Believed:
    """How far the lastmods of hosts can be trusted."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._space = _space(view)
        self._known: dict[bytes, float] = {}

    def record(self, url: str) -> AnnouncerRecord | None:
        """Return the record of a URL's host."""
        return self._view.tables.sitemaps.announcer(self._space.queue_key(origin_of(url)))

    def of(self, url: str) -> float:
        """Return how far the lastmods of a URL's host can be trusted, 0 to 1."""
        queue = self._space.queue_key(origin_of(url))
        if queue not in self._known:
            if len(self._known) >= _CHUNK:
                self._known.clear()
            record = self._view.tables.sitemaps.announcer(queue)
            self._known[queue] = believed(record.n_held, record.n_false) if record is not None else 0.0
        return self._known[queue]


class _Sitemaps:
    """Texts of sitemaps by key."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._texts: dict[bytes, str] = {}

    def text(self, key: bytes) -> str:
        if key not in self._texts:
            if len(self._texts) >= _CHUNK:
                self._texts.clear()
            record = self._view.tables.sitemaps.sitemap(key)
            self._texts[key] = record.text if record is not None else ""
        return self._texts[key]


def _linked(view: View) -> set[bytes]:
    """Return the keys of announced URLs that another page links to, that a redirect leads to, or that are seeds."""
    unnamed: dict[int, bytes] = {}  # number → key
    found: set[bytes] = set()
    for chunk in _chunks(view.numbered_urls()):
        said = view.get_many(ANNOUNCED, [record.key for _, record in chunk])
        for (number, record), value in zip(chunk, said, strict=True):
            if value is None:
                continue
            if not record.via or view.scan(EDGES_IN, record.key, limit=1):
                found.add(record.key)
            else:
                unnamed[number] = record.key
    for visit, numbers in view.all_links():
        named = {number: unnamed[number] for number in numbers if number in unnamed}
        source = view.tables.pages.read(visit) if named else None
        for number, key in named.items():
            if source is None or source.key != key:  # a link of a page to itself does not make it easier to find
                found.add(unnamed.pop(number))
    return found


def _announcing_hosts(view: View, space: URLSpace) -> set[bytes]:
    """Return the host queues whose URLs a sitemap that was read may announce."""
    return {space.queue_key(f"https://{host}") for record in sitemaps(view) if record.n_urls for host in record.hosts}


def _space(view: View) -> URLSpace:
    return URLSpace(view.secret, url_rules(view.settings))


def _number(seq: int) -> bytes:
    return seq.to_bytes(8, "big")


def _chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    rows = iter(rows)
    while chunk := list(islice(rows, _CHUNK)):
        yield chunk


_ANNOUNCED_FIELDS: tuple[Field[AnnouncedRow], ...] = (
    Field("url", lambda row: row.url.text),
    Field("state", lambda row: STATES[row.seen.state]),
    Field("reason", lambda row: row.seen.reason and str(row.seen.reason)),
    Field("sitemap", lambda row: row.sitemap or None),
    Field("kind", lambda row: row.said.kind),
    Field("announced_at", lambda row: iso(row.said.at)),
    Field("lastmod", lambda row: iso(row.said.lastmod)),
    Field("lastmod_believed", lambda row: round(row.believed, 3)),
    Field("changefreq", lambda row: row.said.changefreq or None),
    Field("priority", lambda row: row.said.priority if row.said.priority >= 0 else None),
    Field("linked", lambda row: row.is_linked),
)
ANNOUNCED_KIND = with_label(ExportKind("announced", announced, _ANNOUNCED_FIELDS), lambda row: row.url.key)
ORPHANS_KIND = with_label(ExportKind("orphans", orphans, _ANNOUNCED_FIELDS), lambda row: row.url.key)
_UNANNOUNCED = ExportKind(
    "unannounced",
    unannounced,
    (
        Field("url", lambda page: page.url),
        Field("status", lambda page: page.status or None),
        Field("title", lambda page: page.title),
        Field("depth", lambda page: page.seed_distance),
        Field("purpose", lambda page: PURPOSES[page.purpose]),
        Field("fetched_at", lambda page: iso(page.fetched_at)),
    ),
)
UNANNOUNCED_KIND = with_label(_UNANNOUNCED, lambda page: page.key)
SITEMAPS_KIND = ExportKind(
    "sitemaps",
    sitemaps,
    (
        Field("url", lambda record: record.text),
        Field("named_by", lambda record: record.by or None),
        Field("state", lambda record: record.state),
        Field("kind", lambda record: record.kind or None),
        Field("fetched_at", lambda record: iso(record.fetched_at)),
        Field("urls", lambda record: record.n_urls),
        Field("counts", lambda record: record.counts),
        Field("notes", lambda record: record.notes),
        Field("hosts", lambda record: record.hosts),
        Field("label", lambda record: record.label or None),
    ),
)
