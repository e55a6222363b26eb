"""The short form of benchmarks/quality/replicas_manuals.py: the command at its defaults against the exact resemblance of all pairs."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from benchmarks.quality.replicas_manuals import BAR, resembling, score, truth
from thresher.crawler.core.sketch import token_hashes
from thresher.filters.near_replica.batch import Space, Tolerance
from thresher.filters.near_replica.sketching import Recipe, Sketcher


def _pages() -> dict[str, list[str]]:
    """Return pages of two hosts under a template each: most are edited on the second by up to a fifth, pages of 20 to 1,500 words."""
    rng = random.Random(11)
    pages = {}
    for number in range(150):
        template = {host: [f"{host}-menu{i}" for i in range(60)] for host in ("a.test", "b.test")}
        text = [f"w{int(3000 * rng.random() ** 2)}" for _ in range(int(20 * 75 ** rng.random()))]
        edited = list(text)
        for _ in range(int(rng.random() ** 2 * len(text) / 20)):
            edited[rng.randrange(len(text))] = f"new{rng.randrange(10**6)}"
        pages[f"http://a.test/{number}"] = [*template["a.test"], *text]
        pages[f"http://b.test/{number}"] = [*template["b.test"], *edited]
    return pages


@pytest.mark.parametrize("threshold", [0.8, 0.9])
def test_precision_and_recall_at_the_defaults(threshold: float) -> None:
    """Mutation: 64 shingles kept of a text, not 512: recall .980 at .8, precision .974 at .9."""
    tokens = {url: token_hashes(" ".join(words)) for url, words in _pages().items()}
    sketcher = Sketcher(Recipe())
    for url, words in tokens.items():
        sketcher.add(url, url.split("/")[2], words, [])
    sketches = sketcher.close()
    space = Space(sketches, Tolerance(resemblance=threshold))
    found = [(sketches.urls[i], sketches.urls[j]) for block in space.pairs(space.text_pairs()) for i, j in block.pages.tolist()]
    scored = score(found, truth(tokens, 0.7), threshold)
    assert scored["replicas"] >= 50
    assert min(scored["precision"], scored["recall"]) >= 0.99 > BAR


def test_the_judge_finds_every_pair_that_resembles() -> None:
    """Against all pairs, each looked at. Mutation: half of the prefix."""
    rng = np.random.default_rng(2)
    sets = [np.unique(rng.choice(60, size=n, replace=False).astype(np.uint64)) for n in rng.integers(1, 40, 80)]
    sets += [np.union1d(one[: int(0.9 * one.size)], one[-1:]) for one in sets[:40]] + [np.empty(0, dtype=np.uint64)] * 2 + sets[:3]
    expected = {}
    for (i, one), (j, other) in combinations(enumerate(sets), 2):
        share = np.intersect1d(one, other).size / max(np.union1d(one, other).size, 1)
        if share >= 0.5:
            expected[i, j] = share
    assert resembling(sets, 0.5) == pytest.approx(expected)


def test_pairs_near_the_threshold_are_left_out_and_others_count() -> None:
    true = {("a", "b"): 0.81, ("a", "c"): 0.9, ("b", "c"): 0.7, ("c", "d"): 0.85}
    scored = score([("b", "a"), ("c", "a"), ("c", "b")], true, 0.8)
    assert scored == {"precision": 0.5, "recall": 0.5, "replicas": 2, "left_out": 1}
