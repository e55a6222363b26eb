"""Gap, back-off, Retry-After, retries, circuit and overrides."""

from __future__ import annotations

import itertools
import random

import pytest
from frontier_world import START, URLS, configured, failure, page
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.model import Cause, Failed, Head, Outcome, Reason, Redirect
from thresher.crawler.core.outage import MIN_HOSTS, WINDOW, Outage
from thresher.crawler.core.politeness import RETRIES, Pace, Rulebook, parse_retry_after
from thresher.crawler.core.ports import Entry, HostRecord, Lane

URL = URLS.url("http://h.example/")
NO_JITTER = {"jitter": 0.0}


class Host:
    """One host, its rules and its record, answered by hand."""

    def __init__(self, overrides: tuple[dict[str, object], ...] = (), **politeness: object) -> None:
        self.settings = configured(politeness={**NO_JITTER, **politeness}, overrides=list(overrides))
        self.pace = Pace(self.settings, random.Random(1))
        self.rules = Rulebook(self.settings).of("h.example")
        self.record = HostRecord(name="h.example", site="h.example")
        self.now = START

    def answer(self, outcome: Outcome, *, excused: bool = False) -> float:
        """Make a request as soon as allowed, and answer it; return the wait after it."""
        self.now = max(self.now, self.record.next_at) + outcome.elapsed_s
        self.pace.respond(self.record, self.rules, outcome, self.now, excused=excused)
        return self.record.next_at - self.now

    def retry_at(self, cause: Cause, attempt: int) -> float | None:
        at = self.pace.retry_at(Entry(Lane.FRESH, 0, 1, attempt, URL), cause, self.record, self.rules, self.now)
        return None if at is None else at - self.now


def test_every_cause_has_a_policy() -> None:
    assert set(RETRIES) == set(Cause)


@pytest.mark.parametrize(
    ("elapsed_s", "gap"),
    [(0.001, 1.0), (0.5, 5.0), (3.0, 30.0), (20.0, 60.0)],
)
def test_the_gap_grows_with_the_response_time_between_min_and_max_delay(elapsed_s: float, gap: float) -> None:
    """P20, P22."""
    assert Host().answer(page(URL, elapsed_s)) == pytest.approx(gap)


def test_crawl_delay_is_not_bounded_by_max_delay() -> None:
    """P19."""
    host = Host(max_delay=10.0)
    host.record.crawl_delay = 90.0
    assert host.answer(page(URL, 0.01)) == pytest.approx(90.0)
    assert host.pace.why_parked(host.record, host.rules, host.now) == ""
    host.record.crawl_delay = 301.0
    assert host.pace.why_parked(host.record, host.rules, host.now) == Reason.CRAWL_DELAY_TOO_LONG


def test_crawl_delay_is_ignored_when_the_operator_says_so() -> None:
    host = Host(respect_crawl_delay=False)
    host.record.crawl_delay = 1000.0
    assert host.answer(page(URL, 0.01)) == pytest.approx(1.0)
    assert host.pace.why_parked(host.record, host.rules, host.now) == ""


