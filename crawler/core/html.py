"""Reads the links, title, directives and visible text of a page from its bytes: by one native pass, or by one tree [lexbor].

If thresher.crawler.native was built, `prepared` reads the page with it, in linear time and without a bomb scan. A page that needs a tree,
and every page if there is no native code, goes through `bomb` and `parse`. Both ways find the same.

`read` does everything; `prepared` and `finished` are its two halves, for a caller that takes a batch of pages through each half in turn.
The steps are functions of their own for tests and tools. `scan` finds links of a page whose tree cannot be built, because that killed the
parser: by regular expressions, in its first 256 KiB.

Links are what a reader without scripts can follow: a, area, frame, iframe, link rel=next/prev/alternate/canonical and meta refresh, in the
order of the page, also in noscript, but not in template and comments. Text is what such a page shows, without noscript. Every element ends
a word: without style sheets it is unknown which elements are blocks, and "HomeNews" of a menu is worse than "H 2 O".

Never ask a hostile tree for `.html` (recursive: it overflows the C stack) or `unwrap_tags` (quadratic).

Time per 25 KB with 60 links: tree 95 µs, links 70, text 80. Memory: about 12 times the page while the tree lives.
`python -m benchmarks.speed.native_pass` has both ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from html import unescape
from typing import Final, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from thresher.crawler.core import robots
from thresher.crawler.core.charset import WIDE, declared, decode
from thresher.crawler.core.markup import attributes
from thresher.crawler.core.model import Flag
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.native import NATIVE, native

__all__ = ["BodyForm", "DecodedBody", "decode", "finished", "is_binary", "parse", "plain", "prepared", "read", "scan"]

SNIFF_BYTES: Final = 1_024
SCAN_BYTES: Final = 256 << 10
MAX_HREF: Final = 1 << 16  # characters; a longer address is counted and dropped, since it leads to no page
MAX_TITLE: Final = 2_048
_MOST_LINKS: Final = 1 << 20
MAX_META: Final = 1_000  # most elements that are read for directives

_NAMED: Final = "[href],iframe,frame,meta"  # takes two thirds of the time of naming each element with its attribute
_UNSEEN: Final = ["script", "style", "noscript", "iframe", "noframes", "title"]  # the inside of a template is not in the tree at all
_FOLLOWED_RELS: Final = frozenset({"next", "prev", "alternate", "canonical"})
_ALWAYS_LINKS: Final = frozenset({"a", "area", "frame", "iframe"})
_SPACE: Final = "\t\n\f\r "

_REFRESH = re.compile(
    r"""\s*+(?:\d++[.\d]*+|\.[.\d]*+)\s*+(?:[;,]\s*+|(?<=\s))(?:url\s*+=\s*+)?+(?:"([^"]*+)|'([^']*+)|(.++))""", re.IGNORECASE | re.DOTALL
)
_ENTITY = re.compile(r"&#?\w{1,32};")
_FORM = re.compile(rb"<(textarea)[\s/>]|<input[\s/][^<>]{0,500}?type\s{0,9}=\s{0,9}[\"']?(password)", re.IGNORECASE)
_ASKING: Final = (b"assword", b"ASSWORD", b"extarea", b"EXTAREA")  # every page with such a form contains one of these
_SCANNED = re.compile(rb"<(a|area|base|frame|iframe|link|meta)[\t\n\f\r /]([^<>]++)|<title[^<>]*+>([^<]*+)", re.IGNORECASE)

_new = tuple.__new__  # makes a link in a third of the time of calling its class

Attributes = Mapping[str, str | None]
Taken = tuple[str, str, list[Link], int, list[tuple[int, str, dict[str, str]]]]  # what native.page returns


class BodyForm(Enum):
    """The kind of a body, by its bytes and its type."""

    HTML = "html"
    PLAIN = "plain text"
    BINARY = "no text"


class DecodedBody(NamedTuple):
    """A body that is decoded and may be parsed."""

    body_utf8: bytes
    charset: str
    form: BodyForm
    taken: Taken | None = None  # result of the native pass, if it was built and needs no tree for this page


class _Finds:
    """Collects links and directives from a page's elements, which are given one at a time in the order of the page."""

    def __init__(self, max_links: int) -> None:
        self._max_links = max_links
        self.links: list[Link] = []
        self.n_links = 0
        self.base = ""
        self.canonical = ""
        self.meta: list[tuple[str, str]] = []

    def take_all(self, links: list[Link], n_links: int, others: list[tuple[int, str, dict[str, str]]]) -> None:
        """Add the results of the native pass: links, and other elements with links or directives, each with the number of links before
        it.
        """
        self.n_links, done = n_links, 0
        for at, tag, attrs in others:
            self.links += links[done:at]
            self.take(tag, attrs)
            done = at
        self.links += links[done:]
        del self.links[self._max_links :]

    def take(self, tag: str, attrs: Attributes) -> None:
        """Add the links or directives of an element."""
        match tag:
            case "a" | "area":
                self.link(attrs.get("href"), attrs.get("rel"), tag, attrs.get("type"))
            case "frame" | "iframe":
                self.link(attrs.get("src"), None, tag)
            case "link":
                self._take_link(attrs.get("href"), attrs.get("rel") or "", attrs.get("type"))
            case "meta" if (content := attrs.get("content")) is not None:
                self._take_meta(attrs, content)
            case "base" if not self.base:
                self.base = _address(attrs.get("href"))

    def parsed(
        self, *, title: str, text: str, charset: str, agent: str, headers: Iterable[str], flags: Iterable[Flag] = (), form: str = ""
    ) -> Parsed:
        is_cut = self.n_links > self._max_links
        return Parsed(
            title=" ".join(title[: 4 * MAX_TITLE].split())[:MAX_TITLE],
            base=self.base,
            canonical=self.canonical,
            links=tuple(self.links),
            directives=robots.directives(self.meta, headers, agent),
            raw_text=text,
            charset=charset,
            flags=frozenset(flags) | ({Flag.LINKS_TRUNCATED} if is_cut else frozenset()),
            n_links=self.n_links,
            form=form,
        )

    def link(self, href: str | None, rel: str | None, tag: str, type_: str | None = None) -> None:
        """Add a link as written."""
        if href and (address := href.strip(_SPACE)):
            self.n_links += 1
            if len(self.links) < self._max_links and len(address) <= MAX_HREF:
                self.links.append(_new(Link, (address, rel.lower() if rel else "", tag, type_ or "")))

    def _take_link(self, href: str | None, rel: str, type_: str | None) -> None:
        rels = rel.lower().split()
        if "canonical" in rels and not self.canonical:
            self.canonical = _address(href)
        if "stylesheet" not in rels and not _FOLLOWED_RELS.isdisjoint(rels):
            self.link(href, rel, "link", type_)

    def _take_meta(self, attrs: Attributes, content: str) -> None:
        if name := attrs.get("name"):
            if len(self.meta) < MAX_META:
                self.meta.append((name, content))
        elif (attrs.get("http-equiv") or "").lower() == "refresh":
            self.link(refresh_target(content), None, "refresh")


