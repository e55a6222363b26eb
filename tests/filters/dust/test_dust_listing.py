"""Which pages of a site the filter remembers, and when it asks for a study of them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from dust_stories import RULE, SITE, bench, learn, standings, stories, story, studied, taught
from msgspec.structs import replace
from webs import Bench

from thresher.config.settings import DustSettings, ExactDuplicateSettings
from thresher.crawler.core.effects import Effect, Study
from thresher.crawler.core.model import Page
from thresher.filters import exact_duplicate
from thresher.filters.dust import filter as dust
from thresher.filters.dust.memory import NAME, read_book, write_book
from thresher.filters.dust.records import read_progress
from thresher.filters.dust.study import study


def test_a_site_is_studied_when_its_list_is_long_enough_and_again_when_it_has_doubled() -> None:
    at = bench()
    asked = [effect for seen in stories(range(240), ["story_"]) for effect in _after(at, seen)]
    assert asked == [Study(SITE), Study(SITE)]
    assert read_progress(at.memories[NAME], SITE).next_at == 320  # type: ignore[union-attr]  # None fails the test


def _after(at: Bench, seen: Page) -> list[Effect]:
    effects, _ = learn(at, [seen])
    if Study(SITE) in effects:
        studied(at)
    return effects


def test_a_site_is_studied_sooner_while_it_holds_copies_that_no_rule_explains() -> None:
    at = bench()
    learn(at, (page for i in range(40) for page in (story(i, "a"), story(i, f"b{i}x", f"story{i}"))))
    studied(at)
    assert read_progress(at.memories[NAME], SITE).next_at == 96  # type: ignore[union-attr]  # None fails the test


def test_pages_are_compared_under_their_canonical_urls() -> None:
    at = taught()
    forms = ("story?id=", "tale-")  # never "story_", so that "tale-" has nothing to be compared with but what the first rule leads to
    learn(at, stories(range(100, 160), forms))
    studied(at)
    assert standings(at)['"/tale-" → "/story_"'] == "valid"


def test_a_long_list_is_gathered_in_pieces_that_hold_every_page() -> None:
    at = bench()
    learn(at, stories(range(620), ["story_"]))
    pieces = list(at.panel.reports.gather(NAME, SITE))
    assert len(pieces) > 2
    assert all(b"".join(pieces).count(f"story_{number}".encode()) for number in range(620))


def test_a_rule_that_is_withdrawn_while_a_study_is_under_way_stays_so() -> None:
    at = taught()
    memory = at.memories[NAME]
    material = b"".join(at.panel.reports.gather(NAME, SITE))
    book = read_book(memory, SITE)
    assert book is not None
    book.rules = [msgspec.structs.replace(learned, standing="withdrawn") for learned in book.rules]
    write_book(memory, SITE, book)
    at.panel.reports.on_finding(NAME, SITE, study(material))
    assert standings(at)[RULE] == "withdrawn"


def test_a_family_of_copies_has_its_site_studied_before_the_list_is_long() -> None:
    """Mutation: only the growth of the list of pages counts."""
    at = bench()
    asked, _ = learn(at, (story(n, form) for n in range(12) for form in ("story_", "story?id=")))
    assert Study(SITE) in asked


def test_copies_that_a_rule_explains_ask_for_no_study() -> None:
    at = taught()
    before = read_progress(at.memories[NAME], SITE)
    assert before is not None
    asked, _ = learn(at, stories(range(60, 68)))
    assert Study(SITE) not in asked


def test_the_list_of_a_site_ends_at_its_cap() -> None:
    at = bench(max_urls=90)
    learn(at, stories(range(100)))
    assert read_progress(at.memories[NAME], SITE).n_pages == 90  # type: ignore[union-attr]  # None fails the test


def in_company() -> Bench:
    """Return a bench on which another filter tells copies."""
    return Bench.of((exact_duplicate.spec(ExactDuplicateSettings()), dust.spec(DustSettings(first_mining=80), judges=["exact_duplicate"])))


def titled(number: int, title: str, form: str = "story_") -> Page:
    return replace(story(number, form), title=title)


def n_listed(at: Bench) -> int:
    progress = read_progress(at.memories[NAME], SITE)
    return progress.n_pages if progress else 0


def test_of_a_site_without_copies_a_quarter_is_remembered_and_every_page_from_the_third_copy_on() -> None:
    """Mutation: copies are not counted."""
    at = in_company()
    learn(at, [titled(number, f"Story {number}") for number in range(400)])
    listed = n_listed(at)
    assert 80 < listed < 160
    learn(at, [titled(number, f"Story {number}", "story?id=") for number in (1, 2, 3)])
    learn(at, [titled(number, f"Story {number}") for number in range(400, 450)])
    assert n_listed(at) >= listed + 50


def test_pages_of_one_title_are_remembered_together() -> None:
    alone = [{form for form in ("a", "b") if _is_listed(titled(number, f"Story {number}", form))} for number in range(200)]
    apart = sum(len(found) == 1 for found in alone)
    assert apart < 30, "those chosen by their keys alone"
    at = in_company()
    learn(at, [titled(number, "The one title") for number in range(200)])
    assert n_listed(at) > 150, "a title that every page has says nothing"


def test_every_page_is_remembered_once_pages_of_the_sample_have_shared_titles_thrice() -> None:
    """Forms that name the page they lead back to are no exact copies. Mutation: titles were not compared."""
    at = in_company()
    learn(at, [titled(number, f"Story {number // 2}") for number in range(60)])
    listed = n_listed(at)
    learn(at, [titled(number, f"Story {number}") for number in range(60, 100)])
    assert n_listed(at) == listed + 40


def _is_listed(seen: Page) -> bool:
    at = in_company()
    learn(at, [seen])
    return n_listed(at) == 1


@pytest.mark.parametrize("of", [bench, in_company])
def test_replaying_the_journal_with_its_studies_gives_equal_memories(of: Callable[[], Bench]) -> None:
    lived, replayed = of(), of()
    journal = learn(lived, stories(range(50)))[1]
    record = studied(lived)[1]
    assert record is not None
    journal.append(record)
    journal += learn(lived, [*stories(range(100, 104)), story(104), story(104, "story?id=", "other")])[1]
    replayed.panel.replay(journal)
    assert replayed.rows(NAME) == lived.rows(NAME)
    assert standings(replayed)[RULE] == "valid"
