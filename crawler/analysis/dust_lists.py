"""Lists of URLs by site for `thresher dust`, read from a store, JSON lines, or an access log.

A store's pages are sketched as they are read, from their bodies; a copy whose body was not stored has the sketch of the page with the same
text. Time: 0.6 ms a stored page of 25 KB, 20 µs a line. Memory: the URLs and 128 bytes a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import msgspec
import numpy as np

from thresher.crawler.analysis.access_log import LinesRead, read_lines
from thresher.crawler.analysis.tasks import tasks_of
from thresher.crawler.analysis.words_export import LooksExport, words_in
from thresher.crawler.core.access_log import LoggedRequest, parse
from thresher.crawler.core.errors import UsageError
from thresher.filters.dust.accesslog import LeftOut, sightings
from thresher.filters.dust.records import StoredLook, look_at
from thresher.filters.dust.rules import site_named
from thresher.filters.dust.urllist import Sighting, read_line
from thresher.storage.export.judged import standing
from thresher.storage.export.pages import current_pages
from thresher.storage.export.reading import reading
from thresher.storage.export.words import by_shard
from thresher.storage.records import REVISIONS, PageRecord
from thresher.storage.schema import VERDICTS
from thresher.storage.view import View

_CHUNK = 200
_read_looks = msgspec.msgpack.Decoder(list[StoredLook | None]).decode
_SOFT_ERROR = "soft_error"
_EXPECTED = "a crawl's directory, JSON lines of url, status, size and sketch, or an access log"


@dataclass(slots=True)
class Lists:
    """What was read: sightings by site (registrable domain)."""

    of: defaultdict[str, list[Sighting]] = field(default_factory=lambda: defaultdict(list))
    n_lines: int = 0
    n_bad: int = 0
    first_bad: str = ""  # where and why
    dropped: LeftOut | None = None  # of a log

    def add(self, found: Iterable[Sighting], site: str) -> None:
        """Sort sightings by site; only `site` if it is not ""."""
        for sighting in found:
            whose = site_named(sighting.url)
            if site in ("", whose):
                self.of[whose].append(sighting)


def read_source(source: str, site: str) -> Lists:
    """Read a list.

    Args:
        site: Only this registrable domain, "" for all; of a log the server's name or origin, "" for the one that most referers name.

    Raises:
        UsageError: If nothing of it can be used.
    """
    lists = Lists()
    if source != "-" and Path(source).is_dir():
        with reading(Path(source)) as view:
            return read_crawl(source, view, site)
    _read_file(source, site, lists)
    if not lists.of:
        what = f"; the first line that is none: {lists.first_bad}" if lists.n_bad else ""
        raise UsageError(
            f"{source}: expected JSON lines of url, status, size and sketch, or an access log{f', with URLs of {site}' if site else ''}; "
            f"found none in {lists.n_lines:,} lines{what}"
        )
    return lists


def read_crawl(where: str, view: View, site: str) -> Lists:
    """Read the list of a crawl.

    Args:
        where: What it is called in messages.
        site: As for `read_source`.

    Raises:
        UsageError: If it has no page.
    """
    lists = Lists()
    lists.add(stored(view), site)
    if not lists.of:
        raise UsageError(f"{where}: expected pages{f' of {site}' if site else ''} in this store, found none. `stats` shows what it has")
    return lists


def stored(view: View) -> Iterator[Sighting]:
    """Yield every page of a store with its sketch."""
    looks: dict[bytes, StoredLook] = {}
    pages = current_pages(view)
    while chunk := list(islice(pages, _CHUNK)):
        for (_, page), look in zip(chunk, _looks_of(view, [visit for visit, _ in chunk]), strict=True):
            yield _of_page(view, page, look, looks)


def _looks_of(view: View, visits: Sequence[int]) -> list[StoredLook | None]:
    """Return the sketch of each page whose body is stored; on several machines each makes those of its shards."""
    tasks = tasks_of(view)
    if tasks is None:
        return by_shard(view, visits, _looks_here)
    shards = sorted({visit % tasks.stride for visit in visits})
    exports = [
        tasks.export(shard, LooksExport([visit // tasks.stride for visit in visits if visit % tasks.stride == shard])) for shard in shards
    ]
    made = tasks.fetch([tasks.run("looks", [exported], shard=shard)[0] for shard, exported in zip(shards, exports, strict=True)])
    found = {shard: iter(_read_looks(packed)) for shard, packed in zip(shards, made, strict=True)}
    return [next(found[visit % tasks.stride]) for visit in visits]


def looks(exported: bytes) -> list[bytes]:
    """Sketch the pages of an export, as a task."""
    return [msgspec.msgpack.encode(_looked([exported]))]


def _looks_here(view: View, visits: Sequence[int]) -> list[StoredLook | None]:
    return _looked([LooksExport([*visits]).export(view)])


def _looked(exports: Sequence[bytes]) -> list[StoredLook | None]:
    return [None if page.words is None else look_at(page.url, page.words) for page in words_in(exports)]


def _of_page(view: View, page: PageRecord, own: StoredLook | None, looks: dict[bytes, StoredLook]) -> Sighting:
    """Return the sighting of one stored page.

    Args:
        own: Its sketch; None if its body is not stored.
        looks: Sketches of pages whose bodies are stored, by the text's fingerprint; the page's own is added.
    """
    if own is not None:
        look = looks[page.fingerprint] = own
    else:
        look = looks.get(page.fingerprint, StoredLook(page.fingerprint))
    is_bad = not look.is_good or _is_soft_error(view, page)
    sketch = np.frombuffer(look.sketch, dtype="<u2") if look.sketch and not is_bad else None
    return Sighting(page.url, page.status, (page.n_bytes, page.n_bytes), look.fingerprint, sketch, is_bad)


def _is_soft_error(view: View, page: PageRecord) -> bool:
    value = view.get(VERDICTS, page.key)
    verdicts = standing(page, () if value is None else REVISIONS.decode(value))
    return any(verdict.filter == _SOFT_ERROR and not verdict.keep for verdict, _ in verdicts)


def _read_file(source: str, site: str, lists: Lists) -> None:
    found = LinesRead()
    lines = read_lines(source, found, expected=_EXPECTED)
    first = next((line for line in lines if line.strip()), "")
    every = chain((first,), lines)
    if first.lstrip().startswith("{"):
        lists.add(_sightings(source, every, lists), site)
    else:
        logged, lists.dropped = sightings(_requests(source, every, lists), origin=_origin(site))
        lists.add(logged, "")
    lists.n_lines = found.lines
    lists.n_bad += found.torn
    lists.first_bad = lists.first_bad or found.first_torn


def _sightings(source: str, lines: Iterable[str], lists: Lists) -> Iterator[Sighting]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield read_line(line)
        except ValueError as error:
            lists.n_bad += 1
            lists.first_bad = lists.first_bad or f"{source}:{number}: {error}"


def _requests(source: str, lines: Iterable[str], lists: Lists) -> Iterator[LoggedRequest]:
    for number, line in enumerate(lines, 1):
        request = parse(line)
        if request is not None:
            yield request
        elif line.strip():
            lists.n_bad += 1
            lists.first_bad = lists.first_bad or f"{source}:{number}: no line of an access log in common or combined format"


def _origin(site: str) -> str:
    return site if "://" in site or not site else f"http://{site}"