def refresh_target(content: str) -> str:
    """Return the target in a refresh (meta element or header); "" if it has none."""
    match = _REFRESH.match(content)
    return (match[1] or match[2] or match[3] or "") if match else ""


def read(
    body: bytes, content_type: str, mime_type: str, *, agent: str, max_links: int, headers: Iterable[str] = (), is_isolated: bool = False
) -> Parsed | None:
    """Read a page as it came from the wire.

    `headers` are the values of X-Robots-Tag. Returns None if the page must be parsed in a process that can be killed; `is_isolated`
    says that this is such a process.
    """
    source = prepared(body, content_type, mime_type, is_isolated=is_isolated, max_links=max_links)
    return finished(source, agent=agent, max_links=max_links, headers=headers) if source else None


def prepared(
    body: bytes, content_type: str, mime_type: str, *, is_isolated: bool = False, max_links: int = _MOST_LINKS
) -> DecodedBody | None:
    """Do the first half of `read`: decode the page, and check whether it may be parsed in this process; None if not.

    The native pass already reads the page here, in linear time, unless it needs a tree.

    Args:
        body: The page without content coding.
        content_type: The value of its header.
        mime_type: Its media type.
        is_isolated: Whether this process may be killed.
        max_links: At least that of `finished`.
    """
    if is_binary(body, content_type):
        return DecodedBody(b"", "", BodyForm.BINARY)
    body_utf8, charset = decode(body, content_type)
    if mime_type == "text/plain":
        return DecodedBody(body_utf8, charset, BodyForm.PLAIN)
    if NATIVE and not isinstance(taken := native.page(body_utf8, max_links, Link), str):
        return DecodedBody(body_utf8, charset, BodyForm.HTML, taken)
    if not is_isolated:
        from thresher.crawler.core.bomb import bomb  # it needs numpy, without which a child process starts sooner

        if bomb(body_utf8):
            return None
    return DecodedBody(body_utf8, charset, BodyForm.HTML)


