"""Decides whether our own network is down, or only hosts are.

If at least 80 % of the last 50 conclusive requests, over at least 5 hosts, failed before any peer answered, our own network is taken to be
down: the crawl pauses, failures do not count against host or URL, and one trial after 5, 10, 20, then every 30 seconds checks whether it is
over. The first answer from any peer ends the outage.

A proxy that fails three times in a row counts as our network: the crawl pauses in the same way until an answer comes through it.

Near its end every crawl requests mostly dead hosts, which fail in the same way. So, once any host has answered in this process, a failure
counts only if its host has answered before. A refused connection, a failed handshake or a time-out after connecting is not conclusive.

Memory: 50 pairs. Time: O(50) per failure, O(1) per success.
"""

from __future__ import annotations

from collections import deque

from thresher.crawler.core.model import Cause, Failed, Outcome

WINDOW = 50
SHARE = 0.8
MIN_HOSTS = 5
PROXY_FAILURES = 3  # failures of the proxy in a row
FIRST_TRIAL_S = 5.0
TRIAL_MAX_S = 30.0

_SILENT = frozenset((Cause.DNS_FAIL, Cause.DNS_TIMEOUT, Cause.CONN_TIMEOUT, Cause.UNREACHABLE))


class Outage:
    """The state of our own network, judged from the last requests."""

    def __init__(self) -> None:
        self._recent: deque[tuple[bytes, bool]] = deque(maxlen=WINDOW)  # (queue, failed)
        self._has_answered = False
        self._interval_s = FIRST_TRIAL_S
        self.since: float | None = None
        self.next_trial = 0.0
        self._n_proxy_failures = 0  # in a row
        self.what = "network"  # what is down, if anything: "network" or "proxy"

    @property
    def is_down(self) -> bool:
        return self.since is not None

    def note(self, queue: bytes, outcome: Outcome, now: float, *, answered_before: bool) -> None:
        """Record the end of a request at the host queue `queue`."""
        if isinstance(outcome, Failed) and outcome.head is None:
            self.note_failure(queue, outcome.cause, now, answered_before=answered_before)
            return
        self._has_answered = True
        self._n_proxy_failures = 0
        self._recent.append((queue, False))
        if self.since is not None:
            self.since = None
            self._recent.clear()

    def note_failure(self, queue: bytes, cause: Cause, now: float, *, answered_before: bool) -> None:
        """Record a request, or a look-up for one, that no peer answered."""
        if cause is Cause.PROXY and not self.is_down:
            self._n_proxy_failures += 1
            if self._n_proxy_failures >= PROXY_FAILURES:
                self._begin("proxy", now)
        if cause not in _SILENT or self.is_down or (self._has_answered and not answered_before):
            return
        self._recent.append((queue, True))
        failed = [key for key, is_failure in self._recent if is_failure]
        if len(self._recent) == WINDOW and len(failed) >= SHARE * WINDOW and len(set(failed)) >= MIN_HOSTS:
            self._begin("network", now)

    def _begin(self, what: str, now: float) -> None:
        self.since, self.what = now, what
        self._interval_s = FIRST_TRIAL_S
        self.next_trial = now + FIRST_TRIAL_S

    def try_again(self, now: float) -> None:
        """Record that a trial starts."""
        self._interval_s = min(2.0 * self._interval_s, TRIAL_MAX_S)
        self.next_trial = now + self._interval_s
