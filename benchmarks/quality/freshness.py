"""How fresh does `schedule: continuous` keep its copies, compared with uniform visits and with an adaptive interval like Nutch's?

    python -m benchmarks.quality.freshness [--seeds 2] [--pages 100] [--git DIR …] [--versions 30] [--policy harmonic]

A virtual clock drives the scheduler that real crawls use (crawler/core/revisit_schedule.py), on one host. Ours makes no request while no
page is due. All make equally many requests: in each period of the longest interval the others make as many visits as ours, evenly spread.
Uniform visits the page that was visited longest ago, Nutch's and the oracle the page that is due first. All find a new page as soon as it
is there. The oracle knows how often each page changes over its life, and distributes visits so that as many copies as possible are fresh
(policy `fresh`): it is the best policy that visits each page at intervals, but it does not know which pages change together.

The webs have at most `--pages` pages each, in whole directories, the same ones in each run; they have more if pages hardly change, since
otherwise a few changes would decide. They are: planted processes of change (a tenth of the pages differs with every request: no policy
keeps these fresh); planted manuals whose pages change together; this project's own git history (`--git` names others); the changelogs of
the Debian packages of this machine; and files of five PyPI packages over their released versions, which pip downloads once: examples, two
manuals as their sites show them, a file for each country, and one for each time zone. Each web is run with four hosts. A round is the time
in which the host could be asked once for every page, when there are most. In three runs a round is 1/32, 1/8 and 1/2 of the longest
interval (with a crawl's defaults, a host of 80,000, 320,000 or 1,300,000 pages). In the fourth it is 1/8, and requests may come eight times
as fast for a while (x8: a smaller host with `recrawl.visits_per_day`).

    fresh     share of the pages' time for which the copy was as the page was, after a warm-up of a quarter of the span
    stale     the rest; printed as ours divided by uniform's, by Nutch's, and the oracle's divided by uniform's
    missed    changes that no visit followed within the longest interval
    gap       the longest time between two visits of a page by ours, in longest intervals

Where most pages hardly change, every policy is fresh most of the time, and cannot be fresh for 15 % more. So policies are compared by the
time that copies are stale: the quotient for each run, and the mean of the quotients. Exits with 1 if a change is missed, or if by this mean
our copies are not stale for 15 % less time than uniform's and Nutch's. Some ten minutes, and the downloads.
"""

from __future__ import annotations

import argparse
import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Protocol

sys.path[:0] = [str(Path(__file__).parents[2] / "tests/core")]

from plans_in_memory import PlansInMemory  # found where the suite finds it

from benchmarks.quality.histories import Web, of_debian, of_git, of_pypi, planted, planted_together, sampled
from thresher.crawler.core.revisit_plans import ScheduledPage
from thresher.crawler.core.revisit_policy import Intervals, Policy, Share, interval_s, multiplier
from thresher.crawler.core.revisit_schedule import Options, Schedule
from thresher.crawler.core.siblings import Sooner

RUNS = ((1 / 32, 1.0), (1 / 8, 1.0), (1 / 2, 1.0), (1 / 8, 8.0))  # round, in longest intervals; how many times as fast requests may follow
_CACHE = Path.home() / ".cache/thresher-histories"
_ROOT = Path(__file__).parents[2]
_CHANGELOGS = Path("/usr/share/doc")
_PACKAGES = (  # name, folder, whether it is in the source archive
    ("awscli", "awscli/examples/", False),
    ("alembic", "docs/", True),
    ("Mako", "doc/", True),
    ("phonenumbers", "phonenumbers/data/", False),
    ("pytz", "pytz/zoneinfo/", False),
)
_LESS_STALE = 0.15  # least share by which our copies are stale for less time
_SHOWN = ("uniform", "nutch", "ours", "oracle")


class Scheduler(Protocol):
    """Decides when a page is visited."""

    is_patient: bool  # whether it makes no request before a page is due

    def begin(self, url: str, now: float) -> float:
        """Return when a page is due after its first visit."""
        ...

    def on_visit(self, url: str, now: float, *, is_changed: bool) -> dict[str, float]:
        """Return when the page is due again, and other pages that are now due earlier, with their times."""
        ...

    def on_gone(self, url: str) -> None: ...


class Uniform:
    """Visits the page that was visited longest ago."""

    is_patient = False

    def begin(self, url: str, now: float) -> float:
        return now

    def on_visit(self, url: str, now: float, *, is_changed: bool) -> dict[str, float]:
        return {url: now}

    def on_gone(self, url: str) -> None: ...


