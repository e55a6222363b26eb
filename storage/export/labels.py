"""Labels of seeds, for all URLs that were found from them: a URL has the label of the seed at which its first path in the crawl began.

The path is followed backwards, from each URL to the page that named it first; a page of another agent has the label that came with what it
named. A seed with a label keeps its own label, whichever page links
to it. Without labels in the configuration nothing is read. Time: one read for each URL that is no neighbour of one before it. Memory:
100,000 answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from thresher.config.settings import Settings
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.packing import unpack_seen
from thresher.storage.rows import Rows
from thresher.storage.schema import FOREIGN_LABELS, SEEN
from thresher.storage.tables.bare_seeds import BareSeeds, http_form
from thresher.storage.tables.urls import Urls
from thresher.storage.view import View

_MOST = 100_000
_LONGEST_WAY = 10_000  # pages; no crawl goes as deep


class LabelLookup:
    """Looks up the labels of many URLs at a time; caches recent answers."""

    def __init__(self, rows: Rows, settings: Settings, secret: bytes) -> None:
        self._rows = rows
        self._of_seeds = _of_seeds(rows, settings, secret)
        self._known: dict[bytes, str | None] = {}

    @classmethod
    def of_view(cls, view: View) -> Self:
        """Return the labels of a crawl that is only read."""
        return cls(view, view.settings, view.secret)

    def __bool__(self) -> bool:
        """Whether any seed has a label."""
        return bool(self._of_seeds)

    def of(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the label of each key that has one."""
        if not self._of_seeds:
            return {}
        if len(self._known) > _MOST:
            self._known.clear()
        wanted = {key for key in keys if key}
        ways = {key: [key] for key in wanted if not self._is_known(key)}  # each with the keys that it has passed
        for _ in range(_LONGEST_WAY):
            if not ways:
                break
            named_by = self._named_by([way[-1] for way in ways.values()])
            for key, way in list(ways.items()):
                before = named_by.get(way[-1], b"")
                if before and not self._is_known(before):
                    way.append(before)
                    continue
                self._known.update(dict.fromkeys(way, self._known.get(before)))
                del ways[key]
        return {key: label for key in wanted if (label := self._known.get(key)) is not None}

    def of_url(self, key: bytes, via: bytes) -> str:
        """Return the label of a URL, which need not be known yet, that another has named; "" if it has none."""
        known = self.of((key, via))
        return known.get(key) or known.get(via, "")

    def of_foreign(self, key: bytes, label: str) -> None:
        """Note what label another agent's page has."""
        if self._rows.get(FOREIGN_LABELS, key) is None:
            self._rows.put(FOREIGN_LABELS, key, label.encode())
            self._known[key] = label

    def _is_known(self, key: bytes) -> bool:
        if key in self._of_seeds:
            self._known[key] = self._of_seeds[key]
        elif key not in self._known and (label := self._rows.get(FOREIGN_LABELS, key)) is not None:
            self._known[key] = label.decode()
        return key in self._known

    def _named_by(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return for each URL's key the key of the page that named it first."""
        distinct = list(dict.fromkeys(keys))
        seen = [(key, unpack_seen(value).seq) for key, value in zip(distinct, self._rows.get_many(SEEN, distinct), strict=True) if value]
        records = Urls(self._rows).get_many([seq for _, seq in seen])
        return {key: record.via for (key, _), record in zip(seen, records, strict=True) if record is not None}


def _of_seeds(rows: Rows, settings: Settings, secret: bytes) -> dict[bytes, str]:
    """Return the labels of seeds by the seeds' keys, of http forms that may stand for them too."""
    if not settings.labels:
        return {}
    space, bare = URLSpace(secret, url_rules(settings)), BareSeeds.of(rows).urls
    found: dict[bytes, str] = {}
    for text, label in settings.labels.items():
        try:
            url = space.seed(text)
        except BadURL:
            continue
        found[url.key] = label
        if url.text in bare:
            found.setdefault(space.key(http_form(url.text)), label)
    return found
