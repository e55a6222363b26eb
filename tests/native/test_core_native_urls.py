"""Native code and Python give the same results for links and URLs."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.config.settings import MediaSettings, PathTrapSettings
from thresher.crawler.core import url
from thresher.crawler.core.unwanted_params import UnwantedParams
from thresher.crawler.core.url import URLRules, URLSpace, origins_of
from thresher.crawler.native import NATIVE, native
from thresher.filters import media, path_trap
from thresher.filters.base import LinkColumns
from thresher.filters.dust import shown
from thresher.filters.media import ExtensionFilter
from thresher.filters.path_trap import ShapeTrap

pytestmark = pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")

BASES = st.sampled_from(
    [
        "http://a.example/",
        "http://a.example/x//y/?z=/q",
        "https://b.example:8443/d/%7e/e/f.html",
        "http://a.example/a/b/c/d/e",
        "http://new.example/x/",
        "ftp://x.example/y/",
    ]
)
AHEAD = st.sampled_from(
    [
        "",
        "/",
        "../",
        "../../../../",
        "./",
        "?",
        "//",
        "//A.example/",
        "//a.example:/",
        "//b.example:8443/",
        "http://a.example",
        "HTTPS://B.example:8443/",
        "https://b.example:/",
        "http://c.example/",
    ]
)
HREFS = st.lists(st.builds("".join, st.tuples(AHEAD, st.text("aZ0-_~.$&()*+,;=@!'/?:#% é\t", max_size=14))), min_size=1, max_size=8)
RULES = st.sampled_from(
    [
        URLRules(ports=None),
        URLRules(ports=None, max_length=32),
        URLRules(ports=None, max_path_segments=3),
        URLRules(ports=None, unwanted=lambda _url: UnwantedParams(("a", "Z*"))),
    ]
)
PARTS = st.lists(
    st.sampled_from(["a", "pdf", "b.PDF", ".x", "a.b/", "/", "c.jpeg", "longestend", ".", "&", "?q=", "a=b&", "/a/a"]), max_size=30
)
URLS = st.lists(st.builds("http://{}.example/{}".format, st.sampled_from("abc"), PARTS.map("".join)), max_size=6)


@given(BASES, HREFS, RULES)
@settings(max_examples=300, deadline=None)
def test_links_mean_the_same(base: str, hrefs: list[str], rules: URLRules) -> None:
    """Law. Mutations: "." at the start of a segment is wrong; a folder with escapes is wrong."""
    met = ["http://a.example/", "https://b.example:8443/"]
    spaces = [URLSpace(bytes(16), rules) for _ in range(2)]
    for space in spaces:
        space.resolve(base, met)  # now these origins are known
    found = spaces[0].resolve(base, hrefs)
    with mock.patch.object(url, "NATIVE", new=False):
        assert spaces[1].resolve(base, hrefs) == found


def test_clean_links_are_not_left_to_python() -> None:
    known = {"http://a.example": "http://a.example", "http://b.example": "http://b.example"}
    clean = ["x", "/x?a=/b:c", "../y.html#z", "HTTP://B.example/q", "#top", "d/e/", "//B.example/r"]
    assert native.join(clean, "http://a.example", "http://a.example/f/g/", known, 2048, 64, True) == [
        "http://a.example/f/g/x",
        "http://a.example/x?a=/b:c",
        "http://a.example/f/y.html",
        "http://b.example/q",
        "",
        "http://a.example/f/g/d/e/",
        "http://b.example/r",
    ]


@given(st.lists(st.text(st.characters(codec="ascii", min_codepoint=33), max_size=300), max_size=4), st.binary(min_size=16, max_size=64))
@settings(max_examples=100, deadline=None)
def test_keys_are_the_same(rests: list[str], secret: bytes) -> None:
    """Law: also of URLs that fill one block of the hash, or several."""
    texts = [f"http://{n % 2}.example/{rest}" for n, rest in enumerate([*rests, "x" * 110, "x" * 111, "x" * 367])]
    space, hosts = URLSpace(secret, URLRules()), origins_of(texts)
    assert hosts == [text[: text.index("/", 8)] for text in texts]
    assert space.keys(texts, hosts) == [space.key(text) for text in texts]


@given(URLS, st.integers(0, 4), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_filters_of_spelling_say_the_same(texts: list[str], n: int, most_params: int) -> None:
    """Law: limits and extensions have the same results in native code and in Python."""
    links = LinkColumns(texts, origins_of(texts), ["example"] * len(texts))
    of_media = ExtensionFilter(MediaSettings(skip_extensions=["pdf", ".jpeg", "longeste", ".", "x/y"]))
    of_shape = ShapeTrap(PathTrapSettings(max_segment_repeats=n + 1, max_segments=n + 2, max_params=most_params))
    found = of_media.refuses(links), of_shape.refuses(links)
    with mock.patch.object(media, "NATIVE", new=False), mock.patch.object(path_trap, "NATIVE", new=False):
        assert (of_media.refuses(links), of_shape.refuses(links)) == found


@given(URLS)
@settings(max_examples=150, deadline=None)
def test_paths_are_the_same(texts: list[str]) -> None:
    """Mutations: equal ones came twice; a path that begins another one came after it."""
    found = shown._paths(texts)
    with mock.patch.object(shown, "NATIVE", new=False):
        assert shown._paths(texts) == found


@pytest.mark.parametrize(
    "call",
    [
        lambda: native.join(["x"], "http://a.example", "http://b.example/", {}, 9, 9, True),
        lambda: native.join(["x"], "http://a.example", "http://a.example", {}, 9, 9, True),
        lambda: native.join(["x"], "http://a.example", "http://a.example/", {}, -1, 9, True),
        lambda: native.origins(["http://é.example/"]),
        lambda: native.origins(["http://a.example"]),
        lambda: native.keys(["http://a.example/"], [b"short"], bytes(16), b"url"),
        lambda: native.keys(["http://a.example/"], [], bytes(16), b"url"),
        lambda: native.keys(["http://a.example/"], [bytes(8)], bytes(65), b"url"),
        lambda: native.endings(["http://a.example/"], b"odd"),
        lambda: native.crowded(["/"], 1, 1),
        lambda: native.paths(["http://a.example/", "/"]),
    ],
)
def test_what_is_no_question_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        call()
