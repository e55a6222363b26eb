"""Links of the demo web: their targets, and how they are written.

Pages write one target in many ways, as real pages do: absolute, without scheme, relative with more `..` than there are directories,
with a fragment, in capitals, in either quotes or none, with `&amp;` or a bare `&`. `DemoLink.url` is the canonical form of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from thresher.crawler.demo.atlas import DemoHost
from thresher.crawler.demo.seeded_random import SeededRandom

MOST_PAGES = 10**9  # most pages of a host: a page's number has at most nine digits
_N_SECTIONS = 5
_UP = "../../../../"  # from the deepest page to the root


@dataclass(frozen=True, slots=True)
class DemoLink:
    """One link of a page."""

    url: str  # canonical, absolute
    html: bytes  # the whole element, in the page's charset
    is_followed: bool = True  # False: rel=nofollow


def canonical_path(path: str) -> str:
    """Return the path (with query) as a client sends it."""
    return path if path.isascii() else quote(path, safe="/?&=%-._~")


def slug(rng: SeededRandom, host: DemoHost, *what: str | int) -> tuple[int, str, str]:
    """Return a section's number and two words of the host's subject."""
    throw, words = rng.throw("slug", host.name, *what), host.vocabulary.words
    return throw % _N_SECTIONS, words[(throw >> 8) % len(words)].lower(), words[(throw >> 24) % len(words)].lower()


def page_path(rng: SeededRandom, host: DemoHost, page: int) -> tuple[str, str]:
    """Return path (not yet percent-encoded) and title of a page of the host's tree."""
    if page == 0:
        return "/", host.brand
    number, first, second = slug(rng, host, page)
    section = host.vocabulary.words[(host.index * 7 + number * 3) % len(host.vocabulary.words)].lower()
    title = f"{first.capitalize()} {second} {page}"
    match host.style:
        case 0:
            return f"/{section}/{first}-{second}-{page}.html", title
        case 1:
            return f"/{section}/{first}-{second}-{page}/", title
        case 2:
            return f"/view.php?cat={number}&id={page}", title
        case _:
            return f"/{first}-{second}-{page}", title


def page_number(path: str) -> int:
    """Return the number that ends a page's path, -1 if there is none."""
    stem = path.removesuffix(".html").removesuffix("/")
    digits = stem[len(stem.rstrip("0123456789")) :]
    return int(digits) if 0 < len(digits) < len(str(MOST_PAGES)) and digits.isascii() else -1


class LinkWriter:
    """Writes the links of one host's pages."""

    def __init__(self, rng: SeededRandom, host: DemoHost, origin_of: Callable[[str], str]) -> None:
        self._rng, self._host, self._origin_of = rng, host, origin_of
        self._origin = origin_of(host.name)

    def home(self, path: str, text: str, *, nofollow: bool = False) -> DemoLink:
        """Write a link to a path of this host."""
        manner = self._rng.throw("manner", self._host.name, path)
        return DemoLink(
            self._origin + canonical_path(path), self._element(self._href(path, manner), text, manner >> 8, nofollow), not nofollow
        )

    def to_host(self, host: DemoHost, page: int) -> DemoLink:
        """Write a link to a page of another host."""
        url = self._origin_of(host.name) + canonical_path(page_path(self._rng, host, page)[0])
        return self.absolute(url, host.brand if page == 0 else f"{host.brand}, {page}")

    def absolute(self, url: str, text: str) -> DemoLink:
        return DemoLink(url, self._element(url, text, self._rng.throw("manner", url) >> 8, nofollow=False))

    def _href(self, path: str, manner: int) -> str:
        match manner % 16:
            case 0:
                return self._origin + path
            case 1:
                return self._origin.upper() + path
            case 2:
                return self._origin.removeprefix("http:") + path
            case 3 | 4 | 5 if len(path) > 1:
                return _UP + path[1:]
            case 6:
                return path + "#part-2"
            case _:
                return path

    def _element(self, href: str, text: str, manner: int, nofollow: bool) -> bytes:
        href = href if manner >> 8 & 3 == 0 else href.replace("&", "&amp;")
        rel, text = ' rel="nofollow"' if nofollow else "", escape(text)
        match manner % 8:
            case 0:
                element = f"<a{rel} href='{href}'>{text}</a>"
            case 1 if href.isascii() and "?" not in href:
                element = f"<A{rel} HREF={href} >{text}</A>"
            case 2:
                element = f'<a class="link" title="{text}" href="{href}"{rel}>{text}</a>'
            case _:
                element = f'<a href="{href}"{rel}>{text}</a>'
        return element.encode(self._host.charset)
