"""The values that [BKS07] gives or that follow from its figures, exactly."""

from __future__ import annotations

import math
import random

import pytest
from dust_lists import envelopes, pairs_of, plain_pairs, stories

from thresher.filters.dust.canonize import Canonizer, applier
from thresher.filters.dust.eliminate import close_in_size, eliminate
from thresher.filters.dust.evidence import wilson
from thresher.filters.dust.rules import Substitution
from thresher.filters.dust.substrings import SubstringLimits, likely_pairs
from thresher.filters.dust.tokens import spans
from thresher.filters.dust.urllist import Sighting, UrlList
from thresher.filters.dust.validate import AS_PUBLISHED, Trial

ALL = SubstringLimits(min_support=1)


def test_three_stories_under_two_names_give_nine_pairs_of_support_three() -> None:
    found = pairs_of(stories(range(1, 4)), SubstringLimits())
    assert len(found) == 9
    assert {pair.support for pair in found} == {3}
    assert {(pair.one, pair.other) for pair in found} >= {("?id=", "_"), ("\x02http://s/story?id=", "\x02http://s/story_")}
    assert len(pairs_of(stories(range(1, 4)), ALL)) == 297


def test_elimination_leaves_the_pair_with_all_the_context_that_is_always_there() -> None:
    found = eliminate(pairs_of(stories(range(1, 4)), SubstringLimits()))
    assert [(pair.one, pair.other, pair.size) for pair in found] == [("\x02http://s/story?id=", "\x02http://s/story_", 3)]


def test_a_pair_with_too_little_support_is_no_likely_rule() -> None:
    every = {(pair.one, pair.other): pair.support for pair in pairs_of(stories(range(1, 4)), ALL)}
    assert every["1", "2"] == 2
    assert ("1", "2") not in {(pair.one, pair.other) for pair in pairs_of(stories(range(1, 4)), SubstringLimits())}


@pytest.mark.parametrize(("n", "of_digits", "of_stories"), [(6, 2, 6), (7, 0, 7)])
def test_numbers_overflow_their_buckets_where_the_rule_does_not(n: int, of_digits: int, of_stories: int) -> None:
    found = {(pair.one, pair.other): pair.support for pair in pairs_of(stories(range(1, n + 1)), SubstringLimits(min_support=1, high=6))}
    assert found.get(("1", "2"), 0) == of_digits
    assert found["?id=", "_"] == of_stories


def test_support_of_a_semiperiodic_part_is_overestimated() -> None:
    found = {(pair.one, pair.other): pair.size for pair in pairs_of(["http://a.a.a/", "http://a.a/"], ALL)}
    assert found["a", "a.a"] == 2
    step = applier(Substitution(source="a.a", target="a"))
    assert step("http://a.a.a/") == "http://a.a/"  # the one true instance


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("http://s/story?id=1", "http://s/story_1", 27),
        ("http://s/d/index.html", "http://s/d/", 20),
        ("http://a.a.a/", "http://a.a/", 48),
        ("http://x/a", "http://x/b", 16),
    ],
)
def test_two_urls_share_as_many_envelopes_as_their_common_ends_allow(one: str, other: str, shared: int) -> None:
    assert sum(pair.size for pair in pairs_of([one, other], ALL)) == shared


@pytest.mark.parametrize(
    ("size", "smaller", "is_close"), [(100, 95, True), (100, 94, False), (10, 9, True), (10, 8, False), (40, 38, True), (40, 37, False)]
)
def test_pairs_are_compared_while_their_sizes_are_close(size: int, smaller: int, is_close: bool) -> None:
    assert close_in_size(size, smaller) is is_close


@pytest.mark.parametrize(
    ("one", "other", "overlap"), [((100, 120), (115, 130), True), ((100, 110), (111, 120), False), ((5, 5), (5, 5), True)]
)
def test_pages_may_be_alike_when_their_ranges_of_sizes_overlap(one: tuple[int, int], other: tuple[int, int], overlap: bool) -> None:
    known = UrlList.of([Sighting("http://s/a", size=one), Sighting("http://s/b", size=other)])
    assert known.alike(0, 1) is overlap
    urls, _, kinds = known.good()
    assert bool(likely_pairs(spans(urls), kinds, ALL, at_most=100)) is overlap


def accepted(p: float, trial: Trial) -> float:
    """Return the probability that a rule which holds for a share p of its URLs passes, by all ways that lead there."""
    open_cases, total = {(0, 0): 1.0}, 0.0
    while open_cases:
        following: dict[tuple[int, int], float] = {}
        for (agree, disagree), chance in open_cases.items():
            for case, weight in (((agree + 1, disagree), p), ((agree, disagree + 1), 1 - p)):
                verdict = trial.verdict(*case)
                if verdict is None:
                    following[case] = following.get(case, 0.0) + chance * weight
                total += chance * weight * bool(verdict)
        open_cases = following
    return total


