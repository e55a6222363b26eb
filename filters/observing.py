"""How filters learn from a deliberation: they observe it one after the other, and what they ask for and learn is collected.

A filter that can wait (`FilterSpec.learns_late`) may observe the pages of several visits together. Its code and its tables are then in the
processor's caches from the second page on, which halves its time. The filters that cannot wait observe each page at once.

What is learned does not depend on that. Each filter has a memory of its own and observes the pages in their order, and nothing that
concerns a site is decided while a page of it is still to be observed (`Lessons.before`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from thresher.crawler.core.model import Mode
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NOTHING_LEARNED, Gate
from thresher.filters.deliberation import Asked, Deliberation, Learned
from thresher.filters.journal import JournalRecord, encode_judgement
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import may_have

_OF_PAGES: Final = (Gate.PAGE, Gate.LEARNED)
_encode = msgspec.msgpack.Encoder().encode


class GatePart(NamedTuple):
    """What the panel needs of a filter at a gate, for each page again."""

    spec: FilterSpec
    part: Any
    memory: Memory
    is_journaled: bool  # whether it learns from its measures; if not, it observes nothing
    is_simple: bool  # it enforces, and has no variants


class Observing:
    """A deliberation that filters observe, with what they have asked for and learned until now."""

    __slots__ = ("_asked", "_measures", "_parts", "deliberation")

    def __init__(self, deliberation: Deliberation[Any], parts: Sequence[GatePart]) -> None:
        """Begin.

        Args:
            parts: Of the filters at the gate, in their order.
        """
        self.deliberation = deliberation
        self._parts = parts
        self._asked: dict[int, list[Asked]] = {}  # position of a filter → effects
        self._measures: dict[int, tuple[str, bytes]] = {}

    def by(self, places: Iterable[int]) -> None:
        """Let the filters at some positions observe, all of which learn from their measures."""
        deliberation, parts, measures = self.deliberation, self._parts, self.deliberation.measures
        for at in places:
            spec, part, memory, _, is_simple = parts[at]
            if not is_simple and spec.by_url is not None and deliberation.subject:
                of = spec.of(deliberation.subject)
                if of.mode is Mode.OFF:
                    continue
                part = of.part(deliberation.gate)
            measure = measures[at]
            asked = part.observe(measure, deliberation.judgement, memory)
            if asked is NOTHING_LEARNED:
                continue
            self._measures[at] = spec.name, _encode(measure)
            if asked:
                self._asked[at] = [(spec.name, effect) for effect in asked if may_have(spec, effect, deliberation.subject)]

    @property
    def has_asked(self) -> bool:
        """Whether any effect was asked for, by the deliberation or since."""
        return bool(self._asked or self.deliberation.effects)

    def learned(self, *, varies: bool) -> Learned:
        """Return the effects that filters ask for after observing, and what the journal keeps, both in the order of the filters.

        Args:
            varies: Whether the settings of a filter differ by URL.
        """
        deliberation, measures = self.deliberation, self._measures
        effects = tuple([one for at in sorted(self._asked) for one in self._asked[at]]) if self._asked else ()
        if not measures:
            return effects, None
        said = deliberation.subject if varies else ""
        kept = [measures[at] for at in sorted(measures)]
        return effects, JournalRecord(deliberation.gate, encode_judgement(deliberation.judgement), kept, said)


class Lessons:
    """Lets the filters of a panel observe, and knows which pages some of them have still to observe."""

    def __init__(self, specs: Sequence[FilterSpec], parts: Mapping[Gate, Sequence[GatePart]]) -> None:
        """Create it.

        Args:
            specs: The filters of the panel.
            parts: Of those that learn at each gate, in their order.
        """
        self._parts = parts
        self._varies = any(spec.by_url is not None for spec in specs)
        self._learns = learns = {gate: [at for at, part in enumerate(parts[gate]) if part.is_journaled] for gate in parts}
        self._promptly = {gate: [at for at in learns[gate] if not parts[gate][at].spec.learns_late] for gate in _OF_PAGES}
        self._late = [
            {gate: (at,) for gate in _OF_PAGES for at in learns[gate] if parts[gate][at].spec is spec} for spec in specs if spec.learns_late
        ]
        self.owed: set[bytes] = set()  # sites with a page that is still to be observed
        self.catch_up: Callable[[], None] = self.owed.clear  # lets filters observe these pages, and does what follows from it

    def before(self, *sites: bytes) -> None:
        """Catch up if one of these sites has a page that is still to be observed: something is about to be decided about it."""
        if self.owed and not self.owed.isdisjoint(sites):
            self.catch_up()

    def learn(self, deliberation: Deliberation[Any]) -> Learned:
        """Let every filter at the gate observe; return the effects that they ask for and what the journal keeps."""
        observing = Observing(deliberation, self._parts[deliberation.gate])
        observing.by(self._learns[deliberation.gate])
        return self.learned(observing)

    def promptly(self, deliberation: Deliberation[Any]) -> Observing:
        """Let those filters observe that cannot wait; `late` follows."""
        gate = deliberation.gate
        observing = Observing(deliberation, self._parts[gate])
        observing.by(self._promptly[gate])
        return observing

    def late(self, owed: Sequence[Sequence[Observing]], begin: Callable[[int], None]) -> None:
        """Let the other filters observe, each of them all visits.

        Args:
            owed: Results of `promptly`, by visit.
            begin: Called with the position of a visit when a filter begins with it.
        """
        for places in self._late:
            for i, of_visit in enumerate(owed):
                begin(i)
                for observing in of_visit:
                    if (at := places.get(observing.deliberation.gate)) is not None:
                        observing.by(at)

    def learned(self, observing: Observing) -> Learned:
        """Return the effects that filters ask for after all have observed, and what the journal keeps."""
        return observing.learned(varies=self._varies)
