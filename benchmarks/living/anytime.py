"""Anytime curves of living sites: `python -m benchmarks.living anytime [SITE…] [--seeds N] [--set KEY=VALUE]… [--filters SET]`.

Each site is crawled plainly (every learned filter off) and a second time: with the default configuration, with the changes of --set, or
with only the filters of --filters enforced. Each crawl draws new random seeds for its choices, and no option sets them; so the N runs of a
site differ. A crawl with filters has no budget, but on sites of several hosts the curve is that of one more crawl with the plain crawl's
requests as its budget. Requests for robots.txt are not counted.

A line a site and run: documents found by 10, 25, 50, 75 and 100 % of the plain crawl's requests divided by what plain has by then, and
after the slash the same for an oracle. Near copies count once (by the clusters of `thresher replicas` over the plain crawl), and so do
texts of the same words in another order, such as a folder's list in another sort order; `gain`: the share of the oracle's logarithmic gain
at half; the same curve by bytes; requests; documents lost (the texts that plain has and this crawl did not keep), without and with a near
copy that was kept; the tail: the end of the crawl, most of which went to URLs that filters had held. Then the lost documents, and the kinds
of URLs whose requests brought nothing new, before the tail and in it. Exit 1 if a goal is missed: 75 % of the oracle's gain at half over
all sites, 50 % on each where it has 1.1 times or more, nowhere below plain by more than max(2 %, 5 documents), lost .1 % over all sites and
.5 % on the worst.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from benchmarks.living.apache import Place
from benchmarks.living.compare import Comparison, causes
from benchmarks.living.crawls import Crawl, add_settings, chosen_settings, crawl_as, enforced, thresher
from benchmarks.living.curve import Curve, CurveRequest, Run, compared, missed, tail_start
from benchmarks.living.site import Judge, Site
from benchmarks.living.sites import SITES, served, there

_EXAMPLES = 3
_KINDS = 8


def main(arguments: Sequence[str]) -> int:
    """Serve, crawl, print; return 1 if a goal is missed, 2 on a wrong option or if no site's software is there."""
    options = _options(arguments)
    settings = chosen_settings(options)
    if settings is None:
        return 2
    sites = there(options.sites)
    if not sites:
        return 2
    curves: list[Curve] = []
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-anytime-")))
        for site in sites:
            curves += measure(site, keep, settings, options.delay, options.seeds)
    return told(curves)


def told(curves: Sequence[Curve]) -> int:
    """Print the sums of all curves and the goals that are missed; return 1 if any is missed."""
    goals, (ours, oracles) = missed(curves), (sum(curve.gains[i] for curve in curves) for i in (0, 1))
    lost, documents = sum(curve.lost for curve in curves), sum(curve.documents for curve in curves)
    gain = f"{ours / oracles:.0%} of the oracle's gain at half" if oracles > 0 else "no gain to be had"
    print(f"{len(curves)} curves: {gain}; lost {lost} of {documents}")
    print("\n".join([*(f"missed: {words}" for words in goals), *([] if goals else ["all goals are met"])]), flush=True)
    return int(bool(goals))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living anytime", description="Draw the anytime curves of living sites.")
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: all")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="runs of each site (3)")
    add_settings(parser, of="the crawls with filters")
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="seconds between two requests of a crawl with filters (0)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave sites and stores there")
    return parser.parse_args(arguments)


def measure(site: Site, directory: Path, settings: Sequence[str], delay_s: float, n_runs: int) -> list[Curve]:
    """Serve a site, crawl it plainly and with filters, print and return the curves."""
    with served(site, directory) as place:
        print(f"\n{site.name}: {site.about}", flush=True)
        return [one_run(site, place, directory, settings, delay_s, number) for number in range(1, n_runs + 1)]


