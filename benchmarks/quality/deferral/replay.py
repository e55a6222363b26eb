"""Simulated crawls with simple opinions, with or without the real filters (crawler/analysis/replayed_crawl.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from benchmarks.quality.deferral.opinions import Beliefs, Notes, Opinions
from thresher.config.settings import FilterSettings, Settings
from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl, Result
from thresher.crawler.analysis.replayed_panel import ReplayedPanel
from thresher.filters.registry import specs
from thresher.filters.tail.records import TailPolicy

ALWAYS = ("exact_duplicate",)  # filters from whose verdicts the others learn


def crawled(
    graph: RecordedGraph,
    policy: TailPolicy,
    beliefs: Beliefs,
    *,
    secret: bytes = b"1",
    max_pages: int = 0,
    settings: Settings | None = None,
) -> Result:
    """Crawl a graph.    max_pages: limit of the whole crawl, 0: none; settings: of the real filters, if these shall judge"""
    filters = None if settings is None else ReplayedPanel(graph, specs(settings, [graph.urls[0]]))
    opinions = partial(Opinions, beliefs, Notes())
    return ReplayedCrawl(graph, policy, opinions, secret=secret, max_pages=max_pages, filters=filters).run()


def plain(graph: RecordedGraph) -> Result:
    """Crawl breadth-first, without holding any URL."""
    never = Beliefs(has_shapes=False, has_families=False, has_lineage=False)
    return crawled(graph, TailPolicy(), never)


def filters_of(names: Sequence[str], sets: Sequence[str] = ()) -> Settings:
    """Return a configuration in which these filters enforce, and no others. sets: "filter.option=value"; raises ValueError."""
    of = FilterSettings(audit_share=0.0)
    options: dict[str, dict[str, Any]] = {name: {"mode": "off"} for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode")}
    for name in (*ALWAYS, *names):
        if name not in options:
            raise ValueError(f"no filter {name!r}; there are {', '.join(options)}")
        options[name]["mode"] = "enforce"
    for each in sets:
        place, _, value = each.partition("=")
        filter_name, dot, option = place.partition(".")
        if dot:
            options[filter_name][option] = json.loads(value)
    return Settings(filters=msgspec.convert({"audit_share": 0.0, **options}, FilterSettings))
