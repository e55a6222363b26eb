"""The inline filter a page at a time: when it asks for a study, what it makes of the finding, and when a rule is withdrawn."""

from __future__ import annotations

import msgspec
import pytest
from dust_stories import HALF_KNOWN, OTHER, RULE, SITE, bench, learn, rewrites, standings, stories, story, studied, taught, text
from msgspec.structs import replace
from subjects import SPACE, page

from thresher.crawler.core.effects import Recall, Request, Revise, Study
from thresher.crawler.core.model import Mode, Page, Purpose
from thresher.filters.dust.memory import NAME, read_book, write_book
from thresher.filters.dust.records import note_asked, read_progress
from thresher.filters.dust.study import study


def test_new_links_are_rewritten_by_valid_rules_alone() -> None:
    at = bench()
    learn(at, stories(range(50)))
    assert not rewrites(at, "http://a.example/story?id=77")
    studied(at)
    assert rewrites(at, "http://a.example/story?id=77", "http://a.example/story_5", "http://b.example/story?id=77") == {
        "http://a.example/story?id=77": "http://a.example/story_77"
    }


def test_a_canonical_url_is_not_fetched_for_what_an_alias_has_shown() -> None:
    """The alias was fetched before the rule was known, or afterwards as an audit. Mutation: such an alias is not remembered."""
    at = bench()
    learn(at, [*stories(range(50)), *stories(range(60, 64), ["story?id="])])
    studied(at)
    learn(at, [story(300, "story?id=")])
    assert rewrites(at, *(f"http://a.example/story_{number}" for number in (1, 62, 77, 300))) == {
        f"http://a.example/story_{number}": f"http://a.example/story?id={number}" for number in (62, 300)
    }
    memory = at.memories[NAME]
    book = read_book(memory, SITE)
    assert book is not None
    write_book(memory, SITE, replace(book, rules=[*(replace(each, disabled=True) for each in book.rules), OTHER]))
    assert not rewrites(at, "http://a.example/story_62"), "the rule stands no more"


def test_a_page_that_was_fetched_under_an_alias_is_recorded_with_rule_and_canonical_url() -> None:
    """This holds whichever of the two was fetched first, and whether or not the rule was known by then.

    Mutations: the other page is not named in one of these cases.
    """
    at = bench()
    learn(at, [*stories(range(50)), story(60, "story?id=")])
    asked, _ = studied(at)
    name = read_book(at.memories[NAME], SITE).rules[0].rule.name  # type: ignore[union-attr]  # None fails the test
    told = {effect.page: effect.verdict.evidence for effect in asked if isinstance(effect, Revise)}
    assert told == {SPACE.key("http://a.example/story?id=60"): {"canonical": "http://a.example/story_60", "rule": name}}
    later, canonical = (at.panel.page(story(61, form)).judgement for form in ("story?id=", "story_"))
    assert [said.evidence for said in later.verdicts] == [{"canonical": "http://a.example/story_61", "rule": name}]
    assert later.keep
    assert [said.evidence for said in canonical.verdicts] == [{}]


def test_a_canonical_url_is_fetched_where_some_pairs_of_its_rule_disagree() -> None:
    """It is then not known whether the canonical URL shows what its alias has shown. Mutation: any valid rule is enough."""
    at = taught()
    for number in (100, 200):  # of audits, few between many that agree
        learn(at, [story(number), story(number, "story?id=", "other"), *stories(range(number + 1, number + 20))])
    learn(at, [story(300, "story?id=")])
    assert standings(at)[RULE] == "valid"
    assert not rewrites(at, "http://a.example/story_300")


def test_a_study_that_only_judges_puts_no_mining_off() -> None:
    """Mutation: each study puts the next mining off, also a study that has only judged rules."""
    at = bench()
    learn(at, HALF_KNOWN)
    studied(at)
    memory = at.memories[NAME]
    before = read_progress(memory, SITE)
    assert before is not None
    assert before.is_judging
    material = b"".join(at.panel.reports.gather(NAME, SITE))
    learn(at, stories(range(200, 300), ["story_"]))
    at.panel.reports.on_finding(NAME, SITE, study(material))
    after = read_progress(memory, SITE)
    assert after is not None
    assert after.n_pages > after.next_at == before.next_at


