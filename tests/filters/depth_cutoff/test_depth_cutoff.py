"""Depth cutoffs as a filter: what is cut, what is not, and how it comes back."""

from __future__ import annotations

import numpy as np
import pytest
from depth_told import DICE, DROPPED, HOME, HOST, KEPT, SITE, Crawled, day, day_text, of_site, prose
from msgspec.structs import replace
from subjects import SPACE, batch, page, pair

from thresher.config.settings import DepthCutoffSettings
from thresher.crawler.core.effects import Release, Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Verdict
from thresher.crawler.core.sketch import token_hashes
from thresher.filters.base import NOTHING_LEARNED, LinkJudgement
from thresher.filters.depth_cutoff.advise import advise
from thresher.filters.depth_cutoff.evidence import PRIOR, QUOTA, CutRule, PlaceCounts
from thresher.filters.depth_cutoff.filter import DepthLinksMeasure, DepthOfLinks, holder
from thresher.filters.depth_cutoff.novelty import look, sample
from thresher.filters.depth_cutoff.places import places
from thresher.filters.depth_cutoff.records import SAMPLE, Level, Sites
from thresher.filters.pattern_yield.patterns import parse

# -- what is new


def test_a_generated_page_is_nothing_new_whatever_its_date() -> None:
    """Mutation: numbers of the URL that stand in the page count as new words."""
    table = b""
    verdicts = []
    for i in range(60):
        is_new, table = look(sample(token_hashes(day_text(i)), day(i)[len(HOST) :]), table)
        verdicts.append(is_new)
    assert verdicts[0]
    assert sum(verdicts[1:]) == 0


def test_prose_is_always_new_and_its_copy_never() -> None:
    table = b""
    for _ in range(300):
        text = prose()
        is_new, table = look(sample(token_hashes(text), "/x"), table)
        assert is_new
    assert not look(sample(token_hashes(text), "/y"), table)[0]


def test_known_things_in_another_order_are_nothing_new() -> None:
    """Mutation: pairs of words are counted in place of triples, so that each border between two known things is something new."""
    things = [f"the {colour} {thing} of {maker} for {use}" for colour in ["red", "blue", "green"] for thing in ["chair", "table", "lamp"]
              for maker in ["oak", "acme"] for use in ["home", "work"]]  # fmt: skip
    _, table = look(sample(token_hashes(" ".join(things)), "/all"), b"")
    for _ in range(20):
        listing = " ".join(DICE.sample(things, 12))
        is_new, table = look(sample(token_hashes(listing), "/some"), table)
        assert not is_new


def test_a_page_that_is_mostly_menu_is_new_by_what_else_it_says() -> None:
    menu, table = prose(1500), b""
    for _ in range(30):
        is_new, table = look(sample(token_hashes(f"{menu} {prose(150)}"), "/p"), table)
        assert is_new


def test_a_page_without_words_has_no_sample() -> None:
    assert sample(token_hashes(""), "/") == b""
    assert sample(token_hashes("17 05 2024"), "/2024/05/17") == b""


# -- where a URL belongs


def everything(_: int) -> int:
    return 99


@pytest.mark.parametrize(
    ("url", "ladder"),
    [
        ("/cal/2024/05/17/", ("a.example/*", "a.example/cal/", "a.example/cal/<n>/<n>/<n>/")),
        ("/c/3?b=x&a=1", ("a.example/*", "a.example/c/?", "a.example/c/<n>?a=*&b=*")),
        ("/about", ("a.example/*", "a.example/about")),
        ("/?sid=1", ("a.example/*", "a.example/?", "a.example/?sid=*")),
    ],
)
def test_a_url_s_places_are_its_pattern_its_directory_and_its_host(url: str, ladder: tuple[str, ...]) -> None:
    assert places(parse(HOST + url, HOST), everything).ladder() == ladder


# -- how deep a place is worth crawling


RULE = CutRule(target=0.9, floor=3, ceiling=None, q=None)


def place(*levels: tuple[int, int]) -> PlaceCounts:
    """Return a place of (new, fetched) at depths 1, 2 …"""
    found = PlaceCounts("x")
    for depth, (new, fetched) in enumerate(levels, 1):
        for i in range(fetched):
            found.learn(depth, is_new=i < new, is_good=True)
    return found


