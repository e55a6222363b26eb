"""The faster steps of trafilatura give the same texts as its own."""

import importlib
import operator
import random
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType

import pytest
from long import shortened
from lxml import etree
from lxml.html import HtmlElement, document_fromstring

trafilatura = pytest.importorskip("trafilatura")
main_text = pytest.importorskip("thresher.crawler.children.main_text")

from thresher.crawler.children import quick_steps

pytestmark = pytest.mark.skipif(
    trafilatura.__version__ not in quick_steps.KNOWN, reason="of this version of trafilatura no step is replaced: see quick_steps.KNOWN"
)
_XML = etree.XMLParser()
_XML.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement))
_WORDS = (
    "river",
    "of",
    "stone",
    "and",
    "a",
    "lamp",
    "&amp;",
    "Facebook",
    "\u00a0",
    "\u200b",
    "&amp;nbsp;",
    "&amp;#10;",
    "\u2424",
    "été",
    "<1>",
)
_BLOCKS = ("div", "div", "p", "p", "section", "article", "main", "ul", "ol", "li", "table", "tr", "td", "th", "blockquote", "pre", "form")
_OTHERS = ("dl", "dt", "dd", "h1", "h3", "details", "summary", "nav", "aside", "figure", "footer", "graphic", "code", "q")
_INLINE = ("a", "a", "a", "span", "em", "strong", "b", "br", "hr", "code", "del", "sub", "img", "kbd", "wbr", "math", "graphic")
_CLASSES = (
    "content",
    "post-body",
    "entry",
    "main",
    "sidebar",
    "nav",
    "comments",
    "teaser",
    "hidden",
    "text",
    "w3-code",
    "article",
    "caption",
)


@pytest.fixture(scope="module")
def original() -> ModuleType:
    """Return the library, loaded once more: the imported one has been changed."""

    def take() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in [*sys.modules] if name.split(".")[0] == "trafilatura"}

    changed = take()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that it imports
            return importlib.import_module("trafilatura")
    finally:
        take()
        sys.modules.update(changed)


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, weights=(9, 9, 9, 9, 9, 9, *[1] * 9)[: len(_WORDS)], k=rng.choice((1, 3, 8, 30, 90)))) + rng.choice(
        ("", " ", "\n")
    )


def markup(rng: random.Random, depth: int) -> str:
    """Return some elements with text, nested up to `depth` times."""
    pieces = []
    for _ in range(rng.choice((1, 2, 3, 5))):
        is_inline = not depth or rng.random() < 0.4
        tag = rng.choice(_INLINE if is_inline else _BLOCKS if rng.random() < 0.8 else _OTHERS)
        named = f' class="{rng.choice(_CLASSES)}"' if rng.random() < 0.2 else ""
        inside = markup(rng, depth - 1) if depth and (not is_inline or rng.random() < 0.2) else text(rng)
        element = f'<{tag}{named} href="/x">{inside}</{tag}>'
        pieces.append(element * 2 if rng.random() < 0.1 else element)
        if rng.random() < 0.4:
            pieces.append(text(rng))
    return "".join(pieces)


def pages(n: int, seed: int) -> Iterator[HtmlElement]:
    rng = random.Random(seed)
    for _ in range(n):
        yield document_fromstring(f"<html><head><title>x</title></head><body>{markup(rng, 5)}</body></html>", parser=main_text._PARSER)


def linked(rng: random.Random, depth: int) -> str:
    """Return elements as trafilatura's conversion leaves them, many of them with links."""
    pieces = []
    for _ in range(rng.choice((1, 2, 4, 7))):
        tag = rng.choice(("div", "div", "list", "item", "p", "p", "td", "ref", "ref", "graphic"))
        words = "x" * rng.choice((0, 3, 8, 12, 40, 110)) + rng.choice(("", " word", " more words of a line"))
        if rng.random() < 0.05:  # many links, alone or each in a paragraph
            pieces.append(rng.choice(("<ref>{}</ref>", "<p><ref>{}</ref></p>")).format("y" * rng.choice((40, 130))) * 6)
        elif tag == "graphic":
            pieces.append("<graphic></graphic>" if rng.random() < 0.1 else "")
        elif tag == "ref" or not depth:
            pieces.append(f"<ref>{words}</ref>")
        else:
            pieces.append(f"<{tag}>{linked(rng, depth - 1) if rng.random() < 0.8 else words}</{tag}>")
        pieces.append(rng.choice(("", "", " ", "tail", "a longer text of thirty characters ")))
    return "".join(pieces)


def texts(original: ModuleType, tree: HtmlElement) -> tuple[str, str]:
    """Return the text by the library, and by the faster steps."""
    options = [module.settings.Extractor(fast=True, comments=False) for module in (original, trafilatura)]
    return original.extract(tree, options=options[0]) or "", quick_steps.text_of(tree, options[1])


@pytest.mark.parametrize(("seed", "n_pages"), shortened([(11, 60), (12, 120), (13, 120), (14, 120)], 1))
def test_wild_pages_have_the_same_text(original: ModuleType, seed: int, n_pages: int) -> None:
    n_lines = 0
    for tree in pages(n_pages, seed):
        own, quick = texts(original, tree)
        assert quick == own
        n_lines += own.count("\n")
    assert n_lines > 5 * n_pages


@pytest.mark.parametrize("seed", shortened([5, 6, 7], 1))
def test_the_same_elements_are_discarded_for_their_links(original: ModuleType, seed: int) -> None:
    rng = random.Random(seed)
    sizes = []
    for _ in range(200):
        trees = [etree.fromstring(f"<div>{page}</div>", parser=_XML) for page in [linked(rng, 4)] for _ in range(3)]
        for _ in range(2):
            for tag in ("div", "list", "p"):
                original.htmlprocessing.delete_by_link_density(trees[0], tag, backtracking=tag == "div")
            sizes.append(sum(1 for _ in trees[0].iter()))
        quick_steps._discard_linked(trees[1])
        assert etree.tostring(trees[1]) == etree.tostring(trees[0])
        sizes.append(sum(1 for _ in trees[2].iter()))
    once, twice, never = sizes[::3], sizes[1::3], sizes[2::3]
    assert sum(map(operator.lt, once, never)) > 30
    assert sum(map(operator.lt, twice, once)) > 3
