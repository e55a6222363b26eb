"""Path traps: endless URL spaces, found by the shape of one URL and by what all URLs of one shape have yielded.

**By shape** (static gate): a path segment that occurs more than `max_segment_repeats` times, more than `max_segments` segments, more than
`max_params` query parameters.

**By yield**: for each shape (path_shapes.py) the filter counts the answers that gave nothing new. These are: any status but 200; a page
that the panel judged a copy or a soft error; and a page whose text, without what its URL repeats, is that of one of the last eight pages of
the shape (pattern_yield/news.py). After `max_per_prefix` such answers the shape is spent, unless one answer in twenty was new. This is an
opinion: its URLs are held (filters/tail/), both those found from now on and those in the queue, when they are about to be requested. A
calendar (URLs with dates of one form) is spent after `max_calendar` such answers. After ten times as many answers of any kind its URLs are
refused: a calendar never ends, and the user has set this limit.

Only answers count. A URL that is queued, held by a filter or the alias of another one adds nothing to the counts, so a forum of any size is
fetched whole as long as its topics are new, however fast its links are found. A page that only one filter dropped counts neither way, and
so does a new text that is too short to be compared.

Memory: per site, 17 bytes of key → four numbers and eight texts' hashes of a shape, at most 60 bytes. Time: 10 µs a page of a small shape,
100 of others; 1 µs a link of a site without a spent shape, 5 of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from types import NoneType
from typing import Final, NamedTuple

import msgspec
import xxhash

from thresher.config.settings import PathTrapSettings
from thresher.crawler.core.effects import Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Mode, Page, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home
from thresher.crawler.native import NATIVE, native
from thresher.filters.base import (
    NO_EFFECTS,
    NOTHING_LEARNED,
    NOTHING_REFUSED,
    Effects,
    HeldLink,
    LinkColumns,
    LinkJudgement,
    LinkRuling,
    hold_links,
)
from thresher.filters.evidence.decay import Recent
from thresher.filters.path_shapes import calendar_of, shape_of
from thresher.filters.pattern_yield.news import Novelty, news_of, novelty_of
from thresher.filters.spec import FilterSpec

NAME = "path_trap"
LATELY: Final = 8  # latest texts that a shape remembers
YIELDS: Final = 0.05  # share of new answers from which a shape is never closed
GENEROUS: Final = 10  # times `max_calendar` answers close a calendar, new ones or not
_LOOKS_FROM: Final = 100  # texts are compared from a hundredth of the bound on
_MIN_TOKENS = 20  # words that a text needs to be compared
_CLOSED_WEIGHT = 1e12
_MOST_HELD = 4_096  # classes
_NO_VERDICT = Verdict(NAME)


def spec(settings: PathTrapSettings, *, judges: Collection[str] = (), shared: dict[str, Recent] | None = None) -> FilterSpec:
    """Build the filter.

    Args:
        settings: Its options.
        judges: Filters that drop pages.
        shared: Counts of held classes, shared with the parts of the same filter under other settings.
    """
    held: dict[str, Recent] = {} if shared is None else shared
    links, pages = YieldTrap(settings, held), YieldCount(settings, judges=judges)
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        static=ShapeTrap(settings),
        learned=links,
        page=pages,
        again=links.may_hold,
        unread=True,
        recent=links.recent,
        shared=held,
        learns_late=True,
    )


def holder(spelled: str) -> str:
    """Return the name under which the URLs of a shape or of a calendar are held."""
    return f"{NAME} {spelled}"


class ShapeBounds(NamedTuple):
    """The most that the shape of a URL may have."""

    max_segment_repeats: int
    max_segments: int
    max_params: int

    def refusal(self, text: str, host: str) -> Reason | None:
        """Return the reason why a canonical URL is refused; None if it is not.

        Args:
            text: The URL.
            host: Its origin (scheme and authority).
        """
        path, _, query = text[len(host) :].partition("?")
        if query and query.count("&") >= self.max_params:
            return Reason.PATH_TRAP
        n_segments = path.count("/")
        if n_segments > self.max_segments:
            return Reason.TOO_MANY_SEGMENTS
        if n_segments <= self.max_segment_repeats:
            return None
        segments = Counter(segment for segment in path.split("/") if segment)
        return Reason.PATH_TRAP if segments and max(segments.values()) > self.max_segment_repeats else None


class ShapeTrap:
    """Static gate: the URL's own shape."""

    name = NAME

    def __init__(self, settings: PathTrapSettings) -> None:
        self._bounds = ShapeBounds(*(getattr(settings, key) for key in ShapeBounds._fields))
        # a URL with more slashes may be beyond a bound
        self._most_slashes = min(settings.max_segment_repeats, settings.max_segments) + len("//")

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        most_slashes, most_params = self._most_slashes, self._bounds.max_params
        if NATIVE:
            odd = native.crowded(links.texts, most_slashes, most_params - 1)
        else:
            odd = [i for i, text in enumerate(links.texts) if text.count("/") > most_slashes or text.count("&") >= most_params]
        return {i: reason for i in odd if (reason := self._bounds.refusal(links.texts[i], links.hosts[i]))}


