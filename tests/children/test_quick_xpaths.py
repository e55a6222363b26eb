"""trafilatura's expressions find the same elements when they are evaluated in less time."""

import importlib.util
import random
import re
from types import ModuleType

import pytest
from lxml import etree
from lxml.html import HtmlElement, fromstring

from thresher.crawler.children.quick_xpaths import quicker, speed_up

xpaths = pytest.importorskip("trafilatura.xpaths")


@pytest.fixture
def originals() -> ModuleType:
    """Give the module anew: the one that is imported may have been changed."""
    spec = importlib.util.spec_from_file_location("original_xpaths", xpaths.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expressions(module: ModuleType) -> list[etree.XPath]:
    lists = [value for value in vars(module).values() if isinstance(value, list)]
    return [item for value in lists for item in value if isinstance(item, etree.XPath)]


def wild_page(rng: random.Random, words: list[str]) -> HtmlElement:
    """Return a page of nested elements, whose attributes hold words of the expressions, alone, joined, in other case, and none."""
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
        for one, quick in pairs:
            assert quick(page) == one(page), one.path
            found += bool(one(page))
    assert found > 25


def test_most_expressions_pass_over_elements_that_have_nothing_to_match(originals: ModuleType) -> None:
    passed_over = [quicker(one).path != one.path for one in expressions(originals)]
    assert sum(passed_over) >= 12


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
