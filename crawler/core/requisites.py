"""Finds the requisites of a page or a style sheet, which it needs to be shown: images, styles, scripts, fonts, media, icons, preloads.

From HTML, by one tree [lexbor]: `src` and `srcset` of images and media, posters and tracks, scripts, objects, backgrounds, `link` elements
(style sheets, icons, preloads, manifests), URLs in inline styles, images and symbols of inline SVG, and URLs that pages load later by
scripts (`data-src`, `data-srcset`). For a page without an icon, /favicon.ico is assumed, as in browsers. From CSS, by its tokens
[tinycss2]: `url()`, `src()`, `@import`, `image-set()`; not the names of `@namespace`.

In scripts within a page, quoted absolute URLs count if their path ends like that of an image, style sheet, script or font: WordPress and
others name URLs to load later in this way. Not found are URLs that scripts build from parts, and frames, which are pages and found as
links.

Call this for pages of the web only in a process that may be killed (crawler/children/parser_process.py): lexbor is quadratic on some pages.
Time: 150 µs per 25 KB of HTML, 0.5 s per MB of CSS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from thresher.crawler.core.charset import decode

FEWEST_STEPS: Final = 2  # page → style sheet → font; `archive.max_imports` come between these two
HTML_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))
CSS_TYPE: Final = "text/css"
_MAX_HREF: Final = 1 << 16  # characters
_NAMED: Final = (
    "img,source,video,audio,track,embed,object,script,input,link,style,image,use,feimage,base,"
    "[style],[background],[data-src],[data-srcset],[poster]"
)
_SHOWN: Final = frozenset(  # values of rel of a `link` whose target is a requisite
    (
        *("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon"),
        *("fluid-icon", "preload", "modulepreload", "manifest"),
    )
)
_ICONS: Final = frozenset(("icon", "apple-touch-icon", "mask-icon"))
_ADDRESSES: Final[Mapping[str, tuple[str, ...]]] = {  # element → attributes with one address
    "img": ("src", "data-src"),
    "source": ("src", "data-src"),
    "video": ("src", "poster", "data-src"),
    "audio": ("src", "data-src"),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "script": ("src",),
    "image": ("href", "xlink:href"),
    "feimage": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
_INLINE: Final = re.compile(r"(?:data|blob|about|javascript|mailto|cid):|#", re.IGNORECASE)
_IMAGE_SETS: Final = ("image-set", "-webkit-image-set")
_SPACE: Final = " \t\n\f\r"
_QUOTED: Final = re.compile(r"""["'](https?:\\?/\\?/[^"'\s<>]{1,2048})["']""", re.IGNORECASE)
_LOADED: Final = (
    ".js",
    ".mjs",
    ".css",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webp",
    ".avif",
    ".svg",
    ".ico",
    ".woff",
    ".woff2",
    ".ttf",
    ".otf",
)


class Needs(msgspec.Struct, array_like=True, frozen=True):
    """The requisites of a body, with addresses as written: distinct, in its order."""

    base: str = ""  # of HTML: value of the first <base href>
    hrefs: list[str] = []
    n_left_out: int = 0  # number beyond the limit


def needs(body: bytes, content_type: str, mime_type: str, at_most: int) -> Needs:
    """Return the requisites of a body of HTML or CSS; none for other types.

    Args:
        body: The body without content coding.
        content_type: The value of its header.
        mime_type: Its media type.
        at_most: Most requisites that are returned.
    """
    if mime_type == CSS_TYPE:
        return _bounded("", _css_addresses(css_text(body, content_type)), at_most)
    if mime_type not in HTML_TYPES:
        return Needs()
    base, hrefs = of_html(decode(body, content_type)[0])
    return _bounded(base, iter(hrefs), at_most)


def of_html(body_utf8: bytes) -> tuple[str, list[str]]:
    """Return (the base that a page names or "", its requisites)."""
    base, has_icon, found = "", False, list[str]()
    for node in LexborHTMLParser(body_utf8).css(_NAMED):
        tag, attrs = (node.tag or "").lower(), node.attributes
        if tag == "base":
            base = base or (attrs.get("href") or "").strip(_SPACE)
        elif tag == "link":
            rels = frozenset((attrs.get("rel") or "").lower().split())
            if not rels.isdisjoint(_SHOWN):
                has_icon = has_icon or not rels.isdisjoint(_ICONS)
                found += [attrs.get("href") or "", *srcset(attrs.get("imagesrcset") or "")]
        elif tag == "style":
            found += of_css(node.text(deep=True))
        elif tag == "script" and not attrs.get("src") and "ld+json" not in (attrs.get("type") or "").lower():
            found += of_script(node.text(deep=True))
        else:
            found += _of_element(tag, attrs)
        if inline := attrs.get("style"):
            found += of_css(inline)
    return base, found if has_icon else [*found, "/favicon.ico"]


def _of_element(tag: str, attrs: Mapping[str, str | None]) -> list[str]:
    names = _ADDRESSES.get(tag, ())
    if tag == "input" and (attrs.get("type") or "").lower() == "image":
        names = ("src",)
    found = [attrs.get(name) or "" for name in (*names, "background")]
    for name in ("srcset", "data-srcset"):
        if (value := attrs.get(name)) and tag in ("img", "source"):
            found += srcset(value)
    return found


def of_script(text: str) -> list[str]:
    """Return the absolute URLs of requisites that a script quotes."""
    quoted = (found[1].replace("\\/", "/") for found in _QUOTED.finditer(text))
    return [address for address in quoted if address.partition("?")[0].partition("#")[0].lower().endswith(_LOADED)]


def srcset(value: str) -> list[str]:
    """Return the addresses of a `srcset` [HTML, 4.8.4.2.2 "parse a srcset attribute"]."""
    found: list[str] = []
    at, end = 0, len(value)
    while at < end:
        while at < end and value[at] in _SPACE + ",":
            at += 1
        start = at
        while at < end and value[at] not in _SPACE:
            at += 1
        address = value[start:at]
        if address.endswith(","):
            address = address.rstrip(",")
        else:
            depth = 0
            while at < end and (depth or value[at] != ","):
                depth += (value[at] == "(") - (value[at] == ")" and depth > 0)
                at += 1
        if address:
            found.append(address)
    return found


def css_text(body: bytes, content_type: str) -> str:
    """Decode a style sheet by its byte order mark, its header, or its @charset; else as UTF-8."""
    from tinycss2.bytes import decode_stylesheet_bytes  # of the extra `archive`

    charset = content_type.lower().partition("charset=")[2].strip(" \"';")
    text: str = decode_stylesheet_bytes(body, charset or None)[0]
    return text


def of_css(text: str) -> list[str]:
    """Return the addresses in CSS, a whole sheet or a `style` attribute."""
    if "(" not in text and "@import" not in text.lower():
        return []
    return [*_css_addresses(text)]


def _css_addresses(text: str) -> Iterator[str]:
    """Yield the addresses among the tokens of CSS; nested blocks need no recursion."""
    from tinycss2 import parse_component_value_list  # of the extra `archive`

    pending: list[tuple[Iterator[Any], bool]] = [(iter(parse_component_value_list(text, skip_comments=True)), False)]
    rule = ""  # the at-keyword that has just been read
    while pending:
        tokens, is_image_set = pending[-1]
        token = next(tokens, None)
        if token is None:
            pending.pop()
            continue
        kind, before = token.type, rule
        if kind == "whitespace":
            continue
        is_name = before == "namespace"
        rule = token.lower_value if kind == "at-keyword" else before if is_name and kind == "ident" else ""
        if (kind == "url" and not is_name) or (kind == "string" and (before == "import" or is_image_set)):
            yield token.value
        elif kind == "function" and token.lower_name in ("url", "src"):
            if not is_name:
                yield from [argument.value for argument in token.arguments if argument.type == "string"][:1]
        elif kind == "function":
            pending.append((iter(token.arguments), token.lower_name in _IMAGE_SETS))
        elif kind.endswith("block"):
            pending.append((iter(token.content), False))


def _bounded(base: str, hrefs: Iterator[str], at_most: int) -> Needs:
    distinct = dict.fromkeys(href.strip(_SPACE) for href in hrefs)
    wanted = [href for href in distinct if href and len(href) <= _MAX_HREF and not _INLINE.match(href)]
    return Needs(base, wanted[:at_most], max(0, len(wanted) - at_most))
