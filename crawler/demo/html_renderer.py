"""Renders HTML pages of an exact size, from a plan's links and the prose of its subject.

    head     title, charset, canonical, robots; on some sites scripts and comments with text that looks like links; data for scripts
    header   name and navigation, the same on all pages of the host
    text     a first sentence that no other page has, paragraphs with links, related links, paragraphs up to the wanted size
    footer   mailto:, javascript: and #fragment links, which name no page

Time: 60 µs for 25 KB and 60 links; what a host's pages share is rendered once.
"""

from __future__ import annotations

from html import escape

from thresher.crawler.demo.atlas import Declared, DemoHost
from thresher.crawler.demo.links import DemoLink
from thresher.crawler.demo.plan import PathKind, PathPlan
from thresher.crawler.demo.prose import Prose

_PARAGRAPH = 6  # sentences of a paragraph
_STYLE = "<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:auto}nav li{display:inline}</style>\n"
_CLASSES = b"c-article__block c-article__block--text l-grid__cell l-grid__cell--wide u-mb-4 u-text-balance js-observe ".split() * 8
_ITEM = b'{"id":%d,"kind":"teaser","isOpen":false,"priority":0,"tracking":{"module":"related","slot":"aside"},"text":"%b"}'
_SCRIPT = (
    "<script>var menu='<a href=\"/script-only/menu.html\">Menu</a>';if(1<2){document.title+=''}</script>\n"
    '<!-- <a href="/commented-out/old.html">old</a> -->\n'
)


class HtmlRenderer:
    """Renders the pages of one host."""

    def __init__(self, host: DemoHost, navigation: list[DemoLink], prose: Prose, *, state_bytes: int = 0, attribute_bytes: int = 0) -> None:
        self._host, self._prose, self._navigation = host, prose, navigation
        self._state_bytes = state_bytes
        self._opening, self._closing = _block(attribute_bytes)
        self._head = self._encode(f'<!DOCTYPE html>\n<html lang="{host.vocabulary.lang}">\n<head>\n{_charset(host)}')
        self._style = self._encode(f'<meta name="viewport" content="width=device-width">\n{_STYLE}{_SCRIPT if host.has_scripts else ""}')
        self._header = self._encode(f'</head>\n<body id="top">\n<header><p class="brand">{host.brand}</p>\n')
        self._menu = _list(b"nav", navigation)
        self._footer = self._encode(
            f'</main>\n<footer><p>&copy; {host.brand} &middot; <a href="mailto:info@{host.name}">Write to us</a> &middot; '
            f'<a href="#top">Top</a> &middot; <a href="javascript:void(0)">Print</a></p></footer>\n</body>\n</html>\n'
        )

    def page(self, place: PathPlan, links: list[DemoLink], n_bytes: int, *, canonical: str = "", robots: str = "") -> bytes:
        """Render a page of `n_bytes`; it is longer only if its links need more."""
        is_of_tree = place.kind in (PathKind.PAGE, PathKind.COPY, PathKind.NEAR_COPY, PathKind.VARIANT)
        key = place.page if is_of_tree else place.path
        has_menu = links[: len(self._navigation)] == self._navigation
        content = links[len(self._navigation) :] if has_menu else links
        n_inline = len(content) // 2
        n_sentences = max(n_inline + 1, int(n_bytes / self._prose.mean_bytes) + 2)
        sentences = self._prose.sentences(n_sentences, self._host.name, key)
        start = b"".join(
            (
                self._head,
                self._encode(_about(place.title, self._host.brand, canonical, robots)),
                self._style,
                self._state(key),
                self._header,
                self._menu if has_menu else b"",
                self._encode(f"</header>\n<main>\n<h1>{escape(place.title)}</h1>\n<p>{escape(self._lead(place))}</p>\n"),
                *[b"<p>%b %b</p>\n" % (sentence, link.html) for sentence, link in zip(sentences, content[:n_inline], strict=False)],
            )
        )
        end = _list(b"section", content[n_inline:]) + self._footer
        return b"".join((start, self._filler(sentences[n_inline:], n_bytes - len(start) - len(end)), end))

    def _state(self, key: str | int) -> bytes:
        """Return data for scripts; nothing executes it."""
        if not self._state_bytes:
            return b""
        sentences = self._prose.sentences(self._state_bytes // (len(_ITEM) + 60) + 1, self._host.name, key, "state")
        items = b",".join([_ITEM % (i, sentence.replace(b'"', b"'")) for i, sentence in enumerate(sentences)])
        return b'<script type="application/json" id="state">[%b]</script>\n' % items[: self._state_bytes].rpartition(b",{")[0]

    def _filler(self, sentences: list[bytes], n_bytes: int) -> bytes:
        """Return paragraphs of exactly `n_bytes`, or nothing if there is no room. Text is cut at a space, never within a character."""
        if n_bytes < 64 + len(self._opening):
            return b" " * max(0, n_bytes)
        paragraphs = [b" ".join(sentences[i : i + _PARAGRAPH]) for i in range(0, len(sentences), _PARAGRAPH)]
        text = (self._closing + self._opening).join(paragraphs)
        room = n_bytes - len(self._opening) - len(self._closing)
        if len(text) > room:
            text = text[: max(0, text.rfind(b" ", 0, room))]
            if text.rfind(b"<div ") > text.rfind(b">"):  # the cut is within the markup of the next paragraph
                text = text[: text.rfind(self._closing)]
        return b"%b%b%b%b" % (self._opening, text, self._closing, b" " * (room - len(text)))

    def notice(self, title: str) -> bytes:
        """Render a short page without content: an error, a redirect."""
        home = f"<a href=/>{self._host.brand}</a>"
        return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{home}</p></body></html>\n".encode()

    def _lead(self, place: PathPlan) -> str:
        if place.kind is PathKind.NEAR_COPY:
            return (
                f"{place.title}: a reprint of what {self._host.brand} has on this, with the kind permission of its authors, {place.path}."
            )
        return f"{place.title}: what {self._host.brand} has on this."

    def _encode(self, text: str) -> bytes:
        return text.encode(self._host.charset)


def _charset(host: DemoHost) -> str:
    if host.declared is not Declared.META:
        return ""
    if host.index % 2:
        return f'<meta http-equiv="Content-Type" content="text/html; charset={host.charset}">\n'
    return f'<meta charset="{host.charset}">\n'


def _about(title: str, brand: str, canonical: str, robots: str) -> str:
    return (
        f"<title>{escape(title)} &ndash; {brand}</title>\n"
        + (f'<link rel="canonical" href="{escape(canonical)}">\n' if canonical else "")
        + (f'<meta name="robots" content="{robots}">\n' if robots else "")
    )


def _list(tag: bytes, links: list[DemoLink]) -> bytes:
    return b"<%b><ul>\n%b</ul></%b>\n" % (tag, b"".join([b"<li>%b</li>\n" % link.html for link in links]), tag) if links else b""


def _block(n_bytes: int) -> tuple[bytes, bytes]:
    """Return the markup before and after a paragraph, with some `n_bytes` of classes and data attributes, if any."""
    if not n_bytes:
        return b"<p>", b"</p>\n"
    classes = b" ".join(_CLASSES)[: max(0, n_bytes - 60)]
    return b'<div data-module="article-text" class="%b"><p class="text">' % classes, b"</p></div>\n"
