"""`thresher depth`: how deep visitors go, and how deep a crawl should [BC04]."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thresher.crawler.analysis.access_log import LinesRead
from thresher.crawler.analysis.figures import require_matplotlib
from thresher.crawler.cli.common import config_option, crawl_config, directory_argument, json_option, print_json, print_table, set_option
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.printable import printable
from thresher.filters.evidence.intervals import Interval
from thresher.storage.export.target import replacing

if TYPE_CHECKING:
    from thresher.crawler.analysis.depth_evidence import DepthEvidence, SiteEvidence
    from thresher.filters.depth_cutoff.advise import Advice
    from thresher.filters.depth_cutoff.evidence import PlaceCounts
    from thresher.filters.depth_cutoff.fit import Depths, Fit
    from thresher.filters.depth_cutoff.models import F64, Model
    from thresher.filters.depth_cutoff.sessions import Sessions
    from thresher.storage.view import View

_DECIMALS = 4
_TABLE_LEVELS = 12
_TOP_PLACES = 5


@click.group()
def depth() -> None:
    """How deep do visitors go, and how deep should a crawl go?

    `fit` answers from access logs, `advise` from a crawl.
    """


@dataclass(frozen=True, slots=True)
class Fitted:
    """What `depth fit` finds in a site's logs."""

    logs: tuple[str, ...]
    reading: LinesRead
    sessions: Sessions
    depths: Depths
    fits: Mapping[Model, Fit]
    chain: F64  # share of page views by level, computed from the measured actions
    chain_levels: tuple[int, ...]


@depth.command(epilog="Example: thresher depth fit access.log access.log.1.gz --plot depth.png")
@click.argument("logs", metavar="LOG…", nargs=-1, required=True, type=click.Path())
@click.option("--each", is_flag=True, help="Each LOG is a site of its own; otherwise all are of one site.")
@click.option("--host", default="", metavar="NAME", help="The site's host, as Referer headers name it.  [default: the most frequent]")
@click.option("--exclude", metavar="REGEX", help="Leave out requests whose path matches, such as those to a webmail.")
@click.option(
    "--plot", type=click.Path(), metavar="OUT.png", help="Draw measured and modelled shares, and actions by level.  [extra: report]"
)
@json_option
def fit(logs: tuple[str, ...], each: bool, host: str, exclude: str | None, plot: str | None, as_json: bool) -> int:
    """Fit models of visitors to the sessions in access logs.

    They answer which share of page views lies how many clicks deep. LOG is an access log in common or combined format, with or without
    gzip, - for standard input; or a file of click paths as Wikispeedia publishes them. Level 0 is the page where a session begins. With
    probability q a visitor goes one level deeper, else back: in model A one level, in B to the first level, in C to any level seen
    before. Errors are root mean squares of cumulative shares; intervals are of 95 %, by leaving out groups of visitors. Views from a
    browser's cache are not in the log: those at the end of a session that went back are estimated, since q would be too large without
    them.

    A q for a crawl is suggested if the log has at least 50 steps deeper, and if the interval is no wider than 0.1.
    """
    from thresher.crawler.analysis.depth_figure import draw

    pattern = _pattern(exclude)
    if plot is not None:
        require_matplotlib("--plot")
        if each and len(logs) > 1:
            raise UsageError("--plot: one figure for several sites cannot be drawn. Leave --each out, or name one LOG")
    for group in [(log,) for log in logs] if each else [logs]:
        found = _fit(group, pattern, host)
        _say(found)
        if as_json:
            print_json(_object(found))
        else:
            _print(found)
        if plot is not None:
            with replacing(Path(plot), force=True) as out:
                draw(out, ", ".join(Path(log).name for log in group), found.depths, found.fits, found.chain)
    return 0


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise UsageError(f"--exclude: expected a regular expression, found {text!r}: {error}") from None


def _fit(logs: tuple[str, ...], exclude: re.Pattern[str] | None, host: str) -> Fitted:
    from thresher.crawler.analysis.visitors import read_sessions
    from thresher.filters.depth_cutoff.fit import depths, of_actions

    reading = LinesRead()
    sessions = read_sessions(logs, reading, exclude=exclude, host=host)
    measured = depths(sessions)
    return Fitted(logs, reading, sessions, measured, measured.fits(), *of_actions(measured.actions))


