"""How gently a host is treated: gap, back-off, retries, circuit, and the rules that a configuration sets for it.

The main idea: waits are kept per HOST QUEUE, never per URL. A URL's retry waits for its own time and for its host's; a 429 that arrives
within a millisecond slows the whole host (a fast error never makes a crawl faster). All times count from the END of a response.

    gap      = max(min_delay, delay_factor x elapsed), at most max_delay; at least Crawl-delay; twice that while a 429 or 503 is not
               forgiven; at least min_delay x 2^failures; lengthened by up to `jitter`, never shortened
    back-off = 429, 503: Retry-After (clamped), or backoff_initial, doubled per incident, forgiven after backoff_forgive of quiet
    circuit  = dead_after failures in a row park the host for dead_wait, then one trial

`failures` counts failures in a row, but a success halves it rather than clearing it: a host that fails nine times of ten recovers slowly.
From Mercator [HN99: delay_factor], NUTCH-2946 and StormCrawler [back-off curve]. Pure: `now` and `rng` are arguments. O(1) per response.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from thresher.config.settings import PolitenessSettings, RetrySettings, Settings
from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.model import Cause, Failed, Fetched, Outcome, Reason
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.ports import Entry, HostRecord

VISIT_WAITS: Final = 0.05  # share of the longest interval between visits of a page for which new URLs may go before a due visit
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?")
_MAX_HEADER = 64  # characters of a Retry-After; a longer one is ignored


class WaitRule(StrEnum):
    """Why a host waits after a response, as shown to the operator: names of options in `politeness`, or names from the standards."""

    MIN_DELAY = "min_delay"
    OWN_DELAY = "own_site.delay"
    CRAWL_DELAY = "crawl_delay"
    DELAY_FACTOR = "delay_factor"
    BACK_OFF = "back-off"
    RETRY_AFTER = "Retry-After"
    FAILURES = "failures in a row"
    WALLED = "walled"  # a canary failed: filters/canary


@dataclass(frozen=True, slots=True)
class HostRules:
    """The rules of the configuration for one host, with overrides."""

    min_delay: float
    delay_factor: float
    max_delay: float
    max_pages: int | None
    max_bytes: int | None
    politeness: PolitenessSettings  # all other rules
    retry: RetrySettings
    announced_every: int = 0  # one of so many requests goes to an announced URL while linked URLs wait; 0: none
    refresh_share: float = 0.5  # share of the host's requests for due revisits, while new URLs wait
    visit_waits_s: float = math.inf  # most seconds that a due visit waits while new URLs go first
    own_delay: float | None = None  # on the operator's own site: replaces `min_delay` while the host answers well

    @property
    def floor(self) -> float:
        """The least gap in seconds, whatever the response time."""
        return min(self.min_delay, self.max_delay)


@dataclass(frozen=True, slots=True)
class Policy:
    """What follows a failure: the wait in seconds before each further try, and whose fault it is."""

    waits: tuple[float, ...] = ()
    counts_against_host: bool = True
    counts_as_try: bool = True  # False: the fault is ours or our network's, so the failure is not one of the URL's tries


_NETWORK = Policy((30.0, 300.0, 3600.0))
_SERVER = Policy((30.0, 120.0, 600.0))
_BODY = Policy(counts_against_host=False)

RETRIES: dict[Cause, Policy] = {
    Cause.DNS_NXDOMAIN: Policy((3600.0,)),
    Cause.DNS_NODATA: Policy((3600.0,)),
    Cause.DNS_FAIL: _NETWORK,
    Cause.DNS_TIMEOUT: _NETWORK,
    Cause.BLOCKED_ADDRESS: Policy(),
    Cause.CONN_REFUSED: _NETWORK,
    Cause.CONN_TIMEOUT: _NETWORK,
    Cause.CONN_RESET: _NETWORK,
    Cause.UNREACHABLE: _NETWORK,  # while the whole network is down, no failure counts against a URL: see outage.py
    Cause.TLS_CERT: Policy(),
    Cause.TLS_PROTO: Policy(),
    Cause.TIMEOUT_FIRST_BYTE: _NETWORK,
    Cause.TIMEOUT_HEADERS: _NETWORK,
    Cause.TIMEOUT_TOTAL: _NETWORK,
    Cause.TOO_SLOW: _NETWORK,
    Cause.DISCONNECTED: Policy((30.0, 300.0)),
    Cause.INCOMPLETE: Policy((30.0, 300.0), counts_against_host=False),
    Cause.PROTOCOL: Policy(),
    Cause.PROTOCOL_STATUS: Policy(),
    Cause.PROTOCOL_HEADERS: Policy(),
    Cause.PROTOCOL_WIRE_BUDGET: Policy(),
    Cause.BOMB: _BODY,
    Cause.BAD_ENCODING: _BODY,
    Cause.UNSUPPORTED_ENCODING: _BODY,
    Cause.TRUNCATED_ENCODING: Policy((30.0,), counts_against_host=False),
    Cause.HTTP_5XX: _SERVER,
    Cause.HTTP_429: Policy((0.0, 0.0, 0.0)),  # the host's back-off is the wait
    Cause.HTTP_RETRY: _SERVER,
    Cause.NO_DESCRIPTORS: Policy((5.0,), counts_against_host=False, counts_as_try=False),
    Cause.NO_LEASE: Policy((0.0,), counts_against_host=False, counts_as_try=False),
    Cause.SLEPT: Policy((0.0,), counts_against_host=False, counts_as_try=False),
    Cause.INTERNAL_ERROR: Policy(counts_against_host=False),  # another request would meet the same fault of ours
    Cause.PROXY: Policy((5.0,), counts_against_host=False, counts_as_try=False),  # while it is down, the crawl pauses: see outage.py
    Cause.PROXY_REFUSED: Policy(counts_against_host=False),
}


def parse_retry_after(text: str, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for; 0 for a date in the past, None if it has neither form [RFC 9110, 10.2.3].

    Args:
        text: The value of the header.
        now: Seconds since the epoch.
    """
    text = text.strip()
    if not text or len(text) > _MAX_HEADER:
        return None
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        at = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return max(0.0, at - now)


