"""Kinds of soft errors, and hints at them in a page's own words.

A hint decides nothing by itself: it makes a page worth a probe, and names the kind once other evidence shows that it is a soft error. The
exceptions are challenge and consent pages that say so in their title and have hardly any other text: they are called so at once, so that no
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


class ErrorKind(StrEnum):
    """What a soft error hides, or the gate that blocks access. The value is written to records and output."""

    NOT_FOUND = "soft_404"
    FORBIDDEN = "soft_403"
    SERVER_ERROR = "soft_5xx"
    LOGIN = "login"
    CHALLENGE = "challenge"
    CONSENT = "consent"
    PARKED = "parked"
    ROOT = "root"
    SHELL = "js_shell"


WALLS = frozenset((ErrorKind.CHALLENGE, ErrorKind.CONSENT, ErrorKind.SHELL))  # if a host shows only such pages, it is parked
GATES = WALLS | {ErrorKind.LOGIN, ErrorKind.PARKED}  # a home page may be one, too
ERRORS = frozenset((ErrorKind.NOT_FOUND, ErrorKind.FORBIDDEN, ErrorKind.SERVER_ERROR))

_SHORT = 200  # words of a text that is read for phrases
_FEW = 80  # words of a page that is only an error page
_TEXT = 1_500  # characters
_TITLE = 300
_FEW_LINKS = 3
_SHELL = 20  # words of an empty shell


class WordHint(NamedTuple):
    """What a page's words suggest."""

    kind: str = ""  # an ErrorKind; "": nothing
    is_strong: bool = False  # the title says it, or two phrases say it and there is hardly any other text


NO_HINT = WordHint()


@cache
def _pattern(lines: tuple[str, ...]) -> str:
    """Return a pattern of the phrases. An ASCII letter at a phrase's end must end a word: "catalog in" is no "log in"."""
    return "|".join(sorted(map(_whole, _each(lines)), key=len, reverse=True))


def _each(lines: Iterable[str]) -> list[str]:
    return sorted({phrase for line in lines for phrase in line.split("|")})


def _whole(phrase: str) -> str:
    before, after = (r"\b" if c.isascii() and c.isalnum() else "" for c in (phrase[0], phrase[-1]))
    return f"{before}{re2.escape(phrase)}{after}"


_PHRASES = {
    ErrorKind.CHALLENGE: phrases.CHALLENGE,
    ErrorKind.CONSENT: phrases.CONSENT,
    ErrorKind.SHELL: phrases.SHELL,
    ErrorKind.PARKED: phrases.PARKED,
    ErrorKind.NOT_FOUND: phrases.NOT_FOUND,
    ErrorKind.FORBIDDEN: phrases.FORBIDDEN,
    ErrorKind.SERVER_ERROR: phrases.SERVER_ERROR,
    ErrorKind.LOGIN: phrases.LOGIN,
}
_BY_KIND = [(kind, re2.compile(_pattern(lines))) for kind, lines in _PHRASES.items()]
_PARKED = dict(_BY_KIND)[ErrorKind.PARKED]
_ANY_TITLE = re2.compile("|".join(_pattern(lines) for lines in _PHRASES.values()))
_ANY_TEXT = re2.compile("|".join(_pattern(lines) for kind, lines in _PHRASES.items() if kind is not ErrorKind.LOGIN))
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u0e00-\u1fff\u3040-\uffff]")  # scripts that put no space between words, and those with marks that \w lacks
_COMMON = frozenset(("page", "site", "domain", "website", "server"))


def _telling(phrase: str) -> str:
    """Return the word of a phrase that is the least common in other texts: the longest."""
    words: list[str] = _WORD.findall(phrase)
    return max([word for word in words if word not in _COMMON] or words, key=len)


# One of them stands in every title with a phrase, as a word: looking for them first saves most searches.
_TELLING = frozenset(_telling(phrase) for lines in _PHRASES.values() for phrase in _each(lines) if not _UNSPACED.search(phrase))


def hint_of(page: Page) -> WordHint:
    """Return what a page's title and, if it is short, its text suggest.

    A plain text suggests nothing: software shows its errors as HTML, and a file that tells of errors is a log or a listing. Where a site
    does not read a file's name in its URL, a probe shows the same file.
    """
    n_words = page.tokens.size
    title = page.title[:_TITLE].lower()
    if (not _TELLING.isdisjoint(_WORD.findall(title)) or _is_unspaced(title)) and _ANY_TITLE.search(title):
        kind = _first(title)
        return WordHint(kind, n_words <= _FEW and (kind not in WALLS or len(page.links) <= _FEW_LINKS))
    if n_words > _SHORT or page.mime_type == "text/plain":
        return NO_HINT
    text = collapsed(page.text[:_TEXT]).lower()
    if _ANY_TEXT.search(text):
        kind = _first(text)
        return NO_HINT if kind == ErrorKind.SHELL and page.links else WordHint(kind, _is_strong(kind, text, n_words))
    is_empty = n_words == 0 and page.n_bytes > 0 and not page.links and page.mime_type in ("text/html", "application/xhtml+xml")
    return WordHint(ErrorKind.SHELL, is_strong=True) if is_empty else NO_HINT


def _is_strong(kind: str, text: str, n_words: int) -> bool:
    """Return whether a text whose title says nothing is a mere shell, or a parked host's page."""
    if kind == ErrorKind.SHELL:
        return n_words <= _SHELL
    return kind == ErrorKind.PARKED and n_words <= _FEW and len({match.group() for match in _PARKED.finditer(text)}) > 1


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.search(text) is not None


def kind_of(hint: str, url_kind: UrlKind | None) -> ErrorKind:
    """Return the kind of a soft error by its page's hint ("" for none) and its URLs; a missing page if neither names a kind."""
    if hint in GATES:
        return ErrorKind(hint)
    if url_kind is not None and url_kind is not UrlKind.NOT_FOUND:
        return ErrorKind(url_kind.value)
    return ErrorKind(hint) if hint else ErrorKind.NOT_FOUND


def _first(text: str) -> str:
    """Return the first kind, in the order of `_PHRASES`, with a phrase that the text contains."""
    return next(str(kind) for kind, pattern in _BY_KIND if pattern.search(text))