def test_a_canonical_url_that_was_asked_for_is_fetched_though_an_alias_has_shown_it() -> None:
    at = taught()
    learn(at, [story(300, "story?id=")])
    note_asked(at.memories[NAME], SITE, "http://a.example/story_300")
    assert not rewrites(at, "http://a.example/story_300")


def test_a_seed_is_fetched_whatever_the_rules_say() -> None:
    at = taught()
    seed, known = (SPACE.url("http://a.example/story?id=77", seed_distance=distance) for distance in (0, 1))
    assert at.panel.turn(seed).held == ()
    assert [effect for _, effect in at.panel.turn(known).held] != []


def test_a_disabled_rule_rewrites_nothing() -> None:
    at = taught()
    memory = at.memories[NAME]
    book = read_book(memory, SITE)
    assert book is not None
    book.rules = [msgspec.structs.replace(learned, disabled=True) for learned in book.rules]
    write_book(memory, SITE, book)
    assert not rewrites(at, "http://a.example/story?id=77")


def test_canonical_urls_that_no_page_of_the_list_shows_are_asked_for_a_few_at_first() -> None:
    """Few pairs are known: the canonical pages are fetched ahead, and those that agree bring more."""
    at = bench()
    learn(at, HALF_KNOWN)
    asked, _ = studied(at)
    wanted = [effect.url for effect in asked if isinstance(effect, Request)]
    assert all(effect.purpose is Purpose.AUDIT for effect in asked if isinstance(effect, Request))
    assert 4 <= len(wanted) <= 20
    besides = {effect.url: effect.beside for effect in asked if isinstance(effect, Request)}
    assert besides == {url: SPACE.key(url.replace("story_", "story?id=")) for url in wanted}, "each takes the place of its alias"
    assert set(wanted) <= {f"http://a.example/story_{i}" for i in range(4, 47)}
    effects, _ = learn(at, map(linked, [story(int(url.rpartition("_")[2])) for url in wanted]))
    assert effects == [Study(SITE)], "asked for when the last of them has come"
    more, _ = studied(at)
    assert len([effect for effect in more if isinstance(effect, Request)]) >= 4


def test_canonical_urls_wait_for_filters_share_and_are_awaited_meanwhile() -> None:
    """Mutations: they are fetched before all new pages; a study that ends before they are fetched forgets them."""
    at = bench()
    learn(at, HALF_KNOWN)
    wanted = [effect for effect in studied(at)[0] if isinstance(effect, Request)]
    assert all(effect.can_wait for effect in wanted)
    learn(at, stories(range(200, 217), ["story_"]))
    again = [effect for effect in studied(at)[0] if isinstance(effect, Request)]
    progress = read_progress(at.memories[NAME], SITE)
    assert progress is not None
    assert (progress.outstanding, progress.is_judging) == (len(wanted) + len(again), True)
    coming = [linked(story(int(effect.url.rpartition("_")[2]))) for effect in (*wanted, *again)]
    effects, _ = learn(at, coming)
    assert Study(SITE) in effects, "asked for when the last of them has come"


def linked(found: Page) -> Page:
    """Return a page that some page named."""
    return replace(found, url=replace(found.url, via=SPACE.key("http://a.example/")))


def test_what_is_asked_for_and_shows_what_was_known_is_charged_against_what_open_rules_would_save() -> None:
    """No page links these canonical URLs. Mutation: only those that were no page at all are charged."""
    at = bench()
    learn(at, HALF_KNOWN)
    asked, _ = studied(at)
    wanted = [effect.url for effect in asked if isinstance(effect, Request)]
    assert len(wanted) == 4, "as many as the rule would have saved"
    learn(at, [story(int(url.rpartition("_")[2])) for url in wanted])
    progress = read_progress(at.memories[NAME], SITE)
    assert progress is not None
    assert progress.wasted == 4
    more, _ = studied(at)
    assert not [effect for effect in more if isinstance(effect, Request)]
    learn(at, stories(range(100, 110)))
    more, _ = studied(at)
    assert [effect for effect in more if isinstance(effect, Request)], "the crawl goes on to fetch everything twice"


