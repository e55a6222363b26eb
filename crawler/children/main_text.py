"""The main text of a page, by trafilatura: without menus, footers and comments, a paragraph a line.

For children that may be killed: on hostile markup its time has no bound. Tables and lists are lines, too. Its second opinion
(readability, jusText) is not asked: on manuals it doubles the time and changes nothing.
"""

from __future__ import annotations

from typing import Final

import trafilatura
from lxml.html import HTMLParser, document_fromstring

VERSION: Final = f"trafilatura {trafilatura.__version__}"
_PARSER: Final = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)


def main_text(body_utf8: bytes) -> str:
    """Return the main text of a page, "" where there is none. Raises ValueError for what lxml cannot make a tree of."""
    body_utf8 = body_utf8.replace(b"\0", b"")
    if not body_utf8.strip():
        return ""
    tree = document_fromstring(body_utf8, parser=_PARSER, ensure_head_body=True)
    return trafilatura.extract(tree, fast=True, include_comments=False) or ""
