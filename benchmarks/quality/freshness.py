"""How fresh does `schedule: continuous` keep its copies, against visiting all pages alike and against an adaptive interval like Nutch's?

    python -m benchmarks.quality.freshness [--seeds 2] [--git DIR …] [--versions 40] [--policy harmonic]

Driven by a virtual clock through the scheduler that crawls (crawler/core/revisit_schedule.py): one host, which gives one request every
so often. At each request uniform visits the page whose visit lies back the longest, Nutch's the one that is due first, even if it is not
due yet; so both make every request. Ours makes none while no page is due, and so never makes more.

Webs: planted processes of change, this project's own git history (`--git` names others), and the documentation in an npm package over its
released versions, which npm downloads once. Each with a host that could visit every page once in an eighth, a quarter and half of the
longest interval.

    fresh     share of the pages' time for which the copy was as the page was, after a warm-up of a quarter of the span
    stale     the rest; what ours leaves of it, against the better of the others
    missed    changes that no visit followed within the longest interval

Exits with 1 if a change is missed, or if ours is less fresh than uniform over all. Two minutes, and the downloads.
"""

from __future__ import annotations

import argparse
import math
import sys
from bisect import bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple, Protocol

from benchmarks.quality.histories import Web, of_git, of_npm, planted
from thresher.crawler.core.revisit_policy import Bounds, Policy
from thresher.crawler.core.revisit_schedule import FamilyPlan, HostPlan, Options, Page, PagePlan, Schedule

ROUNDS = (1 / 8, 1 / 4, 1 / 2)  # of the longest interval: in which every page could be visited once
_CACHE = Path.home() / ".cache/thresher-histories"
_ROOT = Path(__file__).parents[2]


class Scheduler(Protocol):
    """Says when a page is to be visited."""

    is_patient: bool  # makes no request before a page is due

    def begin(self, url: str, now: float) -> float:
        """Return when a page is due that was visited first."""
        ...

    def visited(self, url: str, now: float, *, is_changed: bool) -> float: ...

    def gone(self, url: str) -> None: ...


class Uniform:
    """Visits the page whose visit lies back the longest."""

    is_patient = False

    def begin(self, url: str, now: float) -> float:
        return now

    def visited(self, url: str, now: float, *, is_changed: bool) -> float:
        return now

    def gone(self, url: str) -> None: ...


class NutchLike:
    """Nutch's AdaptiveFetchSchedule: an interval grows by .4 of it with each visit that sees no change, and shrinks by .2 with one."""

    is_patient = False

    def __init__(self, bounds: Bounds, first_s: float) -> None:
        self._bounds = bounds
        self._first_s = first_s
        self._intervals: dict[str, float] = {}

    def begin(self, url: str, now: float) -> float:
        self._intervals[url] = self._first_s
        return now + self._first_s

    def visited(self, url: str, now: float, *, is_changed: bool) -> float:
        wanted = self._intervals[url] * (0.8 if is_changed else 1.4)
        self._intervals[url] = min(self._bounds.most_s, max(self._bounds.least_s, wanted))
        return now + self._intervals[url]

    def gone(self, url: str) -> None: ...


class Plans:
    """A schedule's records, in memory."""

    def __init__(self) -> None:
        self.pages: dict[bytes, PagePlan] = {}
        self.of_host = HostPlan()
        self.families: dict[str, FamilyPlan] = {}

    def page(self, key: bytes) -> PagePlan | None:
        return self.pages.get(key)

    def save_page(self, key: bytes, plan: PagePlan) -> None:
        self.pages[key] = plan

    def host(self, queue: bytes) -> HostPlan:
        return self.of_host

    def save_host(self, queue: bytes, plan: HostPlan) -> None: ...

    def family(self, queue: bytes, pattern: str) -> FamilyPlan | None:
        return self.families.get(pattern)

    def save_family(self, queue: bytes, pattern: str, plan: FamilyPlan) -> None:
        self.families[pattern] = plan


