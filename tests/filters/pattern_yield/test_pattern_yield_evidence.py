"""What is told of a pattern's yield: an interval that holds at every look; and how a pattern learns what its page led to."""

from __future__ import annotations

import numpy as np

from thresher.filters.evidence.intervals import at_any_time
from thresher.filters.evidence.opinion import Belief
from thresher.filters.pattern_yield.evidence import SEVERAL, HoldRule, YieldEvidence

RULE = HoldRule(Belief())


def test_a_coarse_pattern_takes_the_barren_fetches_of_several() -> None:
    """Mutation: eight fetches of one word in a path are taken as evidence on all words."""
    own, coarse = YieldEvidence(), YieldEvidence()
    for _ in range(8):
        RULE.learn(own, False)
        RULE.learn(coarse, False, is_coarse=True)
    assert (own.barren, coarse.barren) == (True, False)
    for _ in range(8 * (SEVERAL - 1)):
        RULE.learn(coarse, False, is_coarse=True)
    assert coarse.barren


def test_what_a_barren_page_led_to_counts_for_it() -> None:
    """Listings have one text, but each of them leads to something new. Mutation: `credit` does nothing."""
    evidence = YieldEvidence()
    for _ in range(100):
        RULE.learn(evidence, False)
        RULE.credit(evidence)
    assert (evidence.fetched, evidence.worth, evidence.barren) == (100, 100, False)


def test_the_interval_holds_the_truth_at_every_look() -> None:
    """Robbins' interval: of 2,000 patterns at most one in twenty ever has the truth outside it."""
    rng = np.random.default_rng(3)
    for true in (0.03, 0.5):
        looks = [10, 30, 100, 300]
        counts = np.cumsum(rng.random((500, 300)) < true, axis=1)
        missed = sum(any(not low <= true <= high for low, high in (at_any_time(n, int(row[n - 1])) for n in looks)) for row in counts)
        assert missed <= 25
    assert at_any_time(0, 0) == (0.0, 1.0)
    assert at_any_time(10, 10)[1] == 1.0
