"""The scan that says which pages may not be parsed in the crawler."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.core import html



def numbered(pattern: bytes, n: int) -> bytes:
    """Repeat a pattern n times with its number for each %d."""
    return b"".join(pattern.replace(b"%d", b"%d" % i) for i in range(n))


BOMBS = {
    "nested div": (b"<div>" * 10_000, "depth"),
    "nested div, closed": (b"<div>" * 10_000 + b"</div>" * 10_000, "depth"),
    "nested div in capitals": (b"<DIV\n>" * 10_000, "depth"),
    "nested div, other end tags": (b"<div></dix>" * 10_000, "depth"),
    "nested lists": (b"<ul><li>" * 2_000, "depth"),
    "nested tables": (b"<table><tr><td>" * 3_000, "depth"),
    "nested templates": (b"<template>" * 50_000, "depth"),
    "nested selects": (b"<select><option>" * 3_000, "depth"),
    "nested elements with long names": (b"<blockquote>" * 3_000, "depth"),
    "nested cells in foreign content": (b"<svg>" + b"<td>" * 3_000, "depth"),
    "end tags of nothing": (b"<x>" * 3_000 + b"</y>" * 3_000, "depth"),
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
    "distinct long names": (numbered(b"<element-%d></element-%d>", 10_000), "names"),
    "tags": (b"<p>" * 100_000, "tags"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_told(name: str) -> None:
    """F64, F65, F66: what keeps lexbor busy is recognised before it gets there."""
    body, why = BOMBS[name]
    assert html.bomb(body) == why
    assert html.bomb(b"<!DOCTYPE html><title>t</title><p>text " + body) == why


def ordinary(n_blocks: int, block: str) -> bytes:
    menu = "".join(f'<li class="item"><a href="/s/{i}">Section {i}</a></li>' for i in range(20))
    return f"""<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>t</title><script>{"f(a<b, c=1);" * 200}</script></head>
        <body><nav><ul>{menu}</ul></nav><main><div class=wrap>{block * n_blocks}</div></main></body></html>""".encode()


WORDS = "some ordinary words of a text " * 5
BLOCKS = {
    "article": f'<section><h2 id=h>Head</h2><p class="text">{WORDS}<a href="/x?a=1&amp;b=2">link</a> <b>bold</b> {WORDS}</p></section>',
    "unclosed paragraphs": f"<p>{WORDS}<br><img src=i.png alt=x>",
    "unclosed list": f"<ul><li>{WORDS}<li>b<li>c</ul><dl><dt>a<dd>{WORDS}</dl>",
    "table": "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
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
    for n_bytes in (25_000, 200_000):
        body = ordinary(n_bytes // len(BLOCKS[name]), BLOCKS[name])
        assert html.bomb(body) == "", f"{len(body)} bytes"


@pytest.mark.parametrize("body", [b"", b"<", b"<a", b"<div>", b"</", b"<a>" * 9, b"no markup at all", b"<" * 3_000, b"\xff\xfe" * 500])
def test_small_and_odd_bodies_are_harmless(body: bytes) -> None:
    assert html.bomb(body) == ""


NAMES = ["a", "h1", "div", "section", "template", "blockquote", "my-element-one", "x" * 40]
TAGS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([1, -1])), min_size=1, max_size=40)


@given(TAGS)
@settings(max_examples=100, deadline=None)
def test_open_elements_are_counted_by_name_and_never_below_zero(tags: list[tuple[str, int]]) -> None:
    """Law, against a loop. Mutation-checked: without the shift between groups, minima of one name leak into the next."""
    expected, n_open = [], Counter[str]()
    for name, weight in tags:
        step = weight if weight > 0 or n_open[name] else 0
        n_open[name] += step
        expected.append(step)
    ids = {name: np.uint64(i + 1) * np.uint64(0x9E3779B1) for i, name in enumerate(NAMES)}
    order, steps, n_names = _open(np.array([ids[name] for name, _ in tags]), np.array([weight for _, weight in tags]))
    answer = np.empty(len(tags), dtype=np.int64)
    answer[order] = steps
    assert answer.tolist() == expected
    assert n_names == len({name for name, _ in tags})


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from([">", " x>", "/>", "\n>", "\t a=b>"]), st.booleans()), min_size=1, max_size=20
    )
)
@settings(max_examples=100, deadline=None)
def test_names_are_told_apart_whatever_follows_them(tags: list[tuple[str, str, bool]]) -> None:
    """Law: equal names, and only those, have equal words; case does not matter."""
    source, places = "", []
    for name, rest, is_upper in tags:
        places.append(len(source) + 1)
        source += f"<{name.upper() if is_upper else name}{rest}"
    words = _names(source.encode() + bytes(32), np.array(places)).tolist()
    by_name = dict(zip((name for name, _, _ in tags), words, strict=True))
    assert [by_name[name] for name, _, _ in tags] == words
    assert len(set(words)) == len(by_name)
