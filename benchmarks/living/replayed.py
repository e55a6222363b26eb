"""Anytime curves from recordings: `python -m benchmarks.living replay DIR [SITE…] [--set KEY=VALUE]… [--filters SET]`.

The recordings of DIR (recordings.py) are crawled once more in memory, out of their stores, with the real filters and the real rules of
what is held: by the defaults, or as --set and --filters change them. The order of drawing follows --seed. What a replay does not do is to
make filters' own requests: canaries, probes and validations cost it nothing, and teach it nothing. Nor does it ask for sitemaps, or for
what was answered with no page (feeds, sources as text), of which a store keeps no answer: a line tells how many of plain's requests are
such. Where they are many, only `anytime` tells what filters gain. A recording that was cut (`record --pages`) is a site of what was
recorded.

The lines are those of `python -m benchmarks.living anytime`, in which a request of the tail takes a second; then what is lost, with the
class that holds it, and what is left of which classes. Exit 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.living.anytime import told, wasted
from benchmarks.living.crawls import add_settings, chosen_settings
from benchmarks.living.curve import Curve, CurveRequest, Run, compared
from benchmarks.living.recordings import Recording, recorded
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES
from thresher.config.settings import FilterSettings, Settings
from thresher.crawler.analysis.filter_worth import learns
from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.analysis.recorded_store import read_graph
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl, Result
from thresher.crawler.analysis.replayed_panel import ReplayedPanel
from thresher.crawler.cli.common import crawl_config
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.settlement.tail import policy_of
from thresher.filters.registry import specs
from thresher.storage.view import View

_LIMIT = 20_000  # answers
_EXAMPLES = 3


def main(arguments: Sequence[str]) -> int:
    """Replay, print; return 1 if a goal is missed, 2 on a wrong option or if nothing is recorded."""
    options = _options(arguments)
    settings = chosen_settings(options)
    if settings is None:
        return 2
    recordings = recorded(options.directory, options.sites)
    if not recordings:
        print(f"{options.directory}: no recording of these sites. Make some: python -m benchmarks.living record DIR", file=sys.stderr)
        return 2
    found = [measure(SITES[name], one, options.directory / name, settings, options.seed) for name, one in recordings.items()]
    return told(found)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.living replay", description="Crawl recordings of living sites with filters."
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="recordings, by `python -m benchmarks.living record DIR`")
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: all recorded")
    add_settings(parser, of="the replays")
    parser.add_argument("--seed", default="1", help="of the order in which URLs are drawn (1)")
    return parser.parse_args(arguments)


def measure(site: Site, recording: Recording, store: Path, sets: Sequence[str], seed: str) -> Curve:
    """Replay one recording, on several hosts once more with the plain crawl's requests as a budget; print and return the curve."""
    with View(store) as view:
        own = crawl_config(replaced(view.settings), (), sets)
        space = URLSpace(view.secret, url_rules(own))
        graph = read_graph(view, space, limit=_LIMIT).graph
    plain = recording.run
    result = replayed(graph, own, space, seed)
    run, capped = run_of(graph, result, recording), None
    if not graph.has_one_host:
        capped = run_of(graph, replayed(graph, own, space, seed, max_pages=len(plain.requests)), recording)
    curve = compared(site.name, plain, run, recording.clusters, capped=capped)
    print(curve.line(), flush=True)
    left = Counter(result.left)
    lines = (
        [f"  left: {left.total():,} in {len(left):,}: {', '.join(f'{of} {n}' for of, n in left.most_common(_EXAMPLES))}"] if left else []
    )
    print("\n".join([*lines, *_losses(plain, run), *wasted(site, run), *_not_replayed(graph, plain)]), flush=True)
    return curve


def replaced(settings: Settings) -> Settings:
    """Return a plain crawl's settings with the filters' defaults."""
    return Settings(**{**{name: getattr(settings, name) for name in settings.__struct_fields__}, "filters": FilterSettings()})


def replayed(graph: RecordedGraph, settings: Settings, space: URLSpace, seed: str, *, max_pages: int = 0) -> Result:
    """Crawl a graph once more. It may grow, by aliases' canonical URLs that were never fetched.    max_pages: 0: no budget"""
    of = settings.filters
    known = graph.n_answered or len(graph.urls)
    links: list[Sequence[int]] = [tuple([target for target in named if target < known]) for named in graph.links]
    one = replace(graph, urls=[*graph.urls], texts=[*graph.texts], links=links, statuses=[*graph.statuses], _numbers={})
    panel = ReplayedPanel(one, [spec for spec in specs(settings, settings.seeds) if learns(spec)], space, audit_share=of.audit_share)
    policy = policy_of(of.tail_yield, of.tail_share, of.audit_share)
    return ReplayedCrawl(one, policy, secret=seed.encode(), max_pages=max_pages, filters=panel, trusts_filters=True).run()


def run_of(graph: RecordedGraph, result: Result, recording: Recording) -> Run:
    """Return a replay's requests as those of a crawl, each with the document that the recording has for it."""
    shown = {request.url: request for request in recording.requests}
    requests = []
    for at, (number, is_drawn) in enumerate(result.asked):
        is_known = number < len(graph.urls)
        as_it_was = shown.get(graph.urls[number]) if is_known else None
        document = as_it_was.document if as_it_was is not None and graph.texts[number] not in result.unkept else ""
        n_bytes = as_it_was.n_bytes if as_it_was is not None else 0
        url = graph.urls[number] if is_known else ""
        requests.append(CurveRequest(url, "audit" if is_drawn else "page", n_bytes, float(at), document))
    return Run(requests)


def _not_replayed(graph: RecordedGraph, plain: Run) -> list[str]:
    """Return how many of the plain crawl's requests no replay can make, in words: it looks better beside plain by them."""
    answered = set(graph.urls[: graph.n_answered])
    places = [n for n, request in enumerate(plain.requests) if request.url not in answered]
    early = sum(n < len(plain.requests) // 2 for n in places)
    told = f"  not replayed: {len(places):,} of plain's requests, {early:,} in its first half: sitemaps, and what is no page"
    return [told] if places else []


def _losses(plain: Run, run: Run) -> list[str]:
    lost = plain.documents - run.documents
    urls = [request.url for request in plain.requests if request.document in lost]
    return [f"  not found: {len(lost)}", *(f"      {url}" for url in urls[:_EXAMPLES])] if lost else []