class Rulebook:
    """The rules of each host: the general settings with the overrides that cover it."""

    def __init__(self, settings: Settings) -> None:
        self.overriding = Overriding(settings)
        self._made: dict[int, HostRules] = {}  # by the identity of the settings objects, which `Overriding` keeps

    def of(self, name: str, *, is_own: bool = False) -> HostRules:
        """Return the rules of the host queue `name`.

        Args:
            is_own: Whether it is served from a pinned address of the operator's own site.
        """
        settings = self.overriding.of_host(name)
        rules = self._made.get(id(settings))
        if rules is None:
            rules = self._made[id(settings)] = _rules_of(settings)
        if not is_own:
            return rules
        said = {one.key: one.value for one in self.overriding.said_of_host(name)}
        own_delay = said.get("own_site.delay", said.get("politeness.min_delay", settings.own_site.delay))
        return replace(rules, own_delay=own_delay)


def _rules_of(settings: Settings) -> HostRules:
    politeness, limits, share = settings.politeness, settings.limits, settings.frontier.announced_share
    return HostRules(
        min_delay=politeness.min_delay,
        delay_factor=politeness.delay_factor,
        max_delay=politeness.max_delay,
        max_pages=limits.max_pages_per_host,
        max_bytes=limits.max_bytes_per_host,
        politeness=politeness,
        announced_every=round(1 / share) if share else 0,
        refresh_share=settings.recrawl.refresh_share,
        visit_waits_s=VISIT_WAITS * settings.recrawl.max_interval,
        retry=settings.retry,
    )