class Shape(msgspec.Struct, array_like=True):
    """What the URLs of one shape, or of one calendar, have yielded."""

    answered: int = 0
    barren: int = 0
    new: int = 0
    lately: list[int] = []  # hashes of the latest texts, 4 bytes each

    def learn(self, *, shows: int, is_old: bool, is_new: bool) -> None:
        """Count one answer.

        Args:
            shows: Hash of the page's text without what its URL repeats, 0 if that is not known.
        """
        self.answered += 1
        if is_old or (shows and shows in self.lately):
            self.barren += 1
            return
        self.new += is_new
        if shows:
            self.lately = [*self.lately[1 - LATELY :], shows]

    def is_spent(self, at_most: int) -> bool:
        """Return whether this many answers gave nothing new and hardly any of the others did."""
        return self.barren >= at_most and self.new < YIELDS * (self.new + self.barren)


_decode: Final = msgspec.msgpack.Decoder(Shape).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class PathTrapMeasure(msgspec.Struct, array_like=True, dict=True):
    """What learning needs of a page. The text's hash is computed only if it is needed; the page itself is at hand, but not journaled."""

    cells: list[bytes]  # memory keys of its shape and its calendar
    is_ok: bool
    shows: int = 0  # 4 bytes of a hash
    has_text: bool = False  # enough words to be compared
    key: bytes = b""

    def read(self) -> None:
        """Compute the hash of the text, if the page is at hand (in a replay it is not)."""
        page: Page | None = self.__dict__.get("page")
        if page is not None and not self.shows:
            self.shows = news_of(page) & 0xFFFFFFFF or 1
            self.has_text = len(page.tokens) >= _MIN_TOKENS


