"""Exact duplicates: the copy is recorded, its links are followed while that pays; the canonical one is preferred."""

from __future__ import annotations

import numpy as np
import pytest
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import LONG_TEXT, batch, page

from thresher.config.settings import ExactDuplicateSettings
from thresher.crawler.core.effects import Revise
from thresher.crawler.core.model import CrawlURL, Flag, Judgement, Page, Reason, Verdict
from thresher.crawler.core.sketch import body_digest
from thresher.filters.base import Effects, LinkJudgement
from thresher.filters.copy_links import CopyLedger
from thresher.filters.exact_duplicate import ExactDuplicateFilter, outdate


def judge(rule: ExactDuplicateFilter, subject: Page, memory: DictMemory, *, dropped: bool = False) -> tuple[Verdict, Effects]:
    measure = rule.measure(subject)
    verdict, effects = rule.decide(measure, memory)
    keep, follow = verdict.keep and not dropped, verdict.follow and not dropped
    rule.observe(measure, Judgement(keep, follow, (verdict,)), memory)
    return verdict, effects


def test_the_second_page_with_a_text_is_a_copy_of_the_first() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    first, _ = judge(rule, page("http://a.example/1"), memory)
    second, _ = judge(rule, page("http://a.example/2"), memory)
    assert (first.keep, first.follow) == (True, True)
    assert (second.keep, second.follow, second.reason) == (False, True, Reason.DUPLICATE_CONTENT)
    assert second.evidence["copy_of"] == page("http://a.example/1").url.key.hex()


def test_the_same_page_again_is_no_copy_of_itself() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    assert judge(rule, page("http://a.example/1"), memory)[0] == Verdict("exact_duplicate")


def test_short_texts_other_sites_and_errors_are_never_copies() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    judge(rule, page("http://a.example/3", "no results"), memory)
    assert judge(rule, page("http://b.example/1"), memory)[0].keep
    assert judge(rule, page("http://a.example/4", "no results"), memory)[0].keep
    assert judge(rule, page("http://a.example/5", status=404), memory)[0].keep


def test_pages_without_words_are_copies_if_their_bodies_are_equal_byte_for_byte() -> None:
    """Framesets: a page of pictures differs from others in its pictures alone."""
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()

    def shown(path: str, words: str, body: bytes, links: tuple[str, ...] = ("x",), flags: frozenset[Flag] = frozenset()) -> Verdict:
        subject = replace(page(f"http://a.example/{path}", words), links=links, flags=flags)
        return judge(rule, replace(subject, digest=body_digest(subject.tokens, body)), memory)[0]

    assert shown("index.html?one.html", "", b"<frameset>").keep
    assert shown("index.html?two.html", "", b"<frameset>").reason is Reason.DUPLICATE_CONTENT
    assert shown("1", "", b"<img src=1>").keep
    assert shown("2", "", b"<img src=2>").keep
    for path in ("3", "4"):
        assert shown(path, "", b"").keep
        assert shown(path, "next", b"few words").keep
        assert shown(path, "", b"a shell", links=()).keep
        assert shown(path, "", b"a shell with links", flags=frozenset((Flag.EMPTY_SHELL,))).keep
    assert shown("long", LONG_TEXT, b"one body").keep
    assert shown("as-long", f"{LONG_TEXT} {LONG_TEXT}", b"one body").keep


def test_seeds_and_home_pages_are_never_copies() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    assert judge(rule, page("http://www.a.example/"), memory)[0].keep
    assert judge(rule, page("http://a.example/seed", seed_distance=0), memory)[0].keep


def test_a_page_that_any_filter_dropped_teaches_nothing() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    judge(rule, page("http://a.example/1"), memory, dropped=True)
    assert not memory.rows
    assert judge(rule, page("http://a.example/2"), memory)[0].keep


def test_a_page_that_names_itself_canonical_replaces_a_kept_copy_that_does_not() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    old, new = page("http://a.example/1?ref=x"), page("http://a.example/1", canonical="http://a.example/1")
    judge(rule, old, memory)
    verdict, effects = judge(rule, new, memory)
    assert verdict.follow
    assert effects == (
        Revise(
            old.url.key, Verdict("exact_duplicate", False, True, 1.0, Reason.DUPLICATE_CONTENT, {"copy_of": new.url.key.hex()}, new=False)
        ),
    )
    assert judge(rule, page("http://a.example/3", LONG_TEXT), memory)[0].evidence["copy_of"] == new.url.key.hex()