def test_a_rule_of_which_one_form_alone_is_linked_is_neither_adopted_nor_asked_for() -> None:
    """`/index.php?` → `/?`: the second form answers, and no page names it. Mutation: what a rule saves was not asked."""
    at = bench()
    learn(at, [page(f"http://a.example/index.php?title=t{i}", text(f"page{i}")) for i in range(95)])
    for _ in range(4):
        asked, _ = studied(at)
        assert not [effect for effect in asked if isinstance(effect, Request)]
    learn(at, [page(f"http://a.example/?title=t{i}", text(f"page{i}")) for i in range(2)])
    studied(at)
    assert "valid" not in standings(at).values()


def test_of_two_forms_the_one_that_is_linked_is_canonical() -> None:
    """Mutation: a rule always leads to the shorter form."""
    at = bench()
    learn(at, [page(f"http://a.example/index.php?title=t{i}", text(f"page{i}")) for i in range(120)])
    learn(at, [page(f"http://a.example/?title=t{i}", text(f"page{i}")) for i in range(40)])
    studied(at)
    assert rewrites(at, "http://a.example/?title=other", "http://a.example/index.php?title=other") == {
        "http://a.example/?title=other": "http://a.example/index.php?title=other"
    }


def test_pages_of_many_values_prove_a_rule_together_though_nothing_is_linked_without_one() -> None:
    """Each page was fetched under two of many session ids, and never without one.

    Mutation: only pages without a session id are compared.
    """
    at = bench()
    learn(at, [page(f"http://a.example/p{i}?sid=s{i}{half}", text(f"page{i}")) for i in range(50) for half in "ab"])
    asked, _ = studied(at)
    assert not [effect for effect in asked if isinstance(effect, Request)]
    assert rewrites(at, "http://a.example/new?sid=zz") == {"http://a.example/new?sid=zz": "http://a.example/new"}


def test_a_rule_on_many_values_lists_those_for_which_it_does_not_hold() -> None:
    """Ten branches show the same page, an eleventh shows one of its own. Mutation: exceptions are not tried."""
    at = bench()
    branches = [f"b{n}" for n in range(10)]
    same = [page(f"http://a.example/f{i}?h={b}", text(f"page{i}")) for i in range(12) for b in (*branches[i % 5 :: 5], "")]
    plain = [page(f"http://a.example/f{i}", text(f"page{i}")) for i in range(12)]
    own = [page(f"http://a.example/f{i}?h=old", text(f"old{i}")) for i in range(12)]
    learn(at, [*plain, *same, *own])
    studied(at)
    assert rewrites(at, "http://a.example/g?h=b3", "http://a.example/g?h=old") == {"http://a.example/g?h=b3": "http://a.example/g"}
    book = read_book(at.memories[NAME], SITE)
    assert book is not None
    assert [learned.rule.unless for learned in book.rules if learned.is_applied] == [("h=old",)]


def test_no_more_is_asked_for_when_what_was_asked_for_is_no_page() -> None:
    at = bench()
    learn(at, HALF_KNOWN)
    for _ in range(5):
        asked, _ = studied(at)
        learn(at, [page(effect.url, "gone", status=404) for effect in asked if isinstance(effect, Request)])
    progress = read_progress(at.memories[NAME], SITE)
    assert progress is not None
    assert progress.wasted <= 8, "as much as the rule would have saved of the list, either way"
    assert RULE not in standings(at)


