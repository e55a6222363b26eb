"""The beginning of a crawl of living sites: `python -m benchmarks.living early DIR [SITE…] [--seeds N] [--share S] [--set KEY=VALUE]…`.

Each site that is recorded in DIR (recordings.py) is served again and crawled N times, plainly and with filters, up to the share S of its
recording's requests. That shows in a minute what filters' own requests cost a site's first pages; `anytime` crawls a site to its end.

A line a run: documents at a tenth and at S of the recorded plain crawl's requests, with filters and plainly (near copies as one, by the
recording); filters' own requests by then, each with its place in the crawl. Exit 1 if a crawl with filters is below plain by more than 2 %
and 5 documents at one of them; each is compared with the mean of the plain crawls, since their order is drawn anew each time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from benchmarks.living.anytime import never, run_of
from benchmarks.living.apache import Place
from benchmarks.living.crawls import add_settings, chosen_settings, crawl_as, enforced
from benchmarks.living.curve import BELOW, BELOW_DOCUMENTS, POINTS, Run
from benchmarks.living.recordings import Recording, recorded
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES, served, there

_OF_FILTERS = ("probe", "validation", "canary")


def main(arguments: Sequence[str]) -> int:
    """Serve, crawl, print; return 1 if a crawl with filters is below plain, 2 on a wrong option or if nothing is recorded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living early", description="What filters cost a site's first pages.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="recordings, by `python -m benchmarks.living record DIR`")
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: all recorded")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="crawls of each kind (3)")
    parser.add_argument("--share", type=float, default=POINTS[0], metavar="S", help="of the recorded requests (0.1)")
    add_settings(parser, of="the crawls with filters")
    options = parser.parse_args(arguments)
    settings, recordings = chosen_settings(options), recorded(options.directory, options.sites)
    if settings is None or not recordings:
        print(f"{options.directory}: no recording of these sites. Make some: python -m benchmarks.living record DIR", file=sys.stderr)
        return 2
    return int(sum(measure(site, recordings[site.name], settings, options) for site in there(list(recordings))) > 0)


def measure(site: Site, recording: Recording, settings: Sequence[str], options: argparse.Namespace) -> bool:
    """Crawl one site; print the runs, return whether one is below plain."""
    numbers = [int(len(recording.requests) * share) for share in sorted({POINTS[0], options.share})]
    budget = f"limits.max_pages={numbers[-1]}"
    plain, ours = list[Run](), list[Run]()
    with tempfile.TemporaryDirectory(prefix="thresher-early-") as work, served(site, Path(work)) as place:
        for i in range(options.seeds):
            plain.append(crawled(site, place, Path(work) / f"plain-{i}", (*enforced(()), budget)))
            ours.append(crawled(site, place, Path(work) / f"filters-{i}", (*settings, budget)))
    print(f"{site.name}, after {', '.join(map(str, numbers))} requests:")
    for name, run in (*(("plain", run) for run in plain), *(("filters", run) for run in ours)):
        own = [f"{request.purpose} {at}" for at, request in enumerate(run.requests[: numbers[-1]]) if request.purpose in _OF_FILTERS]
        print(f"  {name:8}{' '.join(f'{found(run, n, recording.clusters):5}' for n in numbers)}   {', '.join(own)}", flush=True)
    words = below(plain, ours, numbers, recording.clusters)
    print("\n".join(f"  below plain: {word}" for word in words) or "  not below plain", flush=True)
    return bool(words)


def below(plain: Sequence[Run], ours: Sequence[Run], numbers: Sequence[int], clusters: Mapping[str, int]) -> list[str]:
    """Return where crawls have fewer documents than plain ones on average by more than is allowed, in words.

    Args:
        plain: Plain crawls.
        ours: Crawls with filters.
        numbers: After so many requests.
        clusters: Document → number of its cluster of near copies.
    """
    words = []
    for n in numbers:
        n_plain = mean(found(run, n, clusters) for run in plain)
        least = n_plain - max(BELOW * n_plain, BELOW_DOCUMENTS)
        words += [f"{has} documents for {n_plain:g}" for run in ours if (has := found(run, n, clusters)) < least]
    return words


def crawled(site: Site, place: Place, directory: Path, settings: Sequence[str]) -> Run:
    """Crawl the beginning of a site that is served."""
    is_empty = site.empty(place.directory) if site.empty else never
    return run_of(crawl_as(site, place, directory, settings), is_empty)


def found(run: Run, n_requests: int, clusters: Mapping[str, int]) -> int:
    """Return the documents of a crawl's first requests, near copies as one."""
    return len(Run(run.near_as_one(clusters).requests[:n_requests]).documents)
