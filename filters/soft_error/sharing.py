"""Redirects from one agent's sites to another's: counted by the target's owner, and known to all agents that have originals of the target.

If there are several agents, none of them sees all redirects to a target. What belongs to the original's host (its counts, labels, probes)
is exact, since one agent has all of it. What belongs to the target is kept by the target's owner:

    original's agent ── Counted: a pair, and the count known here ──► owner   adds the original to the target's cell
    original's agent ◄── Tally: the cell, the target's look ────────── owner  adds the cell to its own, judges its originals again
    original's agent ── Form: soft errors lead to URLs of a form ────► owner  refuses links of that form

Cells are sets or HyperLogLogs, and are only ever united: what arrives twice counts once. The owner sends a tally to all agents with
originals of a target when its count is small or has reached a power of two; and at once to an agent that knows less than half of the count,
or does not know how the target looks. So between two tallies an agent knows at least half of the count: .3 of σ's log10 units.

Memory: one pair's measure a target more than with one agent. Time: 20 µs a pair, and two messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from thresher.crawler.core.effects import Answer, Effect, Tell
from thresher.crawler.core.model import Judgement, RedirectPair, Verdict
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.capabilities import Prober
from thresher.filters.soft_error import hyperloglog, stream
from thresher.filters.soft_error.records import HOPS, NAME, TARGETS, TEMPLATES, FaultySites, RecordTable, RedirectTarget
from thresher.filters.soft_error.redirect_gate import PairFeatures, RedirectGate
from thresher.filters.soft_error.stream import Key, PairKeys

_FEW = 8  # up to so many originals, a tally is sent for each
_LAST = RecordTable(b"M", PairFeatures)
_encode = msgspec.msgpack.Encoder().encode


class Counted(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """A pair whose target is the owner's."""

    keys: PairKeys
    page: Key  # of the target; `keys` has the key of the form under which it is counted
    n: Annotated[int, Meta(ge=0)]  # originals that the sender knows to end there
    is_unseen: bool  # the sender does not know how the target looks