def test_a_rule_that_audits_contradict_is_withdrawn_and_its_aliases_are_recalled() -> None:
    """Mutation: the cumulative sum never grows."""
    at = taught()
    name = next(learned.rule.name for learned in read_book(at.memories[NAME], SITE).rules)  # type: ignore[union-attr]  # None fails the test
    learn(at, stories(range(100, 104), ["story_"]))
    agreeing, _ = learn(at, [story(100, "story?id=")])
    assert agreeing == []
    contradicting, _ = learn(at, [story(number, "story?id=", f"other{number}") for number in (101, 102)])
    assert contradicting == [Recall(SITE, name)]
    assert standings(at)[RULE] == "withdrawn"
    assert not rewrites(at, "http://a.example/story?id=77")
    studied(at)
    assert standings(at)[RULE] == "withdrawn", "and it is not learnt again from what spoke for it before"


def test_a_single_contradiction_among_many_agreements_withdraws_nothing() -> None:
    at = taught()
    learn(at, stories(range(100, 160), ["story_"]))
    learn(at, [story(number, "story?id=", "other" if number % 30 == 7 else "") for number in range(100, 160)])
    assert standings(at)[RULE] == "valid"


@pytest.mark.parametrize("shown", ["short text", ""])
def test_pages_without_text_teach_no_rule(shown: str) -> None:
    at = bench()
    learn(at, [page(f"http://a.example/{form}{number}", shown) for number in range(60) for form in ("story_", "story?id=")])
    studied(at)
    assert standings(at) == {}


def test_nothing_is_asked_for_on_behalf_of_a_rule_that_more_speaks_against() -> None:
    """Such a rule may lead to URLs that nobody has written. Mutation: each undecided rule asks for requests."""
    contradicted = [story(4, "story?id=", "other")]
    for more, is_asked in (([], True), (contradicted, False)):
        at = bench()
        unknown = [*stories(range(5, 90), ["story?id="]), *stories(range(90, 110), ["story_"])]
        learn(at, [*stories(range(4)), *more, story(4, "story_"), *unknown])
        asked, _ = studied(at)
        assert any(isinstance(effect, Request) for effect in asked) is is_asked


@pytest.mark.parametrize(("n", "is_asked"), [(8, False), (40, True)])
def test_nothing_is_asked_for_while_the_list_has_too_few_pairs_to_decide_a_rule(n: int, is_asked: bool) -> None:
    """Those requests would show known texts, and the rule would stay undecided. Mutation: each undecided rule asks for requests."""
    at = bench()
    others = [page(f"http://a.example/other/{number}", f"text of the other page {number}") for number in range(40)]
    learn(at, [*others, *stories(range(4)), *stories(range(4, 4 + n // 2), ["story?id="]), *stories(range(4 + n // 2, 4 + n), ["story_"])])
    asked, _ = studied(at)
    assert standings(at)[RULE] == "undecided"
    assert any(isinstance(effect, Request) for effect in asked) is is_asked


def test_while_it_observes_it_studies_and_asks_for_nothing_else() -> None:
    at = bench(Mode.OBSERVE)
    effects, _ = learn(at, [*stories(range(4)), *stories(range(4, 90), ["story?id="])])
    assert set(effects) == {Study(SITE)}
    assert studied(at)[0] == []
    assert not rewrites(at, "http://a.example/story?id=77")


def test_what_a_site_showed_for_one_stretch_is_no_rule() -> None:
    """All pairs that agree are of one block of time of each form: nothing speaks against the rule, and it waits for pages of another time.

    Mutation: `is_of_several_blocks` left out of `_judged`.
    """
    at = bench()
    learn(at, [page(f"http://a.example/about{i}", text(f"chapter{i}")) for i in range(60)])
    hosts = [f"http://{i}.a.example" for i in range(20)]
    pairs = [page(f"{host}/{form}{i}", text(f"{host[7:]}story{i}")) for host in hosts for i in range(4) for form in ("story_", "story?id=")]
    learn(at, pairs)
    studied(at)
    assert standings(at) == {RULE: "undecided"}
    progress = read_progress(at.memories[NAME], SITE)
    assert progress is not None
    assert progress.pending_at == progress.n_pages + 8, "it is looked at again soon"
    learn(at, [page(f"{hosts[0]}/{form}{i}", text(f"story{i}")) for i in range(4, 14) for form in ("story_", "story?id=")])
    studied(at)
    assert standings(at)[RULE] == "valid"
