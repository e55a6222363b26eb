"""Which pairs are one URL in another spelling, and which are redirects."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.filters.soft_error.spelling import same_page

SPELLINGS = [
    ("same", "http://a.example/x", "http://a.example/x"),
    ("scheme", "http://a.example/x", "https://a.example/x"),
    ("scheme", "http://a.example/", "https://a.example/"),
    ("scheme", "http://a.example:8080/x?q=1", "https://a.example/x?q=1"),
    ("scheme", "http://127.0.0.2:8001/x", "http://127.0.0.2/x"),
    ("www", "http://a.example/x", "https://www.a.example/x"),
    ("www", "http://www.a.example/", "http://a.example/"),
    ("www", "http://web1.info/", "http://www.web1.info/"),
    ("slash", "http://a.example/x", "http://a.example/x/"),
    ("slash", "http://a.example/page-17.html", "http://a.example//page-17.html/"),
    ("slash", "http://a.example/x//y", "http://a.example/x/y"),
    ("slash", "http://a.example/x?q=1", "https://www.a.example/x/?q=1"),
    ("index", "http://a.example/index.html", "http://a.example/"),
    ("index", "http://a.example/x/", "http://a.example/x/Default.aspx"),
    ("index", "http://a.example/x/index.php", "http://a.example/x"),
    ("case", "http://a.example/About/Us.HTML", "http://a.example/about/us.html"),
    ("session", "http://a.example/x?utm_source=mail&id=3", "http://a.example/x?id=3"),
    ("session", "http://a.example/x", "http://a.example/x?PHPSESSID=8f7a"),
    ("session", "http://a.example/x;jsessionid=5A1B.node7", "http://a.example/x"),
    ("session", "http://a.example/(S(k2z))/x/page.aspx", "http://a.example/x/page.aspx"),
    ("session", "http://a.example/x?b=2&a=1", "http://a.example/x?a=1&b=2"),
    ("locale", "http://a.example/", "https://www.a.example/en/"),
    ("locale", "http://a.example/docs/x", "http://a.example/de-at/docs/x"),
    ("locale", "http://a.example/docs/x", "http://a.example/us/en/docs/x"),
    ("locale", "http://a.example/fr/docs/x", "http://a.example/zh-hans/docs/x"),
    ("locale", "http://de.a.example/docs/x", "http://www.a.example/docs/x"),
    ("locale", "http://a.example/page", "http://a.example/page.cy"),
    ("locale", "http://a.example/page.html", "http://a.example/page.pt-br.html"),
    ("locale", "http://a.example/index.html", "http://a.example/index.de.html"),
    ("locale", "http://a.example/docs/x?id=4", "http://a.example/docs/x?id=4&lang=de"),
    ("locale", "http://a.example/es-419", "http://a.example/"),
    ("locale", "http://a.example/page-17.html", "http://a.example/page-17.de.html"),
    ("mobile", "http://a.example/", "http://m.a.example/"),
    ("mobile", "http://www.a.example/x", "http://amp.a.example/x"),
    ("host", "http://old.a.example/docs/x?id=4", "https://new.a.example/docs/x?id=4"),
]
REDIRECTS = [
    ("http://a.example/x", "http://a.example/404"),
    ("http://a.example/x", "http://a.example/"),
    ("http://a.example/x", "http://a.example/en/"),
    ("http://a.example/x/y", "http://a.example/x/"),
    ("http://a.example/x/index.html", "http://a.example/"),
    ("http://a.example/x", "http://b.example/x"),
    ("http://a.co.uk/x", "http://b.co.uk/x"),
    ("http://one.github.io/x", "http://two.github.io/x"),
    ("http://user.a.example/", "http://www.a.example/"),
    ("http://a.example/x?id=3", "http://a.example/x"),
    ("http://a.example/x?id=3", "http://a.example/x?id=4"),
    ("http://a.example/docs/x", "http://a.example/blog/docs/x"),
    ("http://a.example/docs/x", "http://a.example/q7/docs/x"),
    ("http://a.example/page.html", "http://a.example/page.php"),
    ("http://a.example/docs/x?lang=en", "http://a.example/docs/x?lang=klingon"),
    ("http://a.example/x?sid=1", "http://a.example/login?sid=1"),
]


@pytest.mark.parametrize(("kind", "original", "target"), SPELLINGS, ids=lambda value: value.replace("/", "|"))
def test_another_spelling_is_named_by_what_had_to_be_removed_last(kind: str, original: str, target: str) -> None:
    """Mutation: without any one rung of `_RUNGS` a line of the table fails."""
    assert same_page(original, target) == kind
    assert same_page(target, original) == kind


@pytest.mark.parametrize(("original", "target"), REDIRECTS, ids=lambda value: value.replace("/", "|"))
def test_another_page_is_a_redirect(original: str, target: str) -> None:
    assert same_page(original, target) == same_page(target, original) == ""


segment = st.from_regex(r"[a-z]{3,12}(\.html)?", fullmatch=True)
query = st.sampled_from(["", "?id=3", "?q=a&page=2"])


@given(st.lists(segment, max_size=4), query, st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_spellings_may_be_combined(path: list[str], query: str, data: st.DataObject) -> None:
    def spelt() -> str:
        scheme, www = data.draw(st.sampled_from(["http", "https"])), data.draw(st.sampled_from(["", "www."]))
        locale = data.draw(st.sampled_from(["", "/en", "/de-at", "/us/en"]))
        end = data.draw(st.sampled_from(["", "/"])) if path or locale else "/"
        visit = data.draw(st.sampled_from(["", "utm_campaign=x", "gclid=7"]))
        at = (query or "?") + ("&" if query and visit else "") + visit
        name = "/".join(["", *path])
        return f"{scheme}://{www}a.example{locale}{name.upper() if data.draw(st.booleans()) else name}{end}{at if at != '?' else ''}"

    assert same_page(spelt(), spelt())


@given(st.lists(segment, min_size=1, max_size=4), st.lists(segment, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_other_paths_are_other_pages(one: list[str], other: list[str]) -> None:
    expected = one == other
    assert bool(same_page(f"http://a.example/{'/'.join(one)}", f"https://www.a.example/{'/'.join(other)}/")) == expected
