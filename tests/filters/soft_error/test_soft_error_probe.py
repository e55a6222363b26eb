"""Siblings that cannot exist, and the looks by which pages are compared with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from subjects import SPACE, page

from thresher.crawler.core.sketch import token_hashes, word_hash
from thresher.crawler.core.url import origin_of
from thresher.crawler.demo import phrases as demo
from thresher.filters.soft_error import looks
from thresher.filters.soft_error.kinds import hint_of
from thresher.filters.soft_error.looks import Look, ProbeLikeness, compare, look_of, own_words, resemblance, sketch
from thresher.filters.soft_error.probe import N_LETTERS, directory_key, directory_of, places, sibling
from thresher.filters.soft_error.redirect_gate import template

KEY = bytes(8)
paths = st.from_regex(r"/([a-z]{1,5}/){0,3}([a-zA-Z0-9_.-]{1,12}/?)?(\?[a-z]{1,4}=[a-z0-9]{0,9}(&[a-z]=[a-z0-9]{1,3})?)?", fullmatch=True)
urls = paths.map(lambda path: SPACE.canonical(f"http://a.example{path}"))


@examples(max_examples=100, derandomize=True, deadline=None)
@given(url=urls, day=st.integers(0, 30_000), n=st.integers(0, 1))
def test_a_sibling_stands_in_the_same_directory_under_a_name_of_its_day(url: str, day: int, n: int) -> None:
    """Mutation: `sibling` left out the day, then the number of the probe."""
    made = sibling(places(url)[0], KEY, day, n)
    assert made == sibling(places(url)[0], KEY, day, n) == SPACE.canonical(made)
    assert directory_of(made) == directory_of(url)
    assert directory_key(SPACE.url(made)) == directory_key(SPACE.url(url))
    assert made not in (
        url,
        sibling(places(url)[0], KEY, day + 1, n),
        sibling(places(url)[0], KEY, day, n + 1),
        sibling(places(url)[0], b"another!", day, n),
    )
    assert origin_of(made) == origin_of(url)


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("http://a.example/x/page.html", "http://a.example/x/*.html"),
        ("http://a.example/x/page", "http://a.example/x/*"),
        ("http://a.example/x/section/", "http://a.example/x/*/"),
        ("http://a.example/x/v1.2", "http://a.example/x/*"),
        ("http://a.example/", "http://a.example/*"),
        ("http://a.example/doku.php?id=start", "http://a.example/doku.php?id=*"),
        ("http://a.example/w?do=edit&id=some:page", "http://a.example/w?do=edit&id=*"),
        ("http://a.example/w?page", "http://a.example/w?*"),
    ],
)
def test_a_sibling_has_the_form_of_the_url(url: str, shape: str) -> None:
    before, _, after = shape.partition("*")
    made = sibling(places(url)[0], KEY, 1)
    assert made.startswith(before)
    assert made.endswith(after)
    name = made[len(before) : len(made) - len(after)]
    assert len(name) == N_LETTERS
    assert name.isalpha()


@pytest.mark.parametrize(
    ("url", "tried"),
    [
        ("http://a.example/", [("http://a.example/", "http://a.example/")]),
        ("http://a.example/a/b", [("http://a.example/a/", "http://a.example/a"), ("http://a.example/", "http://a.example/")]),
        ("http://a.example/a/b/", [("http://a.example/a/", "http://a.example/a"), ("http://a.example/", "http://a.example/")]),
        ("http://a.example/p?ref=x", [("http://a.example/p?ref=", "http://a.example/p"), ("http://a.example/", "http://a.example/")]),
        ("http://a.example/p?gclid=17", [("http://a.example/", "http://a.example/")]),
        (
            "http://a.example/p?a=1&b=22&sid=333",
            [
                ("http://a.example/p?b=", "http://a.example/p?a=1&sid=333"),
                ("http://a.example/p?a=", "http://a.example/p?sid=333"),
                ("http://a.example/", "http://a.example/"),
            ],
        ),
    ],
)
def test_a_url_is_tried_by_what_may_name_it_with_what_it_is_without(url: str, tried: list[tuple[str, str]]) -> None:
    assert [(place.directory, place.control) for place in places(url)] == tried


def test_www_and_scheme_make_no_other_directory() -> None:
    keys = {
        directory_key(SPACE.url(SPACE.canonical(f"{origin}/x/{i}")))
        for i, origin in enumerate(("http://a.example", "https://a.example", "https://www.a.example"))
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("original", "target", "form"),
    [
        ("http://a.example/x/1", "http://a.example/login?next=%2Fx%2F1&lang=en", "http://a.example/login?next=&lang=en"),
        ("http://a.example/x/1", "http://a.example/e?404;http://a.example:80/x/1", "http://a.example/e?"),
        ("http://a.example/x?id=1", "http://b.example/?u=http%3A%2F%2Fa.example%2Fx%3Fid%3D1", "http://b.example/?u="),
        ("http://a.example/x/1", "http://park.example/lander?domain=a.example", "http://park.example/lander?domain="),
        ("http://a.example/x/1", "http://a.example/new?id=7", "http://a.example/new?id=7"),
        ("http://a.example/x/1", "http://a.example/new", "http://a.example/new"),
    ],
)
def test_the_form_of_a_target_lacks_what_it_quotes_of_the_original(original: str, target: str, form: str) -> None:
    assert template(original, target) == form


# -- looks


@examples(max_examples=60, derandomize=True, deadline=None)
@given(words=st.lists(st.text("abcdäß漢", min_size=1, max_size=6), max_size=20))
def test_the_hash_of_a_word_is_the_one_that_texts_have(words: list[str]) -> None:
    spaced = [word for word in words if "漢" not in word]
    assert token_hashes(" ".join(spaced)).tolist() == [word_hash(word) for word in spaced]


@pytest.mark.parametrize(("n", "n_common"), [(20, 15), (60, 30), (500, 400), (3_000, 1_500)])
def test_resemblance_is_the_share_of_common_word_pairs(n: int, n_common: int) -> None:
    """Exact for short texts; four standard errors of 64 draws for long ones."""
    rng = np.random.default_rng(n)
    pool = rng.integers(0, 2**63, 4 * n, dtype=np.uint64)
    a, b = pool[:n], np.concatenate((pool[:n_common], pool[2 * n : 3 * n - n_common]))
    true = (n_common - 1) / (2 * (n - 1) - (n_common - 1))
    error = 0.0 if 2 * n <= 64 else 4 * (true * (1 - true) / 64) ** 0.5
    assert resemblance(sketch(a), sketch(b)) == pytest.approx(true, abs=error + 1e-9)
    assert len(sketch(a)) <= 256
    assert resemblance(sketch(a), sketch(a)) == 1.0


def look(url: str, text: str, title: str = "") -> Look:
    return look_of(replace(page(url, text), title=title))


def test_a_page_is_reduced_to_its_look_once() -> None:
    """Mutation: the look was not kept beside the page."""
    one = page("http://a.example/shop/x", "The address /shop/x is unknown here")
    assert look_of(one) is look_of(one)
    assert look_of(replace(one, title="another")) is not look_of(one)


_QUOTED = st.lists(st.sampled_from(["shop", "old", "17", "html", "a", "example", "menu", "of"]), min_size=1, max_size=80)


@examples(max_examples=60, derandomize=True, deadline=None)
@given(words=_QUOTED, path=st.sampled_from(["/shop/old-17.html", "/old/", "/shop?of=menu:17&a=old", "/x"]))
def test_quoted_words_are_left_out_alike_with_the_native_code_and_without(words: list[str], path: str) -> None:
    """Law. Mutation: of words in a row, one fewer was enough."""
    url, text = f"http://a.example{path}", " ".join(words)
    found = own_words(page(url, text)).tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(looks, "NATIVE", False)
        assert own_words(page(url, text)).tolist() == found


def test_an_error_page_looks_the_same_whatever_it_quotes() -> None:
    template_ = " ".join(f"menu{i}" for i in range(50)) + " shop"
    looks = [
        look(f"http://a.example{path}", f"{template_} The address {quote} is unknown here")
        for path, quote in (
            ("/shop/old-trousers-17.html", "http://a.example/shop/old-trousers-17.html"),
            ("/shop/abcdefghijk", "http://a.example/shop/abcdefghijk"),
            ("/shop/x", "http://a.example/shop/x"),
        )
    ]
    assert len({made.sketch for made in looks}) == 1
    assert compare(looks[0], looks[1:]) is ProbeLikeness.SAME


def test_a_title_that_quotes_nothing_must_be_the_same() -> None:
    text = " ".join(f"word{i}" for i in range(30))
    probe = look("http://a.example/x/abc", text, "Page not found")
    assert compare(look("http://a.example/x/1", text, "Page not found"), (probe,)) is ProbeLikeness.SAME
    assert compare(look("http://a.example/x/1", text, "Trousers"), (probe,)) is ProbeLikeness.OTHER
    quoting = look("http://a.example/x/abc", text, "abc - Wiki")
    assert compare(look("http://a.example/x/trousers", text, "trousers - Wiki"), (quoting,)) is ProbeLikeness.SAME


def test_pages_without_a_word_are_alike() -> None:
    assert compare(look("http://a.example/1", ""), (look("http://a.example/2", ""),)) is ProbeLikeness.SAME
    assert compare(look("http://a.example/1", ""), (look("http://a.example/2", "some words"),)) is ProbeLikeness.OTHER


# -- words


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (demo.NOT_FOUND, "soft_404"),
        (demo.DENIED, "soft_403"),
        (demo.UNAVAILABLE, "soft_5xx"),
        (demo.LOGIN, "login"),
        (demo.CHALLENGE, "challenge"),
        (demo.CONSENT, "consent"),
        (demo.PARKED, "parked"),
    ],
)
def test_titles_hint_at_their_kind_in_ten_languages(what: dict[str, tuple[str, str]], kind: str) -> None:
    for title, text in what.values():
        hint = hint_of(replace(page("http://a.example/x", text.format(url="http://a.example/x")), title=title))
        assert (hint.kind, hint.is_strong) == (kind, True), title


def test_a_long_text_hints_at_nothing_and_a_word_is_no_part_of_another() -> None:
    long = " ".join(f"word{i}" for i in range(400)) + " page not found"
    assert hint_of(page("http://a.example/x", long)).kind == ""
    assert hint_of(replace(page("http://a.example/x", long), title="Catalog in print")).kind == ""
    assert not hint_of(replace(page("http://a.example/x", long), title="Page not found")).is_strong
