"""What a pattern knows that begins when one of its words has come back often enough to be a literal."""

from __future__ import annotations

import hashlib

from told import Site, word

from thresher.config.settings import PatternYieldSettings
from thresher.filters.pattern_yield.replay import PatternReplay
from thresher.filters.pattern_yield.word_runs import WordRuns


def test_dead_links_of_a_tree_are_not_tried_again_for_each_word_of_its_paths() -> None:
    """Mutation: a pattern that begins when a word becomes a literal begins with nothing."""
    site = Site()
    for i in range(60):
        site.tell(f"/topics/{word(i)}.html", f"text {i}")
        site.tell(f"/usr/share/doc/other/html/{('library', 'tutorial')[i % 8 > 5]}/{word(i)}.html", "not found", status=404)
    assert sum(path.startswith("/usr") for path in site.fetched) <= 12
    assert not any(path.startswith("/topics") for path in site.held)


def test_a_pattern_whose_first_fetch_is_good_goes_on_from_no_other() -> None:
    """Nor does one go on from a pattern that has yielded anything."""
    site = Site()
    for first in ("good", "barren"):
        for i in range(8):
            site.tell(f"/{first}/{word(i)}/x.html", f"{first} {i}" if first == "good" and i == 3 else "not found", status=200)
            site.tell(f"/topics/{word(i)}.html", f"text {i}")
    site.tell("/good/more/x.html", "more of the good")
    assert site.evidence("/good/<w>/x.html").opinion.recent.streak == 0


def test_a_pattern_that_shows_another_text_goes_on_from_no_other() -> None:
    """Seven lists say nothing of a form below another word. Mutation: a pattern goes on from the one without its word always."""
    site = Site(PatternReplay(PatternYieldSettings(), samples=False))
    for i in range(7):
        site.tell(f"/{i}/{word(i)}", "a list", n_led=1)
        site.tell(f"/topics/{word(i)}.html", f"text {i}")
    for i in range(8):
        site.tell(f"/{word(i)}s/forms", f"forms {i}")
    site.tell("/100/forms", "forms 0")
    assert site.tell("/topics/more.html", "more")
    assert site.tell("/101/forms", "a form that was not met before")
    assert not site.barren()


def fetched_of_a_word(*good: int, n_led: int = 0) -> int:
    """Tell pages, and URLs of a word at the same place that show nothing; return how many of these were fetched before one was held.

    Args:
        good: Numbers of those that show something.
        n_led: URLs that each names first.
    """
    site = Site()
    site.tell_all((f"/{word(i)}s/{word(i)}", f"text {i}") for i in range(20))
    for i in range(60):
        site.tell(f"/items/{word(i)}", f"item {i}")
        if not site.tell(f"/remove/{word(i)}", f"removed {i}" if i in good else f"text {i % 20}", n_led=n_led):
            return i
    raise AssertionError("none was held")


def test_a_word_whose_urls_showed_nothing_is_held_soon_once_it_is_known() -> None:
    """It is known when it was seen eight times. Mutation: its pattern then begins with nothing: 12 are fetched."""
    assert fetched_of_a_word() == 10


def test_only_the_last_urls_of_a_word_count_for_its_pattern() -> None:
    """Mutations: a good one does not end their run: 10 are fetched; what can lead nowhere is held sooner, though one was good: 12."""
    assert fetched_of_a_word(5) == 14


def test_urls_of_a_word_that_may_still_lead_on_count_for_nothing() -> None:
    """Each names URLs that are not fetched yet. Mutation: such are taken for barren ones."""
    assert fetched_of_a_word(n_led=2) == 16


def test_runs_of_words_outlive_the_growth_of_their_sketch_and_end_with_a_good_url() -> None:
    """Mutations: new counters begin at 0; the larger of two counters is returned; a good URL ends no run."""
    barren, like_it, good = (low | high << 32 for low, high in ((1, 2), (1, 3), (5, 6)))  # the second shares a counter with the first
    runs = WordRuns(b"", 64)
    for _ in range(3):
        runs.learn((barren, good), is_barren=True)
    runs.learn((good,), is_barren=False)
    grown = WordRuns(runs.counters, 4_096)
    for one in (runs, grown):
        assert [one.of(word) for word in (barren, like_it, good)] == [3, 0, 0]
    assert len(grown.counters) == 1_024


def test_a_run_outlasts_hundreds_of_good_urls_with_words_of_their_own() -> None:
    """Mutations: a good URL sets both counters of a word to 0; the larger one."""
    words = [int.from_bytes(hashlib.blake2b(b"%d" % i, digest_size=8).digest()) for i in range(1_000)]
    runs, barren, good = WordRuns(b"", 1_024), words[:20], words[20:]
    for i, fine in enumerate(good):
        runs.learn((fine,), is_barren=False)
        if i % 100 == 0:
            runs.learn(barren, is_barren=True)
    assert sum(runs.of(each) == 10 for each in barren) >= 18
    assert not any(runs.of(each) for each in good[-200:] if not any(shares(each, other) for other in barren))


def shares(one: int, other: int) -> bool:
    """Return whether two words have a counter of 1,024 in common."""
    return bool({one & 1_023, one >> 32 & 1_023} & {other & 1_023, other >> 32 & 1_023})
