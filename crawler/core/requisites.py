"""What a page or a style sheet needs to be shown: images, styles, scripts, fonts, media, icons, preloads.

From HTML, by one tree [lexbor]: `src` and `srcset` of images and media, posters and tracks, scripts, objects, backgrounds, `link` elements
that say so (style sheets, icons, preloads, manifests), what inline styles name, images and symbols of inline SVG, and what pages load late
by scripts (`data-src`, `data-srcset`). A page that names no icon has /favicon.ico for one, as browsers do. From CSS, by its tokens
[tinycss2]: `url()`, `src()`, `@import`, `image-set()`; not the names of `@namespace`.

Of scripts that stand in a page, whole addresses that they quote count where their path ends as an image's, a style sheet's, a script's or
a font's does: so name WordPress and others what they load late. Not found: what scripts put together of parts, and frames, which are pages:
links lead to them.

Call this on pages of the web only in a process that may be killed (crawler/children/parser_process.py): lexbor is quadratic on some pages.
Time: 150 µs per 25 KB of HTML, 0.5 s per MB of CSS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborHTMLParser

from thresher.crawler.core.charset import decode

MAX_HOPS: Final = 5  # page → style sheet → imported style sheet → font is 3; Sphinx's themes import sheets that import sheets: 4
HTML_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))
CSS_TYPE: Final = "text/css"
_MAX_HREF: Final = 1 << 16  # characters
_NAMED: Final = (
    "img,source,video,audio,track,embed,object,script,input,link,style,image,use,feimage,base,"
    "[style],[background],[data-src],[data-srcset],[poster]"
)
_SHOWN: Final = frozenset(  # kinds of `link` whose target is needed
    (
        *("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon"),
        *("fluid-icon", "preload", "modulepreload", "manifest"),
    )
)
_ICONS: Final = frozenset(("icon", "apple-touch-icon", "mask-icon"))
_ADDRESSES: Final[Mapping[str, tuple[str, ...]]] = {  # attributes that hold one address, by element
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
    """What a body needs, as it writes the addresses: distinct, in its order."""

    base: str = ""  # of HTML: value of the first <base href>
    hrefs: list[str] = []
    n_left_out: int = 0  # beyond the limit


def needs(body: bytes, content_type: str, mime_type: str, at_most: int) -> Needs:
    """Return what a body of HTML or CSS needs; nothing of any other type."""
    if mime_type == CSS_TYPE:
        return _bounded("", _css_addresses(css_text(body, content_type)), at_most)
    if mime_type not in HTML_TYPES:
        return Needs()
    base, hrefs = of_html(decode(body, content_type)[0])
    return _bounded(base, iter(hrefs), at_most)


def of_html(body_utf8: bytes) -> tuple[str, list[str]]:
    """Return the base that a page names, "" if none, and what it needs."""
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
    """Return the whole addresses that a script quotes of what pages load."""
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
    """Decode a style sheet: by its byte order mark, its header, its @charset; as UTF-8 else."""
    from tinycss2.bytes import decode_stylesheet_bytes  # of the extra `archive`

    charset = content_type.lower().partition("charset=")[2].strip(" \"';")
    text: str = decode_stylesheet_bytes(body, charset or None)[0]
    return text


def of_css(text: str) -> list[str]:
    """Return what CSS names, a whole sheet or a `style` attribute."""
    if "(" not in text and "@import" not in text.lower():
        return []
    return [*_css_addresses(text)]


def _css_addresses(text: str) -> Iterator[str]:
    """Yield the addresses among the tokens of CSS; blocks in blocks take no recursion."""
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