def _say(found: Fitted) -> None:
    """Print on standard error how much was read and left out."""
    from thresher.filters.depth_cutoff.fit import suggested

    reading, dropped = found.reading, found.sessions.dropped
    if reading.torn:
        click.echo(f"skipped {reading.torn:,} of {reading.lines:,} lines that are no log lines (first: {reading.first_torn})", err=True)
    left_out = {name: getattr(dropped, name) for name in dropped.__slots__}
    if any(left_out.values()):
        click.echo("left out requests: " + ", ".join(f"{name} {n:,}" for name, n in left_out.items() if n), err=True)
    if found.sessions.n_filled and found.sessions.own_host:
        click.echo(f"filled in {found.sessions.n_filled:,} views that only a Referer of {found.sessions.own_host} tells of", err=True)
    if found.depths.n_cached >= 1:
        click.echo(
            f"estimated {found.depths.n_cached:,.0f} views from browsers' caches that nothing tells of: they are in all fits", err=True
        )
    q, why = suggested(found.depths, found.fits["B"])
    if q is None:
        click.echo(f"no advice for a crawl's configuration: q of model B is {why}", err=True)
    else:
        click.echo(f"for a crawl's configuration: filters.depth_cutoff.q: {q:.3f} ({why})", err=True)


def _levels(levels: tuple[int, ...]) -> dict[str, int]:
    from thresher.filters.depth_cutoff.fit import SHARES

    return {f"{wanted:.0%}": level for wanted, level in zip(SHARES, levels, strict=True)}


def _object(found: Fitted) -> dict[str, Any]:
    from thresher.filters.depth_cutoff.fit import best, suggested

    of, dropped = found.depths, found.sessions.dropped
    return {
        "logs": list(found.logs),
        "sessions": of.n_sessions,
        "views": of.n_views,
        "mean_length": round(of.mean_length, _DECIMALS),
        "mean_length_interval": _rounded(of.mean_length_interval),
        "single_page_share": round(of.single_share, _DECIMALS),
        "single_page_share_interval": _rounded(of.single_share_interval),
        "cached_views": round(of.n_cached, 1),
        "best": best(found.fits),
        "suggested_q": suggested(of, found.fits["B"])[0],
        "models": {model: _model_object(fitted) for model, fitted in found.fits.items()},
        "levels": _levels(of.levels),
        "levels_of_actions": _levels(found.chain_levels),
        "page_depth": [round(float(value), _DECIMALS) for value in of.cumulative()],
        "session_depth": of.by_session.tolist(),
        "actions": [{"level": level} | {action.name.lower(): n for action, n in row.items()} for level, row in enumerate(of.actions)],
        "lines": found.reading.lines,
        "torn": found.reading.torn,
        "filled": found.sessions.n_filled,
        "dropped": {name: getattr(dropped, name) for name in dropped.__slots__},
    }


def _rounded(bounds: Interval) -> list[float | None]:
    """Return an interval for JSON; null for a side without a bound."""
    return [round(bound, _DECIMALS) if math.isfinite(bound) else None for bound in bounds]


def _model_object(of: Fit) -> dict[str, Any]:
    return {
        "q": of.q,
        "q_interval": _rounded(of.q_interval),
        "error": of.error,
        "worst": of.worst,
        "q_likely": of.q_likely,
        "q_likely_interval": _rounded(of.q_likely_interval),
        "log_likelihood": of.log_likelihood,
        "levels": _levels(of.levels),
    }


def _print(found: Fitted) -> None:
    from thresher.filters.depth_cutoff.chains import Action
    from thresher.filters.depth_cutoff.fit import SHARES

    of = found.depths
    click.echo(
        f"{', '.join(found.logs)}: {of.n_sessions:,} sessions, {of.n_views:,} page views, "
        f"{of.mean_length:.2f} a session{_between(of.mean_length_interval, '.2f')}, "
        f"{of.single_share:.0%} of one page{_between(of.single_share_interval, '.0%')}"
    )
    click.echo()
    wanted = [f"{share:.0%}" for share in SHARES]
    rows: list[list[object]] = [
        [model, *_q(fitted.q, fitted.q_interval), *_q(fitted.q_likely, fitted.q_likely_interval), *_errors(fitted), *fitted.levels]
        for model, fitted in found.fits.items()
    ]
    rows += [["actions", *[None] * 6, *found.chain_levels], ["measured", *[None] * 6, *of.levels]]
    print_table(["model", "q", "95 %", "q likely", "95 %", "error", "worst", *[f"k for {share}" for share in wanted]], rows)
    click.echo()
    names = [action.name.lower() for action in Action]
    cumulative = of.cumulative()
    table: list[list[object]] = []
    for level, row in enumerate(of.actions[:_TABLE_LEVELS]):
        total = max(1, sum(row.values()))
        shares = [f"{row[action] / total:.1%}" for action in Action]
        n_sessions = int(of.by_session[level]) if level < len(of.by_session) else 0
        table.append([level, int(of.by_level[level]), f"{cumulative[level]:.1%}", n_sessions, *shares])
    print_table(["level", "views", "to here", "sessions this deep", *names], table)


def _q(q: float, bounds: Interval) -> tuple[str, str]:
    return f"{q:.4f}", "{:.3f}–{:.3f}".format(*bounds)