@given(st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_jitter_stretches_and_never_shortens(jitter: float, seed: int) -> None:
    """P56."""
    chosen = configured(politeness={"jitter": jitter})
    pace = Pace(chosen, random.Random(seed))
    assert 10.0 <= pace.stretch(10.0, Rulebook(chosen).of("h.example")) <= 10.0 * (1.0 + jitter)


def test_the_delay_doubles_with_each_5xx_and_comes_back_slowly() -> None:
    """F57, P29: 2, 4, 8 … times the base; each success halves the count."""
    host = Host(delay_factor=0.0)
    waits = [host.answer(failure(URL, Cause.HTTP_5XX, status=500)) for _ in range(6)]
    assert waits == pytest.approx([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    assert [host.answer(page(URL)) for _ in range(3)] == pytest.approx([8.0, 2.0, 1.0])


def test_a_503_without_retry_after_makes_the_host_wait_and_doubles() -> None:
    """F57, P27, P29."""
    host = Host(delay_factor=0.0)
    waits = [host.answer(failure(URL, Cause.HTTP_5XX, 0.001, status=503)) for _ in range(4)]
    assert waits == pytest.approx([60.0, 120.0, 240.0, 480.0])


def test_back_off_is_capped_and_forgiven_after_quiet() -> None:
    host = Host(delay_factor=0.0, backoff_max=100.0)
    assert [round(host.answer(failure(URL, Cause.HTTP_429, status=429))) for _ in range(3)] == [60, 100, 100]
    assert host.answer(page(URL)) == pytest.approx(2.0)  # the rate is halved
    host.now = host.record.backoff_until + 1_800.0
    host.answer(page(URL))
    assert host.answer(page(URL)) == pytest.approx(1.0)
    assert round(host.answer(failure(URL, Cause.HTTP_429, status=429))) == 60


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", 120.0),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120.0),
        ("soon", 60.0),
        ("315360000", 86_400.0),
        ("Tue, 14 Nov 2000 22:15:20 GMT", 2.0),
        ("0", 2.0),
        ("9" * 5_000, 60.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_makes_the_whole_host_wait(status: int, header: str, wait: float) -> None:
    """F58, P28: seconds, date, garbage, ten years, a date gone by, none at all, too long to read."""
    host = Host(delay_factor=0.0)
    host.now = START - 0.001
    cause = Cause.HTTP_429 if status == 429 else Cause.HTTP_5XX
    assert host.answer(failure(URL, cause, 0.001, status=status, retry_after=header)) == pytest.approx(wait, abs=0.01)


def test_a_429_that_asks_for_nothing_still_lowers_the_rate_each_time() -> None:
    """Design law A: Retry-After: 0 answered at once."""
    host = Host(delay_factor=0.0)
    waits = [host.answer(failure(URL, Cause.HTTP_429, 0.001, status=429, retry_after="0")) for _ in range(5)]
    assert all(b >= 2 * a for a, b in itertools.pairwise(waits))
    assert host.answer(page(URL)) >= 2.0


def test_retry_after_of_a_redirect_is_honoured() -> None:
    """P28."""
    redirect = Redirect(URL, Head(URL, 301, ((b"Retry-After", b"30"),), "", 0.01), "/x", 100, 0.01)
    assert Host().answer(redirect) == pytest.approx(30.0)


def test_what_the_fetcher_read_of_retry_after_is_used() -> None:
    assert Host().answer(Failed(URL, Cause.HTTP_429, "", 0.01, retry_after_s=300.0)) == pytest.approx(300.0)


@given(st.text(max_size=80))
def test_no_retry_after_header_raises(text: str) -> None:
    wait = parse_retry_after(text, START)
    assert wait is None or wait >= 0.0


@pytest.mark.parametrize(
    "text", ["", "-5", "1e3", "Mon, 99999999999999999999 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 10000 00:00:00 GMT", "nan", "inf"]
)
def test_garbage_in_retry_after_is_no_wait(text: str) -> None:
    assert parse_retry_after(text, START) is None


@pytest.mark.parametrize(
    ("cause", "waits"),
    [
        (Cause.DNS_NXDOMAIN, [3600.0, None]),
        (Cause.DNS_FAIL, [30.0, 300.0, 3600.0, None]),
        (Cause.CONN_REFUSED, [30.0, 300.0, 3600.0, None]),
        (Cause.CONN_TIMEOUT, [30.0, 300.0, 3600.0, None]),
        (Cause.HTTP_5XX, [30.0, 120.0, 600.0, None]),
        (Cause.HTTP_429, [0.0, 0.0, 0.0, None]),
        (Cause.TRUNCATED_ENCODING, [30.0, None]),
        (Cause.INCOMPLETE, [30.0, 300.0, None]),
        (Cause.TLS_CERT, [None]),
        (Cause.PROTOCOL, [None]),
        (Cause.BOMB, [None]),
        (Cause.BAD_ENCODING, [None]),
        (Cause.BLOCKED_ADDRESS, [None]),
    ],
)
def test_a_cause_says_when_the_url_is_tried_again(cause: Cause, waits: list[float | None]) -> None:
    """F1, F2, F11, F12, F57."""
    host = Host()
    assert [host.retry_at(cause, attempt) for attempt in range(len(waits))] == waits


def test_max_tries_and_scale_bound_every_policy() -> None:
    settings = configured(retry={"max_tries": 2, "scale": 0.1})
    pace, record = Pace(settings, random.Random(1)), HostRecord(name="h.example", site="h.example")
    entries = [Entry(Lane.FRESH, 0, 1, attempt, URL) for attempt in range(2)]
    assert [pace.retry_at(entry, Cause.CONN_REFUSED, record, Rulebook(settings).of("h.example"), START) for entry in entries] == [
        START + 3.0,
        None,
    ]


def test_a_retry_never_goes_before_its_host() -> None:
    host = Host()
    host.record.next_at = START + 500.0
    assert host.retry_at(Cause.CONN_REFUSED, 0) == 500.0


def test_our_own_faults_are_not_held_against_the_host() -> None:
    host = Host(delay_factor=0.0)
    host.answer(failure(URL, Cause.NO_DESCRIPTORS))
    host.answer(failure(URL, Cause.INTERNAL_ERROR))
    host.answer(failure(URL, Cause.BOMB))
    host.answer(failure(URL, Cause.CONN_TIMEOUT), excused=True)
    assert host.record.failures == 0
    assert host.record.n_requests == host.record.n_failed == 4


def test_the_circuit_opens_after_failures_in_a_row_and_each_trial_that_fails_opens_it_again() -> None:
    """P30."""
    host = Host(dead_after=3)
    for _ in range(2):
        host.answer(failure(URL, Cause.CONN_REFUSED))
    assert not host.pace.is_dead(host.record, host.rules)
    host.answer(failure(URL, Cause.CONN_REFUSED))
    assert host.pace.is_dead(host.record, host.rules)
    host.pace.park_dead(host.record, host.rules, host.now)
    assert (host.record.parked, host.record.parked_until) == (Reason.HOST_DEAD, host.now + 3600.0)
    assert host.pace.why_parked(host.record, host.rules, host.now + 3599.0) == Reason.HOST_DEAD
    assert host.pace.why_parked(host.record, host.rules, host.now + 3600.0) == ""
    assert not host.pace.is_dead(host.record, host.rules)
    host.answer(failure(URL, Cause.CONN_REFUSED))
    assert host.pace.is_dead(host.record, host.rules)


@pytest.mark.parametrize(
    ("name", "min_delay", "max_pages"),
    [
        ("other.example", 1.0, 10_000),
        ("example.org", 5.0, 100),
        ("deep.sub.example.org", 7.0, 100),
        ("notexample.org", 1.0, 10_000),
        ("docs.example.org", 9.0, 100),
        ("docs.example.org:8080", 5.0, 100),
        ("x.docs.example.org", 5.0, 100),
    ],
)
def test_the_longest_override_wins_and_a_url_names_its_host_alone(name: str, min_delay: float, max_pages: int) -> None:
    overrides = [
        {"match": "https://www.docs.example.org/a/", "options": {"politeness.min_delay": 9.0}},
        {"match": "example.org", "options": {"politeness.min_delay": 5.0, "limits.max_pages_per_host": 100}},
        {"match": "sub.example.org", "options": {"politeness.min_delay": 7.0}},
    ]
    rules = Rulebook(configured(overrides=overrides)).of(name)
    assert (rules.min_delay, rules.max_pages) == (min_delay, max_pages)


def test_a_record_from_a_wrong_clock_cannot_hold_a_host_for_ever() -> None:
    """F93: persisted times are clamped."""
    host = Host()
    assert host.pace.latest(START) <= START + 200_000.0


# -- outage


def down(outage: Outage, n: int, *, n_hosts: int = 10, answered_before: bool = True, cause: Cause = Cause.UNREACHABLE) -> None:
    for i in range(n):
        outage.note(bytes([i % n_hosts]), failure(URL, cause), START + i, answered_before=answered_before)


def test_an_outage_is_seen_when_four_fifths_of_the_last_requests_reach_nobody() -> None:
    """F13."""
    outage = Outage()
    for i in range(WINDOW):
        outage.note(bytes([i]), page(URL), START, answered_before=True)
    down(outage, WINDOW * 4 // 5 - 1)
    assert not outage.is_down
    down(outage, 1)
    assert outage.is_down


def test_few_hosts_or_refused_connections_are_no_outage() -> None:
    """F13."""
    few, refused = Outage(), Outage()
    down(few, 200, n_hosts=MIN_HOSTS - 1)
    down(refused, 200, cause=Cause.CONN_REFUSED)
    assert not few.is_down
    assert not refused.is_down


def test_hosts_that_never_answered_are_no_evidence_once_any_has() -> None:
    """F13: at the end of a crawl most hosts are dead. Before the first answer they are the only evidence."""
    tail, start = Outage(), Outage()
    tail.note(b"", page(URL), START, answered_before=False)
    down(tail, 200, answered_before=False)
    assert not tail.is_down
    down(start, WINDOW, answered_before=False)
    assert start.is_down


def test_trials_come_at_growing_intervals_and_the_first_answer_heals() -> None:
    """F13: at most 30 s between trials."""
    outage = Outage()
    down(outage, WINDOW)
    times = []
    for _ in range(5):
        now = outage.next_trial
        outage.try_again(now)
        times.append(outage.next_trial - now)
    assert times == [10.0, 20.0, 30.0, 30.0, 30.0]
    outage.note(b"", failure(URL, Cause.HTTP_5XX, status=500), START, answered_before=True)
    assert not outage.is_down
    down(outage, WINDOW - 1)
    assert not outage.is_down
