"""Labels of seeds for all URLs that were found from them: a URL has the label of the seed where its first path in the crawl began.

The path is followed backwards, from each URL to the page, style sheet or sitemap that named it first; a page of another agent has the label
that came with its message. A sitemap has the label of the seed at the host whose robots.txt names it. A seed with a label keeps its own
label, whichever page links to it. Without labels in the configuration nothing is read. Time: one read for each URL that is not adjacent to
the one before. Memory: 100,000 answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Self, TypeVar

from thresher.config.settings import Settings
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.fields import ExportKind, Field
from thresher.storage.packing import unpack_seen
from thresher.storage.records import REQUISITE, SITEMAP, PageRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import FOREIGN_LABELS, REQUISITES, SEEN, SITEMAPS
from thresher.storage.tables.bare_seeds import BareSeeds, http_form
from thresher.storage.tables.urls import Urls
from thresher.storage.view import View

_MOST = 100_000
_LONGEST_WAY = 10_000  # pages; no crawl is as deep
_CHUNK = 1000
R = TypeVar("R")


class LabelLookup:
    """Looks up the labels of many URLs at a time; caches recent answers."""

    def __init__(self, rows: Rows, settings: Settings, secret: bytes) -> None:
        self._rows = rows
        self._of_seeds, self._of_hosts = _of_seeds(rows, settings, secret)
        self._has_foreign = bool(self._of_seeds) and bool(rows.scan(FOREIGN_LABELS, limit=1))
        self._known: dict[bytes, str | None] = {}

    @classmethod
    def of_view(cls, view: View) -> Self:
        """Return the labels of a crawl that is only read."""
        return cls(view, view.settings, view.secret)

    def __bool__(self) -> bool:
        """Return whether any seed has a label."""
        return bool(self._of_seeds)

    def of(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the label of each key that has one."""
        if not self._of_seeds:
            return {}
        if len(self._known) > _MOST:
            self._known.clear()
        wanted = {key for key in keys if key}
        ways = {key: [key] for key in wanted if not self._is_known(key)}  # key → keys on its path so far
        for _ in range(_LONGEST_WAY):
            if not ways:
                break
            named_by = self._named_by([way[-1] for way in ways.values()])
            for key, way in list(ways.items()):
                before = named_by.get(way[-1], b"")
                if before and not self._is_known(before):
                    way.append(before)
                    continue
                label = self._known.get(before) if before else self._of_sitemap(way[-1])
                self._known.update(dict.fromkeys(way, label))
                del ways[key]
        return {key: label for key in wanted if (label := self._known.get(key)) is not None}

    def of_url(self, key: bytes, via: bytes) -> str:
        """Return the label of a URL that another URL (`via`) has named; it need not be known yet. "" if it has none."""
        known = self.of((key, via))
        return known.get(key) or known.get(via, "")

    def of_host(self, queue: bytes) -> str:
        """Return the label of the first seed on a host; "" if none has one."""
        return self._of_hosts.get(queue, "")

    def of_foreign(self, key: bytes, label: str) -> None:
        """Store the label of another agent's page."""
        if self._rows.get(FOREIGN_LABELS, key) is None:
            self._rows.put(FOREIGN_LABELS, key, label.encode())
            self._known[key], self._has_foreign = label, True

    def _is_known(self, key: bytes) -> bool:
        if key in self._of_seeds:
            self._known[key] = self._of_seeds[key]
        elif self._has_foreign and key not in self._known and (label := self._rows.get(FOREIGN_LABELS, key)) is not None:
            self._known[key] = label.decode()
        return key in self._known

    def _named_by(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return, for each URL's key, the key of the URL that named it first."""
        distinct = list(dict.fromkeys(keys))
        rows = [*zip(distinct, self._rows.get_many(SEEN, distinct), strict=True)]
        seen = [(key, unpack_seen(value).seq) for key, value in rows if value]
        records = Urls(self._rows).get_many([seq for _, seq in seen])
        found = {key: record.via for (key, _), record in zip(seen, records, strict=True) if record is not None}
        others = [key for key, value in rows if not value]
        needed = zip(others, self._rows.get_many(REQUISITES, others) if others else (), strict=True)
        return found | {key: REQUISITE.decode(value).via for key, value in needed if value}

    def _of_sitemap(self, key: bytes) -> str | None:
        value = self._rows.get(SITEMAPS, key)
        return SITEMAP.decode(value).label or None if value is not None else None


class Labelled(NamedTuple):
    """A row of an export, and its label."""

    row: Any
    label: str | None


def with_label(kind: ExportKind[R], key_of: Callable[[R], bytes]) -> ExportKind[Labelled]:
    """Return a kind of export whose rows have the label of a URL, too.

    Args:
        key_of: Returns the key of the row's URL.
    """

    def rows(view: View, wanted: frozenset[str]) -> Iterator[Labelled]:
        labels, every = LabelLookup.of_view(view), kind.rows(view, wanted)
        while chunk := list(islice(every, _CHUNK)):
            found = labels.of(map(key_of, chunk)) if "label" in wanted else {}
            yield from (Labelled(row, found.get(key_of(row))) for row in chunk)

    return ExportKind(kind.name, rows, (*map(_within, kind.fields), Field("label", lambda labelled: labelled.label)))


def with_labels(view: View, pages: Iterable[tuple[int, PageRecord]]) -> Iterator[tuple[int, PageRecord, str]]:
    """Yield (visit, page, label) for each (visit, page); the label is "" if it has none."""
    labels, every = LabelLookup.of_view(view), iter(pages)
    while chunk := list(islice(every, _CHUNK)):
        found = labels.of(page.key for _, page in chunk)
        yield from ((visit, page, found.get(page.key, "")) for visit, page in chunk)


def _within(field: Field[R]) -> Field[Labelled]:
    return Field(field.name, lambda labelled: field.of(labelled.row), on_request=field.on_request)


def _of_seeds(rows: Rows, settings: Settings, secret: bytes) -> tuple[dict[bytes, str], dict[bytes, str]]:
    """Return (labels by the keys of seeds and of their http forms, labels by host queue)."""
    if not settings.labels:
        return {}, {}
    space, bare = URLSpace(secret, url_rules(settings)), BareSeeds.of(rows).urls
    found: dict[bytes, str] = {}
    hosts: dict[bytes, str] = {}
    for text, label in settings.labels.items():
        try:
            url = space.seed(text)
        except BadURL:
            continue
        found[url.key] = label
        hosts.setdefault(space.queue_key(url.host), label)
        if url.text in bare:
            found.setdefault(space.key(http_form(url.text)), label)
    return found, hosts
