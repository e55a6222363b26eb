"""The native pass finds what the tree finds, link for link and word for word, or gives up on the page."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.support.wild_markup import mutated, wild_page
from thresher.config.load import examine
from thresher.crawler.core import echo, html, minhash, sketch
from thresher.crawler.core.model import U64
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.native import NATIVE, native
from thresher.filters.canary import vocabulary
from thresher.filters.depth_cutoff import novelty
from thresher.filters.near_replica import compare, random_projection
from thresher.filters.soft_error import looks

pytestmark = pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")

MANUAL = Path("/usr/share/doc")


def by_pass(body: bytes, max_links: int = 500) -> Parsed | None:
    """Return what the pass finds; None if it gives up."""
    taken = native.page(body, max_links, Link)
    if isinstance(taken, str):
        return None
    source = html.DecodedBody(body, "utf-8", html.BodyForm.HTML, taken)
    return html.finished(source, agent="thresher", max_links=max_links)


def differences(body: bytes, max_links: int = 500) -> list[str]:
    """Return the fields in which pass and tree differ; for the text, its words and the characters between them."""
    found = by_pass(body, max_links)
    tree = html.parse(body, "utf-8", agent="thresher", max_links=max_links)
    if found is None:
        return []
    fields = [name for name in Parsed.__struct_fields__ if name != "raw_text" and getattr(found, name) != getattr(tree, name)]
    return fields + (["text"] if found.text != tree.text else [])


def test_they_agree_on_wild_markup() -> None:
    """Law. Mutations: an end tag always separates words; a link that its paragraph closes is not given up."""
    wrong = {seed: page for seed in range(1_500) if differences(page := wild_page(random.Random(seed), 40))}
    assert wrong == {}


def test_they_agree_on_real_pages_and_on_what_becomes_of_them() -> None:
    files = sorted(MANUAL.rglob("*.html"))
    if not files:
        pytest.skip("no HTML is installed in /usr/share/doc")
    rng = random.Random(1)
    for file in rng.sample(files, min(25, len(files))):
        page = html.decode(file.read_bytes()[:40_000], "text/html")[0]
        assert differences(page) == [], file
        assert [seed for seed in range(3) if differences(mutated(page, random.Random(seed)))] == [], file


def test_an_ordinary_page_is_not_given_up() -> None:
    body = (
        b"<!DOCTYPE html><html><head><meta charset=utf-8><title>t</title><link rel=stylesheet href=/s.css></head><body><header><nav><ul>"
        b"<li><a href=/a>a</a><li><a href=/b rel=nofollow>b</a></ul></nav></header><table><tr><td>x<td><a href=/c>c</a></table>"
        b"<p>text <b>bold</b>er<p>more<br>of it<svg><title>i</title><path d='M0'/></svg><form><select><option>o<option>p</select>"
        b"<input></form><script>if (a<b) document.write('<a href=/no>')</script></body></html>"
    )
    found = by_pass(body)
    assert found is not None
    assert ([link.href for link in found.links], found.text) == (["/a", "/b", "/c"], "a b x c text bold er more of it o p")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("<p>a</x>b", "text at a tag of no effect"),
        ("<table>a<tr><td>b</table>", "text in a table"),
        ("<table><div>a</div></table>", "an element in a table"),
        ("<table><tr><p><td></table>", "an element in a table"),
        ("<p><a href=x>a</p><p>b", "a link that is opened again"),
        ("<p><b>a</p><p>b</b>", "formatting that is opened again"),
        ("<i><span><p></i>", "formatting that is opened again"),
        ("<select><a href=x>", "an element in a select"),
        ("<template><div><tr>", "a table part in a template"),
        ("<frameset><frame src=x></frameset>", "frameset"),
        ("<svg><font color=red>", "font in svg"),
        ("<math><annotation-xml>", "annotation-xml"),
        ("<p><i><table>", None),
        ("<!DOCTYPE x><p><i><table>", "a table in a paragraph"),
        ("<p><b></p><title>t</title>", "a title in the body"),
        ("a\0b", "a NUL"),
        ("<div>" * 257, "deep"),
    ],
)
def test_what_needs_a_tree_is_given_up_with_the_reason(source: str, why: str | None) -> None:
    """The list in crawler/native/__init__.py: only these pages are not read by the pass."""
    taken = native.page(source.encode(), 9, Link)
    assert (taken if isinstance(taken, str) else None) == why


def test_a_page_that_is_given_up_is_read_by_a_tree() -> None:
    parsed = html.read(b"<table><a href=x>a</a></table>", "text/html", "text/html", agent="thresher", max_links=9)
    assert parsed is not None
    assert parsed.links == (Link("x", "", "a"),)


def test_the_garbage_collector_does_not_walk_links() -> None:
    """A batch of pages has thousands, and each collection would walk them. Mutation: they are tracked."""
    parsed = by_pass(b"<a href=x rel=next>a</a><a href=y type=text/html>b</a>")
    assert parsed is not None
    assert [gc.is_tracked(link) for link in parsed.links] == [False, False]


def test_no_page_of_the_pass_needs_the_bomb_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.crawler.core.bomb.bomb", lambda body: pytest.fail("a page was scanned"))
    many = b"<p a b c d e f g h i j>x<b>y</b></p>" * 20_000
    assert html.read(many, "text/html", "text/html", agent="thresher", max_links=9) is not None


def test_links_beyond_the_limit_are_cut_as_the_tree_cuts_them() -> None:
    page = b"<link rel=next href=n><a href=a><a href=b></a><link rel=next href=m><meta http-equiv=refresh content='0;url=r'><a href=c>"
    assert [max_links for max_links in range(8) if differences(page, max_links)] == []


def test_an_absurd_address_is_counted_and_dropped() -> None:
    for page in (f"<a href={'x' * 65_537}>", f"<a href={'é' * 40_000}>", f"<a href={'é' * 65_537}></a><a href=y>"):
        assert differences(page.encode()) == []


TEXT = st.text(st.characters() | st.characters(max_codepoint=127) | st.sampled_from("กขค中あa1 "), max_size=60)


@given(TEXT)
@settings(max_examples=150, deadline=None)
def test_words_have_the_same_hashes(text: str) -> None:
    """Law, also for lone surrogates and characters beyond U+FFFF."""
    found = native.words(text, sketch.MAX_UNITS)
    assert found is not None
    assert np.frombuffer(found, dtype=np.uint64).tolist() == sketch._token_hashes(text).tolist()


@pytest.mark.parametrize("letters", ["aÀ", "aλ"])
def test_long_words_have_the_same_hashes(letters: str) -> None:
    """The first 32 letters have their factors in a table."""
    text = " ".join(letters * n + letters[:1] * odd for n in range(1, 50) for odd in (0, 1))
    found = native.words(text, sketch.MAX_UNITS)
    assert found is not None
    assert bytes(found) == sketch._token_hashes(text).tobytes()


def test_a_text_that_is_too_long_is_left_to_python() -> None:
    assert native.words("ab" * 50, 99) is None
    assert native.words("𝒳" * 50, 99) is None
    assert native.words("𝒳" * 50, 100) is not None


@pytest.mark.parametrize("k", [2, 64, 128])
@pytest.mark.parametrize("shingle", [1, 3, 5, 8])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 500])
def test_sketches_are_the_same(k: int, shingle: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = np.random.default_rng(n).integers(0, 1 << 64, n, dtype=np.uint64)
    found = minhash.minhash(tokens, k, shingle)
    monkeypatch.setattr(minhash, "NATIVE", False)
    assert (found == minhash.minhash(tokens, k, shingle)).all()


LINKS = st.lists(
    st.builds("http{}://{}/{}".format, st.sampled_from(["", "s"]), st.sampled_from(["a", "www.example.com:8080"]), TEXT), max_size=40
)


@given(LINKS, st.integers(0, 64))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_links_have_the_same_least_hashes(urls: list[str], most: int) -> None:
    """Law. Mutations: the last bytes of a path are hashed from the other end; a number among the smallest ones replaces another one."""
    urls = [url for url in urls if url.isascii() or url.encode("utf-8", "replace").decode() == url]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(minhash, "NATIVE", False)
        expected = minhash.least_links(urls, most)
    assert native.least_links(urls, most) == expected


def by_both(ask: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the results with the native code and without."""
    with pytest.MonkeyPatch.context() as patched:
        found = ask()
        for module in (compare, echo, looks, minhash, novelty, random_projection):
            patched.setattr(module, "NATIVE", False)
        return found, ask()


