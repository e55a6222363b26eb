"""Keeps a plug-in's mistakes its own: an exception means that it has no say about that page, redirect or link, and the crawl goes on.

Each part of a plug-in's `FilterSpec` is wrapped. The holders that it names (`Hold`, `Release`) begin with its name: where they do not, the
name is put before them, as figures and `explain` take a holder's first word for the filter. An exception at a gate goes to `on_fault` and
not to the panel:

| raised by                | what happens                                                                                     |
|--------------------------|--------------------------------------------------------------------------------------------------|
| `measure`, `decide`      | the other filters judge the page or redirect, links pass; the verdict names the fault            |
| `observe`                | what it had written to its memory stays, and the journal has the measure: a replay does the same |
| `refuses`, gate `static` | the links are asked about one by one; one that raises is refused, as a filter may forbid requests |
| `refuses`, gate `head`   | the body is read                                                                                 |
| `foresee`                | nothing: it is computed when it is learned from                                                  |

Time: one more function call for each call of a plug-in. Filters of our own are not wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from thresher.crawler.core.effects import Effect, Hold, Release
from thresher.crawler.core.model import Head, Judgement, Page, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, HeadFilter, LinkColumns, LinkRuling, StaticFilter
from thresher.filters.spec import FilterSpec, Foresight

OnFault = Callable[[Exception], None]
_ACTING: Final = ("relinks", "prober", "learner", "concluder", "peer_filter")  # parts that may ask for effects beside judging
_SHOWN: Final = 200  # most characters of an exception's text in a verdict


def isolated(spec: FilterSpec, on_fault: OnFault) -> FilterSpec:
    """Return a plug-in's filter whose exceptions at the gates go to `on_fault`, and whose holders begin with its name."""

    def verdict(error: Exception) -> Verdict:
        return Verdict(spec.name, evidence={"fault": f"{type(error).__name__}: {error}"[:_SHOWN]})

    def told(error: Exception) -> None:
        if isinstance(error, MemoryError):  # not the plug-in's fault alone
            raise error
        on_fault(error)

    judging = {gate: _Judging(part, told, Verdict, verdict) for gate in ("page", "redirect") if (part := getattr(spec, gate)) is not None}
    acting = {field: _Acting(part) for field in _ACTING if (part := getattr(spec, field)) is not None}
    return msgspec.structs.replace(
        spec,
        static=None if spec.static is None else _Static(spec.static, told),
        head=None if spec.head is None else _Head(spec.head, told),
        learned=None if spec.learned is None else _Judging(spec.learned, told, LinkRuling, lambda _: NOTHING_REFUSED),
        foresee=None if spec.foresee is None else _ahead(spec.foresee, told),
        **judging,
        **acting,
    )


def _ahead(foresee: Foresight, on_fault: OnFault) -> Foresight:
    def run(page: Page, queue: bytes, memory: Memory, /) -> None:
        try:
            foresee(page, queue, memory)
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            on_fault(error)

    return run


def _named(name: str, effects: Effects) -> Effects:
    """Return effects whose holders begin with a filter's name."""
    return tuple(_with_name(name, effect) for effect in effects) if effects else effects


def _with_name(name: str, effect: Effect) -> Effect:
    if not isinstance(effect, Hold | Release) or effect.holder.partition(" ")[0] == name:
        return effect
    return msgspec.structs.replace(effect, holder=f"{name} {effect.holder}")


class _Acting:
    """A part that is no gate's; it has all methods of the plug-in's part."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def observe(self, *words: Any) -> Effects:
        return _named(self._part.name, self._part.observe(*words))

    def on_answer(self, *words: Any) -> Effects:
        return _named(self._part.name, self._part.on_answer(*words))

    def on_finding(self, *words: Any) -> Effects:
        return _named(self._part.name, self._part.on_finding(*words))

    def on_news(self, *words: Any) -> Effects:
        return _named(self._part.name, self._part.on_news(*words))


class _Unmeasured(NamedTuple):
    """The measure of a subject on which `measure` raised an exception."""

    error: Exception


class _Judging:
    """A part with `measure`, `decide` and `observe`."""

    def __init__(self, part: Any, on_fault: OnFault, ruling_type: type[Any], without: Callable[[Exception], Any]) -> None:
        """Create the part.

        Args:
            part: The plug-in's.
            on_fault: Called with each exception.
            ruling_type: What `decide` must return beside the effects.
            without: Makes the ruling that has no say.
        """
        self.name: str = part.name
        self.measure_type: type[Any] = part.measure_type
        self._part, self._on_fault = part, on_fault
        self._ruling_type, self._without = ruling_type, without

    def measure(self, subject: Any, /) -> Any:
        try:
            return self._part.measure(subject)
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._on_fault(error)
            return _Unmeasured(error)

    def decide(self, measure: Any, memory: Memory, /) -> tuple[Any, Effects]:
        if isinstance(measure, _Unmeasured):
            return self._without(measure.error), NO_EFFECTS
        try:
            return self._checked(self._part.decide(measure, memory))
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._on_fault(error)
            return self._without(error), NO_EFFECTS

    def observe(self, measure: Any, judgement: Judgement, memory: Memory, /) -> Effects:
        if isinstance(measure, _Unmeasured):
            return NOTHING_LEARNED
        try:
            effects = _named(self.name, self._part.observe(measure, judgement, memory))
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._on_fault(error)
            return NO_EFFECTS
        return effects

    def _checked(self, answer: Any) -> tuple[Any, Effects]:
        is_pair = isinstance(answer, tuple) and len(answer) == 2
        if not (is_pair and isinstance(answer[0], self._ruling_type)):
            raise TypeError(f"`decide` returned {answer!r:.80}, expected a {self._ruling_type.__name__} and a tuple of effects")
        ruling, effects = answer
        return ruling, _named(self.name, effects)


class _Static:
    """A part at the gate `static`."""

    def __init__(self, part: StaticFilter, on_fault: OnFault) -> None:
        self.name = part.name
        self._part, self._on_fault = part, on_fault

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        try:
            return self._part.refuses(links)
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            if len(links.texts) == 1:
                self._on_fault(error)
                return {0: Reason.REFUSED_BY_FILTER}
        alone = enumerate(map(LinkColumns.of, *links))
        return {at: reason for at, link in alone for reason in self.refuses(link).values()}


class _Head:
    """A part at the gate `head`."""

    def __init__(self, part: HeadFilter, on_fault: OnFault) -> None:
        self.name = part.name
        self._part, self._on_fault = part, on_fault

    def refuses(self, head: Head, /) -> Reason | None:
        try:
            return self._part.refuses(head)
        except Exception as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything
            self._on_fault(error)
            return None
