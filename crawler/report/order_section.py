"""The section of a report on how good the order of the crawl was [NW01]."""

from __future__ import annotations

from thresher.crawler.report.blocks import Cell, Section, facts, figure, grid, note, percent, table
from thresher.crawler.report.gather import CrawlFigures
from thresher.crawler.report.markup import Markup
from thresher.crawler.report.order import OrderQuality
from thresher.crawler.report.svg import Axis, Series, columns, in_percent, lines

_NAMES = ("this crawl", "best possible", "random order")
_FETCHES = Axis("share of the fetches", in_percent, 1.0)


def order(crawl: CrawlFigures) -> Section | None:
    """Return curves of PageRank over the order of the fetches, and the pages of highest rank."""
    found = crawl.order
    if found is None:
        return None
    rows: list[tuple[Cell, ...]] = [(url, round(rank, 2), number or None, n_in) for url, rank, number, n_in in found.top]
    names = ("page", "PageRank", "fetched as number", "links to it")
    fidelity, spread = found.fidelity, found.concentration
    even = f"{spread.n_hosts:,} host{'s' * (spread.n_hosts != 1)}, as even as {spread.effective_hosts:,.1f} of equal size"
    said = facts(
        (
            ("Graph", f"{found.n_urls:,} URLs, fetched or only seen, {found.n_links:,} links"),
            ("Breadth-first", f"{percent(fidelity.share)} of the pairs of pages of different depth were fetched in that order"),
            (
                "Spread",
                f"{even}; the largest has {percent(spread.largest_share)}",
            ),
        )
    )
    why = note(
        "PageRank with a chance of 1/7 to jump anywhere, over all known URLs; its mean is 1. Best possible is the order that takes the "
        "same pages by descending rank; in a random order the curve would be a straight line to the same end.",
    )
    return Section("order", "Quality of the order", (_figures(found), said, why, table(names, rows, title="Pages of highest rank")))


def _figures(found: OrderQuality) -> Markup:
    by_slice = [((i + 0.5) / len(found.by_slice), mean) for i, mean in enumerate(found.by_slice)]
    slices = lines([Series("mean PageRank", by_slice, is_filled=True)], _FETCHES, Axis("mean PageRank"))
    depths = columns([(str(depth), mean) for depth, mean, _ in found.by_depth], Axis("clicks from a seed"), Axis("mean PageRank"))
    return grid(
        figure("Share of PageRank got", _captured(found.captured, found.captured_by_best), _NAMES),
        figure("The same over links across hosts alone", _captured(found.across, found.across_by_best), _NAMES),
        figure("Mean PageRank by slice of the crawl", slices, text=f"{len(found.by_slice)} slices of as many pages each."),
        figure("Mean PageRank by depth", depths),
    )


def _captured(got: list[tuple[float, float]], best: list[tuple[float, float]]) -> Markup:
    curves = (got, best, [(0.0, 0.0), got[-1]])
    series = [Series(name, curve, is_filled=curve is got) for name, curve in zip(_NAMES, curves, strict=True)]
    return lines(series, _FETCHES, Axis("share of all PageRank", in_percent))
