"""Texts of the web are only text in a report, wherever they stand: they make no tag, no attribute, and no address that a browser would
fetch.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_store import BOMBS, build_hostile, page_of
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.report.markup import Markup, crawled, element, style
from thresher.crawler.terminal.printable import printable

OURS = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "footer", "a", "h1", "h2", "h3", "p", "div"),
    *("span", "i", "small", "dl", "dt", "dd", "figure", "figcaption", "details", "summary", "table", "caption", "thead", "tbody", "tr"),
    *("th", "td", "bdi", "svg", "g", "rect", "line", "path", "circle", "text"),
}
ATTRIBUTES = {
    *("id", "class", "href", "lang", "charset", "name", "content", "http-equiv", "role", "aria-label", "aria-hidden", "tabindex", "scope"),
    *("open", "viewbox", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "cx", "cy", "r", "text-anchor"),
}
ANY_TEXT = st.text(st.characters(codec=None), max_size=60) | st.text("<>&\"'`=/!-][ a\x00\x1b\u202e\ud800\n", max_size=30)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


@given(ANY_TEXT)
def test_any_text_is_read_back_as_it_was_shown_and_nothing_else(text: str) -> None:
    """Law. Fails if markup is made of a text that was not escaped."""
    found = Elements(element("p", text, title=text))
    assert found.elements == [("p", {"title": printable(text)})]
    assert (found.text, found.others, found.open) == (printable(text), [], [])


@given(ANY_TEXT)
def test_crawled_text_stands_alone_and_is_bounded(text: str) -> None:
    shown = crawled(text * 50)
    assert [tag for tag, _ in Elements(shown).elements] == ["bdi"]
    assert len(Elements(shown).text) <= 180
    assert Elements(shown).text.isprintable()


def test_a_style_sheet_holds_no_markup() -> None:
    with pytest.raises(AssertionError):
        style("</style><script>")
    assert isinstance(style("p{}"), Markup)


def test_a_hostile_crawl_makes_no_element_and_no_attribute_but_ours(hostile_page: str) -> None:
    """S27: the report is our only page that shows texts of a crawl."""
    found = Elements(hostile_page)
    assert {tag for tag, _ in found.elements} == OURS - {"circle"}  # of a line with one point
    assert {name for _, attributes in found.elements for name in attributes} <= ATTRIBUTES
    assert found.others == []
    assert found.open == []


def test_hostile_texts_stand_in_the_page_as_text(hostile_page: str) -> None:
    text = Elements(hostile_page).text
    assert '"><script>alert(1)<' in text  # the directory's name
    assert sum(printable(bomb)[:60] in text for bomb in BOMBS) >= len(BOMBS) // 2
    assert all(char == "\n" or char.isprintable() for char in hostile_page)


def test_a_hostile_crawl_and_a_harmless_one_have_the_same_elements(tmp_path: Path) -> None:
    """Fails if a text adds, closes or hides an element anywhere in the page."""
    pages = []
    for name, texts in (
        ("one", [f"{i}{bomb}" for i, bomb in enumerate(BOMBS * 30)]),
        ("two", [f"word{i}" for i in range(len(BOMBS) * 30)]),
    ):
        build_hostile(tmp_path / name, texts, n_pages=12)
        found = Elements(page_of(tmp_path / name)).elements
        pages.append(Counter(tag for tag, _ in found))  # rows of equal hosts have another order in each store
    assert pages[0] == pages[1]


def test_a_page_refers_to_nothing_outside_itself(hostile_page: str) -> None:
    found = Elements(hostile_page)
    links = [attributes["href"] for tag, attributes in found.elements if "href" in attributes]
    ids = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    assert {f"#{name}" for name in ids} == set(links)
    sheet = re.search("<style>(.*?)</style>", hostile_page, re.DOTALL)
    assert sheet
    assert not re.search(r"url\(|@import|//", sheet[1])
    assert any((attributes.get("content") or "").startswith("default-src 'none'; ") for _, attributes in found.elements)
    assert not {"script", "link", "img", "iframe", "object", "image", "use", "base", "form"} & {tag for tag, _ in found.elements}