class NutchLike:
    """Nutch's AdaptiveFetchSchedule: an interval grows by .4 with each visit that sees no change, and shrinks by .2 with one that does."""

    is_patient = False

    def __init__(self, bounds: Intervals, first_s: float) -> None:
        self._bounds = bounds
        self._first_s = first_s
        self._intervals: dict[str, float] = {}

    def begin(self, url: str, now: float) -> float:
        self._intervals[url] = self._first_s
        return now + self._first_s

    def on_visit(self, url: str, now: float, *, is_changed: bool) -> dict[str, float]:
        wanted = self._intervals[url] * (0.8 if is_changed else 1.4)
        self._intervals[url] = min(self._bounds.most_s, max(self._bounds.least_s, wanted))
        return {url: now + self._intervals[url]}

    def on_gone(self, url: str) -> None: ...


class Oracle:
    """Knows each page's rate of change, and distributes visits in the best way for these rates."""

    is_patient = False

    def __init__(self, web: Web, bounds: Intervals, pace_s: float) -> None:
        lives = [min(page.ends, web.span_s) - page.begins for page in web.pages]
        rates = [max(len(page.changes), 0.05) / max(1.0, life) for page, life in zip(web.pages, lives, strict=True)]
        shares = [Share(life / web.span_s, rate, 1.0) for life, rate in zip(lives, rates, strict=True) if life > 0]
        within = bounds._replace(most_s=0.9 * bounds.most_s)
        m = multiplier("fresh", shares, 1 / pace_s, within)
        self._intervals = {page.url: interval_s("fresh", rate, 1.0, m, within) for page, rate in zip(web.pages, rates, strict=True)}

    def begin(self, url: str, now: float) -> float:
        return now + self._intervals[url] / 2

    def on_visit(self, url: str, now: float, *, is_changed: bool) -> dict[str, float]:
        return {url: now + self._intervals[url]}

    def on_gone(self, url: str) -> None: ...


class Ours:
    """The scheduler of real crawls."""

    is_patient = True

    def __init__(self, policy: Policy, bounds: Intervals, pace_s: float, haste: float = 1.0) -> None:
        self._plans = PlansInMemory()
        self._schedule = Schedule(self._plans, Options(policy, bounds))
        self._pace_s, self._haste = pace_s, haste

    def begin(self, url: str, now: float) -> float:
        return self._schedule.begin(_page(url), now, pace_s=self._pace_s).due

    def on_visit(self, url: str, now: float, *, is_changed: bool) -> dict[str, float]:
        plan = self._plans.pages[url.encode()]
        sooner = self._schedule.on_visit(_page(url), plan, now, is_changed=is_changed, n_new=0, pace_s=self._pace_s, haste=self._haste)
        return {url: plan.due} | self._bring_forward(sooner)

    def _bring_forward(self, sooner: list[Sooner]) -> dict[str, float]:
        for page in sooner:
            self._schedule.bring_forward(_page(page.key.decode()), page.plan, page.due, siblings=page.siblings)
        return {page.key.decode(): page.due for page in sooner}

    def on_gone(self, url: str) -> None:
        self._schedule.drop(_page(url), self._plans.pages.pop(url.encode()))


def _page(url: str) -> ScheduledPage:
    return ScheduledPage(url.encode(), b"q", url)


class Outcome(NamedTuple):
    """The result of one run."""

    fresh: float
    n_requests: int  # after the warm-up
    n_missed: int
    longest_s: float  # longest time between two visits of a page


