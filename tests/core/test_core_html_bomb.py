"""The scan that says which pages may not be parsed in the crawler."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from benchmarks.support.nestings import KNOWN, Recipe, drawn, page
from thresher.crawler.core import outline, tags
from thresher.crawler.core.bomb import bomb
from thresher.crawler.core.markup import measure
from thresher.crawler.core.nesting import nested
from thresher.crawler.core.outline import bounds, outlined
from thresher.crawler.core.tags import FORMATTING, FORMATTING_NAMES, Tags, glances, read, words


def numbered(pattern: bytes, n: int) -> bytes:
    """Repeat a pattern n times with its number for each %d."""
    return b"".join(pattern.replace(b"%d", b"%d" % i) for i in range(n))


BOMBS = {
    "nested div": (b"<div>" * 10_000, "depth"),
    "nested div, closed": (b"<div>" * 10_000 + b"</div>" * 10_000, "depth"),
    "nested div in capitals": (b"<DIV\n>" * 10_000, "depth"),
    "nested div, other end tags": (b"<div></dix>" * 10_000, "depth"),
    "nested lists": (b"<ul><li>" * 4_000, "depth"),
    "nested tables": (b"<table><tr><td>" * 3_000, "depth"),
    "nested templates": (b"<template>" * 50_000, "depth"),
    "nested selects": (b"<select><option>" * 4_000, "depth"),
    "nested elements with long names": (b"<blockquote>" * 7_000, "depth"),
    "nested cells in foreign content": (b"<svg>" + b"<td>" * 7_000, "depth"),
    "end tags of nothing": (b"<x>" * 4_000 + b"</y>" * 4_000, "depth"),
    "adoption agency": (b"<a><div>" * 5_000, "depth"),
    "adoption agency, many formats": (numbered(b"<b a=%d>", 400) + b"<div></b>" * 400, "formatting"),
    "formats reopened in each block": (numbered(b"<font a=%d><p>", 400), "formatting"),
    "four formats": (b"<a><b><i><font>" * 2_000, "formatting"),
    "attributes": (b"<a " + numbered(b"a%d ", 5_000) + b">", "attributes"),
    "attributes with values": (b"<a" + numbered(b" a%d='<>'", 5_000) + b">", "attributes"),
    "attributes between slashes": (b"<p" + numbered(b"/a%d", 5_000) + b">", "attributes"),
    "attributes that look like tags": (b"<p" + numbered(b" <%d", 5_000) + b">", "attributes"),
    "an endless tag": (b"<p" + numbered(b" a%d", 5_000), "attributes"),
    "distinct names": (numbered(b"<x%d></x%d>", 20_000), "names"),
    "distinct long names": (numbered(b"<element-%d></element-%d>", 20_000), "names"),
    "names too long to compare": (numbered(b"<element-numbered-%d></element-numbered-%d>", 9_000), "depth"),
    "tags": (b"<p>" * 100_000, "tags"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_told(name: str) -> None:
    """F64, F65, F66: pages that keep lexbor busy are recognised before lexbor gets them."""
    body, why = BOMBS[name]
    assert bomb(body) == why
    assert bomb(b"<!DOCTYPE html><title>t</title><p>text " + body) == why


def ordinary(n_blocks: int, block: str) -> bytes:
    menu = "".join(f'<li class="item"><a href="/s/{i}">Section {i}</a></li>' for i in range(20))
    return f"""<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>t</title><script>{"f(a<b, c=1);" * 200}</script></head>
        <body><nav><ul>{menu}</ul></nav><main><div class=wrap>{block * n_blocks}</div></main></body></html>""".encode()


WORDS = "some ordinary words of a text " * 5
BLOCKS = {
    "article": f'<section><h2 id=h>Head</h2><p class="text">{WORDS}<a href="/x?a=1&amp;b=2">link</a> <b>bold</b> {WORDS}</p></section>',
    "unclosed paragraphs": f"<p>{WORDS}<br><img src=i.png alt=x>",
    "unclosed list": f"<ul><li>{WORDS}<li>b<li>c</ul><dl><dt>a<dd>{WORDS}</dl>",
    "table": f"<table><tr><th>a<th>b<tr><td>{WORDS}<td>2</table>",
    "table with end tags": "<table><tbody><tr><td>1</td><td><a href=x>2</a></td></tr></tbody></table>",
    "code": '<pre><code><span class="k">def</span> <span class="n">f</span>(<i>x</i>=1):</code></pre>',
    "anchors without end": f"<a name=x><h3>Head</h3>{WORDS}",
    "comments": f"<!-- <div> --><p>{WORDS}</p><!-- </div> -->",
    "icons": '<a href=x><svg viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg> text</a>',
    "long attributes": f'<p style="{"color: red; " * 60}" data-x="{WORDS * 8}">{WORDS}</p>',
    "long scripts": f"<script>{'x = y == z;' * 500}</script><style>{'a[b=c] { }' * 200}</style><pre>{'a = b ' * 100}</pre>",
    "self-made elements": "<my-card><my-card-title>a</my-card-title><my-card-text>b</my-card-text></my-card>",
    "no markup": "1 < 2 << 3 <4 " * 10,
}


@pytest.mark.parametrize("name", BLOCKS)
def test_ordinary_pages_are_harmless(name: str) -> None:
    for n_bytes in (25_000, 100_000):
        body = ordinary(n_bytes // len(BLOCKS[name]), BLOCKS[name])
        assert bomb(body) == "", f"{len(body)} bytes"


@pytest.mark.parametrize("body", [b"", b"<", b"<a", b"<div>", b"</", b"<a>" * 9, b"no markup at all", b"<" * 3_000, b"\xff\xfe" * 500])
def test_small_and_odd_bodies_are_harmless(body: bytes) -> None:
    assert bomb(body) == ""


def named(*units: tuple[str, int]) -> bytes:
    return "".join(unit * n for unit, n in units).encode()


HIDDEN = {
    "frames behind comments": named(("</g><!-->", 15_000), ("<param><iframe></iframe>", 11_000)),
    "styles behind what is taken for comments": named(("<?>", 15_000), ("x<style></style>", 11_000)),
    "frames behind end tags without a name": named(("</ >", 15_000), ("<IFRAME></IFRAME>", 11_000)),
    "behind a script that is a comment's": named(("<!--<script>-->", 1), ("<div>", 30_000)),
    "behind a script that is a title's": named(("<title><script></title>", 1), ("<div>", 30_000)),
    "end tags in comments": named(("<div><!--</div>-->", 15_000)),
    "end tags in an attribute": named(('<div t="</div>">', 15_000)),
    "end tags in an attribute that a tag before it opens": named(("<div><p t='></div>'>", 10_000)),
    "end tags that a block keeps from its span": named(("<span><div></span></div>", 10_000)),
    "end tags that a paragraph keeps from its span": named(("<span><p></span></p>", 10_000)),
    "end tags that a form keeps from its span": named(("<span><form></span></form>", 10_000)),
    "end tags that an object keeps from their divs": named(("<div>" * 50 + "<object>" + "</div>" * 50 + "</object>", 300)),
    "names that differ beyond 16 bytes": named(("<element-with-a-name-1></element-with-a-name-2>", 10_000)),
    "names that differ by what is no letter": named(("<x[></x{>", 10_000)),
    "names with a control character": named(("<x\x01a></x\x01b>", 10_000)),
    "elements of svg without end that have none in HTML": named(("<svg>", 1), ("<link>", 30_000)),
    "elements that end themselves in svg only": named(("<path/>", 30_000)),
    "attributes that html gathers": numbered(b"<html a%d=1>", 20_000),
    "attributes that body gathers": numbered(b"<body a%d=1>", 30_000),
    "attributes behind a quote in a comment": b'<!--<x y="' + b" " * 700 + b"-->" + b"<a " + numbered(b" a%d", 40_000) + b">",
    "attributes between signs that end a tag": b"<p" + numbered(b" a%d='>'", 20_000) + b">",
    "attributes behind a quote that opens no value": b"<p " + numbered(b' a=b"x%d y%d"', 20_000) + b">",
    "attributes behind a quote in a value without quotes": b"""<p a=x"y c='">' """ + numbered(b" a%d", 20_000) + b">",
    "attributes behind a quote in a name": b"""<p ="y c='">' """ + numbered(b" a%d", 20_000) + b">",
    "attributes behind a large one": b"<p t='" + b"x" * 40_000 + b"'" + numbered(b" a%d", 20_000) + b">",
    "distinct names of attributes": numbered(b"<p a%d>", 40_000),
    "attributes of a formatting element": b"<p><b" + numbered(b" a%d", 1_000) + b"></p>" + b"<p>x" * 3_000,
    "attributes of an anchor": b"<p><a" + numbered(b" a%d", 1_000) + b"></p>" + b"<p>x" * 3_000,
    "a formatting element that more than eight blocks keep": numbered(b"<b a=%d>" + b"<div>" * 9 + b"</b>" + b"</div>" * 9, 1_000),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_nothing_hides_a_bomb(name: str) -> None:
    """F64, F66: each held the event loop for 0.1 to 3 s and passed a scan that believed comments, scripts, end tags or quotes."""
    assert bomb(HIDDEN[name]) != ""


