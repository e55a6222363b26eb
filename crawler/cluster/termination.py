"""Decides, from the reports of several agents, when their crawl is at its end, and how many pages each may still fetch. Used by the
supervisor.

*The end.* An agent is idle when it has nothing to do for now and everything that it did is committed. A wave is a moment at which the
newest reports say that all agents are idle and that every message that was sent has been carried out. The reports are of different times,
so a message may have been sent after its sender's report and before its receiver's. Therefore all agents are asked to report once more. The
crawl is at its end if that second wave shows the same counts of messages as the first [MAT87: two equal waves prove that no message was
under way at the first].

*Tails.* Held URLs are fetched last, over all hosts of all agents. So when all agents are idle, and any of them has a tail (held URLs of a
host) that may still be fetched, all are ordered to serve their tails. The crawl is at its end when no agent has such a tail.

*Limits.* `limits.max_pages` is shared out among the agents; the shares never add up to more. An agent that has used up its share gets a
part of what is left, or of what others have and do not use. Those others first confirm their smaller share; only then the pages are granted
anew. An idle agent gets nothing, and one that has given pages back gets some after all others, since its hosts may rest: otherwise an agent
would give its last page back and get it again without end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thresher.crawler.status import AgentOrder, AgentReport

LIMITS = "limits."  # the reason of an idle agent begins so if a limit keeps it from more work
Counts = list[tuple[dict[str, int], dict[str, int]]]


class TerminationDetector:
    """Decides from the newest report of each agent."""

    def __init__(self, n_agents: int, max_pages: int | None, tell: Callable[[int, AgentOrder], None]) -> None:
        """Create the termination detector.

        Args:
            max_pages: `limits.max_pages` of the whole crawl; None if there is no such limit.
            tell: Sends an order to an agent.
        """
        self._n_agents = n_agents
        self._max_pages = max_pages
        self._tell = tell
        self._reports: dict[int, AgentReport] = {}
        self._wave = 0
        self._before: Counts | None = None  # counts of messages at the first wave; None: no wave since the counts last changed
        self._grant = 0
        self._granted: dict[int, int] = {}  # pages that each agent may have fetched in all
        self._asked: dict[int, int] = {}  # agent → number of the grant that it has not confirmed yet
        self._gave_back: dict[int, int] = {}  # agent → number of the last grant by which its share became smaller

    def on_start(self, agent: int) -> None:
        """Forget an agent's reports: it was started again, and no longer knows its share or that a wave was seen."""
        self._reports.pop(agent, None)
        self._asked.pop(agent, None)
        self._before = None

    def on_report(self, agent: int, report: AgentReport) -> str:
        """Take a report; return why the crawl is at its end, "" if it is not."""
        self._reports[agent] = report
        if self._max_pages is not None:
            self._share(agent, report, self._max_pages)
        if len(self._reports) < self._n_agents or not self._is_wave():
            self._before = None
            return ""
        counts = [(report.sent, report.received) for _, report in sorted(self._reports.items())]
        if self._before is None:
            self._before, self._wave = counts, self._wave + 1
            for other in self._reports:
                self._tell(other, AgentOrder(wave=self._wave))
        elif any(report.wave != self._wave for report in self._reports.values()):
            return ""
        elif counts == self._before and any(report.has_tail for report in self._reports.values()):
            self._before = None
            for other in self._reports:
                self._tell(other, AgentOrder(serve_tails=True))
        elif counts == self._before:
            return "; ".join(dict.fromkeys(report.idle for _, report in sorted(self._reports.items())))
        else:
            self._before = None
        return ""

    def _is_wave(self) -> bool:
        """Return whether all agents are idle (not only because a share of pages is used up), and every message was carried out."""
        reports = self._reports
        if not all(report.idle for report in reports.values()) or (self._max_pages is not None and self._is_uneven(self._max_pages)):
            return False
        return all(_heard(reports, to, agent) == n for agent, report in reports.items() for to, n in report.sent.items())

    # -- limits.max_pages

    def _is_uneven(self, max_pages: int) -> bool:
        """Return whether an agent has used up its share while the crawl has not reached `limits.max_pages`."""
        n_pages = sum(report.pages for report in self._reports.values())
        return n_pages < max_pages and any(self._is_hungry(agent) for agent in self._reports)

    def _is_hungry(self, agent: int) -> bool:
        report = self._reports[agent]
        has_work = not report.idle or report.idle.startswith(LIMITS)
        return has_work and report.pages + report.in_flight >= self._granted.get(agent, 0)

    def _share(self, agent: int, report: AgentReport, max_pages: int) -> None:
        if agent not in self._granted or (agent not in self._asked and not report.grant):
            self._granted[agent] = report.pages  # the agent was started again
        elif report.grant == self._asked.get(agent):
            del self._asked[agent]
            self._granted[agent] = report.may_have
        if len(self._reports) < self._n_agents:
            return
        left = max_pages - sum(self._granted.values())
        hungry = [other for other in self._reports if self._is_hungry(other) and other not in self._asked]
        hungry.sort(key=lambda other: self._gave_back.get(other, 0))
        if left > 0 and hungry:
            for i, other in enumerate(hungry[:left]):
                self._let_have(other, self._granted[other] + left // len(hungry) + (i < left % len(hungry)))
        elif hungry and not self._asked:
            self._take_back()

    def _take_back(self) -> None:
        """Make the shares of agents with pages left smaller: by half of these pages, or by all if the agent is idle."""
        for agent, report in self._reports.items():
            used = report.pages + report.in_flight
            spare = self._granted[agent] - used
            if spare > 0:
                self._let_have(agent, used + (0 if report.idle else spare // 2))
                self._gave_back[agent] = self._grant

    def _let_have(self, agent: int, n_pages: int) -> None:
        """Order a new share. A smaller one counts only when the agent has confirmed it."""
        self._grant += 1
        self._asked[agent] = self._grant
        self._granted[agent] = max(self._granted[agent], n_pages)
        self._tell(agent, AgentOrder(grant=self._grant, may_have=n_pages))


def _heard(reports: Mapping[int, AgentReport], agent: int | str, sender: int) -> int:
    return reports[int(agent)].received.get(str(sender), 0)
