"""The patterns of a URL, and the vocabulary that tells literals from rare words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.url import URLRules, URLSpace, origin_of
from thresher.filters.pattern_yield.patterns import COMMON, LITERAL, Count, forms, parse, parts_of, spelled
from thresher.filters.pattern_yield.vocabulary import Vocabulary

SPACE = URLSpace(bytes(16), URLRules(ports=None))


def patterns(url: str, count: Count = lambda _: COMMON) -> list[str]:
    return forms(parse(url, origin_of(url)), count)


def rare(_: int) -> int:
    return 0


@pytest.mark.parametrize(
    ("url", "specific"),
    [
        ("http://a.example/", "a.example/"),
        ("https://www.a.example:443/x/", "a.example/x/"),
        ("http://a.example:8080/x", "a.example:8080/x"),
        ("http://a.example/2024/05/17/", "a.example/<n>/<n>/<n>/"),
        ("http://a.example/thread-123-1.html", "a.example/thread-<n>-<n>.html"),
        ("http://a.example/?topic=12.0", "a.example/?topic=<n>.<n>"),
        ("http://a.example/c/3f2a9bc", "a.example/c/<h>"),
        ("http://a.example/c/6b29fc40-ca47-1067-b31d-00dd010662da", "a.example/c/<h>"),
        ("http://a.example/c/defaced", "a.example/c/defaced"),  # a word, though all its letters are hex digits
        ("http://a.example/3f2a9b", "a.example/<n>f<n>a<n>b"),  # too short for a hash
        ("http://a.example/?b=2&a=x&b=1", "a.example/?a=x&b=<n>&b=<n>"),  # by name
        ("http://a.example/?id", "a.example/?=id"),  # a query without a name is a value
        ("http://a.example/?p=x;a=blob;n=7", "a.example/?a=blob&n=<n>&p=x"),
        ("http://a.example/?p12=1", "a.example/?p<n>=<n>"),
        ("http://a.example/%E3%81%82?x=%41", "a.example/%E3%81%82?x=%41"),  # the digits of an escape are no number
    ],
)
def test_numbers_and_hashes_are_generalised_wherever_they_stand(url: str, specific: str) -> None:
    assert patterns(url)[0] == specific


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("Abcx" * 15, "<w>"),
        ("Abcx" * 16, "<w>>"),
        ("Abcx" * 32 + ".html", "<w>>>.html"),
        ("Talk:" + "Abcx" * 16, "<w>>"),
        ("%E3%81%82" * 30, "<w>"),  # a title of 30 letters
        ("%E3%81%82" * 64, "<w>>"),
    ],
)
def test_long_words_are_a_class_for_each_doubling_of_their_length(word: str, kind: str) -> None:
    """A code that says what of a page is unfolded grows with it. Mutation: all were `<w>`: a dictionary had 5 % of an oracle's gain."""
    (form,) = patterns(f"http://a.example/{word}", rare)
    assert form == f"a.example/{kind}"
    assert forms(parts_of(form), rare) == [form]


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("wiki/Of-the-oak-and-its...", "<w>/<w>..."),
        ("Of-the-oak.../notes", "<w>.../<w>"),
        ("man?1+gcloud_alpha_acce...", "<w>?=<w>..."),
        ("wiki/Of-the-oak%E2%80%A6", "<w>/<w>..."),
        ("wiki/Of-the-oak.html", "<w>/<w>.html"),
        ("wiki/...", "<w>/..."),
    ],
)
def test_names_that_were_shortened_are_a_class(rest: str, kind: str) -> None:
    """A list of manual pages shortens long names in its links, which lead nowhere. Mutation: such names are among all others."""
    form = patterns(f"http://a.example/{rest}", rare)[0]
    assert form == f"a.example/{kind}"
    assert forms(parts_of(form), rare)[0] == form


@pytest.mark.parametrize(
    ("url", "specific"),
    [
        ("http://a.example/wiki/Oak", "a.example/<w>/<w>"),
        ("http://a.example/wiki/Oak.html", "a.example/<w>/<w>.html"),
        ("http://a.example/wiki.d/12", "a.example/<w>/<n>"),  # only a file has an extension
        ("http://a.example/?title=Oak&n=", "a.example/?n=&title=<w>"),
        ("http://a.example/thread-123.html", "a.example/<w>.html"),
        ("http://a.example/2024-05", "a.example/<n>-<n>"),  # no word in it
    ],
)
def test_a_rare_word_keeps_its_extension_alone(url: str, specific: str) -> None:
    assert patterns(url, rare)[0] == specific


