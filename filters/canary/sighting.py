"""Reduces what an answer shows to a token of eight bytes, and says how many alike answers are suspicious.

    page of 200     its words, without those that quote its own URL: a login form names the page instead of which it is shown
    challenge       always the same, whatever its words
    error           status and words
    redirect        its target without the query: the query tells a login form where to return to
    failure         the status if there was one, else the cause, after the last try

Time: 1 µs for a long page, 30 µs for one of up to `_SHORT` words.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import xxhash

from thresher.crawler.core.model import NEEDS_BROWSER, Page
from thresher.filters.soft_error.kinds import GATES, hint_of
from thresher.filters.soft_error.looks import text_of

TOKEN: Final = 8
ALIKE: Final = 3  # so many answers with the same token are suspicious
GUARDED: Final = 2  # the same for errors that deny access, and for pages with few words and links
AT_ONCE: Final = 1  # the same for challenges, login and consent forms, and requests whose last try failed
_GUARDS: Final = frozenset((401, 403, 407, 429, 451, 503))
_SHORT: Final = 300  # words
_FEW: Final = 80  # a page of fewer words has little to show
_FEW_LINKS: Final = 3
_FEWEST: Final = 5  # least words of a page that can be compared


class Shown(NamedTuple):
    """What an answer shows."""

    token: bytes  # b"": nothing that can be compared
    least: int = ALIKE  # so many alike answers ask for a canary


NOTHING: Final = Shown(b"")


def of_page(page: Page) -> Shown:
    """Return what a page or an error shows."""
    if not NEEDS_BROWSER.isdisjoint(page.flags):
        return Shown(_token(b"C", b""), AT_ONCE)
    is_short = page.tokens.size <= _SHORT
    words = text_of(page) if is_short else page.fingerprint
    if page.status >= 400:
        return Shown(_token(b"E%d" % page.status, words), GUARDED if page.status in _GUARDS else ALIKE)
    if page.tokens.size < _FEWEST:
        return NOTHING
    if is_short and (page.form == "password" or hint_of(page).kind in GATES):
        return Shown(_token(b"P", words), AT_ONCE)
    says_little = page.tokens.size <= _FEW and len(page.links) <= _FEW_LINKS
    return Shown(_token(b"P", words), GUARDED if says_little else ALIKE)


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


def _token(kind: bytes, shown: bytes) -> bytes:
    return kind[:1] + xxhash.xxh3_64_digest(kind + shown)[1:]


def is_error(token: bytes) -> bool:
    """Return whether a token is one of answers that are not pages."""
    return token[:1] in (b"C", b"E", b"F", b"R")


def words_for(token: bytes) -> str:
    """Return a word for the kind of answer with this token."""
    return _WORDS.get(token[:1], "nothing")


_WORDS: Final = {
    b"C": "a challenge",
    b"E": "an error",
    b"F": "a failure",
    b"L": "another language",
    b"P": "another page",
    b"R": "a redirect",
}
