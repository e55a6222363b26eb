"""Takes the steps of trafilatura that cost most of its time in other ways, with the same results.

Rewritten from trafilatura 2.3.1 (Apache License 2.0). Other versions may take other steps: of a version that is not in `KNOWN`, its own
steps are left in place.

What is saved on a page:
- Three of four copies of its tree. They are made for the caller, for steps that are turned off (comments, second opinions), and for one
  that few pages need: the search for paragraphs outside of the main part makes its copy when it begins.
- Tests of link density on elements without links, and second tests of elements in which nothing has changed.
- A walk to the root for each element, which tells whether it has been moved into the result: moved elements are remembered.
- Function calls for each paragraph that is written: one without elements inside is its text.
"""

from __future__ import annotations

from copy import copy
from html import unescape
from importlib import import_module
from typing import Any, Final
from unicodedata import normalize

from lxml import etree
from trafilatura.htmlprocessing import (
    collect_link_info,
    is_paragraph_listing,
    link_density_test_tables,
    process_node,
    prune_unwanted_nodes,
)
from trafilatura.settings import INLINE_FORMATTABLE, MIN_DUPLICATE_LENGTH, TAG_CATALOG, Extractor
from trafilatura.utils import LINK_FARM_RATIO, remove_control_characters, sanitize, text_chars_test
from trafilatura.xml import SEPARATORS, delete_element, process_element, xmltotxt
from trafilatura.xpaths import BODY_XPATH, DISCARD_IMAGE_ELEMENTS, OVERALL_DISCARD_XPATH, TEASER_DISCARD_XPATH

core: Final[Any] = import_module("trafilatura.core")
main: Final[Any] = import_module("trafilatura.main_extractor")
KNOWN: Final = frozenset({"2.3.1"})
_TABLE: Final = frozenset({"table", "td", "th", "tr"})
_CELLS: Final = frozenset({"item", "td", "th"})  # a paragraph that is all such an element holds is kept
_PLAIN: Final = frozenset({"head", "p", "quote"})
_TEXTS_OF_PARAGRAPHS: Final = etree.XPath("//p//text()", smart_strings=False)


def install() -> None:
    """Replace steps of trafilatura. The options of an extraction must turn on `fast`, and no comments, links, images or formatting."""
    vars(core).update(_prepare_tree=_prepare_tree, _extract_and_compare=_extract_content)
    vars(main).update(prune_unwanted_sections=prune_unwanted_sections)


def text_of(tree: Any, options: Extractor) -> str:
    """Return the main text of a page, as `trafilatura.extract` does; "" if there is none.

    Args:
        tree: The page. It is changed.
    """
    try:
        body, text, _, _ = core.trafilatura_sequence(tree, options, None)
    except (TypeError, ValueError):
        return ""
    return "" if len(text) < options.min_output_size else normalize("NFC", written(body).strip())


def _prepare_tree(tree: Any, options: Extractor, url: str | None) -> tuple[Any, None]:
    """Return a copy of a page, cleaned and converted, and nothing in place of the copy that second opinions would read."""
    return core.convert_tags(core.tree_cleaning(copy(tree), options), options, url), None


def _extract_content(cleaned: Any, _: None, tree: Any, options: Extractor) -> tuple[Any, str]:
    """Return the body of the text, and the text without its form.

    Args:
        cleaned: The page as `_prepare_tree` returns it. It is changed.
        tree: The page.
    """
    order = list(cleaned.iter())
    body, text, tags = _main_part(cleaned, options)
    if not len(body) or len(text) < options.min_extracted_size:
        again, _ = _prepare_tree(tree, options, None)
        consumed = {twin for element, twin in zip(order, again.iter(), strict=True) if element.tag == "done"}
        body = main.recover_wild_text(again, body, options, tags, consumed)
        text = " ".join(body.itertext()).strip()
    _drop_repeated(body)
    etree.strip_elements(body, "done")
    etree.strip_tags(body, "div")
    for line_break in body.iter("lb"):
        if line_break.tail and line_break.tail.isspace() and next(line_break.iterancestors("code", "pre"), None) is None:
            line_break.tail = None
    return body, text


def _main_part(tree: Any, options: Extractor) -> tuple[Any, str, set[str]]:
    """Return the body and text of the first part of a page that seems to be the main one, and the tags that count."""
    tags = {*TAG_CATALOG, *_TABLE}
    body = etree.Element("body")
    moved: set[Any] = set()  # elements that are in the body
    for expression in BODY_XPATH:
        part = next((one for one in expression(tree) if one is not None), None)
        if part is None or not len(part := prune_unwanted_sections(part, tags, options)):
            continue
        if sum(map(len, _TEXTS_OF_PARAGRAPHS(part))) < options.min_extracted_size * 3:
            tags.add("div")
        elements = list(part.iterdescendants("*"))
        found = {element.tag for element in elements}
        lead, start = None, len(body)
        if found == {"lb"} or (part.tag == "div" and "div" in tags and found <= INLINE_FORMATTABLE | {"lb"}):
            elements = [part]
        elif text_chars_test(part.text):
            lead = process_node(_paragraph(part.text), options)
        for element in elements:
            if element not in moved:
                _take(element, body, moved, tags, options)
        while len(body) and body[-1].tag in main.NOT_AT_THE_END:
            delete_element(body[-1], keep_tail=False)
        if sum(element.tag != "graphic" for element in body) > 1:
            if lead is not None:
                body.insert(start, lead)
            break
    return body, " ".join(body.itertext()).strip(), tags


