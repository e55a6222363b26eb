"""Exact duplicates: the copy is recorded and not followed; the canonical one is preferred."""

from dict_memory import DictMemory
from subjects import LONG_TEXT, page

from config.settings import ExactDuplicate
from crawler.core.model import Judgement, Page, Reason, Revise, Verdict
from filters.base import Effects
from filters.exact_duplicate import ExactDuplicateFilter


def judge(rule: ExactDuplicateFilter, subject: Page, memory: DictMemory, *, dropped: bool = False) -> tuple[Verdict, Effects]:
    measure = rule.measure(subject)
    verdict, effects = rule.decide(measure, memory)
    keep, follow = verdict.keep and not dropped, verdict.follow and not dropped
    rule.observe(measure, Judgement(keep, follow, (verdict,)), memory)
    return verdict, effects


def test_the_second_page_with_a_text_is_a_copy_of_the_first() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    first, _ = judge(rule, page("http://a.example/1"), memory)
    second, _ = judge(rule, page("http://a.example/2"), memory)
    assert (first.keep, first.follow) == (True, True)
    assert (second.keep, second.follow, second.reason) == (False, False, Reason.DUPLICATE_CONTENT)
    assert second.evidence["copy_of"] == page("http://a.example/1").url.key.hex()


def test_the_same_page_again_is_no_copy_of_itself() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    assert judge(rule, page("http://a.example/1"), memory)[0].follow


def test_short_texts_other_sites_and_errors_are_never_copies() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    judge(rule, page("http://a.example/3", "no results"), memory)
    assert judge(rule, page("http://b.example/1"), memory)[0].follow
    assert judge(rule, page("http://a.example/4", "no results"), memory)[0].follow
    assert judge(rule, page("http://a.example/5", status=404), memory)[0].follow


def test_seeds_and_home_pages_are_never_copies() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    assert judge(rule, page("http://www.a.example/"), memory)[0].follow
    assert judge(rule, page("http://a.example/seed", seed_distance=0), memory)[0].follow


def test_a_page_that_any_filter_dropped_teaches_nothing() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    judge(rule, page("http://a.example/1"), memory, dropped=True)
    assert not memory.rows
    assert judge(rule, page("http://a.example/2"), memory)[0].follow


def test_a_page_that_names_itself_canonical_replaces_a_kept_copy_that_does_not() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate()), DictMemory()
    old, new = page("http://a.example/1?ref=x"), page("http://a.example/1", canonical="http://a.example/1")
    judge(rule, old, memory)
    verdict, effects = judge(rule, new, memory)
    assert verdict.follow
    assert effects == (
        Revise(old.url.key, Verdict("exact_duplicate", False, False, 1.0, Reason.DUPLICATE_CONTENT, {"copy_of": new.url.key.hex()})),
    )
    assert judge(rule, page("http://a.example/3", LONG_TEXT), memory)[0].evidence["copy_of"] == new.url.key.hex()


def test_copies_can_be_stored() -> None:
    rule, memory = ExactDuplicateFilter(ExactDuplicate(store_copies=True)), DictMemory()
    judge(rule, page("http://a.example/1"), memory)
    verdict, _ = judge(rule, page("http://a.example/2"), memory)
    assert (verdict.keep, verdict.follow) == (True, False)
