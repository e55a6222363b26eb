"""Kinds of soft errors, and what a page's own words hint at.

A hint decides nothing by itself: it makes a page worth a probe, and names the kind once other evidence says that it is a soft error. The
exceptions are challenge and consent pages that say so in their title over a text of a few words: they are set aside at once, so that no
filter learns from them.

Time: 1 µs for a page of more than `_SHORT` words, whose title alone is read; 5 to 15 µs for a shorter one.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import re2

from crawler.core.model import Page
from filters.soft_error import phrases
from filters.soft_error.url_kind import UrlKind


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

_SHORT = 300  # words of a text that is read for phrases
_FEW = 80  # words of an error page that is nothing else
_TEXT = 3_000  # characters
_TITLE = 300
_FEW_LINKS = 3


class Hint(NamedTuple):
    """What a page's words hint at."""

    kind: str = ""  # a Kind; "": nothing
    is_strong: bool = False  # its title says it, and it says hardly anything else


NO_HINT = Hint()


def _pattern(lines: Iterable[str]) -> str:
    """Return the phrases as a pattern; those in Latin letters begin with a word, so that "catalog in" is no "log in"."""
    every = {phrase for line in lines for phrase in line.split("|")}
    found = {(r"\b" if phrase[0].isascii() else "") + re2.escape(phrase) for phrase in every}
    return "|".join(sorted(found, key=len, reverse=True))


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
_ANY_TITLE = re2.compile("|".join(_pattern(lines) for lines in _PHRASES.values()))
_ANY_TEXT = re2.compile("|".join(_pattern(lines) for kind, lines in _PHRASES.items() if kind is not Kind.LOGIN))


def hint_of(page: Page) -> Hint:
    """Return what a page's title and, if it is short, its text hint at."""
    n_words = page.tokens.size
    title = page.title[:_TITLE].lower()
    if title and _ANY_TITLE.search(title):
        kind = _first(title)
        return Hint(kind, n_words <= _FEW and (kind not in WALLS or len(page.links) <= _FEW_LINKS))
    if n_words > _SHORT:
        return NO_HINT
    text = page.text[:_TEXT].lower()
    if _ANY_TEXT.search(text):
        kind = _first(text)
        return NO_HINT if kind == Kind.SHELL and page.links else Hint(kind)
    is_empty = n_words == 0 and page.n_bytes > 0 and not page.links and page.mime_type in ("text/html", "application/xhtml+xml")
    return Hint(Kind.SHELL) if is_empty else NO_HINT


def kind_of(hint: str, url_kind: UrlKind | None) -> Kind:
    """Name a soft error from what its page hints at ("" for nothing) and what its URLs say; a missing page if neither says more."""
    if hint in GATES:
        return Kind(hint)
    if url_kind is not None and url_kind is not UrlKind.NOT_FOUND:
        return Kind(url_kind.value)
    return Kind(hint) if hint else Kind.NOT_FOUND


def _first(text: str) -> str:
    """Return the first kind, in the order of `_PHRASES`, of which a phrase stands in the text."""
    return next(kind for kind, pattern in _BY_KIND if pattern.search(text))
