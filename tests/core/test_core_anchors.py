"""What a page says about its links."""

from __future__ import annotations

import pytest

from thresher.crawler.core.anchors import MAX_ANCHOR, Anchor, anchors
from thresher.crawler.core.url import URLRules, URLSpace

PAGE = "https://a.example/dir/page"
SPACE = URLSpace(bytes(32), URLRules())


def said(markup: str | bytes, content_type: str = "text/html; charset=utf-8") -> dict[str, Anchor]:
    found = anchors(markup if isinstance(markup, bytes) else markup.encode(), content_type, PAGE, SPACE)
    assert found is not None
    return {url.removeprefix("https://a.example/"): anchor for url, anchor in found.items()}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<a href=x>one  <b>bold</b>\n word</a>", "one bold word"),
        ("<a href=x><img alt='a  picture'></a>", "a picture"),
        ("<a href=x><img alt=''><img alt=second></a>", "second"),
        ("<a href=x title='a hint'></a>", "a hint"),
        ("<a href=x aria-label=said></a>", "said"),
        ("<area href=x alt=place>", "place"),
        ("<a href=x>  </a><a href=x>later</a>", "later"),
        ("<a href=x>first</a><a href=x>second</a>", "first"),
        ("<a href=x></a>", ""),
        ("<a href=' x#part '>with a fragment</a>", "with a fragment"),
        ("<a href=x>" + "w" * 9000 + "</a>", "w" * MAX_ANCHOR),
        ("<a href=x>never closed <p>paragraph", "never closed paragraph"),
        ("<link rel=next href=x title=forward>", "forward"),
    ],
)
def test_the_words_of_a_link(markup: str, text: str) -> None:
    assert said(markup)["dir/x"].text == text


def test_how_it_links() -> None:
    found = said("<a href=/a rel='NoFollow  UGC'>a</a><iframe src=/b></iframe><link rel=alternate href=/c><area href=/d alt=d>")
    assert {url: (anchor.rel, anchor.element) for url, anchor in found.items()} == {
        "a": ("nofollow ugc", "a"),
        "b": ("", "iframe"),
        "c": ("alternate", "link"),
        "d": ("", "area"),
    }


def test_links_are_relative_to_the_first_base() -> None:
    """Mutation: links are relative to the page's own URL."""
    assert set(said("<base href=/other/><base href=/third/><a href=x>x</a>")) == {"other/x"}


def test_what_is_no_link_is_left_out() -> None:
    assert (
        said("<a href=mailto:a@b.example>m</a><a href='javascript:x()'>j</a><a href='http://[bad'>b</a><a>none</a><!--<a href=x>-->") == {}
    )


def test_the_charset_is_the_pages() -> None:
    assert said("<a href=x>Größe</a>".encode("latin-1"), "text/html; charset=iso-8859-1")["dir/x"].text == "Größe"


def test_a_page_that_may_not_be_parsed_here_says_nothing() -> None:
    """Thirty thousand open elements, for which a tree would take minutes; bytes that are no text."""
    assert anchors(b"<a href=x>x</a>" + b"<div>" * 30_000, "text/html", PAGE, SPACE) is None
    assert anchors(b"\x89PNG\0\0" * 100, "text/html", PAGE, SPACE) is None
