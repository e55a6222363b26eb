"""Metrics of an engine that remember what they show, by name and tags."""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.machines.figures import Figures


class Recorded:
    """What one process of a machine shows; `figures` takes it."""

    def __init__(self, machine: str) -> None:
        self.shown: dict[tuple[str, str, str], float] = {}  # name, agent, kind → value
        self.figures = Figures("the crawl", machine, _Metric.of(self.shown), _Metric.of(self.shown))

    def total(self, name: str) -> float:
        """Return the sum over agents and kinds."""
        return sum(value for (of, _, _), value in self.shown.items() if of == f"thresher_{name}")


class _Metric:
    def __init__(self, shown: dict[tuple[str, str, str], float], name: str, tags: tuple[str, ...]) -> None:
        self._shown, self._name, self._tags = shown, name, {*tags}

    @classmethod
    def of(cls, shown: dict[tuple[str, str, str], float]) -> Callable[[str, str, tuple[str, ...]], _Metric]:
        return lambda name, _text, tags: cls(shown, name, tags)

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        assert value > 0, "a counter grows"
        key = self._key(tags or {})
        self._shown[key] = self._shown.get(key, 0.0) + value

    def set(self, value: float, tags: dict[str, str] | None = None) -> None:
        self._shown[self._key(tags or {})] = value

    def _key(self, tags: dict[str, str]) -> tuple[str, str, str]:
        assert {*tags} == self._tags, "Ray wants a value for each tag, and no others"
        return self._name, tags["agent"], tags.get("kind", "")