def _errors(of: Fit) -> tuple[str, str]:
    return f"{of.error:.2%}", f"{of.worst:.2%}"


def _between(bounds: Interval, form: str) -> str:
    """Return an interval in brackets; "" if it has no bound."""
    low, high = bounds
    return f" ({low:{form}}–{high:{form}})" if math.isfinite(low) else ""


# -- advise


@depth.command(epilog="Example: thresher depth advise example")
@directory_argument
@config_option
@set_option
@json_option
def advise(directory: str, configs: tuple[str, ...], sets: tuple[str, ...], as_json: bool) -> int:
    """Suggest how deep each site of a crawl should be crawled.

    A level is worth crawling as long as its pages are new. The rule is that of filters.depth_cutoff, with the crawl's options or those
    given here, such as --set filters.depth_cutoff.q=0.6. A depth of "-" means that no page so far speaks against going deeper.

    Each suggestion has its reasons: new pages by level (if the filter ran, of the pages that it looked at), new links by level,
    PageRank by level, links from other sites by the depth of the directory that they lead to, useless fetches and why, and places that
    are cut.
    """
    from thresher.crawler.analysis.depth_evidence import read_evidence
    from thresher.filters.depth_cutoff.advise import advise as advice_of
    from thresher.filters.depth_cutoff.filter import rule_of
    from thresher.storage.export.reading import reading as reading_store

    with reading_store(Path(directory)) as view:
        settings = crawl_config(view.settings, configs, sets).filters.depth_cutoff
        found = read_evidence(view, settings)
        advised = [(site, advice_of(site.levels, site.places, rule_of(settings))) for site in found.sites]
        if not found.sites:
            raise UsageError(f"{directory}: no page has been fetched yet. Crawl first")
        if not found.is_learned:
            click.echo(f"{directory}: the crawl ran without filters.depth_cutoff; this is what its stored pages teach", err=True)
        if as_json:
            for site, advice in advised:
                print_json(_site_object(site, advice, view))
        else:
            _print_sites(found, advised, view)
    return 0


def _site_object(site: SiteEvidence, advice: Advice, view: View) -> dict[str, Any]:
    return {
        "site": site.name,
        "pages": site.n_pages,
        "depth": advice.depth,
        "why": advice.why,
        "levels": [
            {
                "level": depth,
                "fetched": level.fetched,
                "new": level.new,
                "dropped": level.dropped,
                "drops": level.drops,
                "novelty": round(level.new / level.fetched, _DECIMALS) if level.fetched else None,
                "links": level.links,
                "new_links": level.new_links,
            }
            for depth, level in enumerate(site.levels)
        ],
        "pagerank": [round(share, _DECIMALS) for share in site.pagerank],
        "entries": {str(depth): n for depth, n in site.entries.items()},
        "cut": [{"place": place.form, "limit": place.limit, "fetched": place.n_ever, "held": _n_held(place, view)} for place in advice.cut],
    }


def _n_held(place: PlaceCounts, view: View) -> int:
    """Return how many URLs of a place are held."""
    from thresher.filters.depth_cutoff.filter import holder

    return sum(len(view.tables.held.keys(holder(place.form, depth))) for depth in range(64))


def _print_sites(found: DepthEvidence, advised: list[tuple[SiteEvidence, Advice]], view: View) -> None:
    rows = [
        [
            site.name,
            site.n_pages,
            advice.depth,
            " ".join(f"{level.new / level.fetched:.2f}" if level.fetched else "-" for level in site.levels[:_TABLE_LEVELS]),
            " ".join(f"{level.new_links / level.links:.2f}" if level.links else "-" for level in site.levels[:_TABLE_LEVELS]),
            " ".join(f"{share:.2f}" for share in site.pagerank[:_TABLE_LEVELS]),
            " ".join(f"{depth}:{n}" for depth, n in site.entries.items()),
        ]
        for site, advice in advised
    ]
    print_table(["site", "pages", "depth", "new pages by level", "new links by level", "PageRank to level", "entries by directory"], rows)
    click.echo()
    for site, advice in advised:
        click.echo(printable(f"{site.name}: {advice.why}"))
        drops = sum((Counter(level.drops) for level in site.levels), Counter[str]())
        if drops:
            click.echo("    worth nothing: " + ", ".join(f"{n:,} {kind}" for kind, n in drops.most_common()))
        for place in advice.cut[:_TOP_PLACES]:
            fetched = f"{place.n_ever:,} fetched, {_n_held(place, view):,} held back"
            click.echo(printable(f"    {place.form}: to depth {place.limit}, {fetched}"))
    shares = ", ".join(f"{share:.0%}" for share in found.pagerank[:_TABLE_LEVELS])
    click.echo(f"PageRank of all sites to level 0, 1, …: {shares}")