def test_a_page_that_is_fetched_again_holds_a_text_only_if_it_shows_it_again() -> None:
    """Mutations: `outdate` did nothing; a text whose page was fetched again stayed free when that page had shown it once more; a
    page that is fetched again twice was taken for one that is once.
    """
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    first, second, third = (page(f"http://a.example/{n}") for n in (1, 2, 3))
    judge(rule, first, memory)
    assert not judge(rule, second, memory)[0].keep
    outdate([first.url.key], memory)
    judge(rule, page("http://a.example/1", f"{LONG_TEXT} and more"), memory)
    assert judge(rule, second, memory)[0].keep, "its original does not show the text any more"
    assert judge(rule, third, memory)[0].evidence["copy_of"] == second.url.key.hex()
    outdate([second.url.key], memory)
    judge(rule, second, memory)
    assert judge(rule, third, memory)[0].evidence["copy_of"] == second.url.key.hex()
    outdate([second.url.key], memory)
    judge(rule, page("http://a.example/2", f"{LONG_TEXT} and more"), memory)
    assert judge(rule, third, memory)[0].keep, "it was fetched again twice, and does not show the text any more"


def test_copies_can_be_stored() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings(store_copies=True)), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    verdict, _ = judge(rule, page("http://a.example/2"), memory)
    assert (verdict.keep, verdict.new, verdict.reason) == (True, False, Reason.DUPLICATE_CONTENT)


# -- a clock at the foot


_WORDS = " ".join(f"word{i}" for i in range(120))


@pytest.mark.parametrize(
    ("one", "other", "is_copy"),
    [
        (f"{_WORDS} made at 2026-11-21 15:36:39 +0000", f"{_WORDS} made at 2026-11-22 08:01:02 +0000", True),
        (f"{_WORDS} 12:59:01 seen", f"{_WORDS} 13:00:40 seen", True),
        (f"{_WORDS} item 12 of 300", f"{_WORDS} item 13 of 300", False),
        (f"12:59:01 {_WORDS}", f"13:00:40 {_WORDS}", False),
        (f"{LONG_TEXT} 2026-11-21", f"{LONG_TEXT} 2026-11-22", False),
    ],
    ids=["a date with a time", "a time", "no time", "a time that heads the text", "a short text"],
)
def test_a_time_at_the_foot_of_a_long_text_does_not_count(one: str, other: str, is_copy: bool) -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings()), DictMemory()
    judge(rule, page("http://a.example/1", one), memory)
    assert judge(rule, page("http://a.example/2", other), memory)[0].keep != is_copy


# -- links of copies


def lead_to(source: CrawlURL, n_new: int, memory: DictMemory) -> None:
    """Let a page have new links, all of them admitted."""
    ledger = CopyLedger("exact_duplicate")
    links = replace(batch(*[f"{source.text}/{i}" for i in range(n_new)]), source=source)
    ledger.observe(ledger.measure(links), LinkJudgement(np.ones(n_new, dtype=np.bool_), {}), memory)


def copy(number: int, via: CrawlURL | None = None) -> Page:
    return page(f"http://a.example/copy{number}", via=via)


def test_links_of_copies_are_followed_until_a_budget_of_new_ones_is_used_up() -> None:
    """Mutation: `CopyLedger` charges nothing."""
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings(max_links=100)), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    followed = []
    for number in range(6):
        followed.append(judge(rule, copy(number), memory)[0].follow)
        lead_to(copy(number).url, 30, memory)
    assert followed == [True, True, True, True, False, False]
    assert judge(rule, page("http://a.example/new", "new " * 30), memory)[0].follow


def test_new_links_on_pages_that_are_no_copies_cost_nothing() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings(max_links=1)), DictMemory()
    original = page("http://a.example/1")
    judge(rule, original, memory)
    lead_to(original.url, 500, memory)
    assert judge(rule, copy(1), memory)[0].follow


@pytest.mark.parametrize(("every", "goes_on"), [(10, True), (30, False)])
def test_a_page_that_is_no_copy_pays_for_ten_links(every: int, goes_on: bool) -> None:
    """Copies lead to copies, but each tenth leads to something new, so they are followed for ever. Mutation: `pay` does nothing."""
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings(max_links=100)), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    for number in range(50):
        parent = copy(number)
        follow = judge(rule, parent, memory)[0].follow
        lead_to(parent.url, 10, memory)
        if (10 * number) % every == 0:
            judge(rule, page(f"http://a.example/new{number}", f"new{number} " * 30, via=parent.url), memory)
    assert follow == goes_on


def test_each_kind_of_url_has_a_budget_of_its_own_and_the_site_ten() -> None:
    """Mutation: there is one budget for all kinds."""
    rule, memory = ExactDuplicateFilter(ExactDuplicateSettings(max_links=20)), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    for kind in range(10):
        first, second = (page(f"http://a.example/doc?id={i}&p{kind}=1") for i in (1, 2))
        assert judge(rule, first, memory)[0].follow, "of no other kind"
        lead_to(first.url, 20, memory)
        assert not judge(rule, second, memory)[0].follow
    assert not judge(rule, page("http://a.example/other/1"), memory)[0].follow, "the site has had ten times as much"
    judge(rule, page("http://a.example/new", "new " * 30, via=page("http://a.example/doc?id=1&p0=1").url), memory)
    assert judge(rule, page("http://a.example/other/2"), memory)[0].follow
