"""What several agents must agree on, decided from their reports: that nothing is left to do, and who may fetch how much of what is left.

*The end.* An agent rests when it has nothing due and everything that it did is committed. All rest, and every lane has been heard as far as
it was written: that is a wave. The counts are durable, and are taken agent by agent; a message may still be on its way from one that was
asked early to one that was asked late. So all are asked again, and only if no count has moved between the two waves is the crawl at its
end [MAT87: the second of two equal waves proves that the first saw everything].

*Tails.* What filters postponed is served last, on all hosts of all agents: so when all rest, and any has a tail that may yet be served,
they are told to go on with it, and the crawl is at its end when nobody has.

*Limits.* `limits.max_pages` is granted in shares, of which the sum never passes it. An agent that has used up its share gets of what is
left, or of what others have and do not need; they confirm that they have given it back before it is granted again. One that says it has
nothing to do gets none: it would give the last page back, and get it again, for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thresher.crawler.status import Order, Report

LIMITS = "limits."  # begins why an agent rests that would do more
Counts = list[tuple[dict[str, int], dict[str, int]]]


class TerminationDetector:
    """The agents of a crawl, by number, as far as they have reported."""

    def __init__(self, n_agents: int, max_pages: int | None, tell: Callable[[int, Order], None]) -> None:
        """tell: gives an order to an agent."""
        self._n_agents = n_agents
        self._max_pages = max_pages
        self._tell = tell
        self._reports: dict[int, Report] = {}
        self._wave = 0
        self._before: Counts | None = None  # of the last wave
        self._grant = 0
        self._granted: dict[int, int] = {}  # pages that an agent may have, at most
        self._asked: dict[int, int] = {}  # grants that are not confirmed

    def started(self, agent: int) -> None:
        """A new life of the agent knows of no grant and no wave."""
        self._reports.pop(agent, None)
        self._asked.pop(agent, None)
        self._before = None

    def heard(self, agent: int, report: Report) -> str:
        """Take a report; return why the crawl is at its end, "" if it is not."""
        self._reports[agent] = report
        if self._max_pages is not None:
            self._share(agent, report, self._max_pages)
        if len(self._reports) < self._n_agents or not self._is_wave():
            self._before = None
            return ""
        counts = [(report.sent, report.heard) for _, report in sorted(self._reports.items())]
        if self._before is None:
            self._before, self._wave = counts, self._wave + 1
            for other in self._reports:
                self._tell(other, Order(wave=self._wave))
        elif any(report.wave != self._wave for report in self._reports.values()):
            return ""
        elif counts == self._before and any(report.has_tail for report in self._reports.values()):
            self._before = None
            for other in self._reports:
                self._tell(other, Order(serve_tails=True))
        elif counts == self._before:
            return "; ".join(dict.fromkeys(report.resting for _, report in sorted(self._reports.items())))
        else:
            self._before = None
        return ""

    def _is_wave(self) -> bool:
        """Return whether all agents rest, nobody for want of pages that another could give, and every lane is heard to its end."""
        reports = self._reports
        if not all(report.resting for report in reports.values()) or (self._max_pages is not None and self._is_uneven(self._max_pages)):
            return False
        return all(_heard(reports, to, agent) == n for agent, report in reports.items() for to, n in report.sent.items())

    # -- limits.max_pages

    def _is_uneven(self, max_pages: int) -> bool:
        """Return whether an agent is at its limit while the crawl is not."""
        n_pages = sum(report.pages for report in self._reports.values())
        return n_pages < max_pages and any(self._is_hungry(agent) for agent in self._reports)

    def _is_hungry(self, agent: int) -> bool:
        report = self._reports[agent]
        has_work = not report.resting or report.resting.startswith(LIMITS)
        return has_work and report.pages + report.in_flight >= self._granted.get(agent, 0)

    def _share(self, agent: int, report: Report, max_pages: int) -> None:
        if agent not in self._granted or (agent not in self._asked and not report.grant):
            self._granted[agent] = report.pages  # a new life
        elif report.grant == self._asked.get(agent):
            del self._asked[agent]
            self._granted[agent] = report.may_have
        if len(self._reports) < self._n_agents:
            return
        left = max_pages - sum(self._granted.values())
        hungry = [other for other in self._reports if self._is_hungry(other) and other not in self._asked]
        if left > 0 and hungry:
            for i, other in enumerate(hungry[:left]):
                self._let_have(other, self._granted[other] + left // len(hungry) + (i < left % len(hungry)))
        elif hungry and not self._asked:
            self._take_back()

    def _take_back(self) -> None:
        """Ask those who have more than they have used for half of the rest, for all of it if they rest."""
        for agent, report in self._reports.items():
            used = report.pages + report.in_flight
            spare = self._granted[agent] - used
            if spare > 0:
                self._let_have(agent, used + (0 if report.resting else spare // 2))

    def _let_have(self, agent: int, n_pages: int) -> None:
        """Grant; what is taken back counts as granted until it is confirmed."""
        self._grant += 1
        self._asked[agent] = self._grant
        self._granted[agent] = max(self._granted[agent], n_pages)
        self._tell(agent, Order(grant=self._grant, may_have=n_pages))


def _heard(reports: Mapping[int, Report], agent: int | str, sender: int) -> int:
    return reports[int(agent)].heard.get(str(sender), 0)
