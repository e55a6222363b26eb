"""The part "rank": its graph is what its pages link, sizes and in-links follow Zipf's law, farms endorse themselves only."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from labelling import check_purity, check_truth, fetch, labelled, links

from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.rank import RankPart
from thresher.crawler.demo.truth import split

SMALL = {"part_sites": 20, "part_pages": 10}


def _part(web: LabelledWeb) -> RankPart:
    part = web.parts["rank"]
    assert isinstance(part, RankPart)
    return part


@cache
def _whole() -> tuple[LabelledWeb, dict[str, tuple[str, ...]]]:
    web = LabelledWeb(PROFILES["rank"])
    return web, dict(web.graph())


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("rank", **SMALL))


def test_it_is_pure() -> None:
    check_purity("rank", **SMALL)


def test_the_graph_is_what_the_pages_link() -> None:
    web = labelled("rank", **SMALL)
    for url, out in web.graph():
        assert list(out) == links(url, fetch(web, url))


@pytest.mark.long
def test_every_page_of_every_site_is_reached_from_three_seeds() -> None:
    web, graph = _whole()
    assert len(web.seeds()) == 3
    assert len(web.hosts()) == 304
    assert Counter(split(url)[0] for url in graph) == dict(zip(web.hosts(), _part(web).sizes, strict=True))


def test_sizes_and_in_links_are_zipfian_and_four_links_in_five_are_local() -> None:
    web, graph = _whole()
    sizes = np.sort(_part(web).sizes[:300])[::-1]
    slope = np.polyfit(np.log(np.arange(1, 101)), np.log(sizes[:100]), 1)[0]
    assert -0.9 < slope < -0.7
    remote: Counter[str] = Counter(split(to)[0] for url, out in graph.items() for to in out if split(to)[0] != split(url)[0])
    counts = np.sort(list(remote.values()))[::-1]
    assert -1.3 < np.polyfit(np.log(np.arange(1, 101)), np.log(counts[:100]), 1)[0] < -0.7
    assert 0.78 < 1 - counts.sum() / sum(map(len, graph.values())) < 0.86
    largest = {web.hosts()[i] for i in np.argsort(_part(web).sizes[:300])[-30:]}
    assert len(largest & {host for host, _ in remote.most_common(60)}) == 30, "the larger a site, the more often it is linked to"


def test_hubs_link_to_many_sites_and_are_linked_by_many() -> None:
    web, graph = _whole()
    hubs = _part(web).hubs()
    linking = {hub: {split(url)[0] for url, out in graph.items() if hub in {split(to)[0] for to in out}} for hub in hubs}
    reached = {hub: {split(to)[0] for url, out in graph.items() if split(url)[0] == hub for to in out} for hub in hubs}
    assert len(hubs) == 6
    assert min(map(len, linking.values())) > 60
    assert min(map(len, reached.values())) > 20


def test_a_farm_has_one_link_from_outside_and_none_to_it() -> None:
    web, graph = _whole()
    for farm in _part(web).farms():
        inside = {url for url in graph if split(url)[0] == farm}
        assert len(inside) == 300
        assert sum(to in inside for url, out in graph.items() if url not in inside for to in out) == 1
        assert {split(to)[0] for url in inside for to in graph[url]} == {farm}
        assert {web.label(url).variant for url in inside} == {"farm"}


def test_some_pages_dangle() -> None:
    _, graph = _whole()
    assert 0.03 < sum(not out for out in graph.values()) / len(graph) < 0.12
