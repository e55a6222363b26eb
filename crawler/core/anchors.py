"""Reads the anchors of a page's links: the words between the tags, `rel`, and the element.

Used by exports only: a crawl needs no anchors and stores none. The stored body is parsed again into a tree, if that is safe.

Time: about that of parsing the page. Memory: the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from thresher.crawler.core.bomb import bomb
from thresher.crawler.core.html import decode, is_binary
from thresher.crawler.core.url import BadURL, URLSpace

MAX_ANCHOR = 500  # characters
_LINKING = "base[href], a[href], area[href], frame[src], iframe[src], link[href]"
_WORDS_BESIDE = ("alt", "title", "aria-label")


class Anchor(NamedTuple):
    """How a page links to a URL. Of several links to one URL: the first with words, or the first if none has words."""

    text: str  # one space between words; of a link without words the `alt` of its first image, else its `title`; "": none
    rel: str  # lower case, one space between values; "" none
    element: str  # a area frame iframe link


def anchors(body: bytes, content_type: str, page: str, space: URLSpace) -> dict[str, Anchor] | None:
    """Return the anchor of each URL that an HTML page links.

    Args:
        body: The page as it was stored, without content coding.
        content_type: The value of its header, by which its charset is found.
        page: Its canonical URL.
        space: The crawl's rules of canonical form.

    Returns:
        Anchors by canonical URL. None if the page may only be parsed in a child process, or is not text.
    """
    if is_binary(body, content_type):
        return None
    body_utf8, _ = decode(body, content_type)
    if bomb(body_utf8):
        return None
    base, found = "", []
    for node in LexborHTMLParser(body_utf8, options=LexborDocumentOptions.WO_EVENTS).css(_LINKING):
        if node.tag == "base":
            base = base or node.attributes.get("href") or ""
        else:
            found.append((node.attributes.get("src" if node.tag in ("frame", "iframe") else "href") or "", node))
    at = space.base(page, base.strip())
    said: dict[str, Anchor] = {}
    for href, node in found:
        try:
            url = space.canonical(href.strip(), at)
        except BadURL:
            continue
        if url not in said or not said[url].text:
            anchor = Anchor(_words(node), " ".join((node.attributes.get("rel") or "").lower().split()), node.tag or "")
            if url not in said or anchor.text:
                said[url] = anchor
    return said


def _words(node: LexborNode) -> str:
    return next((short for said in _sayings(node) if (short := " ".join(said.split())[:MAX_ANCHOR])), "")


def _sayings(node: LexborNode) -> Iterator[str]:
    yield node.text(separator=" ", skip_empty=True)
    for image in node.css("img[alt]"):
        yield image.attributes.get("alt") or ""
    for name in _WORDS_BESIDE:
        yield node.attributes.get(name) or ""