class Pace:
    """Updates a host's record after each response, and decides whether and when it is requested again."""

    def __init__(self, settings: Settings, rng: random.Random) -> None:
        self._longest = _longest(settings)
        self._rng = rng
        self._back_offs: dict[str, BackOff] = {}  # name of a host → back-off that was not taken yet

    def take_back_offs(self, most: int) -> list[BackOff]:
        """Return at most `most` back-offs that have begun since the last call, each host's newest; further ones come with the next call."""
        return [self._back_offs.pop(name) for name in [*self._back_offs][:most]]

    def floor(self, record: HostRecord, rules: HostRules) -> float:
        """Return the least gap of a host, in seconds."""
        return self._floor(record, rules)[0]

    def _floor(self, record: HostRecord, rules: HostRules) -> tuple[float, str]:
        """Return (the least gap, the rule that sets it). While it has trouble, the operator's own host is treated like any other."""
        least, rule = rules.floor, WaitRule.MIN_DELAY
        if rules.own_delay is not None and not record.failures and not record.backoff_s:
            least, rule = min(rules.own_delay, rules.max_delay), WaitRule.OWN_DELAY
        if rules.politeness.respect_crawl_delay and record.crawl_delay > least:
            return record.crawl_delay, WaitRule.CRAWL_DELAY
        return least, rule

    def at_least(self, record: HostRecord, rules: HostRules, after: float) -> None:
        """Let no request to the host start before its least gap after `after` is over, as if a response had ended then."""
        floor, rule = self._floor(record, rules)
        if after + floor > record.next_at:
            record.next_at, record.rule = after + floor, rule

    def stretch(self, wait_s: float, rules: HostRules) -> float:
        """Return a wait with jitter, which only lengthens it."""
        return wait_s * (1.0 + rules.politeness.jitter * self._rng.random())

    def gap(self, record: HostRecord, rules: HostRules, elapsed_s: float) -> float:
        """Return the wait after a response that took `elapsed_s`, before jitter."""
        return self._gap(record, rules, elapsed_s)[0]

    def _gap(self, record: HostRecord, rules: HostRules, elapsed_s: float) -> tuple[float, str]:
        """Return (that wait, the rule that decides it)."""
        floor, rule = self._floor(record, rules)
        gap, by_time = floor, min(rules.delay_factor * elapsed_s, rules.max_delay)
        if by_time > gap:
            gap, rule = by_time, WaitRule.DELAY_FACTOR
        if record.backoff_s:
            gap, rule = 2.0 * gap, WaitRule.BACK_OFF
        failing = min(floor * 2.0 ** min(record.failures, 30), rules.politeness.dead_wait)
        return (failing, WaitRule.FAILURES) if record.failures and failing > gap else (gap, rule)

    def respond(self, record: HostRecord, rules: HostRules, outcome: Outcome, now: float, *, excused: bool) -> None:
        """Record the end of a request in the host's record.

        Args:
            excused: Whether the fault is the network's or ours, not the host's.
        """
        record.n_requests += 1
        record.n_bytes += outcome.wire_bytes
        self._forgive(record, rules, now)
        blamed = isinstance(outcome, Failed) and not excused and RETRIES[outcome.cause].counts_against_host
        record.n_failed += isinstance(outcome, Failed)
        if blamed:
            record.failures += 1
            record.incident_at = now
        elif not isinstance(outcome, Failed):
            record.failures //= 2
        rule = WaitRule.BACK_OFF if excused else self._back_off(record, rules, outcome, now)
        gap, record.rule = self._gap(record, rules, outcome.elapsed_s)
        if isinstance(outcome, Failed) and not RETRIES[outcome.cause].counts_as_try:
            gap = max(gap, RETRIES[outcome.cause].waits[0] * rules.retry.scale)
        record.next_at = now + self.stretch(gap, rules)
        if record.backoff_until > record.next_at:
            record.next_at, record.rule = record.backoff_until, rule or WaitRule.BACK_OFF
        self._note(record, rules, now)

    def _note(self, record: HostRecord, rules: HostRules, now: float) -> None:
        if record.next_at - now > rules.max_delay:
            self._back_offs[record.name] = BackOff(record.name, record.site, record.next_at)

    def _forgive(self, record: HostRecord, rules: HostRules, now: float) -> None:
        if record.backoff_s and now - max(record.incident_at, record.backoff_until) >= rules.politeness.backoff_forgive:
            record.backoff_s = 0.0

    def _back_off(self, record: HostRecord, rules: HostRules, outcome: Outcome, now: float) -> str:
        """Apply the back-off of a 429, a 503 or a Retry-After to the host; return the rule that does, "" if none."""
        limits = rules.politeness
        asked = _asked_wait(outcome, now)
        if asked is not None:
            asked = min(asked, limits.retry_after_max)
        if _is_throttled(outcome):
            least = limits.backoff_initial if asked is None else 2.0 * self.floor(record, rules)
            record.backoff_s = min(max(least, 2.0 * record.backoff_s), limits.backoff_max)
            record.incident_at = now
            wait = self.stretch(record.backoff_s, rules) if asked is None else max(asked, record.backoff_s)
        elif asked is not None:
            wait = asked
        else:
            return ""
        record.backoff_until = max(record.backoff_until, now + wait)
        return WaitRule.BACK_OFF if asked is None or wait > asked else WaitRule.RETRY_AFTER

    def rest(self, record: HostRecord, rules: HostRules, number: int, now: float) -> None:
        """Make a host wait that is behind a wall.

        Args:
            number: Number of times in a row, from 1.
        """
        limits = rules.politeness
        wait = min(limits.backoff_initial * 2.0 ** min(number - 1, 30), limits.backoff_max)
        record.backoff_until = max(record.backoff_until, now + self.stretch(wait, rules))
        if record.backoff_until > record.next_at:
            record.next_at, record.rule = record.backoff_until, WaitRule.WALLED
        self._note(record, rules, now)

    def retry_at(self, entry: Entry, cause: Cause, record: HostRecord, rules: HostRules, now: float) -> float | None:
        """Return when a failed URL is due again, None when its tries are used up. Call after `respond`."""
        waits = RETRIES[cause].waits
        if entry.attempt >= min(len(waits), rules.retry.max_tries - 1):
            return None
        return max(now + waits[entry.attempt] * rules.retry.scale, record.next_at)

    def is_dead(self, record: HostRecord, rules: HostRules) -> bool:
        """Return whether the circuit opens."""
        return record.failures >= rules.politeness.dead_after

    def park_dead(self, record: HostRecord, rules: HostRules, now: float) -> None:
        """Open the circuit: no request for `dead_wait`, then one trial, which parks the host again if it fails."""
        record.parked = Reason.HOST_DEAD
        record.parked_until = now + rules.politeness.dead_wait
        record.failures = max(0, rules.politeness.dead_after - 1)

    def why_parked(self, record: HostRecord, rules: HostRules, now: float) -> str:
        """Return why the host is parked under the present configuration; "" if it is served. Parking by the operator stays."""
        if rules.max_pages is not None and record.n_pages - record.n_pages_before >= rules.max_pages:
            return Reason.HOST_BUDGET
        if rules.max_bytes is not None and record.n_bytes - record.n_bytes_before >= rules.max_bytes:
            return Reason.HOST_BUDGET
        if rules.politeness.respect_crawl_delay and record.crawl_delay > rules.politeness.max_crawl_delay:
            return Reason.CRAWL_DELAY_TOO_LONG
        if record.parked in _JUDGED or (record.parked_until and record.parked_until <= now):
            return ""
        return record.parked

    def latest(self, now: float) -> float:
        """Return the latest time until which a host can wait by the rules: a later time in a record comes from a wrong clock."""
        return now + self._longest