class _Run:
    """One scheduler on one web."""

    def __init__(self, web: Web, scheduler: Scheduler, turns: Sequence[float], bounds: Intervals, *, n_at_most: int | None = None) -> None:
        """Prepare a run.

        Args:
            turns: When a request can be made.
        """
        self._web, self._scheduler, self._turns, self._bounds = web, scheduler, turns, bounds
        self._warm_s = web.span_s / 4
        self._number = {page.url: i for i, page in enumerate(web.pages)}
        self._coming = sorted(range(len(web.pages)), key=lambda i: web.pages[i].begins, reverse=True)
        self._seen: dict[int, float] = {}  # page → last visit
        self._at: dict[int, float] = {}  # page → when it is due
        self._due: list[tuple[float, int, int]] = []
        self.visits: list[float] = []
        self._n = self._n_missed = 0
        self._fresh_s = self._longest_s = 0.0

    def run(self) -> Outcome:
        n_owed = 0  # turns at which no page was known
        for now in self._turns:
            while self._coming and self._web.pages[self._coming[-1]].begins <= now:
                self._find(self._coming.pop())
            n_owed += 1
            while n_owed > 0 and self._next(now):
                n_owed -= 1
                self._visit(heappop(self._due)[2], now)
            n_owed = 0 if self._scheduler.is_patient else n_owed
        for i in list(self._seen):
            self._account(i, self._web.span_s)
        exists_s = sum(max(0.0, min(page.ends, self._web.span_s) - max(page.begins, self._warm_s)) for page in self._web.pages)
        return Outcome(self._fresh_s / exists_s, sum(at >= self._warm_s for at in self.visits), self._n_missed, self._longest_s)

    def _next(self, now: float) -> bool:
        """Return whether a page is to be visited now: the first of `_due`."""
        while self._due and self._at.get(self._due[0][2]) != self._due[0][0]:
            heappop(self._due)
        return bool(self._due) and not (self._scheduler.is_patient and self._due[0][0] > now)

    def _find(self, i: int) -> None:
        """Visit a page for the first time, as soon as it is there; all schedulers do this, and it is not counted."""
        page = self._web.pages[i]
        self._seen[i] = page.begins
        self._wait(i, self._scheduler.begin(page.url, page.begins))

    def _wait(self, i: int, due: float) -> None:
        self._n += 1
        self._at[i] = due
        heappush(self._due, (due, self._n, i))  # of two that are due at once, the one that waits longer

    def _visit(self, i: int, now: float) -> None:
        page = self._web.pages[i]
        self.visits.append(now)
        is_changed = self._account(i, now)
        if page.ends <= now:
            del self._seen[i], self._at[i]
            self._scheduler.on_gone(page.url)
            return
        self._seen[i] = now
        for url, due in self._scheduler.on_visit(page.url, now, is_changed=is_changed).items():
            self._wait(self._number[url], due)

    def _account(self, i: int, now: float) -> bool:
        """Count the time for which the copy was fresh since the last visit; return whether the page has changed since."""
        page, since = self._web.pages[i], self._seen[i]
        self._longest_s = max(self._longest_s, now - since)
        at = bisect_right(page.changes, since)
        changed = page.changes[at] if at < len(page.changes) else math.inf
        stale_at = min(changed, page.ends)
        self._fresh_s += max(0.0, min(stale_at, now) - max(since, self._warm_s))
        self._n_missed += now - stale_at > self._bounds.most_s
        return changed <= now


def run_of(web: Web, scheduler: Scheduler, pace_s: float, bounds: Intervals) -> Outcome:
    """Run one scheduler on a web whose host can be asked once in `pace_s`."""
    return _Run(web, scheduler, [turn * pace_s for turn in range(math.ceil(web.span_s / pace_s))], bounds).run()


def compare(web: Web, bounds: Intervals, round_s: float, policy: Policy, haste: float = 1.0) -> dict[str, Outcome]:
    """Run the schedulers with equally many requests on a web whose host could be asked for every page once in `round_s`, when there are
    most.

    Args:
        haste: How many times as fast requests may follow each other for a while.
    """
    pace_s = round_s / most_at_once(web)
    n_turns = math.ceil(web.span_s * haste / pace_s)
    ours = _Run(web, Ours(policy, bounds, pace_s, haste), [turn * pace_s / haste for turn in range(n_turns)], bounds)
    found = {"ours": ours.run()}
    turns = evenly(ours.visits, bounds.most_s)
    others: dict[str, Scheduler] = {"uniform": Uniform(), "nutch": NutchLike(bounds, round_s), "oracle": Oracle(web, bounds, pace_s)}
    return found | {name: _Run(web, scheduler, turns, bounds).run() for name, scheduler in others.items()}


