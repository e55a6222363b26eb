"""The faster forms of trafilatura's expressions find the same elements."""

import importlib.util
import random
import re
from types import ModuleType

import pytest
from lxml import etree
from lxml.html import HtmlElement, fromstring, tostring

from thresher.crawler.children.quick_xpaths import page_values, quicker, speed_up

xpaths = pytest.importorskip("trafilatura.xpaths")
settings = pytest.importorskip("trafilatura.settings")


@pytest.fixture
def originals() -> ModuleType:
    """Return the module, loaded once more: the imported one may have been changed."""
    spec = importlib.util.spec_from_file_location("original_xpaths", xpaths.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expressions(module: ModuleType) -> list[etree.XPath]:
    lists = [value for value in vars(module).values() if isinstance(value, list)]
    return [settings.BASIC_CLEAN_XPATH, *(item for value in lists for item in value if isinstance(item, etree.XPath))]


def wild_page(rng: random.Random, words: list[str]) -> HtmlElement:
    """Return a page of nested elements; their attributes hold words of the expressions (alone, joined, in other case), or none."""
    tags = ("div", "section", "article", "main", "p", "span", "ul", "ol", "li", "aside", "details", "a", "h1", "list", "item", "header")
    pieces = []
    for _ in range(150):
        names = rng.sample(
            ("id", "class", "style", "role", "rel", "itemprop", "aria-hidden", "data-component", "href"), rng.choice((0, 0, 1, 2))
        )
        values = [rng.choice(("", " ", "-")).join(rng.choices(words, k=rng.choice((1, 2)))) for _ in names]
        said = "".join(
            f' {name}="{rng.choice((value, value.upper(), "", value * 30))}"' for name, value in zip(sorted(names), values, strict=True)
        )
        tag = rng.choice(tags)
        pieces.append(f"<{tag}{said}>text" + rng.choice(("", f"</{tag}>")))
    return fromstring(f"<html><body>{''.join(pieces)}</body></html>")


def test_the_same_elements_are_found_in_the_same_order(originals: ModuleType) -> None:
    rng = random.Random(7)
    pairs = [(one, quicker(one)) for one in expressions(originals)]
    words = sorted({word for one, _ in pairs for word in re.findall(r"[\w-]{3,}", one.path)})
    found = 0
    for _ in range(6):
        page = wild_page(rng, words)
        inner = page[0][0]
        with page_values(page, tostring(page, encoding="unicode")):
            of_page = [(quick(page), quick(inner)) for _, quick in pairs]
        for (one, quick), known in zip(pairs, of_page, strict=True):
            assert known == (quick(page), quick(inner)) == (one(page), one(inner)), one.path
            found += bool(one(page))
    assert found > 25


def test_most_expressions_on_content_are_taken_apart(originals: ModuleType) -> None:
    assert sum(quicker(one) is not one for one in expressions(originals)) >= 20


def test_a_page_of_thousands_of_values_that_match_is_read_the_same(originals: ModuleType) -> None:
    page = fromstring("".join(f"<div class='nav-{i}\ue000' id='ad-{i}'>{i}</div>" for i in range(5_000)))
    for one in originals.OVERALL_DISCARD_XPATH:
        assert quicker(one)(page) == one(page)
    assert quicker(originals.OVERALL_DISCARD_XPATH[0])(page)


def test_an_expression_that_finds_bare_elements_still_does() -> None:
    page = fromstring("<div><p>x</p><p class='a'>y</p></div>")
    bare = etree.XPath(".//*[self::p][not(@class) or re:test(@class, 'b')]", namespaces={"re": "http://exslt.org/regular-expressions"})
    assert [element.text for element in quicker(bare)(page)] == ["x"]


def test_lists_are_changed_in_place(originals: ModuleType) -> None:
    imported = originals.OVERALL_DISCARD_XPATH
    before = list(imported)
    speed_up(originals)
    assert originals.OVERALL_DISCARD_XPATH is imported
    assert imported != before