@given(st.text(alphabet="aab=\"'> /\n", max_size=40))
@settings(max_examples=300, deadline=None)
def test_a_tag_ends_where_the_parser_ends_it(rest: str) -> None:
    """Law: quotes count only where a value begins. Mutation: a quote after any "=" counts."""
    body = f"<p {rest}".encode()
    end, n_attributes = measure(body, 0)
    element = LexborHTMLParser(body).css_first("p")
    assert (element is None) == (end == len(body))
    if element is not None:
        assert element.text() == body[end + 1 :].decode()
        assert n_attributes >= len(element.attributes)


def outline_of(body: bytes) -> Tags | None:
    data = np.frombuffer(body, dtype=np.uint8)
    at, glance = glances(body, data)
    return outlined(body, data, at, glance) if at.size else None


@given(st.lists(st.sampled_from(["<p", "<b x", "</p", " a=", "='", '="', " = '", '"', "'", ">", " ", "x", "=", "/"]), max_size=20))
@settings(max_examples=250, deadline=None)
def test_a_page_is_cleared_only_where_every_tag_ends_at_its_first_bracket(pieces: list[str]) -> None:
    """Law over quotes. Mutations: one kind of quotes, or the white space before them, is ignored."""
    body = "".join(pieces).encode() + bytes(32)
    if (found := outline_of(body)) is not None:
        for at, end in zip(found.at.tolist(), found.ends.tolist(), strict=True):
            assert measure(body, at)[0] == end


