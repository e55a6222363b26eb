"""`schedule: continuous`: what one page's change says of its siblings."""

from __future__ import annotations

import msgspec
import pytest
from plans_in_memory import PlansInMemory

from thresher.crawler.core.co_change import CoChange, Trials, earlier_s, explained
from thresher.crawler.core.revisit_plans import FamilyPlan, PagePlan, ScheduledPage
from thresher.crawler.core.revisit_policy import Intervals
from thresher.crawler.core.revisit_schedule import Options, Schedule
from thresher.crawler.core.siblings import Sooner

DAY_S = 86_400.0
NOW = 1_700_000_000.0
BOUNDS = Intervals(3_600.0, 30 * DAY_S)


def page(path: str) -> ScheduledPage:
    return ScheduledPage(path.encode().rjust(16), b"q", f"http://a.test{path}")


class Site:
    """Pages of a host that are visited by hand."""

    def __init__(self, *paths: str) -> None:
        self.plans = PlansInMemory()
        self.schedule = Schedule(self.plans, Options("harmonic", BOUNDS))
        self.at = dict.fromkeys(paths, NOW)
        for path in paths:
            self.schedule.begin(page(path), NOW, pace_s=40_000.0)

    def visit(self, path: str, now: float, *, is_changed: bool, haste: float = 1.0) -> list[Sooner]:
        plan = self.plan(path)
        return self.schedule.on_visit(page(path), plan, now, is_changed=is_changed, n_new=0, pace_s=40_000.0, haste=haste)

    def bring_forward(self, sooner: Sooner) -> None:
        path = sooner.key.decode().strip()
        self.schedule.bring_forward(page(path), sooner.plan, sooner.due, siblings=sooner.siblings)

    def plan(self, path: str) -> PagePlan:
        return self.plans.pages[page(path).key]

    def round(self, now: float, changed: set[str]) -> list[Sooner]:
        """Visit all pages, a minute apart; return what the last that has changed brings forward."""
        found: list[Sooner] = []
        for i, path in enumerate(self.at):
            found = self.visit(path, now + 60.0 * i, is_changed=path in changed) or found
        return found


def names(found: list[Sooner]) -> set[str]:
    return {sooner.key.decode().strip() for sooner in found}


MANUAL = [f"/doc/{i}.html" for i in range(8)]
OTHERS = [f"/blog/{i}" for i in range(24)]


def manual_that_changes_together(n_releases: int) -> tuple[Site, float]:
    """Visit a site of which the manual has changed as a whole at every other visit."""
    site, now = Site(*MANUAL, *OTHERS), NOW
    for i in range(2 * n_releases):
        now += 4 * DAY_S
        site.round(now, set(MANUAL) if i % 2 else set())
    return site, now


def test_when_a_page_of_a_group_that_changes_together_has_changed_its_siblings_are_due_and_no_others() -> None:
    """Four releases. Mutation: no trial counted."""
    site, now = manual_that_changes_together(4)
    found = site.visit(MANUAL[0], now + 2 * DAY_S, is_changed=True)
    assert names(found) == set(MANUAL[1:])
    assert all(now + 2 * DAY_S <= sooner.due < now + 2 * DAY_S + 1.0 for sooner in found)
    assert {sooner.siblings[0] for sooner in found} == {"/doc/#.html"}
    for sooner in found:
        site.bring_forward(sooner)
    for i, path in enumerate(MANUAL[1:4]):
        site.visit(path, now + 2 * DAY_S + 10.0 * i, is_changed=True)
    burst = site.plans.families[b"q", "/doc/#.html"].together.burst
    assert burst is not None
    assert (burst.trials.n, burst.trials.changed) == (3.0, 3.0)


def test_a_burst_that_others_have_no_part_in_ends_after_a_few_visits() -> None:
    """The first siblings that are visited have not changed. From then on fewer visits are brought forward."""
    site, now = manual_that_changes_together(4)
    site.visit(MANUAL[0], now + 2 * DAY_S, is_changed=True)
    together = site.plans.families[b"q", "/doc/#.html"].together
    before = together.chance()
    for i, path in enumerate(MANUAL[1:4]):
        site.visit(path, now + 2 * DAY_S + 10.0 * i, is_changed=False)
    assert before > 0.5
    assert together.chance() < before / 2


@pytest.mark.parametrize(("haste", "n"), [(1.0, 0), (8.0, 7)])
def test_a_host_that_has_no_room_is_asked_for_siblings_if_it_may_be_asked_faster_for_a_while(haste: float, n: int) -> None:
    """All other visits of the host are due. Mutation: haste is left out of the rate."""
    site, now = manual_that_changes_together(4)
    for path in OTHERS:
        site.schedule.bring_forward(page(path), site.plan(path), now + 2 * DAY_S)
    assert len(site.visit(MANUAL[0], now + 2 * DAY_S, is_changed=True, haste=haste)) == n


