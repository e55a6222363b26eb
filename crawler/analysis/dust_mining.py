"""Mines a list of URLs for rules, site by site: what `thresher dust mine` prints. On several machines each site is a task, on any of them.

Memory: the list, and in each task that of one site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from thresher.crawler.analysis.dust_lists import Lists, read_crawl, read_source
from thresher.crawler.analysis.tasks import Tasks, in_turn, tasks_of
from thresher.filters.dust.mine import Mining, mine
from thresher.filters.dust.rules import LearnedRule
from thresher.filters.dust.urllist import Sighting, UrlList
from thresher.storage.export.reading import reading

_AT_ONCE: Final = 64  # sites that are mined or wait for that


class MinedSite(msgspec.Struct, frozen=True):
    """The rules of a site, best first. n_urls: of its list"""

    site: str
    n_urls: int
    rules: list[LearnedRule]


class SeenRow(msgspec.Struct, array_like=True, frozen=True):
    """A `Sighting` of a stored page as bytes."""

    url: str
    status: int
    size: tuple[int, int] | None
    fingerprint: bytes
    sketch: bytes | None
    is_bad: bool
    is_met: bool
    seen_at: tuple[int, int] | None


class MineOrder(msgspec.Struct, frozen=True):
    """An order to mine a site's list."""

    site: str
    at_most: int
    seen: list[SeenRow]


_read_order = msgspec.msgpack.Decoder(MineOrder).decode
_read_mined = msgspec.msgpack.Decoder(MinedSite).decode


def mined(source: str, site: str, at_most: int, say: Callable[[Lists], None]) -> Iterator[MinedSite]:
    """Yield the sites of a list with their rules.

    Args:
        source, site: As for `read_source`.
        at_most: Rules of a site.
        say: Is told what was read, before the first site.

    Raises:
        UsageError: If nothing of the list can be used.
    """
    with ExitStack() as opened:
        tasks = None
        if source != "-" and Path(source).is_dir():
            view = opened.enter_context(reading(Path(source)))
            lists, tasks = read_crawl(source, view, site), tasks_of(view)
        else:
            lists = read_source(source, site)
        say(lists)
        yield from _by_site(lists.of, at_most) if tasks is None else _by_tasks(lists.of, at_most, tasks)


def mine_site(order: bytes) -> list[bytes]:
    """Mine a site's list, as a task."""
    wanted = _read_order(order)
    return [msgspec.msgpack.encode(_mined(wanted.site, [*map(_sighting, wanted.seen)], wanted.at_most))]


def _by_site(lists: Mapping[str, Sequence[Sighting]], at_most: int) -> Iterator[MinedSite]:
    return (_mined(name, seen, at_most) for name, seen in sorted(lists.items()))


def _by_tasks(lists: Mapping[str, Sequence[Sighting]], at_most: int, tasks: Tasks) -> Iterator[MinedSite]:
    def begin(name: str, seen: Sequence[Sighting]) -> Callable[[], list[object]]:
        return lambda: tasks.run("mine", [_order(name, seen, at_most)])

    return map(_read_mined, in_turn((begin(name, seen) for name, seen in sorted(lists.items())), tasks, _AT_ONCE))


def _order(name: str, seen: Sequence[Sighting], at_most: int) -> bytes:
    return msgspec.msgpack.encode(MineOrder(name, at_most, [*map(_row, seen)]))


def _row(of: Sighting) -> SeenRow:
    assert isinstance(of.fingerprint, bytes), "that of a stored page"
    sketch = None if of.sketch is None else of.sketch.astype("<u2").tobytes()
    return SeenRow(of.url, of.status, of.size, of.fingerprint, sketch, of.is_bad, of.is_met, of.seen_at)


def _sighting(row: SeenRow) -> Sighting:
    sketch = None if row.sketch is None else np.frombuffer(row.sketch, dtype="<u2")
    return Sighting(row.url, row.status, row.size, row.fingerprint, sketch, row.is_bad, row.is_met, row.seen_at)


def _mined(name: str, seen: Sequence[Sighting], at_most: int) -> MinedSite:
    known = UrlList.of(seen)
    return MinedSite(name, len(known), mine(known, Mining(at_most=at_most)))