class TargetTally(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """The owner's state of a target."""

    target: Key  # key under which it is counted
    cell: bytes
    form: str  # kind of soft error, "" for none
    page: Key
    look: RedirectTarget | None

    def __post_init__(self) -> None:
        if not hyperloglog.is_cell(self.cell):
            raise ValueError(f"expected a cell of hashes or registers, found {len(self.cell)} bytes")


class TargetForm(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """URLs of this form are targets of soft errors."""

    target: Key
    kind: str


class Shared:
    """The messages about targets between agents, and how they are handled."""

    name = NAME
    news_type: Any = Counted | TargetTally | TargetForm

    def __init__(self, gate: RedirectGate, faults: FaultySites, owners: Ownership) -> None:
        self._gate = gate
        self._faults = faults
        self._owners = owners
        self.is_own = owners.is_own

    def on_news(self, news: Counted | TargetTally | TargetForm, memory: Memory, /) -> Effects:
        """Learn from another agent's message."""
        match news:
            case Counted():
                return tuple(self._on_count(news, memory))
            case TargetTally():
                return self._on_tally(news, memory)
            case TargetForm():
                TEMPLATES.put(memory, news.target, news.kind)
                self._faults.note(memory, news.target)
                return NO_EFFECTS

    def observed(self, measure: PairFeatures, keys: PairKeys, n_before: int, memory: Memory) -> Iterator[Effect]:
        """Send a pair that this agent has counted to the target's owner."""
        _LAST.put(memory, keys.target, measure)
        n = stream.n_to_target(memory, keys.target)
        if not self.is_own(keys.target):
            is_unseen = TARGETS.get(memory, measure.target) is None and TEMPLATES.get(memory, keys.target) is None
            yield Tell(keys.target, _encode(Counted(keys, measure.target, n, is_unseen)))
        elif _is_told(n_before, n):
            yield from self._tell_all(keys.target, measure.target, memory)

    def form_of(self, target: bytes, learn: Callable[[], Effects], memory: Memory) -> Effects:
        """Learn; if that shows that soft errors lead to a form of another agent's URLs, send it the form."""
        before = TEMPLATES.get(memory, target)
        effects = learn()
        form = TEMPLATES.get(memory, target)
        if form is None or form == before or self.is_own(target):
            return effects
        return (*effects, Tell(target, _encode(TargetForm(target, form))))

    def _on_count(self, news: Counted, memory: Memory) -> Iterator[Effect]:
        """Count for the owner's target; send the tally to all that need it."""
        target = news.keys.target
        n_before = stream.n_to_target(memory, target)
        stream.count_of_peer(memory, news.keys)
        n = stream.n_to_target(memory, target)
        if _is_told(n_before, n):
            yield from self._again(target, memory)
            yield from self._tell_all(target, news.page, memory)
            return
        tally = _tally(target, news.page, memory)
        if n >= 2 * news.n or (news.is_unseen and (tally.look is not None or tally.form)):
            yield Tell(news.keys.original, _encode(tally))

    def _on_tally(self, news: TargetTally, memory: Memory) -> Effects:
        stream.add_to_target(memory, news.target, news.cell)
        if news.look is not None:
            TARGETS.put(memory, news.page, news.look)
        if news.form and TEMPLATES.get(memory, news.target) is None:
            TEMPLATES.put(memory, news.target, news.form)
        return self._again(news.target, memory)

    def _again(self, target: bytes, memory: Memory) -> Effects:
        """Judge this agent's originals of a target again."""
        last = _LAST.get(memory, target)
        return NO_EFFECTS if last is None else self.form_of(target, lambda: self._gate.again(last, memory), memory)

    def _tell_all(self, target: bytes, page: bytes, memory: Memory) -> Iterator[Effect]:
        """Send the tally to the other agents that have originals of a target."""
        others = {self._owners.owner(original): original for original, _ in stream.originals(memory, target)}
        others.pop(self._owners.me, None)
        tally = _encode(_tally(target, page, memory)) if others else b""
        for original in others.values():
            yield Tell(original, tally)


class SharedGate:
    """The redirect gate of one of several agents."""

    name = NAME
    measure_type = PairFeatures

    def __init__(self, gate: RedirectGate, shared: Shared) -> None:
        self._gate = gate
        self._shared = shared

    def measure(self, pair: RedirectPair, /) -> PairFeatures:
        return self._gate.measure(pair)

    def decide(self, measure: PairFeatures, memory: Memory, /) -> tuple[Verdict, Effects]:
        return self._gate.decide(measure, memory)

    def observe(self, measure: PairFeatures, judgement: Judgement, memory: Memory, /) -> Effects:
        keys = measure.keys
        if keys is None:
            return NO_EFFECTS
        n_before = stream.n_to_target(memory, keys.target)
        effects = self._shared.form_of(keys.target, lambda: self._gate.observe(measure, judgement, memory), memory)
        return (*effects, *self._shared.observed(measure, keys, n_before, memory))


class SharedProber:
    """The prober of one of several agents."""

    name = NAME

    def __init__(self, prober: Prober, shared: Shared) -> None:
        self.answer_type = prober.answer_type
        self._prober = prober
        self._shared = shared

    def reduce(self, answer: Answer, /) -> Any:
        return self._prober.reduce(answer)

    def on_answer(self, reduced: Any, memory: Memory, /) -> Effects:
        if not self._shared.is_own(reduced.key) and HOPS.get(memory, reduced.key) is None:
            return NO_EFFECTS  # a hop of a probe on a site that another agent owns now
        if not reduced.counted_as:
            return self._prober.on_answer(reduced, memory)
        return self._shared.form_of(reduced.counted_as, lambda: self._prober.on_answer(reduced, memory), memory)


def _is_told(n_before: int, n: int) -> bool:
    """Return whether a tally is sent to all agents after a target's count has grown."""
    return n > n_before and (n <= _FEW or n.bit_length() > n_before.bit_length())


def _tally(target: bytes, page: bytes, memory: Memory) -> TargetTally:
    form = TEMPLATES.get(memory, target) or ""
    return TargetTally(target, stream.target_cell(memory, target), form, page, TARGETS.get(memory, page))