@pytest.mark.parametrize("name", [*FORMATTING_NAMES, "a"])
def test_the_parser_keeps_three_of_equal_formatting_elements(name: str) -> None:
    """The Standard, 13.2.4.3, "Noah's Ark clause": the first bound of the scan depends on it."""
    tree = LexborHTMLParser(f"<p>{f'<{name} x=1 y=2>' * 50}</p><p>x".encode())
    assert len(tree.css("p")[-1].css(name)) == (1 if name in ("a", "nobr") else 3)


SHARED_ENDS = {
    "formatting starts": b"<b x " * 30_000 + b">",
    "anchors": b"<a x " * 30_000 + b">",
    "quotes that open nothing": b"<p a='x" * 20_000 + b"'>",
    "quotes of both kinds": b"<p a='\"" * 20_000,
    "long attributes": (b"<b" + b" x" * 220) * 500 + b">",
    "values without quotes": b'<p a=x"y' * 20_000 + b">",
}


@pytest.mark.parametrize("name", SHARED_ENDS)
def test_tags_that_share_an_end_are_not_read_again_and_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan is linear: it reads the source of tags for no more than a few times the bytes of the page."""
    body, n_read = SHARED_ENDS[name], 0

    def counting(source: bytes, at: int) -> tuple[int, int]:
        nonlocal n_read
        found = measure(source, at)
        n_read += found[0] - at
        return found

    monkeypatch.setattr(tags, "measure", counting)
    monkeypatch.setattr(outline, "measure", counting)
    bomb(body)
    assert n_read <= 4 * len(body) + (1 << 17)


def real_depths(body: bytes) -> int:
    """Return the depths of all elements, added up, and one for each node."""
    tree = LexborHTMLParser(body)
    total, depth, node = 0, 0, tree.root
    while node is not None:
        total += depth + 1
        following = node.child
        if following is not None:
            depth += 1
        while following is None and node is not None and depth > 0:
            following = node.next
            if following is None:
                node, depth = node.parent, depth - 1
        node = following
    return total


def believed_depths(body: bytes) -> int:
    """Return the scan's bound of that: four elements for each tag, since a table implies some, and clones of formatting elements."""
    data = np.frombuffer(body, dtype=np.uint8)
    at, glance = glances(body, data)
    if not at.size:
        return 0
    tags = read(body, data, at, glance)
    weights = np.where(glance >= FORMATTING, 220, 0)
    found = nested(tags, weights, -1)
    return 4 * (found.depth + 8 * at.size) + found.formatting // 10


def first_depths(body: bytes) -> list[int]:
    """Return the first bounds of the scan for that, in elements; each is closer than the one before."""
    known = outline_of(body)
    if known is None:
        return []
    return [4 * (found.depth + 8 * known.at.size) + 22 * known.at.size * found.n_again for found in bounds(known, 1 << 60)]


def law_pages() -> Iterator[tuple[Recipe, bytes]]:
    rng = random.Random(16)
    for recipe in (*KNOWN, *(drawn(rng) for _ in range(200))):
        yield recipe, page(recipe, 6_000)[:6_000] + b" " * 32


def test_no_element_stays_open_that_is_believed_closed() -> None:
    """Law over the grammar of `python -m benchmarks.proofs.bomb_search`: lexbor's tree is never deeper than the scan's bound.

    Mutations: what may hide tags is ignored; the names of pairs of tags are not compared.
    """
    for recipe, body in law_pages():
        most = min([believed_depths(body), *first_depths(body)])
        assert real_depths(body) <= most + 100 * (body.count(b"\0") + 10), recipe


NAMES = ["a", "h1", "div", "section", "template", "blockquote", "my-element-one", "x" * 40]


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from([">", " x>", "/>", "\n>", "\t a=b>"]), st.booleans()), min_size=1, max_size=20
    )
)
@settings(max_examples=50, deadline=None)
def test_names_are_told_apart_whatever_follows_them(tags: list[tuple[str, str, bool]]) -> None:
    """Law: equal names, and only those, have equal words, up to their length; case does not matter."""
    source, places = "", []
    for name, rest, is_upper in tags:
        places.append(len(source) + 1)
        source += f"<{name.upper() if is_upper else name}{rest}"
    found, is_long, is_odd = words(source.encode() + bytes(32), np.array(places))
    by_name = dict(zip((name[:8] for name, _, _ in tags), found.tolist(), strict=True))
    assert [by_name[name[:8]] for name, _, _ in tags] == found.tolist()
    assert len(set(found.tolist())) == len(by_name)
    assert is_long.tolist() == [len(name) >= 8 for name, _, _ in tags]
    assert not is_odd.any()
