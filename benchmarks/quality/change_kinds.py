"""Does the schedule find sites whose pages change together, and is it misled by sites whose pages only seem to?

    python -m benchmarks.quality.change_kinds [KIND …]

There are ten honest and ten hostile kinds of change. Each is a site of 60 pages in three directories over 60 days. Its host has time to
spare, so that requests beyond the need show in the figures. Each kind runs twice: as crawls do (crawler/core/siblings.py), and with no
visit ever brought forward for siblings. Printed are the requests of the first divided by those of the second, and the same for the time
that copies are stale. More requests, by over 5 %, are in vain if the stale time has not fallen in proportion. Exits with 1 if a kind causes
requests in vain, or if a change is missed.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable

from benchmarks.quality.freshness import Ours, bounds_of, run_of
from benchmarks.quality.histories import DAY_S, HOUR_S, History, Web, poisson
from thresher.crawler.core.siblings import Sooner

SPAN_S = 60 * DAY_S
PAGES = [f"/{directory}/{i}.html" for directory in ("a", "b", "c") for i in range(20)]
MOST_MORE = 1.05  # requests
Changes = dict[str, list[float]]


class Alone(Ours):
    """The scheduler of real crawls, but no visit is brought forward for siblings."""

    def _bring_forward(self, sooner: list[Sooner]) -> dict[str, float]:
        return {}


def _each(times: Callable[[str], list[float]]) -> Changes:
    return {url: times(url) for url in PAGES}


def _every(step_s: float, start_s: float = 0.0) -> list[float]:
    return [start_s + i * step_s for i in range(1, math.ceil((SPAN_S - start_s) / step_s))]


def _below(directory: str, times: list[float], others: Callable[[str], list[float]] = lambda _: []) -> Changes:
    return _each(lambda url: times if url.startswith(f"/{directory}/") else others(url))


# -- honest


def independent(rng: random.Random) -> Changes:
    """Every page changes by itself, about each tenth day."""
    return _each(lambda _: poisson(rng, 10 * DAY_S, SPAN_S))


def of_many_rates(rng: random.Random) -> Changes:
    """Every page changes by itself, from twice a day to twice a year."""
    return _each(lambda _: poisson(rng, DAY_S * 2 ** rng.uniform(-1, 8), SPAN_S))


def releases(rng: random.Random) -> Changes:
    """All pages change together."""
    times = poisson(rng, 15 * DAY_S, SPAN_S)
    return _each(lambda _: times)


def chapters(rng: random.Random) -> Changes:
    """The pages of a directory change together."""
    return {url: times for name in "abc" for times in [poisson(rng, 15 * DAY_S, SPAN_S)] for url in PAGES if url[1] == name}


def one_of_three(rng: random.Random) -> Changes:
    """A directory changes together, others hardly ever."""
    return _below("a", poisson(rng, 8 * DAY_S, SPAN_S), lambda _: poisson(rng, 90 * DAY_S, SPAN_S))


def weekly(_: random.Random) -> Changes:
    """All pages change in the same hour of every week."""
    return _each(lambda _: _every(7 * DAY_S, 2 * DAY_S))


def rolled_out(rng: random.Random) -> Changes:
    """A deploy reaches each page some hours after the one before it."""
    starts = poisson(rng, 20 * DAY_S, SPAN_S)
    return _each(lambda url: [at + PAGES.index(url) * HOUR_S / 4 for at in starts])


def recent_posts(rng: random.Random) -> Changes:
    """Each new post changes a list that stands on all pages."""
    posts = poisson(rng, 4 * DAY_S, SPAN_S)
    return _each(lambda _: posts)


def prices(rng: random.Random) -> Changes:
    """Half of a directory changes at once, another half each time."""
    changes: Changes = {url: [] for url in PAGES}
    for name in "abc":
        for at in poisson(rng, 10 * DAY_S, SPAN_S):
            for url in rng.sample([url for url in PAGES if url[1] == name], 10):
                changes[url].append(at)
    return changes


def translated(rng: random.Random) -> Changes:
    """A second directory follows the first after days."""
    first = poisson(rng, 12 * DAY_S, SPAN_S)
    return _below("a", first, lambda url: [at + rng.uniform(1, 6) * DAY_S for at in first] if url[1] == "b" else [])


# -- hostile


def clocks(_: random.Random) -> Changes:
    """Every page differs with every request."""
    return _each(lambda _: _every(600.0))


def counters(rng: random.Random) -> Changes:
    """Every page counts its visitors, one every few minutes."""
    return _each(lambda _: poisson(rng, 900.0, SPAN_S))


def section(_: random.Random) -> Changes:
    """One directory always differs, others never."""
    return _below("a", _every(600.0))


def a_page_that_always_differs(_: random.Random) -> Changes:
    """In each directory one page differs with every request, no other ever."""
    return _each(lambda url: _every(600.0) if url.endswith("/0.html") else [])


def alternating(_: random.Random) -> Changes:
    """Every page has two faces, by the hour."""
    return _each(lambda _: _every(HOUR_S))


def split_tests(rng: random.Random) -> Changes:
    """Every request is shown one of two faces."""
    return _each(lambda _: [at for at in _every(1_800.0) if rng.random() < 0.5])


def in_turn(_: random.Random) -> Changes:
    """Every few hours one page of the site changes, each time another one."""
    return _each(lambda url: _every(60 * 6 * HOUR_S, PAGES.index(url) * 6 * HOUR_S))


def bait(rng: random.Random) -> Changes:
    """Two pages of a directory change together, at random, to make the schedule visit the others."""
    times = poisson(rng, 2 * DAY_S, SPAN_S)
    return _each(lambda url: times if url[3:] in ("0.html", "1.html") else [])


def ended(rng: random.Random) -> Changes:
    """All pages change together for a month; then one of each directory goes on alone."""
    times = poisson(rng, 5 * DAY_S, SPAN_S)
    return _each(lambda url: times if url.endswith("/0.html") else [at for at in times if at < 30 * DAY_S])


def daily_by_itself(rng: random.Random) -> Changes:
    """Every page changes once a day, at an hour of its own."""
    return _each(lambda _: _every(DAY_S, rng.uniform(0, DAY_S)))


HONEST = (independent, of_many_rates, releases, chapters, one_of_three, weekly, rolled_out, recent_posts, prices, translated)
HOSTILE = (clocks, counters, section, a_page_that_always_differs, alternating, split_tests, in_turn, bait, ended, daily_by_itself)


def compared(kind: Callable[[random.Random], Changes], seed: int = 1) -> tuple[float, float, int]:
    """Return the requests and the stale time of a kind divided by those without siblings, and changes missed."""
    changes = kind(random.Random(seed))
    pages = [History(f"http://a.test{url}", 0.0, sorted(at for at in times if 0 < at < SPAN_S), math.inf) for url, times in changes.items()]
    web = Web("planted", SPAN_S, pages)
    bounds, pace_s = bounds_of(web), HOUR_S / 3
    together, alone = (run_of(web, made("harmonic", bounds, pace_s), pace_s, bounds) for made in (Ours, Alone))
    stale = (1 - together.fresh) / (1 - alone.fresh) if alone.fresh < 1 else 1.0
    return together.n_requests / alone.n_requests, stale, together.n_missed


def main() -> None:
    """Run the kinds; exit 1 if one causes requests in vain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.change_kinds", description="Is the schedule fooled?")
    parser.add_argument("kinds", nargs="*", help="by name; all if none is given")
    chosen = parser.parse_args().kinds
    n_bad = 0
    for kind in (*HONEST, *HOSTILE):
        if chosen and kind.__name__ not in chosen:
            continue
        requests, stale, n_missed = compared(kind)
        is_bad = n_missed > 0 or (requests > MOST_MORE and stale > 1 / requests)
        n_bad += is_bad
        what = "honest" if kind in HONEST else "hostile"
        print(f"{what:8}{kind.__name__:28} requests {requests:5.2f}   stale {stale:5.2f}   {'in vain' if is_bad else ''}", flush=True)
    sys.exit(1 if n_bad else 0)


if __name__ == "__main__":
    main()