@pytest.mark.parametrize(
    ("n", "epsilon", "chances"),
    [
        (100, 0.05, {0.99: 0.9967, 0.98: 0.9509, 0.97: 0.8229, 0.95: 0.4450, 0.93: 0.1696, 0.90: 0.0254, 0.85: 0.0005}),
        (100, 0.10, {0.99: 1.0, 0.95: 0.9735, 0.93: 0.8451, 0.90: 0.4645, 0.85: 0.0595, 0.80: 0.0027}),
        (40, 0.05, {0.99: 0.9419, 0.95: 0.4129, 0.90: 0.0876}),
    ],
)
def test_the_published_trial_accepts_rules_with_the_probabilities_that_follow_from_it(
    n: int, epsilon: float, chances: dict[float, float]
) -> None:
    for p, expected in chances.items():
        assert accepted(p, Trial(n, epsilon, early=False)) == pytest.approx(expected, abs=6e-5)


def test_simulated_trials_accept_within_three_sigma_of_the_formula() -> None:
    """Matrix row 8."""
    rng = random.Random(8)
    for p, expected in {0.99: 0.9967, 0.97: 0.8229, 0.95: 0.4450, 0.90: 0.0254}.items():
        runs = 400
        passed = 0
        for _ in range(runs):
            counts = [0, 0]
            while (verdict := AS_PUBLISHED.verdict(counts[1], counts[0])) is None:
                counts[rng.random() < p] += 1
            passed += verdict
        assert abs(passed / runs - expected) <= 3 * math.sqrt(expected * (1 - expected) / runs)


def test_the_sequential_trial_is_nearly_as_strict_and_needs_a_third_of_the_pairs() -> None:
    trial = Trial()
    assert accepted(0.98, trial) > 0.93
    assert accepted(0.90, trial) < 0.055
    assert min(n for n in range(200) if trial.verdict(n, 0)) == 35
    assert trial.verdict(0, 2) is False


def test_canonization_of_the_paper_s_kind_of_rules() -> None:
    rules = [("/index.html$", "/$"), ("story?id=", "story_"), ("?sid=0$", "$"), ("//m.s/", "//s/")]
    canonical = Canonizer(Substitution(source=source, target=target) for source, target in rules)
    first, second = canonical.settle("http://m.s/d/index.html?sid=0"), canonical.settle("http://m.s/story?id=7")
    assert (first.url, first.passes) == ("http://s/d/", 2)
    assert (second.url, second.passes) == ("http://s/story_7", 1)


def test_rules_that_feed_each_other_would_double_a_url_in_every_pass_and_leave_it_alone_here() -> None:
    text = "x"
    for _ in range(10):
        text = text.replace("x", "yy").replace("y", "x")
    assert len(text) == 1024
    url = "http://s/x"
    canonical = Canonizer([Substitution(source="x", target="y/y"), Substitution(source="y", target="x")])
    assert canonical(url) == url


@pytest.mark.parametrize(("agree", "disagree", "low"), [(5, 0, 0.5655), (20, 0, 0.8389), (95, 4, 0.9007)])
def test_the_lower_bound_of_agreement_is_wilson_s(agree: int, disagree: int, low: float) -> None:
    assert wilson(agree, disagree)[0] == pytest.approx(low, abs=5e-5)
    assert min(n for n in range(100) if wilson(n, 0)[0] >= 0.95) == 73


def test_hashes_count_what_dictionaries_count() -> None:
    """Mutation: the suffix hash left the last token out; buckets of one more member than allowed were taken."""
    rng = random.Random(6)
    for _ in range(30):
        words = ["a", "b", "ab", "1", "2", "index", "%3A"]
        urls = list({"http://s/" + "".join(rng.choice(words) + rng.choice("/._?=") for _ in range(rng.randrange(1, 5))) for _ in range(8)})
        limits = SubstringLimits(min_support=rng.choice((1, 2)), low=4, high=5, max_tokens=rng.choice((2, 5, 35)))
        found = {(pair.one, pair.other): (pair.support, pair.size) for pair in pairs_of(urls, limits)}
        assert found == plain_pairs(urls, limits)


def is_semiperiodic(part: list[str]) -> bool:
    return any(all(part[i] == part[i % n] for i in range(len(part))) for n in range(1, len(part)))


def test_support_is_the_number_of_shared_envelopes_unless_a_part_is_semiperiodic() -> None:
    """Matrix row 6, theorem 4.1, over a thousand trials."""
    rng = random.Random(4)
    n_trials = 0
    while n_trials < 1000:
        one, other = ([rng.choice("ab.") for _ in range(rng.randrange(1, 4))] for _ in range(2))
        alpha, beta = "".join(_spaced(one)), "".join(_spaced(other))
        if alpha == beta:
            continue
        n_trials += 1
        urls = {"".join(_spaced([rng.choice("ab.") for _ in range(rng.randrange(3, 7))])) for _ in range(12)}
        has = [set().union(*(envelopes(url, part) for url in urls)) for part in (alpha, beta)]
        instances = {(url, before + beta + after) for url in urls for before, after in envelopes(url, alpha)}
        support = sum(target in {f"\x02{url}\x03" for url in urls} for _, target in instances)
        shared = len(has[0] & has[1])
        if is_semiperiodic(one) or is_semiperiodic(other):
            assert shared >= support
        else:
            assert shared == support


def _spaced(letters: list[str]) -> list[str]:
    """Keep letters from growing together into one token."""
    return [letter for pair in letters for letter in (pair, "-")][:-1]
