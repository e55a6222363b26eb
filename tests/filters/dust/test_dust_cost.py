"""What mining may take, in bytes and steps: short form of benchmarks/speed/dust_mining.py."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from dust_lists import listed
from hypothesis import given, settings
from hypothesis import strategies as st
from long import shortened

from benchmarks.support.dust_lists import shown
from thresher.filters.dust.mine import mine
from thresher.filters.dust.substrings import _parts
from thresher.filters.dust.tokens import anchored, is_boundary, tokens
from thresher.filters.dust.urllist import Sighting, UrlList


@pytest.mark.parametrize("kind", shortened(["facets", "listing"], 1))
def test_mining_takes_few_kilobytes_a_url(kind: str) -> None:
    """Mutation: the rows of all ranges are made at once, or the rough count has a fixed size: 130 MB and more."""
    seen = [Sighting(url, fingerprint=text) for url, text in shown(kind, 600).items()]
    tracemalloc.start()
    mine(UrlList.of(seen))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 2_000_000))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_each_group_is_in_one_part_and_parts_are_of_few_rows_or_one_group(values: list[int], n_rows: int) -> None:
    """Every row is made once, however long the list is.

    Mutations: a part ends within a group; a part has two groups although these are beyond the limit.
    """
    groups = np.sort(np.array(values, dtype=np.uint64))
    parts = list(_parts(groups, np.full(groups.size, n_rows)))
    assert [i for part in parts for i in range(groups.size)[part]] == list(range(groups.size))
    sets = [set(groups[part].tolist()) for part in parts]
    assert sum(map(len, sets)) == len(set(values))
    assert all(len(some) == 1 or (part.stop - part.start) * n_rows <= 1 << 20 for some, part in zip(sets, parts, strict=True))


@given(st.lists(st.sampled_from(["%", "2", "a", "F", "%41", "/", "é", "=", "%%", "G"]), max_size=12).map("".join))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_place_between_tokens_is_told_by_the_characters_around_it(url: str) -> None:
    """Mutation: escapes are only looked for in the last two characters."""
    text = anchored(url)
    ends = np.cumsum([0, *map(len, tokens(text))]).tolist()
    assert [at for at in range(len(text) + 1) if is_boundary(text, at)] == ends


def test_a_rule_that_is_refuted_one_way_is_kept_the_other_way_if_pages_speak_for_it_there() -> None:
    """Without the slash half of the pages do not exist; with it, all that exist show the same.

    Mutation: the rule is dropped in both directions.
    """
    shows = {f"http://s/topic/{i}/x/": f"topic {i}" for i in range(60)}
    shows |= {f"http://s/topic/{i}/x": f"topic {i}" if i < 30 else "" for i in range(60)}
    best = mine(listed(shows))[0]
    assert (best.rule.readable, best.agree, best.disagree, best.standing) == ('"x$" → "x/$"', 30, 0, "likely")
