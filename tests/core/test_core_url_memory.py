"""Links that were met before are not joined again, and mean the same all the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.url import BadURL, URLRules, URLSpace

BASES = [
    "http://a.example/",
    "http://a.example/x/y?z=/q",
    "https://a.example/d/",
    "http://a.example/a/b/c.html",
    "ftp://x.example/y/",
    "mailto:x",
]
HREFS = st.lists(st.text(alphabet="ab/.?#:%\\ \t-_~&=@1é", min_size=1, max_size=9), min_size=1, max_size=8)


@given(st.lists(st.tuples(st.sampled_from(BASES), HREFS), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_a_space_with_a_past_resolves_as_a_new_one(pages: list[tuple[str, list[str]]]) -> None:
    """Mutation: with the base's host in place of its folder as what a relative link depends on, this fails."""
    space = URLSpace(bytes(16), URLRules())
    for base, hrefs in pages:
        assert space.resolve(base, hrefs) == URLSpace(bytes(16), URLRules()).resolve(base, hrefs)


CLEAN = st.text(alphabet="aZ0-_~$&()*+,;=@!./:?'", min_size=1, max_size=12)
PLACES = st.sampled_from(
    [
        "",
        "/",
        "http://a.example",
        "http://a.example/",
        "https://a.example:8080/",
        "http://a.example:80/",
        "HTTP://A.example/",
        "//",
        "../",
        "../" * 4,
        "a/../",
    ]
)


@given(st.sampled_from(BASES[:4]), PLACES, CLEAN)
@settings(max_examples=200, deadline=None)
def test_a_clean_link_means_what_the_parser_says(base: str, place: str, rest: str) -> None:
    """Mutation: with "'" among the clean characters, which a query escapes, or with "." in front of a segment, this fails."""
    space = URLSpace(bytes(16), URLRules(ports=None))
    space.resolve(base, ["http://a.example/", "https://a.example:8080/"])  # origins that are known, so that they need no parser
    try:
        meant = [space.canonical(place + rest, base)]
    except BadURL:
        meant = []
    assert space.resolve(base, [place + rest])[0] == meant


@given(st.sampled_from(["data", "javascript", "mailto", "sms", "tel", "MAILTO"]), st.text(alphabet="a/\\ \t[]:@%(é", max_size=6))
@settings(max_examples=200, deadline=None)
def test_what_is_no_page_is_refused_as_the_parser_refuses_it(scheme: str, rest: str) -> None:
    """Mutation: with "/" allowed behind the scheme, "data://[" is a scheme without pages instead of no URL: this fails."""
    space, href = URLSpace(bytes(16), URLRules()), f"{scheme}:{rest}"
    with pytest.raises(BadURL) as raised:
        space.canonical(href, BASES[0])
    assert space.resolve(BASES[0], [href]) == ([], [(href, raised.value.reason)])