def text_of_page(seed: int) -> U64:
    """Return the text of a page: short, long, of few repeated words, of names from its URL, of dates."""
    rng = random.Random(seed)
    n, names = rng.choice([0, 1, 2, 3, 9, 150, 400, 3_000]), ["red", "shoes", "2024", "03", "05", "17", "page", "x9"]
    known = [f"w{i}" for i in range(rng.choice([1, 3, 40, 2_000]))]
    return sketch.token_hashes(" ".join(rng.choice(names if rng.random() < 0.2 else known) for _ in range(n)))


TABLE = random_projection.bucket_table(5)
URL = "http://a.example/red-shoes/2024/03/05/page.html?q=Red:shoes&of=17"


def _said(url: str, tokens: U64) -> list[int]:
    """Return the tokens that do not quote the URL."""
    left: list[int] = echo.without_echo(url, "http://a.example", tokens).tolist()
    return left


def test_a_row_of_no_words_may_lie_anywhere() -> None:
    """Seen to fail on Python 3.13, whose empty bytes lie at an odd address: filters refused a page without words."""
    nothing = np.frombuffer(memoryview(bytes(9))[1:1], dtype=np.uint64)
    assert nothing.ctypes.data % 8 == 1
    for ask in (partial(novelty.sample, nothing, URL), partial(looks.sketch, nothing), partial(minhash.low_bytes, nothing, 4, 5, 3)):
        found, expected = by_both(ask)
        assert found == expected


