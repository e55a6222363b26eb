"""A crawl's figures for those who watch a cluster: what `thresher status --json` tells, of each agent, as metrics of the engine.

    thresher_pages_total{crawl="/data/web", machine="b", agent="3"}          what only grows: a counter
    thresher_queued{…}                                                       a gauge
    thresher_skipped_total{…, kind="robots"}                                 a field of several counts: one for each

A counter begins with what the crawl has had before, since the figures are those of the whole crawl: it goes on after a restart. When an
agent ends, its gauges are 0. Free of the engine: ray_actors.py makes the metrics.

Memory: 100 bytes a figure of an agent. Time: 0.2 ms a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol

from thresher.crawler.status import Status

PREFIX: Final = "thresher_"
TAGS: Final = ("crawl", "machine", "agent")
KIND: Final = "kind"
COUNTERS: Final = {
    "pages": "pages fetched",
    "wire_bytes": "bytes received, headers included",
    "requests": "requests",
    "robots_requests": "requests for robots.txt",
    "redirects": "redirects",
    "failed": "requests that failed",
    "fetched_again": "URLs fetched again since a wall had answered for them",
    "cpu_s": "seconds of CPU of this life of the agent, its parsers included",
}
COUNTERS_BY_KIND: Final = {
    "status_classes": "answers by class of their status",
    "causes": "failures by cause",
    "skipped": "URLs refused, by reason",
    "saved": "links refused and pages not kept, by filter",
}
GAUGES: Final = {
    "pages_per_s": "pages a second, over the last 10 s",
    "known": "URLs known",
    "queued": "URLs that wait in queues",
    "held": "URLs held by filters",
    "in_flight": "requests under way",
    "hosts": "hosts known",
    "hosts_active": "hosts that are asked now",
    "hosts_waiting": "hosts that wait for their delay",
    "hosts_backing_off": "hosts that have asked for a rest",
    "rss_bytes": "peak of memory",
    "loop_lag_p99_ms": "milliseconds of the loop's lag, 99th percentile",
}
GAUGES_BY_KIND: Final = {"hosts_parked": "hosts that are parked, by reason"}


class EngineCounter(Protocol):
    """A counter of the engine."""

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None: ...


class EngineGauge(Protocol):
    """A gauge of the engine."""

    def set(self, value: float, tags: dict[str, str] | None = None) -> None: ...


class Figures:
    """The figures of one machine's agents."""

    def __init__(
        self,
        crawl: str,
        machine: str,
        counter: Callable[[str, str, tuple[str, ...]], EngineCounter],
        gauge: Callable[[str, str, tuple[str, ...]], EngineGauge],
    ) -> None:
        """Make the metrics.

        Args:
            crawl: Its directory.
            counter, gauge: Make a metric of the engine, from its name, what it counts, and the names of its tags.
        """
        self._tags = {"crawl": crawl, "machine": machine}
        by_kind = (*TAGS, KIND)
        self._counters = {name: counter(PREFIX + name, text, TAGS) for name, text in COUNTERS.items()}
        self._counters |= {name: counter(PREFIX + name, text, by_kind) for name, text in COUNTERS_BY_KIND.items()}
        self._gauges = {name: gauge(PREFIX + name, text, TAGS) for name, text in GAUGES.items()}
        self._gauges |= {name: gauge(PREFIX + name, text, by_kind) for name, text in GAUGES_BY_KIND.items()}
        self._counted: dict[tuple[int, str, str], float] = {}
        self._kinds: set[tuple[int, str, str]] = set()  # of gauges that were set

    def take(self, agent: int, status: Status) -> None:
        """Show what an agent has reported."""
        tags = self._tags | {"agent": str(agent)}
        for name, kind, value in _values(status, COUNTERS, COUNTERS_BY_KIND):
            before = self._counted.get((agent, name, kind), 0.0)
            if value > before:
                self._counters[name].inc(value - before, tags | ({KIND: kind} if kind else {}))
                self._counted[agent, name, kind] = value
        shown = {(name, kind): value for name, kind, value in _values(status, GAUGES, GAUGES_BY_KIND)}
        gone = {(name, kind) for of, name, kind in self._kinds if of == agent} - shown.keys()
        for (name, kind), value in (shown | dict.fromkeys(gone, 0.0)).items():
            self._gauges[name].set(value, tags | ({KIND: kind} if kind else {}))
            self._kinds.add((agent, name, kind))

    def end(self, agent: int) -> None:
        """Show that an agent has ended: nothing waits with it, and counters stay."""
        self._counted = {key: value for key, value in self._counted.items() if key[:2] != (agent, "cpu_s")}  # the next life begins at 0
        self.take(agent, Status())


def _values(status: Status, plain: dict[str, str], by_kind: dict[str, str]) -> Iterator[tuple[str, str, float]]:
    """Yield (name, kind or "", value) of a status."""
    for name in plain:
        yield name, "", float(getattr(status, name))
    for name in by_kind:
        for kind, value in getattr(status, name).items():
            yield name, kind, float(value)