def evenly(visits: Sequence[float], window_s: float) -> list[float]:
    """Return as many times as there were visits: as many in each window, evenly spread."""
    counts = Counter(int(at // window_s) for at in visits)
    return [(window + (i + 0.5) / n) * window_s for window, n in sorted(counts.items()) for i in range(n)]


def most_at_once(web: Web) -> int:
    """Return the largest number of pages that exist at one time."""
    events = sorted([(page.begins, 1) for page in web.pages] + [(page.ends, -1) for page in web.pages])
    return max(accumulate(change for _, change in events))


def bounds_of(web: Web) -> Intervals:
    """Return the shortest and the longest interval for a web: a month over four months, and in proportion over other spans."""
    is_planted = web.name.startswith(("planted", "together"))
    return Intervals(max(1.0, web.span_s / 2880), web.span_s / 4 if is_planted else web.span_s / 12)


def webs(seeds: int, n_pages: int, repositories: Sequence[Path], n_versions: int) -> list[Web]:
    """Return the webs that can be run; print which cannot."""
    found = [make(seed, n_pages) for make in (planted, planted_together) for seed in range(1, seeds + 1)]
    real: dict[str, Web | None] = {f"git: {repository} has no history": of_git(repository) for repository in repositories}
    real["debian: no changelogs"] = of_debian(_CHANGELOGS)
    for package, folder, is_source in _PACKAGES if n_versions else ():
        real[f"pypi: no network, {package}"] = of_pypi(package, folder, n_versions, _CACHE, is_source=is_source)
    for why, web in real.items():
        if web is None:
            print(f"{why} is left out")
        else:
            found.append(sampled(web, n_pages))
    return found


def told(web: Web, host: str, outcomes: dict[str, Outcome]) -> str:
    """Return a line of the table.

    Args:
        host: How often it can be asked.
    """
    uniform, nutch, ours, oracle = (outcomes[name] for name in _SHOWN)
    most_s = bounds_of(web).most_s
    return (
        f"{web.name[:22]:22} {len(web.pages):6,} {host:>6} {ours.n_requests:8,} {uniform.n_requests:8,} "
        f"{uniform.fresh:8.3f} {nutch.fresh:6.3f} {ours.fresh:6.3f} {oracle.fresh:6.3f} "
        f"{ours.fresh / uniform.fresh - 1:+7.1%} {ours.fresh / nutch.fresh - 1:+7.1%} {stale_left(ours, uniform):9.0%} "
        f"{stale_left(ours, nutch):6.0%} {stale_left(oracle, uniform):9.0%} "
        f"{uniform.n_missed:10} {nutch.n_missed:3} {ours.n_missed:4} {ours.longest_s / most_s:5.2f}"
    )


def stale_left(ours: Outcome, other: Outcome) -> float:
    """Return the time for which our copies are out of date, divided by that of the other's copies."""
    return (1 - ours.fresh) / (1 - other.fresh) if other.fresh < 1 else 1.0


def main() -> None:
    """Run the comparison; exit 0 only if nothing is missed and ours is fresher than uniform over all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.freshness", description="How fresh a schedule keeps its copies.")
    parser.add_argument("--seeds", type=int, default=2, help="planted webs")
    parser.add_argument("--pages", type=int, default=100, help="of a web, at most")
    parser.add_argument("--git", type=Path, action="append", help="repositories in place of this project's own")
    parser.add_argument("--versions", type=int, default=30, help="of the PyPI packages; 0: leave them out")
    parser.add_argument("--policy", choices=("harmonic", "uniform", "age_optimal", "fresh"), default="harmonic")
    chosen = parser.parse_args()
    print(
        f"{'web':22} {'pages':>6} {'round':>6} {'requests':>8} {'others':>8} {'uniform':>8} {'nutch':>6} {'ours':>6} {'oracle':>6} "
        f"{'over u':>7} {'over n':>7} {'stale: /u':>9} {'/n':>6} {'oracle /u':>9} {'missed: u':>10} {'n':>3} {'ours':>4} {'gap':>5}"
    )
    results: list[dict[str, Outcome]] = []
    for web in webs(chosen.seeds, chosen.pages, chosen.git or [_ROOT], chosen.versions):
        for share, haste in RUNS:
            bounds = bounds_of(web)
            results.append(compare(web, bounds, share * bounds.most_s, chosen.policy, haste))
            print(told(web, f"1/{round(1 / share)}" + (f" x{haste:g}" if haste > 1 else ""), results[-1]), flush=True)
    sys.exit(_summed(results))


def _summed(results: Sequence[dict[str, Outcome]]) -> int:
    """Print the means over all runs; return the exit code."""
    mean = {name: sum(found[name].fresh for found in results) / len(results) for name in _SHOWN}
    n_missed = sum(found["ours"].n_missed for found in results)
    is_fresher = True
    for name in ("ours", "oracle"):
        for other in ("uniform", "nutch"):
            left = sum(stale_left(found[name], found[other]) for found in results) / len(results)
            print(f"{name} against {other}: fresh {mean[name] / mean[other] - 1:+.1%}, stale for {1 - left:.0%} less time")
            is_fresher &= name != "ours" or left <= 1 - _LESS_STALE
    print(f"{n_missed} changes missed after one longest interval")
    return 0 if is_fresher and not n_missed else 1


if __name__ == "__main__":
    main()
