"""The main text of a page, by trafilatura: without menus, footers and comments, a paragraph a line.

For children that may be killed: on hostile markup its time has no bound. The tree is that of lexbor, written out and read again by lxml:
what lxml makes of a page that leaves out <body> or end tags, as HTML allows, loses whole articles. Tables and lists are lines, too. The
second opinion of trafilatura (readability, jusText) is not asked: on manuals it adds half to the time and changes nothing. Its expressions
are evaluated by quick_xpaths.py, and all elements are of one class, since to choose one for each takes a call of Python: together that
saves half of the time.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import trafilatura
from lxml.etree import ElementDefaultClassLookup, ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from selectolax.lexbor import LexborHTMLParser

from thresher.crawler.children.quick_xpaths import page_values, speed_up

VERSION: Final = f"trafilatura {trafilatura.__version__}"
_PARSER: Final = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
_PARSER.set_element_class_lookup(ElementDefaultClassLookup(element=HtmlElement))
speed_up(import_module("trafilatura.xpaths"))
speed_up(import_module("trafilatura.baseline"))  # a function is called so, too


def main_text(body_utf8: bytes) -> str:
    """Return the main text of a page, "" where there is none. Raises ValueError for what lxml cannot make a tree of."""
    markup = LexborHTMLParser(body_utf8.replace(b"\0", b"")).html
    if not markup:
        return ""
    try:
        tree = document_fromstring(markup.encode("utf-8", "replace"), parser=_PARSER, ensure_head_body=True)
    except ParserError:  # there is nothing in it
        return ""
    with page_values(tree, markup):
        return trafilatura.extract(tree, fast=True, include_comments=False) or ""
