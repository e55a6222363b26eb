"""Measures the time of each step of a filter: the CPU time of the thread that runs it. Reading that clock takes about 1 µs a step."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from thresher.filters.spec import FilterSpec

_GATES = ("static", "learned", "redirect", "page", "relinks", "head")
_STEPS = ("refuses", "listens", "measure", "decide", "observe")


def clocked(spec: FilterSpec, spent: Counter[str]) -> FilterSpec:
    """Return the filter with clocks that add nanoseconds to `spent`, by "NAME gate.step"."""
    parts = {gate: part for gate in _GATES if (part := getattr(spec, gate)) is not None}
    changed: dict[str, Any] = {gate: _Clocked(part, f"{spec.name} {gate}", spent) for gate, part in parts.items()}
    if spec.foresee is not None:
        changed["foresee"] = with_clock(spec.foresee, f"{spec.name} page.foresee", spent)
    if (by_url := spec.by_url) is not None:
        changed["by_url"] = _Variants(by_url, spent)
    return msgspec.structs.replace(spec, **changed)


class _Variants:
    """The variants of a filter (filters/variants.py), with clocks."""

    def __init__(self, by_url: Callable[[str], FilterSpec], spent: Counter[str]) -> None:
        self._by_url, self._spent = by_url, spent
        self._clocked: dict[int, FilterSpec] = {}

    def __call__(self, text: str) -> FilterSpec:
        spec = self._by_url(text)
        return self._clocked.get(id(spec)) or self._clocked.setdefault(id(spec), clocked(spec, self._spent))


class _Clocked:
    """A part of a filter."""

    def __init__(self, part: Any, name: str, spent: Counter[str]) -> None:
        self.name, self.measure_type = part.name, getattr(part, "measure_type", None)
        for step in _STEPS:
            if hasattr(part, step):
                setattr(self, step, with_clock(getattr(part, step), f"{name}.{step}", spent))


def with_clock(step: Any, name: str, spent: Counter[str]) -> Any:
    """Return a function with a clock that adds nanoseconds to `spent`."""

    def run(*arguments: Any) -> Any:
        before = time.thread_time_ns()
        begun = time.thread_time_ns()
        try:
            return step(*arguments)
        finally:
            spent[name] += time.thread_time_ns() - begun - (begun - before)  # without the time of reading the clock

    return run
