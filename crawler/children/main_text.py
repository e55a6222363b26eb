"""Extracts the main text of a page by trafilatura: without menus, footers and comments, one paragraph a line.

Runs in children that may be killed: on hostile markup its time has no bound. The page is parsed by lexbor, serialized, and read again by
lxml: lxml alone loses whole articles of pages that leave out <body> or end tags, as HTML allows. Tables and lists are lines, too.
trafilatura's second opinions (readability, jusText) are off: on manuals they add half to the time and change nothing. Its expressions are
evaluated by quick_xpaths.py, and all elements are of one class, since choosing a class for each takes a call of Python. Both together save
half of the time. Steps of versions that are known are replaced by quick_steps.py, which saves a third of the rest on pages of many
paragraphs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import trafilatura
from lxml.etree import ElementDefaultClassLookup, ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from selectolax.lexbor import LexborHTMLParser
from trafilatura.settings import Extractor

from thresher.crawler.children import quick_steps
from thresher.crawler.children.quick_xpaths import page_values, speed_up

VERSION: Final = f"trafilatura {trafilatura.__version__}"
_PARSER: Final = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
_PARSER.set_element_class_lookup(ElementDefaultClassLookup(element=HtmlElement))
_OPTIONS: Final = Extractor(fast=True, comments=False)  # made once: it reads them from a configuration
speed_up(import_module("trafilatura.xpaths"))
speed_up(import_module("trafilatura.baseline"))  # a function has this name, too
_IS_KNOWN: Final = trafilatura.__version__ in quick_steps.KNOWN
if _IS_KNOWN:
    quick_steps.install()


def main_text(body_utf8: bytes) -> str:
    """Return the main text of a page; "" if there is none.

    Raises:
        ValueError: If lxml cannot make a tree of the page.
    """
    markup = LexborHTMLParser(body_utf8.replace(b"\0", b"")).html
    if not markup:
        return ""
    try:
        tree = document_fromstring(markup.encode("utf-8", "replace"), parser=_PARSER, ensure_head_body=True)
    except ParserError:  # the page is empty
        return ""
    with page_values(tree, markup):
        return quick_steps.text_of(tree, _OPTIONS) if _IS_KNOWN else trafilatura.extract(tree, options=_OPTIONS) or ""
