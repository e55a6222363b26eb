"""Whether an agent has no work left: no URL is due soon, and nothing is under way that may bring more URLs."""

from __future__ import annotations

from thresher.config.settings import Settings
from thresher.crawler.agent.announcer import Announcer
from thresher.crawler.children.studies import Studies
from thresher.crawler.clock import Clock
from thresher.crawler.core.frontier import Frontier, Wait


class Idleness:
    """Decides what it means that the frontier has no URL to request now."""

    def __init__(self, settings: Settings, frontier: Frontier, studies: Studies, announcer: Announcer, clock: Clock) -> None:
        self._max_wait = settings.limits.max_wait
        self._is_continuous = settings.schedule == "continuous"
        self._frontier = frontier
        self._studies = studies
        self._announcer = announcer
        self._clock = clock

    def why(self, wait: Wait) -> str:
        """Return why nothing is due within `limits.max_wait`; "" if something may be.

        Args:
            wait: The frontier's last answer.
        """
        if self._studies.busy or self._announcer.is_busy:
            return ""
        if wait.until is not None and wait.until - self._clock() <= self._max_wait:
            return ""
        if wait.until is None:
            return "nothing is left to do"
        if self._is_continuous:
            return ""  # a continuous crawl waits for its next page
        return f"nothing is due within {self._max_wait:.0f} s ({wait.why or self._frontier.why(self._clock())})"

    def is_pause(self, wait: Wait) -> bool:
        """Return whether a continuous crawl waits for the next page that is due, and has nothing under way."""
        is_waiting = self._is_continuous and wait.until is not None and wait.until > self._clock()
        return is_waiting and not self._announcer.is_busy