def limit(rule: CutRule, of: PlaceCounts, prior: float, *, is_host: bool) -> int:
    return rule.limit(of, prior, is_host=is_host)[0]


def test_a_chain_of_new_pages_is_never_cut() -> None:
    """Forty chapters, one on each level: the limit stays deeper than the next chapter, even if hardly anything around it is new.

    Mutation: the prior counts as ten fetches.
    """
    for prior in (0.95, 0.5, 0.1):
        found = place()
        for depth in range(1, 41):
            found.learn(depth, is_new=True, is_good=True)
            assert limit(RULE, found, prior, is_host=False) > depth


def test_where_next_to_nothing_is_new_a_place_is_cut_at_its_entry() -> None:
    assert limit(RULE, place((1, 30)), PRIOR, is_host=False) == 0
    assert limit(RULE, place((1, 30)), PRIOR, is_host=True) == RULE.floor


def test_a_place_is_cut_behind_the_levels_that_are_new() -> None:
    limits = [limit(RULE, place((20, 20), (20, 20), (new, 40)), PRIOR, is_host=False) for new in (40, 20, 4, 0)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] > 10
    assert limits[-1] <= 3


def test_a_level_is_worth_what_it_leads_to() -> None:
    """A level of known pages that lead to a level of new pages is crawled. Mutation: each level is judged by its own pages alone."""
    assert limit(RULE, place((0, 30), (30, 30)), PRIOR, is_host=False) > 3
    assert limit(RULE, place((0, 30), (1, 1)), PRIOR, is_host=False) == 0, "one page is no evidence"


