"""Keeps a plug-in's mistakes its own: after an exception it has no say about that page, redirect, link or answer, and the crawl goes on.

Each part of a plug-in's `FilterSpec` is wrapped, and what it asks for is checked (plugin_effects.py). An exception goes to `on_fault`, not
to the panel. So does the error that a part returned something of a wrong type.

| raised by                   | what happens                                                                                      |
|-----------------------------|---------------------------------------------------------------------------------------------------|
| `measure`, `decide`         | the other filters judge the page or redirect, links pass; the verdict names the fault             |
| `observe`                   | what it had written to its memory stays, and the journal has the measure: a replay does the same  |
| `refuses`, gate `static`    | the links are asked about one by one; one that raises is refused, as a filter may forbid requests |
| `refuses`, gate `head`      | the body is read                                                                                  |
| `listens`, `again`          | the answer is no                                                                                  |
| `reduce`                    | the filter does not get the answer to its request                                                 |
| `gather`                    | this study is not made, and no other one of the same site by this process                         |
| `on_answer`, `on_finding`, `on_news` | as `observe`                                                                             |
| `adopts`, `recent`          | nothing is known: no permanent effect, no yield                                                   |
| `foresee`                   | nothing: it is computed when it is learned from                                                   |

Time: one more function call for each call of a plug-in; each measure and verdict is encoded and decoded once more. Filters of our own are
not wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any, Final, NamedTuple

import msgspec

from thresher.crawler.core.model import Head, Judgement, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, HeadFilter, LinkColumns, LinkRuling, StaticFilter
from thresher.filters.capabilities import NOTHING_REDUCED, StudyAbandonedError
from thresher.filters.plugin_effects import PluginEffects
from thresher.filters.spec import FilterSpec

OnFault = Callable[[Exception], None]
_SHOWN: Final = 200  # most characters of an exception's text in a verdict
_encode = msgspec.msgpack.Encoder().encode
_decode_verdict = msgspec.msgpack.Decoder(Verdict).decode


def isolated(spec: FilterSpec, on_fault: OnFault) -> FilterSpec:
    """Return a plug-in's filter whose exceptions go to `on_fault`, and whose holders begin with its name."""

    def verdict(error: Exception) -> Verdict:
        return Verdict(spec.name, evidence={"fault": f"{type(error).__name__}: {error}"[:_SHOWN]})

    def told(error: Exception) -> None:
        if isinstance(error, MemoryError):  # not the plug-in's fault alone
            raise error
        on_fault(error)

    guard = _Guard(told, PluginEffects(spec))
    judging = {gate: _Judging(part, guard, Verdict, verdict) for gate in ("page", "redirect") if (part := getattr(spec, gate)) is not None}
    reporting = {
        field: wrapper(part, guard)
        for field, wrapper in (("learner", _Learner), ("concluder", _Reported), ("peer_filter", _Reported), ("prober", _Prober))
        if (part := getattr(spec, field)) is not None
    }
    functions = {
        field: guard.instead(found, none)
        for field, none in (
            ("foresee", None),
            ("again", False),
            ("recent", None),
            ("adopts", False),
            ("on_restored", None),
            ("on_again", None),
        )
        if (found := getattr(spec, field)) is not None
    }
    return msgspec.structs.replace(
        spec,
        static=None if spec.static is None else _Static(spec.static, told),
        head=None if spec.head is None else _Head(spec.head, told),
        learned=None if spec.learned is None else _Judging(spec.learned, guard, LinkRuling, lambda _: NOTHING_REFUSED),
        relinks=None if spec.relinks is None else _Listener(spec.relinks, guard),
        **judging,
        **reporting,
        **functions,
    )


class _Guard:
    """Calls a plug-in's functions."""

    def __init__(self, on_fault: OnFault, effects: PluginEffects) -> None:
        self.on_fault = on_fault
        self.effects = effects

    def learned(self, learn: Callable[..., Effects], *words: Any) -> Effects:
        """Call a function that learns; return the effects that it asks for, none if it raised an exception."""
        try:
            asked = learn(*words)
            return asked if asked is NOTHING_LEARNED else self.effects.checked(asked)
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self.on_fault(error)
            return NO_EFFECTS

    def instead(self, function: Callable[..., Any], none: Any) -> Callable[..., Any]:
        """Return a function that returns `none` where the plug-in's function raises an exception."""

        def call(*words: Any) -> Any:
            try:
                return function(*words)
            except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
                self.on_fault(error)
                return none

        return call


class _Unmeasured(NamedTuple):
    """The measure of a subject on which `measure` raised an exception."""

    error: Exception


