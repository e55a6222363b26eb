"""Running totals of a crawl, in the store's counters: they are part of every visit's commit."""

from __future__ import annotations

from collections.abc import Iterable

from thresher.crawler.core.model import NEEDS_BROWSER, Cause, Reason, State
from thresher.crawler.settlement.tail import CLOSED
from thresher.crawler.status import Status
from thresher.storage.tables.counters import Counters
from thresher.storage.tables.quarantine import ACCUSED, COUNTED
from thresher.storage.tables.tail import HELD_NOW
from thresher.storage.tables.verdicts import DROPPED_LATER

_SAVED = "saved:"
_WOULD_SAVE = "count_would_save:"
_SKIPPED = "skip:"
_CAUSE = "cause:"
_STATUS = "status:"
_BROWSER = "browser:"
WALLED = "canary:walled"  # hosts that are parked because of a wall
FETCHED_AGAIN = "canary:again"  # URLs that were fetched again since a wall had answered for them


class Totals:
    """The totals by name; the numbers are in the store's `Counters`."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    @property
    def counters(self) -> Counters:
        """The store's counters."""
        return self._counters

    @property
    def pages(self) -> int:
        return self._counters.get("pages")

    @property
    def wire_bytes(self) -> int:
        return self._counters.get("wire_bytes")

    @property
    def answered(self) -> int:
        """Pages and redirects: how often a server has answered the request of a URL."""
        return self._counters.get("pages") + self._counters.get("redirects")

    @property
    def accused(self) -> int:
        """How much work other than pages is known to kill the process that does it."""
        return self._counters.get(ACCUSED)

    @property
    def error_rate(self) -> float:
        """Share of URLs that settled with a failure, among those with an answer or a failure, 0–1."""
        failed, pages = self._counters.get("failed"), self._counters.get("pages") + self._counters.get("redirects")
        return failed / (failed + pages) if failed + pages >= 1 else 0.0

    def request(self, wire_bytes: int, *, robots: bool = False) -> None:
        self._counters.add("requests", 1)
        self._counters.add("wire_bytes", wire_bytes)
        if robots:
            self._counters.add("robots_requests", 1)

    def page(self, status: int) -> None:
        """Count a page of the crawl: a final answer with a record, whatever its status."""
        self._counters.add("pages", 1)
        self.status(status)

    def needs_browser(self, flags: Iterable[str]) -> None:
        """Count a page that only a browser can read."""
        for flag in NEEDS_BROWSER.intersection(flags):
            self._counters.add(_BROWSER + flag, 1)

    def status(self, status: int) -> None:
        """Count a final answer by its status."""
        self._counters.add(f"{_STATUS}{status}", 1)

    def redirect(self, status: int) -> None:
        self._counters.add("redirects", 1)
        self._counters.add(f"{_STATUS}{status}", 1)

    def count_failure(self, cause: Cause, *, terminal: bool) -> None:
        self._counters.add(_CAUSE + cause, 1)
        if terminal:
            self._counters.add("failed", 1)

    def skip(self, reason: Reason, n: int = 1) -> None:
        self._counters.add(_SKIPPED + reason, n)

    def count_saved(self, name: str, n: int = 1) -> None:
        """Count what a filter refused for good: links that it refused or rewrote, pages that it did not keep or did not follow."""
        self._counters.add(_SAVED + name, n)

    def count_would_save(self, name: str) -> None:
        """Count what a filter that only observes would have saved."""
        self._counters.add(_WOULD_SAVE + name, 1)

    def count_audited(self, n: int) -> None:
        """Count refused links that are fetched as audits, to measure their filter."""
        if n:
            self._counters.add("audited", n)

    def causes(self) -> dict[str, int]:
        """Return how many attempts failed, by cause."""
        return self._named(_CAUSE)

    def fill(self, status: Status) -> None:
        """Copy the totals into a status."""
        of = self._counters.get
        status.pages, status.wire_bytes, status.requests = of("pages"), of("wire_bytes"), of("requests")
        status.robots_requests, status.redirects, status.failed = of("robots_requests"), of("redirects"), of("failed")
        status.queued = of("state:queued")
        status.held, status.left_alone = of("state:held"), of(CLOSED)
        status.held_by = self._named(HELD_NOW)
        status.walled, status.fetched_again = of(WALLED), of(FETCHED_AGAIN)
        status.quarantined = self._named(COUNTED)
        status.known = sum(of(f"state:{state.name.lower()}") for state in State if state is not State.OUTBOX)
        status.hosts = of("hosts")
        status.causes, status.skipped = self.causes(), self._named(_SKIPPED)
        status.saved, status.would_save = self._named(_SAVED), self._named(_WOULD_SAVE)
        status.dropped_later = self._named(DROPPED_LATER)
        status.needs_browser = self._named(_BROWSER)
        classes: dict[str, int] = {}
        for code, n in self._named(_STATUS).items():
            classes[f"{code[0]}xx"] = classes.get(f"{code[0]}xx", 0) + n
        status.status_classes = classes

    def _named(self, prefix: str) -> dict[str, int]:
        return {name.removeprefix(prefix): n for name, n in self._counters.all(prefix).items() if n}