class Ours:
    """The scheduler that crawls."""

    is_patient = True

    def __init__(self, policy: Policy, bounds: Bounds, pace_s: float) -> None:
        self._plans = Plans()
        self._schedule = Schedule(self._plans, Options(policy, bounds))
        self._pace_s = pace_s

    def begin(self, url: str, now: float) -> float:
        return self._schedule.begin(_page(url), now, pace_s=self._pace_s).due

    def visited(self, url: str, now: float, *, is_changed: bool) -> float:
        plan = self._plans.pages[url.encode()]
        self._schedule.visited(_page(url), plan, now, is_changed=is_changed, n_new=0, pace_s=self._pace_s)
        return plan.due

    def gone(self, url: str) -> None:
        self._schedule.drop(_page(url), self._plans.pages.pop(url.encode()))


def _page(url: str) -> Page:
    return Page(url.encode(), b"q", url)


class Outcome(NamedTuple):
    """What came of one run."""

    fresh: float
    n_requests: int  # after the warm-up
    n_missed: int


class _Run:
    """One scheduler on one web."""

    def __init__(self, web: Web, scheduler: Scheduler, pace_s: float, bounds: Bounds) -> None:
        self._web, self._scheduler, self._pace_s, self._bounds = web, scheduler, pace_s, bounds
        self._warm_s = web.span_s / 4
        self._coming = sorted(range(len(web.pages)), key=lambda i: web.pages[i].begins, reverse=True)
        self._seen: dict[int, float] = {}  # page → last visit
        self._due: list[tuple[float, int, int]] = []
        self._n = self._n_counted = self._n_missed = 0
        self._fresh_s = 0.0

    def run(self) -> Outcome:
        now = 0.0
        while now < self._web.span_s:
            if self._coming and self._web.pages[self._coming[-1]].begins <= now:
                self._find(self._coming.pop(), now)
            elif self._due and not (self._scheduler.is_patient and self._due[0][0] > now):
                self._visit(heappop(self._due)[2], now)
            now += self._pace_s
        for i in list(self._seen):
            self._account(i, self._web.span_s)
        exists_s = sum(max(0.0, min(page.ends, self._web.span_s) - max(page.begins, self._warm_s)) for page in self._web.pages)
        return Outcome(self._fresh_s / exists_s, self._n_counted, self._n_missed)

    def _find(self, i: int, now: float) -> None:
        """Visit a page for the first time, as soon as it is there: alike for all."""
        self._seen[i] = now
        heappush(self._due, (self._scheduler.begin(self._web.pages[i].url, now), i, i))

    def _visit(self, i: int, now: float) -> None:
        page = self._web.pages[i]
        self._n += 1
        self._n_counted += now >= self._warm_s
        is_changed = self._account(i, now)
        if page.ends <= now:
            del self._seen[i]
            self._scheduler.gone(page.url)
            return
        self._seen[i] = now
        due = self._scheduler.visited(page.url, now, is_changed=is_changed)
        heappush(self._due, (due, len(self._web.pages) + self._n, i))  # of those that are due alike, the one that waits longest

    def _account(self, i: int, now: float) -> bool:
        """Count the time for which the copy was fresh since the last visit; return whether the page has changed since."""
        page, since = self._web.pages[i], self._seen[i]
        at = bisect_right(page.changes, since)
        changed = page.changes[at] if at < len(page.changes) else math.inf
        stale_at = min(changed, page.ends)
        self._fresh_s += max(0.0, min(stale_at, now) - max(since, self._warm_s))
        self._n_missed += now - stale_at > self._bounds.most_s
        return changed <= now