class _Observing:
    """A part with `measure` and `observe`."""

    def __init__(self, part: Any, guard: _Guard) -> None:
        self.name: str = part.name
        self.measure_type: type[Any] = part.measure_type
        self._decode_measure = None if part.measure_type is NoneType else msgspec.msgpack.Decoder(part.measure_type).decode
        self._part, self._guard = part, guard

    def measure(self, subject: Any, /) -> Any:
        try:
            measure = self._part.measure(subject)
            if self._decode_measure is not None:
                self._decode_measure(_encode(measure))  # as the journal writes it, and reads it after a kill
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._guard.on_fault(error)
            return _Unmeasured(error)
        return measure

    def observe(self, measure: Any, judgement: Judgement, memory: Memory, /) -> Effects:
        if isinstance(measure, _Unmeasured):
            return NOTHING_LEARNED
        return self._guard.learned(self._part.observe, measure, judgement, memory)


class _Judging(_Observing):
    """A part with `measure`, `decide` and `observe`."""

    def __init__(self, part: Any, guard: _Guard, ruling_type: type[Any], without: Callable[[Exception], Any]) -> None:
        """Create the part.

        Args:
            part: The plug-in's.
            guard: Handles its exceptions.
            ruling_type: What `decide` must return beside the effects.
            without: Makes the ruling that has no say.
        """
        super().__init__(part, guard)
        self._ruling_type, self._without = ruling_type, without

    def decide(self, measure: Any, memory: Memory, /) -> tuple[Any, Effects]:
        if isinstance(measure, _Unmeasured):
            return self._without(measure.error), NO_EFFECTS
        try:
            return self._checked(self._part.decide(measure, memory))
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._guard.on_fault(error)
            return self._without(error), NO_EFFECTS

    def _checked(self, answer: Any) -> tuple[Any, Effects]:
        is_pair = isinstance(answer, tuple) and len(answer) == 2
        if not (is_pair and isinstance(answer[0], self._ruling_type)):
            raise TypeError(f"`decide` returned {answer!r:.80}, expected a {self._ruling_type.__name__} and a tuple of effects")
        ruling, effects = answer
        for verdict in ruling.refused.values() if isinstance(ruling, LinkRuling) else (ruling,):
            _decode_verdict(_encode(verdict))  # as the page's record is written, and read: a store that cannot be read counts as damaged
        return ruling, self._guard.effects.checked(effects)


class _Listener(_Observing):
    """The part `relinks`."""

    def __init__(self, part: Any, guard: _Guard) -> None:
        super().__init__(part, guard)
        self.listens = guard.instead(part.listens, none=False)


class _Reported:
    """A part that gets findings or news."""

    def __init__(self, part: Any, guard: _Guard) -> None:
        self._part, self._guard = part, guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def on_finding(self, *words: Any) -> Effects:
        return self._guard.learned(self._part.on_finding, *words)

    def on_news(self, *words: Any) -> Effects:
        return self._guard.learned(self._part.on_news, *words)


class _Learner(_Reported):
    """The part `learner`."""

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        try:
            for piece in self._part.gather(site, memory):
                if not isinstance(piece, bytes):
                    raise TypeError(f"`gather` gave {piece!r:.80}, expected bytes")
                yield piece
        except Exception as error:
            self._guard.on_fault(error)
            raise StudyAbandonedError from error


class _Prober(_Reported):
    """The part `prober`."""

    def reduce(self, answer: Any, /) -> Any:
        try:
            reduced = self._part.reduce(answer)
            msgspec.msgpack.decode(_encode(reduced), type=self._part.answer_type)  # as it is read at another agent, and by a replay
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._guard.on_fault(error)
            return NOTHING_REDUCED
        return reduced

    def on_answer(self, *words: Any) -> Effects:
        return self._guard.learned(self._part.on_answer, *words)


class _Static:
    """A part at the gate `static`."""

    def __init__(self, part: StaticFilter, on_fault: OnFault) -> None:
        self.name = part.name
        self._part, self._on_fault = part, on_fault

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        try:
            return self._checked(self._part.refuses(links), len(links.texts))
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            if len(links.texts) == 1:
                self._on_fault(error)
                return {0: Reason.REFUSED_BY_FILTER}
        alone = enumerate(map(LinkColumns.of, *links))
        return {at: reason for at, link in alone for reason in self.refuses(link).values()}

    def _checked(self, refused: Any, n: int) -> Mapping[int, Reason]:
        if not isinstance(refused, Mapping) or any(at not in range(n) or not isinstance(why, Reason) for at, why in refused.items()):
            raise TypeError(f"`refuses` returned {refused!r:.80}, expected positions of links, each with its Reason")
        return refused


class _Head:
    """A part at the gate `head`."""

    def __init__(self, part: HeadFilter, on_fault: OnFault) -> None:
        self.name = part.name
        self._part, self._on_fault = part, on_fault

    def refuses(self, head: Head, /) -> Reason | None:
        try:
            reason = self._part.refuses(head)
            if not isinstance(reason, Reason | None):
                raise TypeError(f"`refuses` returned {reason!r:.80}, expected a Reason or None")
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._on_fault(error)
            return None
        return reason
