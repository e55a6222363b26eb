"""Made-up kinds of sites: `python -m benchmarks.quality.made_up [KIND…] [--seed 1] [--set KEY=VALUE]…`.

Twenty-one kinds that nobody made the filters for (archives.py, services.py, culture.py, records.py, holdings.py): minutes below one long
header, a journal behind a wall, a land register whose lists say the same, manuals in versions and languages, package versions, repealed
laws, timetables, expired offers, a status page, a town in two languages, a directory of persons, recipes, a museum, a radio station, a
family tree, a data portal, a league, a library's catalogue, a court, a mailing list, a shop of parts. Each is crawled in memory, breadth-
first without filters and with the defaults, by the real filters and the real rules of what is held; which of its pages show a document
was planted. Filters' own requests are not made. The order in which held URLs are drawn follows --seed.

The lines are those of `python -m benchmarks.living replay`, then the points at which the crawl without filters has more documents by more
than 2 % and 5 documents. Exit 1 if a kind has such a point, or more than one document in a thousand is lost.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks.living.curve import LOST, Curve, CurveRequest, Run, compared
from benchmarks.living.replayed import replayed
from benchmarks.quality.made_up import archives, culture, holdings, records, services
from benchmarks.quality.made_up.web import MadeUpGraph, MadeUpSite, graph_of
from thresher.config.settings import Settings
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl, Result
from thresher.crawler.analysis.replayed_host import NoOpinions
from thresher.crawler.cli.common import crawl_config
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.tail.records import TailPolicy

KINDS: dict[str, Callable[[MadeUpSite], None]] = {
    of.__name__: of
    for of in (
        *(archives.minutes, archives.journal, archives.register, archives.manuals, archives.packages, archives.laws),
        *(services.timetable, services.offers, services.status, services.town, services.staff, services.recipes),
        *(culture.museum, culture.radio),
        *(records.family, records.portal, records.league, records.catalogue),
        *(holdings.court, holdings.postings, holdings.parts),
    )
}


class Plain(NoOpinions):
    """A crawl in which no page's links are held."""

    has_lineage = False


def measure(kind: str, seed: str = "1", sets: Sequence[str] = ()) -> Curve:
    """Crawl one kind without filters and with them; return the curve.

    Args:
        kind: Of `KINDS`.
        seed: Of the order in which held URLs are drawn.
        sets: Settings, as KEY=VALUE.
    """
    site = MadeUpSite(kind)
    KINDS[kind](site)
    settings = crawl_config(Settings(seeds=[site.origin + "/"]), (), sets)
    space = URLSpace(bytes(16), url_rules(settings))
    made = graph_of(site, space)
    plain = ReplayedCrawl(made.graph, TailPolicy(), Plain).run()
    return compared(kind, _run(made, plain), _run(made, replayed(made.graph, settings, space, seed)), {})


def _run(made: MadeUpGraph, result: Result) -> Run:
    """Return a simulated crawl's requests with the planted documents; one that filters dropped with every page is not there."""
    requests = []
    for at, (number, is_drawn) in enumerate(result.asked):
        is_known = number < len(made.documents)
        is_kept = is_known and made.graph.texts[number] not in result.unkept
        url, size = (made.graph.urls[number], made.sizes[number]) if is_known else ("", 0)
        requests.append(CurveRequest(url, "audit" if is_drawn else "page", size, float(at), made.documents[number] if is_kept else ""))
    return Run(requests)


def judge(curves: Sequence[Curve]) -> int:
    """Print what is below the crawl without filters, and what is lost; return 1 if that is too much."""
    for curve in curves:
        for words in curve.below:
            print(f"below: {curve.site}: {words}")
    lost, n = sum(curve.lost for curve in curves), sum(curve.documents for curve in curves)
    n_below = sum(bool(curve.below) for curve in curves)
    print(f"{n_below} of {len(curves)} kinds below the crawl without filters somewhere; lost {lost} of {n:,} documents")
    return int(n_below > 0 or lost > LOST * n)


def main(arguments: Sequence[str] | None = None) -> int:
    """Crawl, print, judge."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.made_up", description="Filters on kinds of sites nobody made them for."
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=[*KINDS, []], help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--seed", default="1", help="of the order in which held URLs are drawn (1)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="an option of the crawl with filters; may be repeated"
    )
    options = parser.parse_args(arguments)
    curves = []
    for kind in options.kinds or KINDS:
        curves.append(measure(kind, options.seed, options.set))
        print(curves[-1].line(), flush=True)
    return judge(curves)


if __name__ == "__main__":
    sys.exit(main())