class YieldCount:
    """Page gate: gives no verdict, and counts what each shape yields."""

    name = NAME
    measure_type = PathTrapMeasure

    def __init__(self, settings: PathTrapSettings, *, judges: Collection[str] = ()) -> None:
        self._bounds = _Bounds(settings)
        self._judges = frozenset(judges)

    def measure(self, page: Page, /) -> PathTrapMeasure:
        url = page.url
        measure = PathTrapMeasure(list(_cells(url.text, url.host, url.key[:8]).values()), page.status == 200, key=url.key)
        measure.__dict__["page"] = page
        return measure

    def decide(self, measure: PathTrapMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return _NO_VERDICT, NO_EFFECTS

    def observe(self, measure: PathTrapMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        novelty = novelty_of(judgement, self._judges) if measure.is_ok else Novelty.OLD
        is_barren = False
        for cell in measure.cells:
            shape = _read(memory, cell)
            looks = novelty is not Novelty.OLD and shape.answered >= self._bounds.looks_from(cell)
            if looks:
                measure.read()
            shows = measure.shows if looks else 0
            n_barren = shape.barren
            shape.learn(shows=shows, is_old=novelty is Novelty.OLD, is_new=looks and not novelty.is_against and measure.has_text)
            is_barren = is_barren or shape.barren > n_barren
            memory.put(cell, _encode(shape), weight=float(shape.answered))
            if self._bounds.closes(cell, shape):
                memory.put(_mark(cell[:8]), b"closed", weight=_CLOSED_WEIGHT)
        return (Worthless(measure.key),) if is_barren else NO_EFFECTS


class YieldTrap:
    """Learned gate: holds URLs of spent shapes and calendars; refuses URLs of calendars that have used up their limit. Learns nothing."""

    name = NAME
    measure_type = NoneType

    def __init__(self, settings: PathTrapSettings, held: dict[str, Recent]) -> None:
        self._bounds = _Bounds(settings)
        self._only_observes = settings.mode == "observe"
        self._held = held

    def measure(self, batch: LinkBatch, /) -> LinkBatch:
        return batch

    def decide(self, batch: LinkBatch, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        closed = [site for site in batch.site_keys if memory.get(_mark(site)) is not None]
        if not closed:
            return NOTHING_REFUSED, NO_EFFECTS
        refused: dict[int, Verdict] = {}
        found: list[HeldLink] = []
        for i in batch.of_sites(closed):
            if is_home(batch.texts[i]):
                continue
            for spelled, cell in _cells(batch.texts[i], batch.hosts[i], batch.keys[i][:8]).items():
                shape = _read(memory, cell)
                if self._bounds.never_ends(cell, shape):
                    refused[i] = _verdict(cell, shape)
                    break
                if self._bounds.is_spent(cell, shape):
                    self._hold(holder(spelled), shape)
                    found.append(HeldLink(i, holder(spelled), partial(_verdict, cell, shape)))
                    break
        ruling, effects = hold_links(batch, found, only_observes=self._only_observes)
        return (LinkRuling({**ruling.refused, **refused}) if refused else ruling), effects

    def _hold(self, by: str, shape: Shape) -> None:
        """Remember the counts of a shape that is about to be held, for `recent`."""
        if len(self._held) >= _MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[by] = Recent(shape.answered, shape.new, shape.barren)

    def recent(self, by: str, memory: Memory, /) -> Recent:
        """Return what the latest fetches of a class gave before its URLs were held. Called right after the first URL was held."""
        found = self._held.get(by, Recent())
        return Recent(found.n, found.s, found.streak)

    def observe(self, batch: LinkBatch, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return NOTHING_LEARNED

    def may_hold(self, key: bytes, memory: Memory, /) -> bool:
        """Return whether a URL of this site may be held or refused when it is about to be requested."""
        return memory.get(_mark(key[:8])) is not None


def _verdict(cell: bytes, shape: Shape) -> Verdict:
    kind, reason = ("calendar", Reason.PATH_TRAP) if _is_calendar(cell) else ("shape", Reason.PREFIX_BUDGET)
    evidence: dict[str, str | int | float] = {"kind": kind, "answered": shape.answered, "barren": shape.barren}
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=reason, evidence=evidence)


class _Bounds:
    """When a shape or a calendar is closed."""

    def __init__(self, settings: PathTrapSettings) -> None:
        self._max_per_prefix = settings.max_per_prefix
        self._max_calendar = settings.max_calendar

    def looks_from(self, cell: bytes) -> int:
        """Return the number of answers from which pages' texts are compared: that takes 90 µs, and most shapes stay small."""
        return (self._max_calendar if _is_calendar(cell) else self._max_per_prefix) // _LOOKS_FROM

    def closes(self, cell: bytes, shape: Shape) -> bool:
        """Return whether URLs of a shape are held or refused."""
        return self.is_spent(cell, shape) or self.never_ends(cell, shape)

    def is_spent(self, cell: bytes, shape: Shape) -> bool:
        """Return whether a shape's answers gave nothing new: an opinion."""
        return shape.is_spent(self._max_calendar if _is_calendar(cell) else self._max_per_prefix)

    def never_ends(self, cell: bytes, shape: Shape) -> bool:
        """Return whether a cell is a calendar that has had all the answers that a calendar may have."""
        return _is_calendar(cell) and shape.answered >= GENEROUS * self._max_calendar


def _cells(text: str, host: str, site: bytes) -> dict[str, bytes]:
    """Return the shape and the calendar of a URL, as text, with their keys in the memory."""
    shape = shape_of(text, host)
    cells = {shape: site + b"s" + xxhash.xxh3_64_digest(shape.encode())}
    if calendar := calendar_of(text, host):
        cells["calendar " + calendar] = site + b"c" + xxhash.xxh3_64_digest(calendar.encode())
    return cells


def _is_calendar(cell: bytes) -> bool:
    return cell[8:9] == b"c"


def _mark(site: bytes) -> bytes:
    """Return the key that says that some shape of the site is closed."""
    return site + b"!"


def _read(memory: Memory, cell: bytes) -> Shape:
    value = memory.get(cell)
    return Shape() if value is None else _decode(value)
