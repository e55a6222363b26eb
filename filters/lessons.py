"""How the filters of a panel learn: from one judgement, or from those of several pages together.

Page by page, the code and the records of each filter push those of the others out of the processor's caches. So pages that settle together
are learned from filter by filter: first all pages by the first filter, then all by the second. What a filter learns from a page must not
come too late for the judgement of the next one, though. Those whose page and learned parts touch the records of one site alone for a page
say so (`FilterSpec.of_site`, base.py); they learn together from pages of different sites, which the caller picks. All others, plug-ins
among them unless they say it, too, learn from each page as soon as it is written (`begin`), before the next one is judged.

Each filter learns from the pages in their order, and from a page before its links, as it would page by page; so a replay of the journal,
which is written page by page, teaches it the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from thresher.crawler.core.model import Mode
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NOTHING_LEARNED, Effects, Gate
from thresher.filters.deliberation import Asked, Deliberation, Learned
from thresher.filters.journal import JournalRecord, encode_judgement
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import may_have

_encode = msgspec.msgpack.Encoder().encode
_PUT_OFF = (Gate.PAGE, Gate.LEARNED)


class GatePart(NamedTuple):
    """What the panel needs of a filter at a gate, for each page again."""

    spec: FilterSpec
    part: Any
    memory: Memory
    is_journaled: bool  # whether it learns from its measures
    is_simple: bool  # it enforces, and has no variants


class Lesson(NamedTuple):
    """A judgement that the filters of its gate learn from."""

    deliberation: Deliberation[Any]
    key: bytes  # of the page that is learned from
    learned: dict[int, Effects]  # place of a filter at the gate → what it asked for when it learned at once


class Lessons:
    """Lets filters observe."""

    def __init__(self, parts: Mapping[Gate, Sequence[GatePart]], *, varies: bool) -> None:
        """Create the lessons.

        Args:
            parts: The filters that learn at a gate, in the order in which they are asked.
            varies: Whether settings of filters differ by URL, so that the journal needs the URL.
        """
        self._parts = parts
        self._varies = varies
        self._at_once = {
            gate: [i for i, part in enumerate(of_gate) if gate not in _PUT_OFF or not part.spec.of_site] for gate, of_gate in parts.items()
        }

    def begin(self, deliberation: Deliberation[Any], key: bytes = b"") -> Lesson:
        """Let those filters learn that must have learned before the next page is judged.

        Args:
            deliberation: The judgement.
            key: Of the page.
        """
        parts = self._parts[deliberation.gate]
        return Lesson(deliberation, key, {i: _observed(parts[i], i, deliberation) for i in self._at_once[deliberation.gate]})

    def end(self, lessons: Sequence[Lesson], naming: Callable[[bytes], None] | None = None) -> list[Learned]:
        """Let the other filters learn, one after the other from all judgements.

        Args:
            lessons: Of pages of different sites, in the order in which they were judged.
            naming: Called with the key of each page before a filter learns from it.

        Returns:
            For each judgement, the effects that filters ask for, and what the journal keeps.
        """
        effects: list[list[Asked]] = [[] for _ in lessons]
        measures: list[list[tuple[str, bytes]]] = [[] for _ in lessons]
        for gate in dict.fromkeys([lesson.deliberation.gate for lesson in lessons]):
            at = [n for n, lesson in enumerate(lessons) if lesson.deliberation.gate is gate]
            for i, part in enumerate(self._parts[gate]):
                for n in at:
                    deliberation, key, learned = lessons[n]
                    asked = learned.get(i)
                    if asked is None:
                        if naming is not None:
                            naming(key)
                        asked = _observed(part, i, deliberation)
                    if asked is NOTHING_LEARNED:
                        continue
                    if part.is_journaled:
                        measures[n].append((part.spec.name, _encode(deliberation.measures[i])))
                    if asked:
                        effects[n] += _allowed(part.spec, asked, deliberation.subject)
        return [
            (tuple(asked), self._record(lesson.deliberation, kept)) for lesson, asked, kept in zip(lessons, effects, measures, strict=True)
        ]

    def _record(self, deliberation: Deliberation[Any], measures: list[tuple[str, bytes]]) -> JournalRecord | None:
        """Return what the journal keeps."""
        if not measures:
            return None
        said = deliberation.subject if self._varies else ""
        return JournalRecord(deliberation.gate, encode_judgement(deliberation.judgement), measures, said)


def _observed(part: GatePart, place: int, deliberation: Deliberation[Any]) -> Effects:
    """Let a filter observe a judgement, by its variant for the URL.

    Args:
        part: The filter at the gate.
        place: Its place there.
        deliberation: The judgement.
    """
    observer = part.part
    if part.spec.by_url is not None and deliberation.subject:
        of = part.spec.of(deliberation.subject)
        if of.mode is Mode.OFF:
            return NOTHING_LEARNED
        observer = of.part(deliberation.gate)
    learned: Effects = observer.observe(deliberation.measures[place], deliberation.judgement, part.memory)
    return learned


def _allowed(spec: FilterSpec, asked: Effects, subject: str) -> Iterable[Asked]:
    return [(spec.name, effect) for effect in asked if may_have(spec, effect, subject)]
