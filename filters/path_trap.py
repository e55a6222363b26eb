"""Path traps: endless URL spaces, told by the shape of the URL and by how many URLs one place has already yielded.

By shape (static gate): a path segment that occurs more than `max_segment_repeats` times, more than `max_segments` segments, more than
`max_params` query parameters.
By yield (learned gate): at most `max_per_prefix` URLs are admitted in one directory of a host (`/tags/7` and `/tags/7/` are both in
`/tags/`), and at most `max_calendar` date-shaped
URLs of one shape (digits aside, the same URL), so that a calendar ends although each of its pages is new.

Memory: per site, hash of (host, directory) or (host, shape) → number of URLs admitted; 4 bytes each.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec
import numpy as np
import xxhash

from config.settings import PathTrap
from crawler.core.model import LinkBatch, Reason, Verdict
from crawler.core.ports import Memory
from filters.base import NO_EFFECTS, NOTHING_REFUSED, Candidate, Effects, LinkJudgement, LinkRuling

NAME = "path_trap"
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(
    r"(?:19|20|21)(?<!\d\d\d)\d\d([-/_.]?)(?:0?[1-9]|1[0-2])(?:\1(?:0?[1-9]|[12]\d|3[01]))?(?!\d)"
    r"|\b(?:year|yr|month|mon|day|date)=\d",
    re.IGNORECASE,
)


class ShapeTrap:
    """Static gate: the URL's own shape."""

    name = NAME

    def __init__(self, settings: PathTrap) -> None:
        self._max_repeats = settings.max_segment_repeats
        self._max_segments = settings.max_segments
        self._max_params = settings.max_params

    def refuses(self, candidate: Candidate, /) -> Reason | None:
        path, _, query = candidate.text[len(candidate.origin) :].partition("?")
        if query and query.count("&") >= self._max_params:
            return Reason.PATH_TRAP
        n_segments = path.count("/")
        if n_segments <= self._max_repeats:
            return None
        if n_segments > self._max_segments:
            return Reason.TOO_MANY_SEGMENTS
        segments = Counter(segment for segment in path.split("/") if segment)
        return Reason.PATH_TRAP if segments and max(segments.values()) > self._max_repeats else None


class Measure(msgspec.Struct, array_like=True, frozen=True):
    """Memory cells of a batch: per link its directory's, and its calendar's or b""."""

    prefixes: list[bytes]
    calendars: list[bytes]


class YieldTrap:
    """Learned gate: budgets per directory and per calendar."""

    name = NAME
    measure_type = Measure

    def __init__(self, settings: PathTrap) -> None:
        self._max_per_prefix = settings.max_per_prefix
        self._max_calendar = settings.max_calendar

    def measure(self, batch: LinkBatch, /) -> Measure:
        prefixes, calendars = [], []
        for text, host, key in zip(batch.texts, batch.hosts, batch.keys, strict=True):
            path = text[len(host) :].partition("?")[0]
            prefixes.append(key[:8] + _digest(host + path[: path.rindex("/", 0, max(1, len(path) - 1)) + 1]))
            shape = _calendar_shape(text, host)
            calendars.append(key[:8] + _digest(shape) if shape else b"")
        return Measure(prefixes, calendars)

    def decide(self, measure: Measure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        counts = _read(memory, measure)
        refused: dict[int, Verdict] = {}
        for i, (prefix, calendar) in enumerate(zip(measure.prefixes, measure.calendars, strict=True)):
            if calendar and counts[calendar] >= self._max_calendar:
                refused[i] = _refuse(Reason.PATH_TRAP, "calendar", counts[calendar])
            elif counts[prefix] >= self._max_per_prefix:
                refused[i] = _refuse(Reason.PREFIX_BUDGET, "directory", counts[prefix])
            else:
                counts[prefix] += 1
                if calendar:
                    counts[calendar] += 1
        return (LinkRuling(refused) if refused else NOTHING_REFUSED), NO_EFFECTS

    def observe(self, measure: Measure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        admitted = np.flatnonzero(judgement.admitted).tolist()
        gained = Counter(measure.prefixes[i] for i in admitted)
        gained.update(measure.calendars[i] for i in admitted if measure.calendars[i])
        for cell, value in zip(gained, memory.get_many(gained), strict=True):
            count = (int.from_bytes(value, "big") if value else 0) + gained[cell]
            memory.put(cell, min(count, 0xFFFFFFFF).to_bytes(4, "big"), weight=float(count))
        return NO_EFFECTS


def _digest(text: str) -> bytes:
    return xxhash.xxh3_64_digest(text.encode())


def _calendar_shape(text: str, host: str) -> str:
    """Return the URL with its digits generalised if a date stands in it, else ""."""
    return _DIGITS.sub("#", text) if _DATE.search(text, len(host)) else ""


def _read(memory: Memory, measure: Measure) -> Counter[bytes]:
    cells = {cell for cell in (*measure.prefixes, *measure.calendars) if cell}
    return Counter({cell: int.from_bytes(value, "big") for cell, value in zip(cells, memory.get_many(cells), strict=True) if value})


def _refuse(reason: Reason, kind: str, admitted: int) -> Verdict:
    return Verdict(NAME, keep=False, follow=False, score=1.0, reason=reason, evidence={"kind": kind, "admitted": admitted})