def _take(element: Any, body: Any, moved: set[Any], tags: set[str], options: Extractor) -> None:
    """Append what an element becomes to the body."""
    tag, tail = element.tag, element.tail
    processed = main.handle_textelem(element, tags, options)
    if processed is not None:
        body.append(processed)
        moved.update(processed.iter())
        if element not in moved:
            element.tag = "done"
    if tag in main.REBUILT_BLOCKS and text_chars_test(tail) and (processed is None or processed.tail is None):
        paragraph = _paragraph(tail)
        if process_node(paragraph, options) is not None:
            body.append(paragraph)


def _paragraph(text: str) -> Any:
    paragraph = etree.Element("p")
    paragraph.text = text
    return paragraph


def _drop_repeated(body: Any) -> None:
    """Discard elements of more than 50 characters that repeat the one before. White space does not count."""
    before, word_before = "", [""]
    for element in list(body):
        text = "".join(element.itertext()) if len(element) else element.text or ""
        word = text.split(None, 1)[:1]
        if word == word_before and len(same := " ".join(text.split())) > MIN_DUPLICATE_LENGTH and same == " ".join(before.split()):
            delete_element(element, keep_tail=False)
        else:
            before, word_before = text, word


def prune_unwanted_sections(tree: Any, tags: set[str], options: Extractor, keep_teasers: bool = False) -> Any:
    """Discard sections that are no main text, and return the tree."""
    tree = prune_unwanted_nodes(tree, OVERALL_DISCARD_XPATH, with_backup=True)
    tree = prune_unwanted_nodes(tree, DISCARD_IMAGE_ELEMENTS)
    if options.focus != "recall" and not keep_teasers:
        tree = prune_unwanted_nodes(tree, TEASER_DISCARD_XPATH)
    _discard_linked(tree)
    if "table" in tags:
        for table in [one for one in tree.iter("table") if link_density_test_tables(one)]:
            delete_element(table, keep_tail=False)
    etree.strip_tags(tree, "span", "ref")
    return tree


def _discard_linked(tree: Any) -> None:
    """Discard elements that are mostly links, in two rounds: what is left after the first may be judged otherwise."""
    judged: dict[Any, bool] = {}  # element → whether it is mostly links
    for _ in range(2):
        n_discarded = 0
        for tag in ("div", "list", "p"):
            linked = _linked(tree, tag, judged)
            for element in linked:
                for changed in (element.getprevious(), *element.iterancestors()):
                    judged.pop(changed, None)
                delete_element(element)
            n_discarded += len(linked)
        if not n_discarded:
            break


def _linked(tree: Any, tag: str, judged: dict[Any, bool]) -> list[Any]:
    """Return the elements of a tag that are to be discarded, for their links."""
    with_links = _with_links(tree)
    found = []
    for element in tree.iter(tag) if with_links else ():
        if element not in with_links:
            continue
        if element not in judged:
            judged[element] = element.find(".//graphic") is None and _is_linked(element)
        if judged[element]:
            parent = element.getparent()
            if tag != "p" or parent is None or parent.tag not in _CELLS:
                found.append(element)
    return found


def _is_linked(element: Any) -> bool:
    """Whether an element with links is mostly links, or a short <div> with links and at least three elements."""
    links = list(element.iter("ref"))
    text = _trimmed(element)
    if len(links) == 1 and len(text_of_link := _trimmed(links[0])) > 100 and len(text_of_link) > len(text) * 0.9:
        return True
    is_last = element.getnext() is None
    if len(text) < ((60 if is_last else 30) if element.tag == "p" else 300 if is_last else 100):
        n_linked, n_links, n_short, _ = collect_link_info(links)
        if not n_links or n_linked > len(text) * 0.8 or (n_links > 1 and n_short / n_links > 0.8):
            return True
        return element.tag == "div" and len(element) >= 3 and len(text) < 100
    if len(links) <= 4:
        return False
    n_linked, n_links, _, _ = collect_link_info(links)
    return len(text) * LINK_FARM_RATIO < n_linked < 100 * n_links and not is_paragraph_listing(links)


def _trimmed(element: Any) -> str:
    return " ".join(element.text_content().split())


def _with_links(tree: Any) -> set[Any]:
    """Return the elements that have links inside, of a tree and above it."""
    found: set[Any] = set()
    for link in tree.iter("ref"):
        parent = link.getparent()
        while parent is not None and parent not in found:
            found.add(parent)
            parent = parent.getparent()
    return found


def written(body: Any) -> str:
    """Return the text of a body, a paragraph a line."""
    if body.tag != "body" or body.text or body.tail:
        return xmltotxt(body, include_formatting=False)
    parts: list[str] = []
    for element in body:
        if len(element) or element.tag not in _PLAIN:
            process_element(element, parts, include_formatting=False)
            continue
        if parts and parts[-1][-1:] not in SEPARATORS:
            parts.append("\n")
        parts += [element.text or "\n", "\n"]
        if element.tail:
            parts.append(element.tail.lstrip())
    return unescape(_cleaned("".join(parts)))


def _cleaned(text: str) -> str:
    """Return a text without empty lines and control characters."""
    if "&#1" in text or "&nbsp;" in text:
        return sanitize(text, preserve_space=True) or ""
    lines = (line if line.isprintable() else remove_control_characters(line) for line in text.splitlines())
    return "\n".join(filter(None, lines)).replace("\u2424", "")