def test_halving_counts_does_not_move_a_place_s_entry() -> None:
    """Counts are halved now and then, so those of the first levels may become zero.

    Mutation: the first level that still has counts is taken for the entry of the place; the limit moves on with it, and an endless place is
    never cut.
    """
    found = place()
    for i in range(2000):
        found.learn(1 + i // 20, is_new=i % 12 == 0, is_good=True)
    assert found.first == 1
    assert limit(RULE, found, PRIOR, is_host=False) < 10


def test_q_cuts_as_deep_as_visitors_go_and_no_higher_than_the_floor() -> None:
    new = place((50, 50), (50, 50))
    assert limit(CutRule(0.9, 3, None, 0.6), new, PRIOR, is_host=False) == 4
    assert limit(CutRule(0.9, 3, None, 0.1), new, PRIOR, is_host=False) == 3
    assert CutRule(0.9, 3, None, 0.6).unknown() == 4


def test_the_ceiling_is_above_nothing() -> None:
    assert limit(CutRule(0.9, 3, 7, None), place((50, 50)), PRIOR, is_host=False) == 7


# -- the filter


def test_a_calendar_is_cut_without_cutting_the_documents_beside_it() -> None:
    crawled = of_site()
    assert crawled.held(day(77), 2, on=day(5)).startswith("depth_cutoff 2 a.example/cal")
    assert crawled.held(f"{HOST}/docs/77/", 9, on=day(5)) == ""
    assert crawled.held(f"{HOST}/novel/chapter-2", 2, on=day(5)) == ""


def test_facets_are_cut_on_the_level_where_they_lie_but_paging_is_not() -> None:
    crawled = Crawled()
    for i in range(12):
        crawled.fetch(f"{HOST}/c/{i}", prose(), 1)
        crawled.fetch(f"{HOST}/c/{i}?page=2", prose(), 2)
    for i in range(30):
        crawled.fetch(f"{HOST}/c/{i % 12}?{'colour' if i % 2 else 'size'}={i}", day_text(i), 2)
    on = f"{HOST}/c/7?colour=19"
    assert crawled.held(f"{HOST}/c/5?colour=99", 2, on=on)
    for i in range(4):
        crawled.fetch(f"{HOST}/c/{i}?colour=9&size={i}", day_text(i), 3)
    assert crawled.held(f"{HOST}/c/5?colour=99&size=1", 3, on=on), "names that were met, in a new combination, are known sooner"
    assert crawled.held(f"{HOST}/c/5?page=3", 3, on=on) == ""
    assert crawled.held(f"{HOST}/c/5?brand=x", 2, on=on) == "", "a name that nobody has met is looked at"


def test_what_is_cut_comes_back_when_what_was_fetched_beyond_is_new() -> None:
    """Mutation: nothing is released when a limit rises."""
    crawled = of_site()
    before = crawled.held(day(200), 3, on=day(5))
    assert before
    released: list[str] = []
    for i in range(100, 112):  # audits, say
        released += [effect.holder for effect in crawled.fetch(day(i), prose(), 3) if isinstance(effect, Release)]
    assert crawled.held(day(200), 3, on=day(5)) == ""
    assert before in released


def test_a_page_kept_without_novelty_is_no_fetch_in_vain_until_a_thousand_came_in_a_row() -> None:
    """A repository browser's pages are documents, although few of their words are new: their class was closed, with 526 of them in it.

    Mutations: such a page always counts as fetched in vain; it never does.
    """
    crawled = of_site()
    asked = [crawled.fetch(day(i), day_text(i), 2) for i in range(30, QUOTA + 20)]
    vain = [any(isinstance(effect, Worthless) for effect in effects) for effects in asked]
    assert (vain.index(True) + 30 > QUOTA - 40, vain[-1]) == (True, True)
    fetched = crawled.fetch(f"{HOST}/x/1", day_text(1), 2, DROPPED)
    assert any(isinstance(effect, Worthless) for effect in fetched), "what a filter dropped is in vain"


def test_pages_that_any_filter_dropped_are_not_new() -> None:
    crawled = Crawled()
    for i in range(40):
        crawled.fetch(f"{HOST}/x/{i}", prose(), 2, DROPPED)
    assert crawled.held(f"{HOST}/x/99", 2)
    assert [level.dropped for level in crawled.ledger().head.levels] == [0, 0, 40]


def test_what_is_dropped_is_counted_by_level_and_by_why() -> None:
    """Mutation: one number for all levels."""
    crawled = Crawled()

    def said(*names: str) -> Judgement:
        return Judgement(False, True, tuple([Verdict(name, keep=False) for name in names]))

    for i, judgement in enumerate([said("exact_duplicate", "near_replica"), said("near_replica"), said("soft_error"), said("scope")]):
        crawled.fetch(f"{HOST}/x/{i}", prose(), 2, judgement)
    crawled.fetch(f"{HOST}/x/9", prose(), 2, status=404)
    crawled.fetch(f"{HOST}/x/10", prose(), 2)
    found = pair(f"{HOST}/go/1", f"{HOST}/1")
    crawled.redirects.observe(
        crawled.redirects.measure(replace(found, original=replace(found.original, site_depth=1))), KEPT, crawled.memory
    )
    levels = crawled.ledger().head.levels
    assert levels[1].drops == {"alias": 1}
    assert levels[2].drops == {"duplicate": 1, "near_replica": 1, "soft_error": 1, "other": 1, "error": 1}
    assert (levels[2].fetched, levels[2].dropped, levels[2].new) == (6, 5, 1)


def test_a_plain_site_s_pages_are_passed_over_until_one_is_old() -> None:
    """One page in sixteen is counted, for sixteen. Mutations: every page is learned from; a page that filters drop is skipped."""
    crawled = Crawled()
    passed = [crawled.fetch(f"{HOST}/docs/{i}", prose(), 2) is NOTHING_LEARNED for i in range(200)]
    assert passed[:2] == [False, False], "the first of their kind"
    assert 170 <= sum(passed) < 198
    assert not crawled.relinks.listens(HOME, crawled.memory), "nothing worthless has named anything"
    level = crawled.ledger().head.levels[2]
    assert level.fetched == level.new == 2 + SAMPLE * (198 - sum(passed))
    assert crawled.fetch(f"{HOST}/docs/300", prose(), 2, status=404) is not NOTHING_LEARNED
    assert crawled.fetch(f"{HOST}/cal/1/1", day_text(1), 2) is not NOTHING_LEARNED, "a kind that nobody has met"
    for i in range(2, 40):
        learned = crawled.fetch(f"{HOST}/cal/1/{i}", day_text(i), 2) is not NOTHING_LEARNED
        assert learned
    assert crawled.held(f"{HOST}/cal/1/99", 3, on=f"{HOST}/cal/1/5")


def test_errors_are_not_new() -> None:
    crawled = Crawled()
    for i in range(40):
        crawled.fetch(f"{HOST}/x/{i}", prose(), 2, status=404)
    assert crawled.held(f"{HOST}/x/99", 2)


def test_redirects_to_what_was_known_are_going_back() -> None:
    crawled = Crawled()
    for i in range(40):
        found = pair(f"{HOST}/go/{i}", f"{HOST}/{i}")
        found = replace(found, original=replace(found.original, site_depth=2))
        crawled.redirects.observe(crawled.redirects.measure(found), KEPT, crawled.memory)
    assert crawled.held(f"{HOST}/go/99", 2)


def test_one_text_for_all_teaches_little() -> None:
    """During an outage each answer has the same text: what was learned of the site before still holds."""
    crawled = Crawled()
    for i in range(60):
        crawled.fetch(f"{HOST}/docs/{i}/", prose(), 2)
    for i in range(60, 160):
        crawled.fetch(f"{HOST}/docs/{i}/", "We are down for maintenance and will be back soon, thank you for waiting", 3)
    assert crawled.held(f"{HOST}/docs/200/", 4) == ""


def test_entries_are_never_held() -> None:
    crawled = of_site()
    assert crawled.held(day(300), 0) == ""


def test_a_url_that_a_filter_made_up_teaches_nothing() -> None:
    crawled = Crawled()
    measure = crawled.pages.measure(page(HOST + "/probe", prose(), seed_distance=1))
    assert crawled.pages.observe(measure, KEPT, crawled.memory) == ()
    assert not crawled.memory.rows


def test_a_filter_that_observes_says_what_it_would_hold_and_why() -> None:
    crawled = of_site()
    crawled.links = DepthOfLinks(Sites(), DepthCutoffSettings(mode="observe"))
    one = replace(batch(day(99)), source=SPACE.url(day(5)), site_depths=[3])
    ruling, effects = crawled.links.decide(crawled.links.measure(one), crawled.memory)
    assert effects == ()
    assert ruling.refused[0].evidence["place"].startswith("a.example/cal")  # type: ignore[union-attr]  # None fails the test
    assert ruling.refused[0].evidence["depth"] == 3


def test_a_site_where_nothing_is_cut_costs_one_summary() -> None:
    crawled = Crawled()
    for i in range(40):
        crawled.fetch(f"{HOST}/docs/{i}/", prose(), 2)
    assert Sites().summary(crawled.memory, SITE).n_limited == 0


def test_new_links_are_counted_by_level() -> None:
    crawled = of_site()
    crawled.name(day(29), HOST + "/new", depth=2)
    crawled.name(HOST + "/", HOST + "/newer", depth=2)  # a page that was passed over, say
    itself = LinkBatch.of(HOME)
    crawled.links.observe(crawled.links.measure(itself), LinkJudgement(np.ones(1, np.bool_), {}), crawled.memory)
    assert [level.new_links for level in crawled.ledger().head.levels] == [0, 0, 1, 0]
    assert isinstance(crawled.links.measure(itself), DepthLinksMeasure)


def test_holders_are_named_by_place_and_depth_up_to_a_last() -> None:
    assert (holder("a/*", 5), holder("a/*", 500)) == ("depth_cutoff 5 a/*", "depth_cutoff 63 a/*")


# -- advice


def test_a_site_whose_pages_are_new_is_not_cut() -> None:
    found = advise([Level(1, 1), Level(20, 20), Level(60, 60)], [], RULE)
    assert (found.depth, found.why) == (None, "100% of 81 pages to depth 2 were new")


def test_a_site_whose_deep_levels_are_old_is_cut_and_told_why() -> None:
    found = advise([Level(1, 1), *[Level(20, 18)] * 2, *[Level(50, 2)] * 6], [], RULE)
    assert found.depth == 3
    assert "depth 3: 4% of 50 new" in found.why
