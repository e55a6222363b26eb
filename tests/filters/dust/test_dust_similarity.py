"""When two pages show the same: words behind boilerplate, never errors or empty pages."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.crawler.core.sketch import fingerprint, token_hashes
from thresher.filters.dust.records import StoredLook, look_at
from thresher.filters.dust.similarity import PageTexts, sketch
from thresher.filters.dust.urllist import Sighting, UrlList, read_line

MENU = " ".join(f"menu{i}" for i in range(300))


class Words:
    """Where the texts' words are drawn from."""

    rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def drawn_words() -> None:
    """Each test draws the same words, whichever tests ran before it."""
    Words.rng = np.random.default_rng(5)


def essay(n_words: int = 200) -> str:
    return " ".join(f"w{word}" for word in Words.rng.integers(0, 5000, n_words))


def texts_of(pages: list[str]) -> PageTexts:
    fingerprints = np.array([int.from_bytes(fingerprint(token_hashes(page))[:7], "big") for page in pages])
    return PageTexts.of(fingerprints, np.stack([sketch(token_hashes(page)) for page in pages]))


def test_pages_of_one_template_are_told_apart_by_what_is_left_behind_it() -> None:
    """Matrix row 14. Mutation: boilerplate was left in."""
    menu = " ".join(f"menu{i}" for i in range(900))
    texts = texts_of([f"{menu} {essay(60)}" for _ in range(60)])
    assert len(set(texts.labels.tolist())) == 60
    assert not any(texts.alike(i, i + 1) for i in range(59))


def test_a_page_with_another_line_on_it_is_the_same_page() -> None:
    pages = [f"{MENU} {essay()}" for _ in range(60)]
    texts = texts_of([*pages, *(f"{page} seen {i} times" for i, page in enumerate(pages))])
    assert sum(texts.alike(i, 60 + i) for i in range(60)) >= 57
    assert not any(texts.alike(i, 61 + i) for i in range(59))
    assert sum(texts.labels[i] == texts.labels[60 + i] for i in range(60)) >= 57


def test_two_pages_are_compared_behind_the_boilerplate_that_a_study_found() -> None:
    """As audits are. Mutation: boilerplate was left in, and an audited alias of another template spoke against its rule."""
    essays = [essay() for _ in range(150)]
    menus = [" ".join(f"{menu}{i}" for i in range(50)) for menu in ("menu", "place")]
    texts = texts_of([f"{menu} {words}" for words in essays for menu in menus])
    common = texts.common.astype("<u4").tobytes()
    shown = (f"{menus[0]} {essays[0]}", f"{menus[1]} {essays[0]}", f"{menus[0]} {essays[1]}")
    one, other, another = (look_at("http://s/p", token_hashes(text)) for text in shown)
    assert one.alike(other, common)
    assert not one.alike(other, b"")
    assert not one.alike(another, common)


def test_equal_fingerprints_need_no_sketch() -> None:
    known = UrlList.of(
        [Sighting("http://s/a", fingerprint="x"), Sighting("http://s/b", fingerprint="x"), Sighting("http://s/c", fingerprint="y")]
    )
    assert [known.alike(0, 1), known.alike(0, 2)] == [True, False]


def test_errors_soft_errors_and_empty_pages_agree_with_nothing() -> None:
    known = UrlList.of(
        [
            Sighting("http://s/a", fingerprint="x"),
            Sighting("http://s/b", 404, fingerprint="x"),
            Sighting("http://s/c", fingerprint="x", is_bad=True),
            Sighting("http://s/d", is_bad=True),
            Sighting("http://s/e", is_bad=True),
            Sighting("http://s/f"),
        ]
    )
    assert not any(known.alike(0, i) for i in range(1, 5))
    assert known.alike(3, 4) is False
    assert known.alike(0, 5) is None, "of which nothing is known"


def test_a_line_may_carry_a_sketch_as_numbers_or_as_a_name() -> None:
    numbers = list(range(1, 65))
    lines = [
        f'{{"url": "http://s/a", "status": 200, "size": 10, "sketch": {numbers}}}',
        f'{{"url": "http://s/b", "status": 200, "size": [9, 12], "sketch": {[*numbers[:62], 7, 8]}}}',
        f'{{"url": "http://s/c", "status": 200, "sketch": {numbers[::-1]}}}',
    ]
    known = UrlList.of(map(read_line, lines))
    assert [known.alike(0, 1), known.alike(0, 2)] == [True, False]
    assert known.smallest.tolist() == [10, 9, -1]


def test_a_url_seen_again_has_the_range_of_its_sizes() -> None:
    known = UrlList.of([Sighting("http://s/a", size=(5, 5)), Sighting("http://s/a", 500), Sighting("http://s/a", size=(9, 9))])
    assert (known.smallest[0], known.largest[0], known.is_good[0]) == (5, 9, True)


def test_a_form_that_says_where_it_leads_back_to_is_one_form_and_another_form_is_another() -> None:
    """Mutation: `look_at` took all words."""

    def shown(form: str, page: str) -> StoredLook:
        asks = {"login": "your name, your password, remember me", "edit": "the whole text, a summary, a minor change"}[form]
        name = page.rpartition(":")[2]
        words = f"Notes trace {name}, please fill in {asks}, or leave the form and go back to where you were; {page} txt, changed"
        return look_at(f"http://s/x.php?id={page}&do={form}", token_hashes(words))

    assert shown("login", "start") == shown("login", "config-short") == shown("login", "space:start")
    assert shown("login", "start").fingerprint != shown("edit", "start").fingerprint
    assert not look_at("http://s/a-b-c-d-e-f-g-h-i-j-k", token_hashes("A b c d e f g h i j k")).is_good


def test_a_number_that_stands_in_a_text_by_chance_is_no_echo() -> None:
    """Mutation: `look_at` left out numbers, too."""
    words = token_hashes("Chapter 5 of 9: what we did in these 5 days and why it took 5 of us to do so")
    assert look_at("http://s/story?id=5", words) == look_at("http://s/story_5", words)


def test_a_line_of_boilerplate_that_one_of_two_pages_lacks_does_not_tell_them_apart() -> None:
    """Mutation: a place that boilerplate hides of one page counted as unlike the other's."""
    foot = " ".join(f"foot{i}" for i in range(40))
    form = " ".join(f"form{i}" for i in range(60))
    texts = [f"{' '.join(f'own{n}x{i}' for i in range(60))} {foot}" for n in range(100)] + [f"{form} {foot}", form]
    words = [token_hashes(text) for text in texts]
    prints = np.array([int.from_bytes(fingerprint(each)[:7], "big") for each in words])
    known = PageTexts.of(prints, np.stack([sketch(each) for each in words]))
    assert known.alike(100, 101)
    assert not known.alike(0, 101)
