"""What is read from a page: links, title, text, directives; by the tree, and by the scan that replaces it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core import html
from thresher.crawler.core.model import Flag
from thresher.crawler.core.parsed import Link, Parsed

pytestmark = pytest.mark.usefixtures("each_implementation")

PAGE = """<!DOCTYPE html>
<html><head>
<title>  Grain &amp;
 chaff </title>
<base href=" /docs/ "><base href="/second/">
<link rel="stylesheet" href="/s.css"><link rel="Canonical" href="/canonical"><link rel="canonical" href="/other">
<link rel="NEXT" href="p2"><link rel="alternate stylesheet" href="/dark.css"><link rel="alternate" hreflang="de" href="/de">
<meta name="description" content="no directive"><meta http-equiv="Refresh" content="5; URL='/moved?a=1&amp;b=2'">
<script>var trap = "<a href='/script'>";</script><style>a { color: red }</style>
</head><body>
<!-- <a href="/comment">x</a> -->
<p>First <a href=" /one ">one</a>, <A HREF='/two' rel="NoFollow UGC">two</A></p><div>second<br>third</div>
<template><a href="/template">t</a> unseen</template><noscript><a href="/noscript">n</a> unseen</noscript>
<map><area href="/area"></map><iframe src="/frame">unseen</iframe><a>no link</a><a href="">no link</a>
<svg><title>unseen</title><a href="/svg"><text>drawn</text></a></svg>
<textarea><a href="/textarea"></textarea>
</body></html>"""


def parse(source: str | bytes, *, max_links: int = 100, headers: tuple[str, ...] = ()) -> Parsed:
    body = source if isinstance(source, bytes) else source.encode()
    if b"\0" in body:  # for which a tree is always made
        return html.parse(body, "utf-8", agent="thresher", max_links=max_links, headers=headers)
    parsed = html.read(
        body, "text/html; charset=utf-8", "text/html", agent="thresher", max_links=max_links, headers=headers, is_isolated=True
    )
    assert parsed is not None
    return parsed


def scan(source: str, *, max_links: int = 100) -> Parsed:
    return html.scan(source.encode(), "utf-8", max_links, agent="thresher")


def hrefs(parsed: Parsed) -> list[str]:
    return [link.href for link in parsed.links]


def test_links_come_in_the_order_of_the_page_with_their_rel_and_tag() -> None:
    """F55: a meta refresh is a link like others."""
    assert parse(PAGE).links == (
        Link("/canonical", "canonical", "link"),
        Link("/other", "canonical", "link"),
        Link("p2", "next", "link"),
        Link("/de", "alternate", "link"),
        Link("/moved?a=1&b=2", "", "refresh"),
        Link("/one", "", "a"),
        Link("/two", "nofollow ugc", "a"),
        Link("/noscript", "", "a"),
        Link("/area", "", "area"),
        Link("/frame", "", "iframe"),
        Link("/svg", "", "a"),
    )
    assert parse(PAGE).n_links == 11


def test_the_first_base_and_the_first_canonical_count() -> None:
    parsed = parse(PAGE)
    assert (parsed.base, parsed.canonical) == ("/docs/", "/canonical")
    assert parse("<base target=_top><base href=/b>").base == "/b"


def test_the_title_is_the_heads() -> None:
    assert parse(PAGE).title == "Grain & chaff"
    assert parse("<body><svg><title>icon</title></svg>").title == ""
    assert parse("<head><noscript><img src=p.gif></noscript><title>late</title></head>").title == "late"
    assert len(parse(f"<title>{'x' * 9000}</title>").title) == html.MAX_TITLE


def test_text_is_what_a_page_shows() -> None:
    assert parse(PAGE).text == 'First one , two second third no link no link drawn <a href="/textarea">'


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<ul><li>a</li><li>b</li></ul><p>c<p>d", "a b c d"),
        ("<td>x</td><table><tr><td>a</td><td>b</td></tr></table>", "x a b"),
        ("a\n\t b\f\r\n&nbsp;&nbsp;c", "a b c"),
        ("a&amp;b &lt;c&gt; caf&eacute; &#x65E5;", "a&b <c> café 日"),
        ("a\0b", "ab"),
        ("<frameset><frame src=a></frameset>", ""),
        ("", ""),
    ],
)
def test_elements_end_words_and_white_space_collapses(source: str, text: str) -> None:
    assert parse(source).text == text


def test_frames_are_links() -> None:
    assert parse("<frameset><frame src=a><frame src=b></frameset>").links == (Link("a", "", "frame"), Link("b", "", "frame"))


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "/a"),
        ("0; URL = /a", "/a"),
        ("5,url='/a b'c", "/a b"),
        ('1.5;url="/a"', "/a"),
        (".5 /a", "/a"),
        ("0;/a", "/a"),
        ("0;url='/a", "/a"),
        ("0;urls", "urls"),
        ("0", None),
        ("0;", None),
        ("0;url=", None),
        ("0;url=''", None),
        ("url=/a", None),
        ("x;url=/a", None),
        ("0url=/a", None),
        (";url=/a", None),
    ],
)
def test_a_meta_refresh_is_read_as_the_standard_says(content: str, target: str | None) -> None:
    """F55: HTML Standard, shared declarative refresh steps."""
    source = f'<meta http-equiv=refresh content="{content.replace(chr(34), "&quot;")}">'
    assert hrefs(parse(source)) == ([] if target is None else [target])


def test_directives_come_from_meta_elements_and_headers() -> None:
    assert parse('<meta name="ROBOTS" content="noindex">').directives.noindex
    assert parse("<body><meta name=thresher content=nofollow>").directives.nofollow
    assert not parse("<meta name=otherbot content=none>").directives.nofollow
    assert parse("", headers=("noindex",)).directives.noindex
    assert html.plain(b"", "utf-8", agent="thresher", headers=["thresher: nofollow"]).directives.nofollow


def test_links_beyond_the_limit_are_counted() -> None:
    parsed = parse("<a href=x>" * 30, max_links=10)
    assert (len(parsed.links), parsed.n_links, parsed.flags) == (10, 30, frozenset({Flag.LINKS_TRUNCATED}))
    assert parse("<a href=x>" * 10, max_links=10).flags == frozenset()


def test_an_absurd_address_is_counted_and_dropped() -> None:
    long = "x" * (html.MAX_HREF + 1)
    parsed = parse(f"<base href={long}><link rel=canonical href={long}><a href={long}><a href=y>")
    assert (hrefs(parsed), parsed.n_links, parsed.base, parsed.canonical) == (["y"], 3, "", "")


def test_zero_bytes_are_replaced() -> None:
    """F63: after the first kilobyte they do not make a page binary, and nothing of it is lost."""
    body = b"<title>t</title>" + b" " * 1024 + b"<a href='/a\0b'>x\0y</a><a href=/c>"
    parsed = html.read(body, "text/html", "text/html", agent="thresher", max_links=9)
    assert parsed is not None
    assert (hrefs(parsed), parsed.text, parsed.flags) == (["/a\ufffdb", "/c"], "xy", frozenset())


def test_a_binary_body_is_not_parsed() -> None:
    """F61: a zero byte in the first kilobyte, whatever the type says."""
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<a href=/a>"
    for mime_type in ("text/html", "text/plain"):
        parsed = html.read(picture, mime_type, mime_type, agent="thresher", max_links=9, headers=["noindex"])
        assert parsed is not None
        assert (parsed.links, parsed.text, parsed.flags) == ((), "", frozenset({Flag.NOT_HTML}))
        assert parsed.directives.noindex


def test_plain_text_has_words_and_no_links() -> None:
    parsed = html.read(b"a  <b>\r\n\tc", "text/plain; charset=ascii", "text/plain", agent="thresher", max_links=9)
    assert parsed == html.plain(b"a  <b>\r\n\tc", "windows-1252", agent="thresher")
    assert parsed.text == "a <b> c"


def test_a_bomb_is_refused_unless_isolated() -> None:
    body = b"<div>" * 10_000
    assert html.read(body, "text/html", "text/html", agent="thresher", max_links=9) is None
    assert html.read(body, "text/html", "text/html", agent="thresher", max_links=9, is_isolated=True) is not None
    assert html.read(body, "text/plain", "text/plain", agent="thresher", max_links=9) is not None


def test_the_scan_finds_what_the_tree_finds_on_a_plain_page() -> None:
    source = (
        "<title>a &amp; b</title><base href=/b><link rel=canonical href=/c><meta name=robots content=nofollow>"
        "<meta http-equiv=refresh content='0;url=/r'><p><a href='/1' rel=NoFollow>x</a><A class=x HREF=/2?a=1&copy=2&amp;b>"
        '<area href="/3"><iframe src=/4></iframe><a name=n>'
    )
    scanned, parsed = scan(source), parse(source)
    assert scanned.links == parsed.links
    assert (scanned.title, scanned.base, scanned.canonical, scanned.directives, scanned.n_links) == (
        *("a & b", "/b", "/c", parsed.directives),
        parsed.n_links,
    )
    assert scanned.text == ""


def test_the_scan_is_bounded() -> None:
    beyond = " " * html.SCAN_BYTES
    assert hrefs(scan(f"<a href=/in>{beyond}<a href=/out>")) == ["/in"]
    cut = scan("<a href=x><base href=/b><i>" * 30, max_links=10)
    assert (len(cut.links), cut.n_links, cut.base, cut.flags) == (10, 30, "/b", frozenset({Flag.LINKS_TRUNCATED}))


LINKS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="<>\"'\0\r"), min_size=1, max_size=12), max_size=8)


@given(LINKS)
@settings(max_examples=100, deadline=None)
def test_scan_and_tree_agree_on_any_quoted_address(addresses: list[str]) -> None:
    """Law. Ampersands are escaped, since the tree decodes some names of entities without a semicolon, the scan none."""
    source = "".join(f'<p><a href="{address.replace("&", "&amp;")}">x</a>' for address in addresses)
    assert hrefs(scan(source)) == hrefs(parse(source))
    assert hrefs(parse(source)) == [text for address in addresses if (text := address.strip("\t\n\f\r "))]


PIECES = """<a < / > " ' = href src=x title> <!-- --> <base <link rel= canonical \0 é &amp; &#x;"""


