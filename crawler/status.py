"""What the operator sees of a running agent: counters of this life, rates, and why it waits."""

from __future__ import annotations

import resource
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.governing import NOTHING_QUEUED

if TYPE_CHECKING:  # the supervisor and `thresher status` do not load the frontier
    from thresher.crawler.core.overview import FrontierSnapshot

StateName = Literal["starting", "crawling", "waiting", "stopping", "done", "stopped", "failed"]
_STATES: tuple[StateName, ...] = (
    "failed",
    "stopping",
    "crawling",
    "starting",
    "waiting",
    "stopped",
    "done",
)  # of several, the one that counts


class Status(msgspec.Struct, kw_only=True):
    """One snapshot of a crawl, as the agent sends it twice a second and `thresher status --json` prints it."""

    state: StateName = "starting"
    why: str = ""  # what it waits for, or why it ended
    at: float = 0.0  # seconds since the epoch
    running_s: float = 0.0  # of this life
    run_pages: int = 0  # of this life
    pages: int = 0  # of the whole crawl, as all counters below
    pages_per_s: float = 0.0  # over the last 10 s
    wire_bytes: int = 0
    requests: int = 0
    robots_requests: int = 0
    redirects: int = 0
    failed: int = 0
    status_classes: dict[str, int] = {}
    causes: dict[str, int] = {}  # failures by cause
    skipped: dict[str, int] = {}  # by reason
    saved: dict[str, int] = {}  # by filter: links refused or rewritten, pages not kept when they were fetched
    would_save: dict[str, int] = {}  # by filter that only observes
    dropped_later: dict[str, int] = {}  # by filter: pages that were kept at first, and redirects, which its newest verdict drops
    needs_browser: dict[str, int] = {}  # pages that only a browser can read, by what they are
    queued: int = 0
    held: int = 0  # held by filters now: some may be fetched later
    held_by: dict[str, int] = {}  # the same by filter
    left_alone: int = 0  # of these: the URLs that are never fetched, since they are not worth a request
    walled: int = 0  # hosts that are parked because a wall answers for them
    fetched_again: int = 0  # URLs that were fetched again since a wall had answered for them
    quarantined: dict[str, int] = {}  # messages and pages that killed a process and are quarantined, by kind
    known: int = 0
    in_flight: int = 0
    hosts_active: int = 0
    hosts_waiting: int = 0
    hosts_backing_off: int = 0
    hosts_parked: dict[str, int] = {}  # by reason
    hosts_held_up: dict[str, int] = {}  # hosts that wait for another reason than their delay, by reason; shown at the end
    hosts: int = 0
    away: int = 0  # agents whose machine cannot be reached
    restarts: int = 0
    cpu_s: float = 0.0  # user and system, of the agent and its parsers
    rss_bytes: int = 0  # peak
    loop_lag_ms: float = 0.0  # worst since the last snapshot
    loop_lag_p99_ms: float = 0.0  # since the start, of all agents; the upper bound of its bin
    loop_lags: dict[str, int] = {}  # samples of the loop's lag by the upper bound in ms


class AgentReport(Status, kw_only=True):
    """The status that one of several agents sends its supervisor, with what only the supervisor needs."""

    idle: str = ""  # why nothing is left to do for now, everything being committed; "" if something is left
    has_tail: bool = False  # some held URLs may still be fetched
    sent: dict[str, int] = {}  # messages to each other agent
    received: dict[str, int] = {}  # messages of each other agent that were carried out
    wave: int = 0  # the number of the last report that the supervisor asked for
    grant: int = 0  # the number of the last grant that arrived
    may_have: int = 0  # pages that the agent may have in all; 0 before its first grant
    answered_before: int = 0  # pages and redirects of earlier lives
    back_offs: list[BackOff] = []  # that have begun since the last report


class AgentOrder(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An order from the supervisor to one of several agents; sent as one JSON line."""

    wave: int = 0  # report at once, under this number
    grant: int = 0  # the number of a grant
    may_have: int = 0  # pages that the agent may have in all; if it has more already, or has them in flight, these count
    lease_until: float = 0.0  # on several machines: the agent may begin requests until this time of cluster/lease.py's clock
    serve_tails: bool = False  # no agent has anything else to do: go on with held URLs
    end: str = ""  # end, for this reason
    code: int = 0


def quantile_ms(counts: Mapping[str, int], share: float) -> float:
    """Return the upper bound in ms of the bin within which `share` of all samples lie; 0 if there is none."""
    missing = share * sum(counts.values())
    for bound in sorted(map(int, counts)):
        missing -= counts[str(bound)]
        if missing <= 0:
            return float(bound)
    return 0.0


def fill_hosts(status: Status, hosts: FrontierSnapshot) -> None:
    """Copy the counts of hosts by state into a status."""
    status.hosts_active, status.hosts_waiting = hosts.active, hosts.waiting
    status.hosts_backing_off, status.hosts_parked = hosts.backing_off, dict(hosts.parked)


def merged(reports: Sequence[Status], left_behind: Status | None = None) -> Status:
    """Return the status of all agents as one.

    Args:
        left_behind: The status of shards that no longer have an agent.
    """
    whole = Status(state=_state_of({report.state for report in reports}))
    for report in (*reports, *([] if left_behind is None else [left_behind])):
        for name in Status.__struct_fields__:
            value, sum_ = getattr(report, name), getattr(whole, name)
            if isinstance(value, dict):
                setattr(whole, name, {key: sum_.get(key, 0) + value.get(key, 0) for key in {**sum_, **value}})
            elif name in ("at", "running_s", "loop_lag_ms"):
                setattr(whole, name, max(sum_, value))
            elif not isinstance(value, str):
                setattr(whole, name, sum_ + value)
    reasons = dict.fromkeys(report.why for report in reports if report.why and report.state == whole.state)
    if len(reasons) > 1:
        reasons.pop(NOTHING_QUEUED, None)  # true of one agent
    whole.why = "; ".join(reasons)
    whole.loop_lag_p99_ms = quantile_ms(whole.loop_lags, 0.99)
    return whole


def _state_of(states: set[str]) -> StateName:
    return next((state for state in _STATES if state in states), "starting")


class Rate:
    """Events per second over a sliding window."""

    def __init__(self, window_s: float = 10.0) -> None:
        self._window_s = window_s
        self._samples: deque[tuple[float, int]] = deque()

    def update(self, now: float, total: int) -> float:
        """Record the running total at `now` (seconds) and return the rate over the window, in events per second."""
        self._samples.append((now, total))
        while len(self._samples) > 2 and now - self._samples[0][0] > self._window_s:
            self._samples.popleft()
        then, before = self._samples[0]
        return (total - before) / (now - then) if now > then else 0.0


def usage() -> tuple[float, int]:
    """Return CPU seconds (user and system) of this process and its ended children, and this process's peak memory in bytes."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return cpu_s, own.ru_maxrss * 1024