@pytest.mark.parametrize("word", ["", "a", "Zürich", "2024", "Ελλάδα", "漢字かな", "ไทย", "a" * 300])
def test_a_word_of_a_url_has_one_hash_in_c_and_in_python(word: str) -> None:
    """Mutation: the letters are taken from the end."""
    assert sketch.word_hash(word) == sketch._word_hash(word)
    assert native.word(word + "\U0001f600") is None


def _looked_at(tokens: U64, url: str) -> list[int]:
    """Return the tokens of which a look is made."""
    own: list[int] = looks._without_echo(tokens, url).tolist()
    return own


@pytest.mark.parametrize("url", [URL, "http://a.example/red-shoes/17?q=x9%20page", "http://a.example/"])
def test_filters_see_the_same_in_a_page(url: str) -> None:
    """Law. Mutations: of repeated triples one more is sampled; a half full table is kept; a row is looked for once; a pair is counted
    twice.
    """
    table, others = b"", b""
    for seed in range(120):
        tokens = text_of_page(seed)
        sampled, expected = by_both(partial(novelty.sample, tokens, url))
        assert sampled == expected, seed
        if sampled:
            (is_new, table), (expected, others) = by_both(partial(novelty.look, sampled, table))
            assert (is_new, table) == (expected, others), seed
        left, expected = by_both(partial(_said, url, tokens))
        assert left == expected, seed
        pairs, expected = by_both(partial(looks.sketch, tokens))
        assert pairs == expected, seed
        own, expected = by_both(partial(_looked_at, tokens, url))
        assert own == expected, seed
        for k, step in ((256, 32), (4, 3)):  # with few slots, none is empty
            slots, expected = by_both(partial(minhash.low_bytes, tokens, k, 5, step))
            assert slots == expected, seed
        projected, expected = by_both(partial(random_projection.project_buckets, tokens, TABLE))
        assert projected == expected, seed


