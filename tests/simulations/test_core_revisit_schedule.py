"""`schedule: continuous`: when pages are visited again, and why."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from long import shortened
from plans_in_memory import PlansInMemory

from thresher.crawler.core.revisit_plans import PagePlan, ScheduledPage
from thresher.crawler.core.revisit_policy import Intervals, Policy
from thresher.crawler.core.revisit_schedule import Options, Schedule
from thresher.crawler.core.url_tree import branch

DAY_S = 86_400.0
NOW = 1_700_000_000.0
BOUNDS = Intervals(3_600.0, 30 * DAY_S)


def world(bounds: Intervals = BOUNDS) -> tuple[PlansInMemory, Schedule]:
    plans = PlansInMemory()
    return plans, Schedule(plans, Options("harmonic", bounds))


def page(path: str) -> ScheduledPage:
    return ScheduledPage(path.encode(), b"q", f"http://a.test{path}")


def visit_often(schedule: Schedule, at: ScheduledPage, plan: PagePlan, *, times: int, is_changed: bool) -> None:
    for i in range(1, times + 1):
        schedule.on_visit(at, plan, plan.visited_at + DAY_S * (0.9 + 0.01 * (i % 20)), is_changed=is_changed, n_new=0, pace_s=1.0)


def test_a_page_seen_once_inherits_its_siblings_interval() -> None:
    """Mutation: patterns not taught."""
    _, schedule = world()
    for i in range(10):
        for folder, is_changed in (("news", True), ("old", False)):
            at = page(f"/{folder}/{i}.html")
            plan = schedule.begin(at, NOW, pace_s=10_000.0)
            visit_often(schedule, at, plan, times=5, is_changed=is_changed)
    later = NOW + 10 * DAY_S
    news, old = (schedule.begin(page(f"/{folder}/new.html"), later, pace_s=10_000.0) for folder in ("news", "old"))
    assert news.why == old.why == "first"
    assert news.rate > 10 * old.rate
    assert news.interval_s < old.interval_s / 2


def test_a_visit_waits_for_its_turn_for_a_tenth_of_a_round_so_that_its_host_is_not_idle() -> None:
    """Twenty pages. Mutation: due when its interval is over: the host is idle at 24 of 240 turns, not at 9."""
    plans, schedule = world()
    now, n_idle = NOW, 0
    for i in range(20):
        schedule.begin(page(f"/{i}"), now, pace_s=10_000.0)
    for turn in range(1, 301):
        now = NOW + turn * 10_000.0
        key, plan = min(plans.pages.items(), key=lambda item: item[1].due)
        if plan.due > now:
            n_idle += turn > 60
            continue
        schedule.on_visit(page(key.decode()), plan, now, is_changed=turn % 3 == 0, n_new=0, pace_s=10_000.0)
    assert n_idle <= 14


@pytest.mark.parametrize("policy", shortened(["harmonic", "fresh", "uniform", "age_optimal"], 3))
@pytest.mark.parametrize("round_share", [0.1, 0.5, 0.8])
def test_every_page_is_visited_within_the_longest_interval_if_its_host_has_time_for_that(policy: Policy, round_share: float) -> None:
    """Thirty pages, found one after the other; some of them always change. As in the queue, what is due first is visited first.

    A host that hardly has the time for all keeps the deadlines that were set when all pages were known.
    """
    plans = PlansInMemory()
    schedule = Schedule(plans, Options(policy, BOUNDS))
    gap_s = round_share * BOUNDS.most_s / 30
    longest = 0.0
    for turn in range(400):
        now = NOW + turn * gap_s
        if turn < 30:
            schedule.begin(page(f"/{turn % 5}/{turn}"), now, pace_s=gap_s)
            continue
        key, plan = min(plans.pages.items(), key=lambda item: item[1].due)
        if plan.due <= now:
            if round_share < 0.8 or plan.visited_at >= NOW + 30 * gap_s:
                longest = max(longest, now - plan.visited_at)
            is_changed = key[1:2] in b"01" or (key[1:2] in b"2" and turn % 90 < 30)  # some always, some together with others
            for sooner in schedule.on_visit(page(key.decode()), plan, now, is_changed=is_changed, n_new=0, pace_s=gap_s):
                schedule.bring_forward(page(sooner.key.decode()), sooner.plan, sooner.due, siblings=sooner.siblings)
    assert longest <= BOUNDS.most_s
    assert schedule.is_in_time(plans.host(b"q"))
    plans.host(b"q").gap_s = 1.1 * BOUNDS.most_s / 30
    assert not schedule.is_in_time(plans.host(b"q"))


def test_the_date_of_its_last_change_tells_an_old_page_from_a_new_one() -> None:
    _, schedule = world()
    old = schedule.begin(page("/a"), NOW, pace_s=60.0, dated_at=NOW - 300 * DAY_S)
    new = schedule.begin(page("/b"), NOW, pace_s=60.0, dated_at=NOW - 3_600.0)
    lied = schedule.begin(page("/c"), NOW, pace_s=60.0, dated_at=NOW - 3_600.0, belief=0.0)
    assert new.rate > lied.rate > old.rate


def test_a_page_that_leads_to_new_pages_is_visited_more_often() -> None:
    _, schedule = world()
    plans = []
    for name, n_new in (("/hub", 5), ("/leaf", 0)):
        plan = schedule.begin(page(name), NOW, pace_s=DAY_S)
        for i in range(20):
            schedule.on_visit(page(name), plan, NOW + (i + 1) * DAY_S, is_changed=i % 2 == 0, n_new=n_new, pace_s=DAY_S)
        plans.append(plan)
    hub, leaf = plans
    assert hub.interval_s < leaf.interval_s / 1.5


def test_what_shows_nothing_comes_again_by_a_rule_of_its_own() -> None:
    """A missing page is visited on the next day, since a second 404 then makes it gone. A gone page is visited more and more rarely, but
    never not at all.
    """
    _, schedule = world()
    at = page("/a")
    plan = schedule.begin(at, NOW, pace_s=60.0)
    waits = []
    for why in ("failed", "failed", "failed", "missing", "gone", "gone", "refused"):
        schedule.defer(at, plan, NOW, why=why)
        waits.append(plan.due - NOW)
    least, most = BOUNDS
    assert waits[:3] == [least, 2 * least, 4 * least]
    assert (NOW + waits[3]) // DAY_S > NOW // DAY_S
    assert least <= waits[3] <= DAY_S + least
    assert waits[4:] == [most, 2 * most, most]


def test_a_sitemap_brings_a_visit_forward_as_far_as_it_is_believed() -> None:
    """Mutation: belief left out."""
    _, schedule = world(Intervals(60.0, 30 * DAY_S))
    due = {}
    for belief in (0.0, 0.5, 1.0):
        at = page(f"/{belief}")
        plan = schedule.begin(at, NOW, pace_s=DAY_S)
        before, changed_at = plan.due, NOW + 0.1 * (plan.due - NOW)
        sooner = schedule.on_lastmod(plan, changed_at, belief, changed_at + 1)
        assert (sooner is not None) == (belief > 0)
        due[belief] = ((sooner or before) - NOW) / (before - NOW)
        assert schedule.on_lastmod(plan, NOW - 1, belief, changed_at + 1) is None, "said of a change that the visit has seen"
    assert due[0.0] == 1.0
    assert due[0.5] == pytest.approx(0.5)
    assert due[1.0] == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_hosts_count_their_pages_rightly_and_no_page_waits_beyond_the_longest_interval(seed: int) -> None:
    """Mutation: the old weight left in its half octave; a visit of a page that is dropped left in its slice."""
    plans, schedule = world()
    rng, now = random.Random(seed), NOW
    for _ in range(60):
        number, what, pause = rng.randrange(6), rng.choice(["changed", "unchanged", "failed", "gone", "drop"]), rng.uniform(0.1, 2)
        at = page(f"/{number}")
        plan = plans.page(at.key) or schedule.begin(at, now, pace_s=5.0)
        now += pause * DAY_S
        if what == "drop":
            schedule.drop(at, plan)
            plans.pages.pop(at.key)
        elif what in ("failed", "gone"):
            schedule.defer(at, plan, now, why=what)
        else:
            schedule.on_visit(at, plan, now, is_changed=what == "changed", n_new=number, pace_s=5.0)
            assert BOUNDS.least_s <= plan.due - now <= BOUNDS.most_s
            assert BOUNDS.least_s <= plan.interval_s <= BOUNDS.most_s
    counted = [plan for plan in plans.pages.values() if plan.bin is not None]
    host = plans.host(b"q")
    assert host.n_pages == len(counted)
    assert math.isclose(sum(weight for _, weight in host.shares.values()), sum(plan.weight for plan in counted), abs_tol=1e-6)
    assert host.load.due == Counter(int(plan.due // host.load.slice_s) for plan in plans.pages.values())
    assert 0 < schedule.expected_freshness(host) <= 1


@pytest.mark.parametrize(
    ("url", "last", "n"),
    [
        ("http://a.test/", "/", 2),
        ("https://a.test/blog/2024/05/some-title.html?p=1&a=2", "/blog/#/#/*.html?a&p", 5),
        ("https://a.test/x/0123456789abcdef/", "/x/*/", 4),
        ("https://a.test/1/2/3/4/5/6/7", "/#/#/#/#/#", 6),
        ("https://a.test/42", "/#", 2),
    ],
)
def test_a_url_has_a_branch_of_patterns(url: str, last: str, n: int) -> None:
    found = branch(url)
    assert (found[0], found[-1], len(found)) == ("", last, n)