def finished(source: DecodedBody, *, agent: str, max_links: int, headers: Iterable[str] = ()) -> Parsed:
    """Do the second half of `read`."""
    match source.form:
        case BodyForm.HTML if source.taken is not None:
            title, text, links, n_links, others = source.taken
            finds = _Finds(max_links)
            finds.take_all(links, n_links, others)
            form = form_of(source.body_utf8)
            return finds.parsed(title=title, text=text, charset=source.charset, agent=agent, headers=headers, form=form)
        case BodyForm.HTML:
            return parse(source.body_utf8, source.charset, agent=agent, max_links=max_links, headers=headers)
        case BodyForm.PLAIN:
            return plain(source.body_utf8, source.charset, agent=agent, headers=headers)
        case BodyForm.BINARY:
            return _Finds(0).parsed(title="", text="", charset="", agent=agent, headers=headers, flags=[Flag.NOT_HTML])


def is_binary(body: bytes, content_type: str) -> bool:
    """Return whether a zero byte near the start shows that a body is not text, whatever its declared type. UTF-16 and UTF-32 are text."""
    return body.find(b"\0", 0, SNIFF_BYTES) >= 0 and declared(body, content_type) not in WIDE


def parse(body_utf8: bytes, charset: str, *, agent: str, max_links: int, headers: Iterable[str] = ()) -> Parsed:
    """Build the tree and read everything from it. A hostile page takes minutes here: see `bomb`."""
    tree = LexborHTMLParser(body_utf8, options=LexborDocumentOptions.WO_EVENTS)
    finds = _Finds(max_links)
    for node in tree.css(_NAMED):
        attrs = node.attributes
        if (tag := node.tag) == "a":  # nearly all elements
            finds.link(attrs.get("href"), attrs.get("rel"), "a", attrs.get("type"))
        else:
            finds.take(tag or "", attrs)
    title = tree.css_first("head > title") or tree.css_first("body > title")
    title_text = title.text() if title else ""
    form = form_of(body_utf8)
    return finds.parsed(title=title_text, text=_visible_text(tree), charset=charset, agent=agent, headers=headers, form=form)


def form_of(body_utf8: bytes) -> str:
    """Return what a page's forms ask for: "password", else "text" of several lines, else "". Comments and scripts are read like markup."""
    if not (native.asks(body_utf8) if NATIVE else any(word in body_utf8 for word in _ASKING)):
        return ""
    found = {match.lastindex for match in _FORM.finditer(body_utf8)}
    return "password" if 2 in found else "text" if found else ""


def plain(body_utf8: bytes, charset: str, *, agent: str = "", headers: Iterable[str] = ()) -> Parsed:
    """Read a text/plain body: words, no links."""
    text = body_utf8.decode("utf-8", "replace")
    return _Finds(0).parsed(title="", text=text, charset=charset, agent=agent, headers=headers)


def scan(body_utf8: bytes, charset: str, max_links: int, *, agent: str = "", headers: Iterable[str] = ()) -> Parsed:
    """Find links and directives in the first 256 KiB without a tree, in linear time; scripts and comments are searched like markup."""
    finds = _Finds(max_links)
    title = ""
    for found in _SCANNED.finditer(body_utf8[:SCAN_BYTES]):
        tag = (found[1] or b"title").lower().decode()
        if tag == "title":
            title = title or _unescaped(found[3])
        elif finds.n_links > max_links and tag in _ALWAYS_LINKS:
            finds.n_links += 1
        else:
            finds.take(tag, _attributes(found[2]))
    return finds.parsed(title=title, text="", charset=charset, agent=agent, headers=headers)


def _visible_text(tree: LexborHTMLParser) -> str:
    """Return the words of the body, with white space between them. Elements that show no text are removed from the tree."""
    body = tree.body
    if body is None:
        return ""
    body.strip_tags(_UNSEEN, recursive=True)
    return body.text(separator=" ", skip_empty=True)


def _address(value: str | None) -> str:
    """Return a URL as the page writes it; "" if it is none, or too long."""
    address = value.strip(_SPACE) if value else ""
    return address if len(address) <= MAX_HREF else ""


def _attributes(inside: bytes) -> Attributes:
    """Return the attributes in a tag's source; of two with the same name the first counts."""
    found: dict[str, str | None] = {}
    for name, value in attributes(inside):
        found.setdefault(name.decode("utf-8", "replace"), _unescaped(value))
    return found


def _unescaped(source: bytes) -> str:
    """Return source as text. Only entities with their semicolon count: "&copy=1" is part of a query."""
    return _ENTITY.sub(lambda entity: unescape(entity[0]), source.decode("utf-8", "replace"))
