"""The figures of an agent's status: what it has done, how fast, what its hosts do, what CPU and memory it takes."""

from __future__ import annotations

from thresher.crawler.agent.loop_lag import LoopLag
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import AgentReport, Rate, Status, fill_hosts, usage

_MOST_BACK_OFFS = 1_000  # at most in one status


class Figures:
    """Keeps one status up to date."""

    def __init__(self, totals: Totals, frontier: Frontier, *, began_at: float, is_one_of_several: bool) -> None:
        self._totals = totals
        self._frontier = frontier
        self._began_at = began_at
        self._status = AgentReport() if is_one_of_several else Status()
        self._pages_before = totals.pages  # at the start of this process
        self.answered_before = totals.answered
        self._rate = Rate()
        self._loop_lag = LoopLag()

    def now(self, at: float, *, n_in_flight: int) -> Status:
        """Return the status as of now, without the loop's lag (`to_publish` has it)."""
        status = self._status
        status.at, status.running_s = at, at - self._began_at
        self._totals.fill(status)
        fill_hosts(status, self._frontier.snapshot(at))
        status.run_pages = status.pages - self._pages_before
        status.in_flight = n_in_flight
        status.pages_per_s = self._rate.update(at, status.pages)
        status.cpu_s, status.rss_bytes = usage()
        return status

    def to_publish(self, at: float, *, n_in_flight: int) -> Status:
        """Return the status as of now, with the worst lag of the loop since the last call."""
        status = self.now(at, n_in_flight=n_in_flight)
        self._loop_lag.fill(status)
        back_offs = self._frontier.take_back_offs(_MOST_BACK_OFFS)
        if isinstance(status, AgentReport):
            status.back_offs = back_offs
        return status
