"""Reduces what an answer shows to a token of eight bytes, and says how many alike answers are suspicious.

    page of 200     its words, without those that quote its own URL: a login form names the page instead of which it is shown
    challenge       always the same, whatever its words
    error           status and words
    redirect        its target without the query: the query tells a login form where to return to
    file            the status, and why its body was not read
    failure         the status if there was one, else the cause, after the last try

Of errors, and of pages that say little, numbers and identifiers do not count: a wall may name the time, or give each request a number.

Time: 1 µs for a long page, 30 µs for one of up to `_SHORT` words, 10 more for one that says little.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
import xxhash

from thresher.crawler.core.model import NEEDS_BROWSER, Page
from thresher.crawler.core.sketch import word_hash
from thresher.filters.soft_error.kinds import GATES, hint_of
from thresher.filters.soft_error.looks import own_words, text_of

TOKEN: Final = 8
ALIKE: Final = 3  # so many answers with the same token are suspicious
GUARDED: Final = 2  # the same for errors that deny access, and for pages with few words and links
AT_ONCE: Final = 1  # the same for challenges, login and consent forms, and requests whose last try failed
_GUARDS: Final = frozenset((401, 403, 407, 429, 451, 503))
_SHORT: Final = 300  # words
_FEW: Final = 80  # a page of fewer words has little to show
_FEW_LINKS: Final = 3
_FEWEST: Final = 5  # a page of fewer words that has many links cannot be compared
_SHOWN: Final = "shown"  # key in a page's dict, beside its fields
_WITH_DIGIT: Final = re.compile(r"\w*\d\w*")
_ODD: Final = re.compile(r"[0-9a-f]+|\w{16,}")  # numbers, and identifiers
_PLAIN: Final = 2 / 3  # share of the words that are left without them; else they are what a page says


class Shown(NamedTuple):
    """What an answer shows."""

    token: bytes  # b"": nothing that can be compared
    least: int = ALIKE  # so many alike answers ask for a canary


NOTHING: Final = Shown(b"")


def of_page(page: Page) -> Shown:
    """Return what a page or an error shows; it is computed once."""
    beside = vars(page)
    shown: Shown | None = beside.get(_SHOWN)
    if shown is None:
        shown = beside[_SHOWN] = _of_page(page)
    return shown


def _of_page(page: Page) -> Shown:
    if not NEEDS_BROWSER.isdisjoint(page.flags):
        return Shown(_token(b"C", b""), AT_ONCE)
    is_short = page.tokens.size <= _SHORT
    says_little = page.tokens.size <= _FEW and len(page.links) <= _FEW_LINKS
    if page.tokens.size < _FEWEST and page.status < 400 and not says_little:
        return NOTHING
    is_plain = says_little or (is_short and page.status >= 400)
    words = _plain_text_of(page) if is_plain else text_of(page) if is_short else page.fingerprint
    if page.status >= 400:
        return Shown(_token(b"E%d" % page.status, words), GUARDED if page.status in _GUARDS else ALIKE)
    if is_short and (page.form == "password" or hint_of(page).kind in GATES):
        return Shown(_token(b"P", words), AT_ONCE)
    return Shown(_token(b"P", words), GUARDED if says_little else ALIKE)


def _plain_text_of(page: Page) -> bytes:
    """Return the hash of a page's words without numbers and identifiers; of all its words if too few others are left."""
    odd = [word for word in _WITH_DIGIT.findall(page.text.lower()) if _ODD.fullmatch(word)]
    if not odd:
        return text_of(page)
    words = own_words(page)
    plain = words[~np.isin(words, np.array([word_hash(word) for word in odd], dtype=np.uint64))]
    return xxhash.xxh3_64_digest(plain.tobytes()) if len(plain) >= max(_FEWEST, _PLAIN * len(words)) else text_of(page)


def of_redirect(target: str) -> Shown:
    """Return what a redirect shows.

    Args:
        target: Its canonical URL.
    """
    return Shown(_token(b"R", target.partition("?")[0].encode()))


def of_failure(cause: str, status: int) -> Shown:
    """Return what a request shows if its last try has failed.

    Args:
        status: 0 if there was none.
    """
    return Shown(_token(b"F", b"%d" % status if status else cause.encode()), AT_ONCE)


def of_refused(why: str, status: int) -> Shown:
    """Return what an answer shows whose body was not read, as it is no document.

    Args:
        why: The reason.
        status: HTTP status.
    """
    return Shown(_token(b"T", b"%d %s" % (status, why.encode())))


def _token(kind: bytes, shown: bytes) -> bytes:
    return kind[:1] + xxhash.xxh3_64_digest(kind + shown)[1:]


def is_error(token: bytes) -> bool:
    """Return whether a token is one of answers that are not pages."""
    return token[:1] in (b"C", b"E", b"F", b"R", b"T")


def is_redirect(token: bytes) -> bool:
    """Return whether a token is one of redirects."""
    return token[:1] == b"R"


def is_page(token: bytes) -> bool:
    """Return whether a token is one of pages."""
    return bool(token) and not is_error(token)


def words_for(token: bytes) -> str:
    """Return a word for the kind of answer with this token."""
    return _WORDS.get(token[:1], "nothing")


_WORDS: Final = {
    b"C": "a challenge",
    b"D": "another page",
    b"E": "an error",
    b"F": "a failure",
    b"L": "another language",
    b"P": "another page",
    b"R": "a redirect",
    b"T": "a file",
}