def test_a_prefix_that_is_often_seen_is_kept_although_its_word_is_rare() -> None:
    url = "http://a.example/Talk:Oak"
    parts = parse(url, "http://a.example")
    prefix = parts.path[0].prefix_word
    assert forms(parts, lambda word: COMMON if word == prefix else 0)[0] == "a.example/Talk:<w>"
    assert patterns("http://a.example/Talk%3AOak", rare) == ["a.example/<w>"]


def test_patterns_go_from_the_most_specific_to_the_path_with_names_only() -> None:
    url = "http://f.example/forum/index.php?topic=12.0&action=login"
    parts = parse(url, "http://f.example")
    seldom = {parts.path[0].word, parts.params[0][1].word}
    assert forms(parts, lambda word: LITERAL if word in seldom else COMMON) == [
        "f.example/forum/index.php?action=login&topic=<n>.<n>",
        "f.example/forum/index.php?action=<w>&topic=<n>.<n>",
        "f.example/forum/index.php?action=*&topic=*",
        "f.example/<w>/index.php?action=*&topic=*",
    ]
    assert patterns("http://f.example/wiki/Oak") == ["f.example/wiki/Oak"], "forms that are equal stand once"


def test_one_word_is_another_one_at_another_place() -> None:
    words = [*parse("http://a.example/x/x?x=x&y=x", "http://a.example").words(), *parse("http://b.example/x", "http://b.example").words()]
    assert len(words) == len(set(words)) == 5


segments = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), max_size=8)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(path=st.lists(segments, max_size=4), query=st.lists(st.tuples(segments, segments), max_size=3), digit=st.integers(0, 9))
def test_urls_that_differ_in_digits_alone_share_their_patterns(path: list[str], query: list[tuple[str, str]], digit: int) -> None:
    """A law, for whatever stands in a URL. Another: the pattern with all words gives the parts again."""
    text = "/".join(path) + "?" + "&".join(f"{name}={value}" for name, value in query)
    url = SPACE.canonical("http://a.example/" + text.replace("\\", ""))
    found = patterns(url, rare)
    for count in (rare, lambda word: word % 80):
        parts = parse(url, origin_of(url))
        assert forms(parts_of(spelled(parts)), count) == forms(parts, count)
    assert found == list(dict.fromkeys(found))
    assert all(form.startswith("a.example/") for form in found)
    if "%" not in url:
        other = "http://a.example" + "".join(str(digit) if char.isdigit() else char for char in url.removeprefix("http://a.example"))
        assert patterns(other, rare) == found


# -- the vocabulary


def test_what_is_seen_often_enough_is_counted_never_too_little() -> None:
    """Mutation: the larger of both counters was returned after ageing."""
    vocabulary = Vocabulary()
    seen: dict[int, int] = {}
    for i in range(600):
        word = (i * i % 23 + 1) * 0x9E3779B97F4A7C15 % 2**64
        vocabulary.add([word])
        seen[word] = seen.get(word, 0) + 1
    assert all(vocabulary.count(word) >= min(n, 255) for word, n in seen.items())


def test_a_large_vocabulary_is_bounded_and_rare_words_in_it_stay_rare() -> None:
    vocabulary = Vocabulary()
    often = 0x1234567890ABCDEF
    for i in range(20_000):
        vocabulary.add([(i + 1) * 0x9E3779B97F4A7C15 % 2**64, *([often] if i % 100 == 0 else [])])
    assert len(vocabulary.counters) == 4_096
    n_common = sum(vocabulary.count((i + 1) * 0x9E3779B97F4A7C15 % 2**64) >= LITERAL for i in range(20_000))
    assert n_common < 200, "one in a hundred is mistaken for a literal"
    assert vocabulary.count(often) >= LITERAL


def test_what_is_no_longer_seen_is_forgotten_unless_it_is_pinned() -> None:
    old, pinned = 0xAAAA0000BBBB, 0xCCCC0000DDDD
    vocabulary = Vocabulary()
    vocabulary.add([old, pinned] * 20)
    vocabulary.pin([pinned, 0xEEEE], LITERAL)
    for i in range(24_000):
        vocabulary.add([(i + 1) * 0x9E3779B97F4A7C15 % 2**64])
    again = Vocabulary(vocabulary.n_counted, vocabulary.counters)
    assert again.count(old) < LITERAL <= again.count(pinned)
