"""Crawl living sites with filters and without: `python -m benchmarks.living [SITE…] [--filters A,B+C,all-D] [--delay S] [--keep DIR]`.

`python -m benchmarks.living anytime` draws curves over requests and bytes (anytime.py), `… record` and `… replay` draw them from
recordings (recordings.py, replayed.py), `… early` crawls the beginnings of recorded sites (early.py), `… walls` puts walls before sites
(walls.py), `… sitemaps` crawls with and without the sitemaps that a site's own software makes (sitemaps.py).

Real software that Debian packages is started on loopback addresses, each site is crawled from one seed by the command line, first with all
filters off (but media), then with each set of filters: with all but depth_cutoff (which leaves out what is far away, not what is
redundant), and with all. Crawls wait as little as possible between requests. Only the crawls with filters wait --delay seconds, a twentieth
of the default: without that, results of studies in another process would come when most of the site is fetched. If packages are missing, it
says which. A crawl ends after 5,000 pages, which only the dictionary reaches.

The table: requests of the crawl; answers 200 among them and how many distinct documents they show; duplicates fetched; coverage (share of
the duplicate fetches avoided), reduction (share of the requests avoided); documents lost, and of these those without a near copy that was
kept; probes and validations, which are among the requests; audits. Then the filters that caused the losses, with examples; and for the wiki
how many of the missing pages were recorded as soft errors. Exit code 1 if more than 0.5 % of the documents are lost with the last set of
filters.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.living import anytime, early, folders, recordings, replayed, sitemaps, walls
from benchmarks.living.apache import Place
from benchmarks.living.compare import Comparison, causes
from benchmarks.living.crawls import Crawl, crawl, filter_names, filters_of
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES, served, there

_COMMANDS = {
    "anytime": anytime.main,
    "early": early.main,
    "folders": folders.main,
    "record": recordings.main,
    "replay": replayed.main,
    "sitemaps": sitemaps.main,
    "walls": walls.main,
}
MAX_LOST = 0.005
_EXAMPLES = 3
_CAUSES = 6
_COUNTS = ["requests", "200", "documents", "duplicates", "coverage", "reduction", "lost", "no-near-copy"]
_COLUMNS = ["filters", *_COUNTS, "probes", "validations", "audits", "CPU-s"]


def main() -> int:
    """Serve, crawl, compare, print; return 0 if nothing is lost, 2 if packages are missing."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # so that the servers are stopped
    if sys.argv[1:2] and sys.argv[1] in _COMMANDS:
        return _COMMANDS[sys.argv[1]](sys.argv[2:])
    options = _options()
    sites = there(options.sites)
    if len(sites) < len(options.sites or SITES):
        return 2
    try:
        sets = {name: filters_of(name) for name in options.filters.split(",")}
    except ValueError as error:
        print(f"--filters: {error}", file=sys.stderr)
        return 2
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-living-")))
        return int(sum(measure(site, keep, sets, options.delay) for site in sites) > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living", description="Crawl living sites with filters and without.")
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: all")
    parser.add_argument("--filters", default="all-depth_cutoff,all", metavar="A,B+C,all-D", help=f"sets of {', '.join(filter_names())}")
    parser.add_argument("--delay", type=float, default=0.05, metavar="S", help="seconds between two requests of a crawl with filters")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave sites and stores there")
    return parser.parse_args()


def measure(site: Site, directory: Path, sets: Mapping[str, Sequence[str]], delay_s: float) -> bool:
    """Crawl a site without filters and with each set; print the results; return whether too much is lost with the last set."""
    with served(site, directory) as place:
        print(f"\n{site.name}: {site.about}\n{place.url(site.hosts[0], site.seed)}", flush=True)
        is_empty = site.empty(place.directory) if site.empty else anytime.never
        base = crawl(site, place, directory / f"{site.name}-off", ())
        rows, reports, too_much = [_row("off", Comparison(base, base, is_empty))], list[str](), False
        for name, filters in sets.items():
            found = Comparison(base, crawl(site, place, directory / f"{site.name}-{name}", filters, delay_s), is_empty)
            rows.append(_row(name, found))
            reports += [f"{site.name}, {name}: {line}" for line in (*_losses(site, found), *_soft_errors(site, place, found))]
            too_much = sum(map(found.is_lost, found.lost)) > MAX_LOST * len(found.documents)
    _print_table([_COLUMNS, *rows])
    print("\n".join(reports), flush=True)
    return too_much


def _row(name: str, found: Comparison) -> list[str]:
    crawled: Crawl = found.other
    of = crawled.requests
    return [
        name + (" (cut)" if crawled.is_cut else ""),
        f"{of.total():,}",
        f"{sum(answer.status == 200 for answer in crawled.answers):,}",
        f"{len(found.documents) - len(found.lost):,}",
        f"{found.n_duplicates:,}",
        f"{found.coverage:.1%}",
        f"{found.reduction:.1%}",
        f"{len(found.lost):,}",
        f"{sum(map(found.is_lost, found.lost)):,}",
        f"{of['probe']:,}",
        f"{of['validation']:,}",
        f"{max(of['audit'], crawled.n_audited):,}",
        f"{crawled.cpu_s:.1f}",
    ]


def _losses(site: Site, found: Comparison) -> list[str]:
    """Return lines that say which filters lost documents and what these show, with examples of each cause."""
    n_served, n_requests = found.other.n_served, found.other.requests.total()
    lines = [f"the server counted {n_served:,} requests, the crawl {n_requests:,}"] if n_served != n_requests else []
    for is_gone, label in ((True, "lost"), (False, "lost, but a near copy was kept")):
        losses = [loss for loss in found.lost if found.is_lost(loss) == is_gone]
        for cause, n in causes(losses).most_common(_CAUSES):
            of_cause = [loss for loss in losses if causes([loss])[cause]]
            kinds = Counter(site.kind(loss.urls[0]) for loss in of_cause)
            lines.append(f"{label}: {n} by {cause}: {', '.join(f'{kind} {m}' for kind, m in kinds.most_common(6))}")
            lines += [f"    {loss.urls[0]} (resemblance {loss.resemblance:.2f})" for loss in of_cause[:_EXAMPLES]]
    return lines


def _soft_errors(site: Site, place: Place, found: Comparison) -> list[str]:
    """Compare the recorded soft errors with the truth: only the wiki answers missing pages with 200."""
    is_missing = site.missing(place.directory) if site.missing else anytime.never
    truth = {answer.url for answer in found.base.answers if is_missing(answer.url)}
    fetched = {answer.url for answer in found.other.answers}
    recorded = {answer.url for answer in found.other.answers if any(word.startswith("soft_error:") for word in answer.dropped_by())}
    right, kinds = recorded & truth, Counter(site.kind(url) for url in recorded - truth)
    met, shown = truth & fetched, [sum(site.kind(url) == "show" for url in urls) for urls in (right, truth & fetched)]
    recall = f"recall {len(right) / max(1, len(met)):.2f}, exports of a page left out {shown[0]} of {shown[1]}"
    others = dict(kinds.most_common())
    if not truth and not recorded:
        return []
    lines = [
        f"URLs that show a missing page: {len(truth)}; fetched {len(met)}, of these recorded as soft errors {len(right)}: {recall}",
        f"recorded as soft errors: {len(recorded)}, of which {len(right)} show a missing page; others by view: {others}",
    ]
    return lines + [f"    {url}" for url in sorted(recorded - truth)[:_EXAMPLES]]


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        print("  ".join(cells))


if __name__ == "__main__":
    sys.exit(main())