def test_pages_that_change_by_themselves_bring_nothing_forward() -> None:
    site, now = Site(*MANUAL), NOW
    for i in range(24):
        now += 4 * DAY_S
        assert site.round(now, {MANUAL[i % 8]}) == []
    own = site.plan(MANUAL[0])
    assert own.siblings is None
    assert own.evidence.n_changed > 0.4  # all of it its own


def test_a_page_that_always_differs_says_nothing_of_others_and_comes_no_sooner() -> None:
    site, now = Site(*MANUAL, *OTHERS), NOW
    for _ in range(12):
        now += 4 * DAY_S
        site.round(now, {MANUAL[0], OTHERS[0]})
    assert site.visit(MANUAL[0], now + DAY_S, is_changed=True) == []
    site, now = manual_that_changes_together(3)
    for i in range(40):  # one of them comes to differ with every request
        site.visit(MANUAL[7], now + 3_600.0 * (i + 1), is_changed=True)
    now += 45 * 3_600.0
    found = site.visit(MANUAL[0], now, is_changed=True)
    assert MANUAL[7] not in names(found)


def test_a_change_that_a_burst_explains_is_not_the_pages_own() -> None:
    """A page of a group that changes together needs only its share of the visits. Mutation: each change counts in full."""
    together, now = manual_that_changes_together(8)
    alone = Site(*MANUAL)
    for i in range(16):
        alone.round(NOW + 4 * DAY_S * (i + 1), set() if i % 2 else {MANUAL[i // 2 % 8], MANUAL[(i // 2 + 4) % 8]})
    assert together.plan(MANUAL[5]).evidence.n_changed < 1.5  # of eight changes
    assert together.plan(MANUAL[5]).rate < 1 / (10 * DAY_S)
    assert now > NOW


def test_a_page_visited_since_is_brought_forward_by_the_share_of_time_that_its_visit_has_missed() -> None:
    together = CoChange()
    burst = together.begin(since=100.0, at=200.0, origin="")
    assert [burst.covers(at) for at in (50.0, 100.0, 150.0, 200.0, 250.0)] == [1.0, 1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("n", "changed", "expected", "least", "most"), [(8, 8, 1.0, 0.7, 0.98), (8, 4, 4.0, 0.0, 0.0), (8, 0, 0.5, 0.0, 0.0)]
)
def test_what_own_rates_explain_is_no_sign_of_a_burst(n: int, changed: int, expected: float, least: float, most: float) -> None:
    together = CoChange(Trials(float(n), float(changed), expected))
    together.begin(0.0, 1.0, "")
    assert least <= together.chance() <= most


def test_a_burst_is_worth_the_time_in_which_a_page_had_changed_by_itself_as_likely() -> None:
    assert earlier_s(0.5, 1 / DAY_S) == pytest.approx(0.693 * DAY_S, rel=0.001)
    assert earlier_s(0.05, 1 / DAY_S) == 0.0
    assert explained(0.9, 0.1) == pytest.approx(0.9 / 0.91)
    assert explained(0.05, 0.1) == 0.0


def test_no_page_comes_before_the_shortest_interval_nor_later_than_it_would_have() -> None:
    """Mutation: due at once whatever the shortest interval is."""
    site, now = manual_that_changes_together(4)
    site.visit(MANUAL[0], now + 2 * DAY_S - 2_000.0, is_changed=False)
    site.visit(MANUAL[3], now + 2 * DAY_S - 1_900.0, is_changed=False)
    before = {path: site.plan(path).due for path in MANUAL}
    found = site.visit(MANUAL[0], now + 2 * DAY_S, is_changed=True)
    assert MANUAL[3] in names(found)
    for sooner in found:
        site.bring_forward(sooner)
        path = sooner.key.decode().strip()
        assert sooner.plan.due < before[path]
        assert sooner.plan.due >= sooner.plan.visited_at + BOUNDS.least_s


def test_what_is_known_of_a_group_is_kept_as_it_is() -> None:
    """The records are encoded and decoded as the store does: a crawl that goes on after a kill starts from the last commit."""
    site, _ = manual_that_changes_together(3)
    family = site.plans.families[b"q", "/doc/#.html"]
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(family), type=FamilyPlan)
    assert kept == family
    assert len(msgspec.msgpack.encode(family)) < 1_000