def one_run(site: Site, place: Place, directory: Path, settings: Sequence[str], delay_s: float, number: int) -> Curve:
    """Crawl a site that is served already, plainly and with filters; print and return the curve."""
    base = crawl_as(site, place, directory / f"{site.name}-plain-{number}", enforced(()))
    is_empty = site.empty(place.directory) if site.empty else never
    other = crawl_as(site, place, directory / f"{site.name}-filters-{number}", settings, delay_s)
    plain, run, capped = run_of(base, is_empty), run_of(other, is_empty), None
    if len(site.hosts) > 1:
        budget = f"limits.max_pages={len(plain.requests)}"
        capped = run_of(crawl_as(site, place, directory / f"{site.name}-budget-{number}", (*settings, budget), delay_s), is_empty)
    curve = compared(site.name, plain, run, clusters(base), capped=capped)
    print(curve.line(), flush=True)
    print("\n".join([*_losses(site, Comparison(base, other, is_empty)), *wasted(site, run)]), flush=True)
    return curve


def never(url: str) -> bool:
    """Return False: on a site that answers missing pages with 404, no answer 200 is a missing page."""
    return False


def run_of(crawl: Crawl, is_empty: Judge) -> Run:
    """Return the crawl's requests in order, each with the document that its answer shows if it was kept."""
    shown = {
        answer.url: answer.document for answer in crawl.answers if answer.status == 200 and answer.is_kept and not is_empty(answer.url)
    }
    requests = []
    for line in crawl.log.read_text("ascii").splitlines():
        at, result, n_bytes, _, purpose, _, url = line.split("\t")
        if purpose != "robots":
            document = shown.get(url, "") if result == "200" else ""
            requests.append(CurveRequest(url, purpose, int(n_bytes), datetime.fromisoformat(at).timestamp(), document))
    return Run(requests)


def clusters(base: Crawl) -> dict[str, int]:
    """Return document → the number of its cluster, by the product's own near-replicas of the crawl's pages; a lone document is in none.

    Documents of the same words in another order are of one cluster.
    """
    documents = {answer.url: answer.document for answer in base.answers if answer.document}
    found: dict[str, int] = {}
    for number, line in enumerate(thresher("replicas", str(base.directory)).splitlines()):
        cluster = json.loads(line)
        for url in [cluster["representative"], *(member["url"] for member in cluster["members"])]:
            if url in documents:
                found.setdefault(documents[url], number)
    return reordered(found, {answer.document: answer.text for answer in base.answers if answer.document})


def reordered(clusters: Mapping[str, int], texts: Mapping[str, str]) -> dict[str, int]:
    """Return the clusters; those with a text of the same words in another order are joined.

    Args:
        clusters: Document → number of its cluster.
        texts: Document → its text.
    """
    by_words: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for document, text in texts.items():
        by_words[tuple(sorted(text.split()))].append(document)
    groups = [of for of in by_words.values() if len(of) > 1]
    number_of = dict(clusters) | {document: -1 - i for i, of in enumerate(groups) for document in of if document not in clusters}
    one = {number: number for number in number_of.values()}

    def root(number: int) -> int:
        return number if one[number] == number else root(one[number])

    for first, *others in groups:
        for other in others:
            one[root(number_of[other])] = root(number_of[first])
    return {document: root(number) for document, number in number_of.items()}


def _losses(site: Site, found: Comparison) -> list[str]:
    lines = []
    for cause, n in causes(found.lost).most_common(_KINDS):
        of_cause = [loss for loss in found.lost if causes([loss])[cause]]
        kinds = Counter(site.kind(loss.urls[0]) for loss in of_cause)
        lines.append(f"  not kept: {n} by {cause}: {', '.join(f'{kind} {m}' for kind, m in kinds.most_common(5))}")
        lines += [f"      {loss.urls[0]} (resemblance {loss.resemblance:.2f})" for loss in of_cause[:_EXAMPLES]]
    return lines


def wasted(site: Site, run: Run) -> list[str]:
    """Return lines with the kinds of URLs whose requests brought no new document, before the tail and in it."""
    seen, tail_from = set[str](), tail_start(run)
    barren: dict[str, Counter[str]] = defaultdict(Counter)
    for at, request in enumerate(run.requests):
        part = "in the tail" if at >= tail_from else "before the tail"
        if not request.document or request.document in seen:
            barren[part][f"{request.purpose} {site.kind(request.url)}".replace("page ", "", 1)] += 1
        seen.add(request.document)
    return [
        f"  barren {part}: {kinds.total()}: {', '.join(f'{kind.strip()} {n}' for kind, n in kinds.most_common(_KINDS))}"
        for part, kinds in barren.items()
    ]
