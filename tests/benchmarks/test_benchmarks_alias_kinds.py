"""The short form of `python -m benchmarks.quality.deferral --kinds`: families alone, on ten honest and ten hostile kinds of aliases."""

from __future__ import annotations

from math import log

import pytest

from benchmarks.quality.deferral.__main__ import measure
from benchmarks.quality.deferral.kinds import HONEST, HOSTILE, Views, site
from benchmarks.quality.deferral.opinions import Beliefs
from benchmarks.quality.deferral.replay import crawled
from thresher.filters.tail.records import TailPolicy

FAMILIES = Beliefs(has_shapes=False)


@pytest.mark.parametrize("views", [*HONEST, *HOSTILE], ids=lambda views: views.__name__)
def test_what_is_held_wrongly_is_found_and_plain_is_nowhere_better(views: Views) -> None:
    """Mutation: what a family covers is thrown away: documents of ten kinds are lost."""
    found = measure(site(views.__name__, views, n=60), TailPolicy(), FAMILIES)
    assert found.lost == 0
    assert not found.is_below


@pytest.mark.parametrize("views", HONEST, ids=lambda views: views.__name__)
def test_half_of_the_oracles_gain_is_had_on_honest_kinds(views: Views) -> None:
    """Mutation: a place of places.py left out: its kinds fail."""
    ours, oracles = measure(site(views.__name__, views, n=100), TailPolicy(), FAMILIES).gains
    assert oracles > log(1.1)
    assert ours > 0.5 * oracles


@pytest.mark.parametrize("views", HOSTILE, ids=lambda views: views.__name__)
def test_with_tail_yield_zero_all_that_a_hostile_kind_has_is_found(views: Views) -> None:
    graph = site(views.__name__, views, n=30)
    assert crawled(graph, TailPolicy(tail_yield=0.0), FAMILIES).documents == graph.documents