@given(st.lists(st.sampled_from(PIECES.split()), max_size=30))
@settings(max_examples=100, deadline=None)
def test_no_markup_breaks_tree_or_scan(pieces: list[str]) -> None:
    source = " ".join(pieces)
    for parsed in (parse(source), scan(source)):
        assert all(link.href for link in parsed.links)
        assert parsed.n_links >= len(parsed.links)


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("<form><input name=a><INPUT NAME=b TYPE = 'Password'></form>", "password"),
        ('<input type="password"><textarea></textarea>', "password"),
        ("<p><textarea name=text rows=9>", "text"),
        ("<TEXTAREA>", "text"),
        ("<p>What is your password? <input type=text name=password>", ""),
        ("<p>Use a textarea.", ""),
        ("", ""),
    ],
)
def test_a_page_tells_what_its_forms_ask_for(source: str, asks: str) -> None:
    assert parse(source).form == asks


def test_what_a_link_announces_is_taken_as_it_is_written() -> None:
    source = '<link rel=alternate type="application/rss+xml" href=/feed><a type="Text/HTML" href=/a>a</a><a href=/b>b</a>'
    assert (
        [link.type for link in parse(source).links]
        == [link.type for link in scan(source).links]
        == ["application/rss+xml", "Text/HTML", ""]
    )