def test_a_template_is_what_three_in_five_pages_have() -> None:
    """Law. Mutations: a byte is crossed out by the next one whether they differ or not; two in three must have it."""
    rng = random.Random(3)
    for n in range(1, 18):
        rows = bytes(rng.choice((1, rng.randrange(4))) for _ in range(n * 256))
        found, expected = by_both(partial(compare._common, rows))
        assert found == expected, n
        assert n < 3 or set(found) >= {0, 1}


def test_a_table_of_pairs_begins_anew_when_it_is_half_full() -> None:
    rng, tables = np.random.default_rng(1), []
    table = b""
    for _ in range(110):
        sampled = novelty.sample(rng.integers(0, 1 << 64, 900, dtype=np.uint64), "")
        (_, table), (_, expected) = by_both(partial(novelty.look, sampled, table))
        assert table == expected
        tables.append(table)
    assert {b""} < set(tables) >= {table for table in tables if len(table) == 2_048}


@pytest.mark.parametrize(
    "call",
    [
        "n.sample(b'1234567', bytes(16384), [])",
        "n.sample(b'12345678', bytes(9), [])",
        "n.sample(b'12345678', bytes(16384), ['a'])",
        "n.look(b'12', b'')",
        "n.look(b'123456', bytes(2049))",
        "n.look(b'123456', bytes([255] * 64 + [64]))",
        "n.look(bytes(300), b'')",
        "n.look(b'\\xff' * 6, b'')",
        "n.slots(b'12345678', 5, 11, 1)",
        "n.slots(b'12345678', 5, 8, 0)",
        "n.slots(b'1234567', 5, 8, 1)",
        "n.project(b'1234567', bytes(8), bytes(4096))",
        "n.project(b'12345678', b'', bytes(4096))",
        "n.project(b'12345678', bytes(8), bytes(4095))",
        "n.project(b'12345678', bytes(8), bytes(4096 * 65))",
        "n.common(bytes(8), 3, 2)",
        "n.common(bytes(8), 2, 2)",
        "n.least_pairs(b'12345678', 257)",
        "n.least_pairs(b'1234567', 4)",
        "n.end_words(b'12345678', 0)",
        "n.end_words(b'12345678', 257)",
        "n.end_words(b'1234567', 4)",
        "n.shared_words(b'12345678', 0, b'1234')",
        "n.shared_words(b'12345678', 4, b'123')",
        "n.shared_words(b'1234567', 4, b'1234')",
        "n.shared_words(b'12345678', 4, bytes(4100))",
        "n.without(b'12345678', [1])",
        "n.without_runs(b'1234567', [])",
        "n.without_runs(b'12345678', [([1.5], 1)])",
        "n.without_runs(b'12345678', [([1], 'a')])",
        "n.without_runs(b'12345678', [([1],)])",
        "n.without_url(b'1234567', '//a', 3)",
        "n.without_url(b'12345678', '//ä', 3)",
        "n.without_url(b'12345678', b'//a', 3)",
        "n.without_url(b'12345678', '//a', 0)",
        "n.near(bytes(12), bytes(4), 9, 1.0, b'', 0)",
        "n.near(bytes(12), b'', 12, 1.0, b'', 0)",
        "n.near(bytes(12), bytes(4), -4, 1.0, b'', 0)",
        "n.near(bytes(12), bytes(4), 8, 1.0, bytes(9), 0)",
        "n.RecordCache(len, 0, True)",
        "n.RecordCache(len, 1, True, len, len, b'a', 9).note_in(1, {}, {})",
        "n.RecordCache(len, 1, True, len, len, b'a', 9).note_in('a', [], {})",
        "n.word(b'a')",
        "n.SeenCache(int, (), (), (), 1, 1)",
        "n.SeenCache(tuple, (), (), (), -1, 1)",
        "n.SeenCache(tuple, (), (), (), 25, 1)",
        "n.SeenCache(tuple, (), (), (), 1, 9)",
        "n.SeenCache(tuple, [], (), (), 1, 1)",
        "n.SeenCache(tuple, (), (), (), 1, 1, row=tuple)",
        "n.SeenCache(tuple, (), (), (), 1, 1).add(1)",
        "n.SeenCache(tuple, (), (), (), 1, 1).add([bytes(15)])",
        "n.SeenCache(tuple, (), (), (), 1, 1).rows([bytes(16), 'a'])",
        "n.SeenCache(tuple, (1, 2), (1,), (1,), 1, 1).keep(bytes(16), bytes([1] * 23))",
        "n.SeenCache(tuple, (1, 2), (1,), (1,), 1, 1).keep(bytes(16), bytes(24))",
        "n.SeenCache(tuple, (1, 2), (1,), (1,), 1, 1).keep(bytes(16), bytes([2] + [0] * 23))",
        "n.SeenCache(tuple, (1, 2), (1,), (1,), 1, 1).keep(bytes(16), bytes([1, 1] + [0] * 22))",
        "n.RecordCache(len, 1, True, read=len)",
        "n.RecordCache(len, 1, True).get('a')",
        "n.RecordCache(len, 1, True).put(b'a')",
        "n.RecordCache(len, 1, True).unread([1])",
        "n.least_links(['http://a'], 9)",
        "n.least_links([1], 9)",
        "n.least_links([], 65)",
        "n.least(b'1234567', 1, 7)",
        "n.least(b'', 0, 7)",
        "n.least(b'', 1, 60)",
        "n.page(b'', 1, int)",
        "n.letters(b'', b'', 1)",
    ],
)
def test_wrong_arguments_are_refused(call: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        eval(call, {"n": native})


@given(st.lists(st.integers(0, 255), max_size=200), st.sets(st.integers(0, 300)), st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_words_in_common_are_counted_alike(numbers: list[int], common: set[int], ends: int) -> None:
    """Law, also for repeated words. Mutation: the last words of a long text are left out."""
    row = np.array([number << 32 | number % 8 for number in numbers], dtype=np.uint64)
    wanted = np.array(sorted(common), dtype=np.uint32).tobytes()
    some = row.tolist() if len(numbers) <= 2 * ends else [*row[:ends].tolist(), *row[-ends:].tolist()]
    assert native.shared_words(row, ends, wanted) == len(common & {word >> 32 for word in some})
    assert np.frombuffer(vocabulary.ends(row, ends), dtype=np.uint32).tolist() == sorted({word >> 32 for word in some})


@pytest.mark.parametrize("word", ["assword", "ASSWORD", "extarea", "EXTAREA", "aSsword", "sswor", "xtarea"])
@pytest.mark.parametrize("around", ["", "w", "x" * 9, "assextW ", "wwxxWWXX" * 30])
def test_what_a_page_asks_for_is_looked_for_alike(word: str, around: str) -> None:
    for body in (around + word, word + around, around + word[:-1], word[1:] + around, f"{around}<{word}>{around}"):
        assert native.asks(body.encode()) == any(asking in body.encode() for asking in html._ASKING)


@pytest.mark.parametrize(("value", "name"), [("1", "native"), ("0", "Python")])
def test_version_says_which_implementation_runs(value: str, name: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "thresher", "--version"],
        env={"THRESHER_NATIVE": value, "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.rstrip().endswith(f"pages read by {name} code")


def test_the_switch_is_no_unknown_option() -> None:
    assert examine((), environ={"THRESHER_NATIVE": "0"})[1] == examine(())[1]
