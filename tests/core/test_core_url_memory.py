"""Links that were met before are not joined again, and mean the same all the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.core.url import URLRules, URLSpace

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
@settings(max_examples=100, deadline=None)
def test_a_space_with_a_past_resolves_as_a_new_one(pages: list[tuple[str, list[str]]]) -> None:
    """Mutation: with the base's host in place of its folder as what a relative link depends on, this fails."""
    space = URLSpace(bytes(16), URLRules())
    for base, hrefs in pages:
        assert space.resolve(base, hrefs) == URLSpace(bytes(16), URLRules()).resolve(base, hrefs)
