"""Kinds of soft errors, and what a page's own words hint at.

A hint decides nothing by itself: it makes a page worth a probe, and names the kind once other evidence says that it is a soft error. The
exceptions are challenge and consent pages that say so in their title over a text of a few words: they are set aside at once, so that no
filter learns from them.

Time: 2 µs for a page of more than `_SHORT` words, whose title alone is read; 12 µs for a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import NamedTuple

import re2

from thresher.crawler.core.model import Page
from thresher.crawler.core.parsed import collapsed
from thresher.filters.soft_error import phrases
from thresher.filters.soft_error.url_kind import UrlKind


class Kind(StrEnum):
    """What a soft error hides, or what stands in the way. The value stands in records and output."""

    NOT_FOUND = "soft_404"
    FORBIDDEN = "soft_403"
    SERVER_ERROR = "soft_5xx"
    LOGIN = "login"
    CHALLENGE = "challenge"
    CONSENT = "consent"
    PARKED = "parked"
    ROOT = "root"
    SHELL = "js_shell"


WALLS = frozenset((Kind.CHALLENGE, Kind.CONSENT, Kind.SHELL))  # a host that answers so everywhere is parked
GATES = WALLS | {Kind.LOGIN, Kind.PARKED}  # true of a home page too
ERRORS = frozenset((Kind.NOT_FOUND, Kind.FORBIDDEN, Kind.SERVER_ERROR))

_SHORT = 200  # words of a text that is read for phrases
_FEW = 80  # words of an error page that is nothing else
_TEXT = 1_500  # characters
_TITLE = 300
_FEW_LINKS = 3
_SHELL = 20  # words of an empty shell


class Hint(NamedTuple):
    """What a page's words hint at."""

    kind: str = ""  # a Kind; "": nothing
    is_strong: bool = False  # its title says it, or two phrases do, and it says hardly anything else


NO_HINT = Hint()


@cache
def _pattern(lines: tuple[str, ...]) -> str:
    """Return the phrases as a pattern; what begins or ends with an ASCII letter is whole words, so that "catalog in" is no "log in"."""
    return "|".join(sorted(map(_whole, _each(lines)), key=len, reverse=True))


def _each(lines: Iterable[str]) -> list[str]:
    return sorted({phrase for line in lines for phrase in line.split("|")})


def _whole(phrase: str) -> str:
    before, after = (r"\b" if c.isascii() and c.isalnum() else "" for c in (phrase[0], phrase[-1]))
    return f"{before}{re2.escape(phrase)}{after}"


_PHRASES = {
    Kind.CHALLENGE: phrases.CHALLENGE,
    Kind.CONSENT: phrases.CONSENT,
    Kind.SHELL: phrases.SHELL,
    Kind.PARKED: phrases.PARKED,
    Kind.NOT_FOUND: phrases.NOT_FOUND,
    Kind.FORBIDDEN: phrases.FORBIDDEN,
    Kind.SERVER_ERROR: phrases.SERVER_ERROR,
    Kind.LOGIN: phrases.LOGIN,
}
_BY_KIND = [(kind, re2.compile(_pattern(lines))) for kind, lines in _PHRASES.items()]
_PARKED = dict(_BY_KIND)[Kind.PARKED]
_ANY_TITLE = re2.compile("|".join(_pattern(lines) for lines in _PHRASES.values()))
_ANY_TEXT = re2.compile("|".join(_pattern(lines) for kind, lines in _PHRASES.items() if kind is not Kind.LOGIN))
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u0e00-\u1fff\u3040-\uffff]")  # scripts that put no space between words, and those with marks that \w lacks
_COMMON = frozenset(("page", "site", "domain", "website", "server"))


def _telling(phrase: str) -> str:
    """Return the word of a phrase that is said least in passing, as far as its length tells."""
    words: list[str] = _WORD.findall(phrase)
    return max([word for word in words if word not in _COMMON] or words, key=len)


# One of them stands in every title with a phrase, as a word: looking for them first saves most searches.
_TELLING = frozenset(_telling(phrase) for lines in _PHRASES.values() for phrase in _each(lines) if not _UNSPACED.search(phrase))


def hint_of(page: Page) -> Hint:
    """Return what a page's title and, if it is short, its text hint at."""
    n_words = page.tokens.size
    title = page.title[:_TITLE].lower()
    if (not _TELLING.isdisjoint(_WORD.findall(title)) or _is_unspaced(title)) and _ANY_TITLE.search(title):
        kind = _first(title)
        return Hint(kind, n_words <= _FEW and (kind not in WALLS or len(page.links) <= _FEW_LINKS))
    if n_words > _SHORT:
        return NO_HINT
    text = collapsed(page.text[:_TEXT]).lower()
    if _ANY_TEXT.search(text):
        kind = _first(text)
        return NO_HINT if kind == Kind.SHELL and page.links else Hint(kind, _is_strong(kind, text, n_words))
    is_empty = n_words == 0 and page.n_bytes > 0 and not page.links and page.mime_type in ("text/html", "application/xhtml+xml")
    return Hint(Kind.SHELL, is_strong=True) if is_empty else NO_HINT


def _is_strong(kind: str, text: str, n_words: int) -> bool:
    """Tell whether a text without a telling title is nothing but a shell, or a parked host's page."""
    if kind == Kind.SHELL:
        return n_words <= _SHELL
    return kind == Kind.PARKED and n_words <= _FEW and len({match.group() for match in _PARKED.finditer(text)}) > 1


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.search(text) is not None


def kind_of(hint: str, url_kind: UrlKind | None) -> Kind:
    """Name a soft error from what its page hints at ("" for nothing) and what its URLs say; a missing page if neither says more."""
    if hint in GATES:
        return Kind(hint)
    if url_kind is not None and url_kind is not UrlKind.NOT_FOUND:
        return Kind(url_kind.value)
    return Kind(hint) if hint else Kind.NOT_FOUND


def _first(text: str) -> str:
    """Return the first kind, in the order of `_PHRASES`, of which a phrase stands in the text."""
    return next(str(kind) for kind, pattern in _BY_KIND if pattern.search(text))