def compare(web: Web, bounds: Bounds, round_s: float, policy: Policy) -> dict[str, Outcome]:
    """Run the three schedulers on a web whose host could visit every page once in `round_s`."""
    alive = max(1.0, sum(min(page.ends, web.span_s) - page.begins for page in web.pages) / web.span_s)
    pace_s = round_s / alive
    schedulers: dict[str, Scheduler] = {
        "uniform": Uniform(),
        "nutch": NutchLike(bounds, round_s),
        "ours": Ours(policy, bounds, pace_s),
    }
    return {name: _Run(web, scheduler, pace_s, bounds).run() for name, scheduler in schedulers.items()}


def bounds_of(web: Web) -> Bounds:
    """Return the shortest and the longest interval for a web: a month over four months, and in proportion over other spans."""
    return Bounds(max(1.0, web.span_s / 2880), web.span_s / 4 if web.name.startswith("planted") else web.span_s / 12)


def webs(seeds: int, repositories: Sequence[Path], n_versions: int) -> list[Web]:
    """Return the webs there are; say which are not."""
    found = [planted(seed) for seed in range(1, seeds + 1)]
    for repository in repositories:
        history = of_git(repository)
        found += [history] if history is not None else []
        if history is None:
            print(f"git: {repository} has no history, left out")
    package = of_npm("npm", "package/docs/content/", n_versions, _CACHE) if n_versions else None
    if package is None:
        print("npm: no npm, or no network: its documentation is left out")
    return [*found, *([package] if package is not None else [])]


def told(web: Web, round_s: float, outcomes: dict[str, Outcome]) -> str:
    """Return a line of the table."""
    uniform, nutch, ours = outcomes["uniform"], outcomes["nutch"], outcomes["ours"]
    best = max(uniform.fresh, nutch.fresh)
    left = (1 - ours.fresh) / (1 - best) if best < 1 else 1.0
    return (
        f"{web.name[:30]:30} {len(web.pages):6,} {round_s / bounds_of(web).most_s:6.2f} "
        f"{uniform.fresh:8.3f} {nutch.fresh:7.3f} {ours.fresh:7.3f} "
        f"{ours.fresh / uniform.fresh - 1:+8.1%} {ours.fresh / nutch.fresh - 1:+7.1%} {left:6.0%} "
        f"{ours.n_requests / uniform.n_requests:9.0%} "
        f"{ours.n_missed:7}"
    )


def main() -> None:
    """Run the comparison; exit 0 only if nothing is missed and ours is fresher than uniform over all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.freshness", description="How fresh a schedule keeps its copies.")
    parser.add_argument("--seeds", type=int, default=2, help="planted webs")
    parser.add_argument("--git", type=Path, action="append", help="repositories in place of this project's own")
    parser.add_argument("--versions", type=int, default=40, help="of the npm package; 0: leave it out")
    parser.add_argument("--policy", choices=("harmonic", "uniform", "age_optimal"), default="harmonic")
    chosen = parser.parse_args()
    print(
        f"{'web':30} {'pages':>6} {'round':>6} {'uniform':>8} {'nutch':>7} {'ours':>7} {'over u':>8} {'over n':>7} {'stale':>6} "
        f"{'requests':>9} {'missed':>7}"
    )
    results: list[dict[str, Outcome]] = []
    for web in webs(chosen.seeds, chosen.git or [_ROOT], chosen.versions):
        for share in ROUNDS:
            bounds = bounds_of(web)
            results.append(compare(web, bounds, share * bounds.most_s, chosen.policy))
            print(told(web, share * bounds.most_s, results[-1]), flush=True)
    mean = {name: sum(found[name].fresh for found in results) / len(results) for name in ("uniform", "nutch", "ours")}
    n_missed = sum(found["ours"].n_missed for found in results)
    over = {name: mean["ours"] / mean[name] - 1 for name in ("uniform", "nutch")}
    print(f"mean of all: ours {mean['ours']:.3f}, {over['uniform']:+.1%} over uniform, {over['nutch']:+.1%} over Nutch's")
    print(f"{n_missed} changes missed after one longest interval")
    sys.exit(1 if n_missed or mean["ours"] < mean["uniform"] else 0)


if __name__ == "__main__":
    main()