def _longest(settings: Settings) -> float:
    """Return the longest time in seconds that any host can wait by the rules."""
    names = ("max_delay", "max_crawl_delay", "retry_after_max", "backoff_max", "dead_wait")
    everywhere = [of.politeness for of in Overriding(settings).everywhere()]
    longest = max(float(getattr(of, name)) for of in everywhere for name in names)
    return 2.0 * longest * (1.0 + max(of.jitter for of in everywhere))


_JUDGED = frozenset((Reason.HOST_BUDGET, Reason.SITE_BUDGET, Reason.CRAWL_DELAY_TOO_LONG))  # derived from record and settings, never kept


def _is_throttled(outcome: Outcome) -> bool:
    if not isinstance(outcome, Failed):
        return False
    return outcome.cause is Cause.HTTP_429 or (outcome.head is not None and outcome.head.status in (429, 503))


def _asked_wait(outcome: Outcome, now: float) -> float | None:
    """Return the seconds that the server asks us to wait, None if it does not."""
    if isinstance(outcome, Failed) and outcome.retry_after_s is not None:
        return outcome.retry_after_s
    if isinstance(outcome, Fetched) or outcome.head is None:
        return None
    text = outcome.head.get(b"retry-after")
    return parse_retry_after(text, now) if text else None


def rule_of(record: HostRecord, rules: HostRules) -> str:
    """Return the rule for which the host waits, with its value."""
    match record.rule:
        case "" | WaitRule.MIN_DELAY:
            return f"{WaitRule.MIN_DELAY} {rules.floor:g} s"
        case WaitRule.OWN_DELAY:
            return f"{WaitRule.OWN_DELAY} {rules.own_delay or 0.0:g} s"
        case WaitRule.CRAWL_DELAY:
            return f"{WaitRule.CRAWL_DELAY} {record.crawl_delay:g} s"
        case WaitRule.DELAY_FACTOR:
            return f"{WaitRule.DELAY_FACTOR} {rules.delay_factor:g}"
        case WaitRule.BACK_OFF if record.backoff_s:
            return f"{WaitRule.BACK_OFF} {record.backoff_s:g} s"
        case rule:
            return rule
