"""Decides whether a page uses the words of its host. A wall in another language may give each URL a different text: no answers are alike.

The words that half of a host's pages have in common, numbers left out, are those of its template and the short words of its language. They
are learned from the first and last words of the first `_PAGES` kept pages, where templates lie, and looked for among more words at a later
page's ends, since a page may be longer than those were. A page with hardly any of them is **strange**. Pages of the site's own that are in
another language or template are strange, too, but a wall leaves no other between them: strange pages in a row are counted. One is fetched
again while the host is healthy, shows the same, and from then on it takes ever more of them in a row to ask for a canary
(`records.patience`).

    queue ‖ "W"                → pages that were counted 1 ‖ words of their ends, u32 each; the common ones once `_PAGES` were

Memory: 250 bytes a page of a host until `_PAGES` were counted, then 150 a host. Time: 5 µs a page, 20 without native code.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from thresher.crawler.core.model import U64, Page
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.requisites import HTML_TYPES
from thresher.crawler.core.sketch import word_hash
from thresher.crawler.native import NATIVE, native
from thresher.filters.canary.records import KEPT

STRANGE: Final = b"L" + bytes(7)  # the token of all strange pages
LEAST: Final = 2  # strange pages in a row that ask for a canary
_ROW: Final = b"W"
_ENDS_OF: Final = "ends"  # key in a page's dict, beside its fields
_NO_PAGES: Final = b"\0"
_LEARNED: Final = 32  # first and last words of a page that are learned
_ENDS: Final = 200  # first and last words of a page that are looked at
MOST: Final = 2 * _ENDS
_HALF: Final = np.uint64(32)
_FEWEST: Final = 5  # a page or a host with fewer words, or words in common, is not judged
_PAGES: Final = 12
_COMMON: Final = 0.5  # share of the pages that contain a word, from which it is common
_HARDLY: Final = 0.25  # share of the common words below which a page is strange
_NUMBERS: Final = 3_000  # numbers below are of no language: days, years, counts


class Speech(IntEnum):
    """Whether a page uses its host's words."""

    UNKNOWN = 0  # it has too few words, or its host has no common ones
    OWN = 1
    STRANGE = 2


class Vocabulary(NamedTuple):
    """The words of a host's pages, each the upper half of its hash: u32."""

    n: int  # pages that were counted, `_PAGES` at most
    words: bytes  # the common ones, ascending; none before `_PAGES` pages were counted


def ends(words: U64, n: int = _ENDS) -> bytes:
    """Return the first and last words of a page, each once, ascending: u32."""
    if NATIVE and words.flags.c_contiguous:
        return native.end_words(words, n)
    some = words if len(words) <= 2 * n else np.concatenate((words[:n], words[-n:]))
    return np.unique((some >> _HALF).astype(np.uint32)).tobytes()


def vocabulary_of(memory: Memory, queue: bytes) -> Vocabulary:
    """Return the words of a host's pages."""
    value = memory.get(queue + _ROW) or _NO_PAGES
    return Vocabulary(value[0], value[1:] if value[0] >= _PAGES else b"")


def compare(memory: Memory, queue: bytes, page: Page, *, is_kept: bool) -> tuple[Speech, bytes]:
    """Return whether a page uses the words of its host, and what is to be learned of it: nothing once enough pages were.

    Only pages of HTML are compared: other files have no template, and may use any words.
    """
    if page.status != 200 or page.mime_type not in HTML_TYPES:
        return Speech.UNKNOWN, b""
    vocabulary = vocabulary_of(memory, queue)
    if vocabulary.n < _PAGES:
        return Speech.UNKNOWN, _learned_of(page) if is_kept else b""
    return speech(vocabulary, page.tokens), b""


def foresee(memory: Memory, queue: bytes, page: Page) -> None:
    """Compute what will be learned of a page if it is kept."""
    if vocabulary_of(memory, queue).n < _PAGES:
        _learned_of(page)


def _learned_of(page: Page) -> bytes:
    """Return the words of a page that are learned; they are computed once."""
    beside = vars(page)
    words: bytes | None = beside.get(_ENDS_OF)
    if words is None:
        words = beside[_ENDS_OF] = ends(page.tokens, _LEARNED)
    return words


def speech(vocabulary: Vocabulary, words: U64) -> Speech:
    """Return whether these words are those of a host."""
    n_common = len(vocabulary.words) // 4
    if n_common < _FEWEST or len(words) < _FEWEST:
        return Speech.UNKNOWN
    return Speech.STRANGE if _n_shared(words, vocabulary.words) <= _HARDLY * n_common else Speech.OWN


def speech_of(memory: Memory, queue: bytes, words: bytes) -> Speech:
    """Return whether the ends of a page, as `ends` gives them, use the words of its host."""
    return speech(vocabulary_of(memory, queue), np.frombuffer(words, dtype=np.uint32).astype(np.uint64) << _HALF)


def learn(memory: Memory, queue: bytes, words: bytes) -> bool:
    """Count the words of a kept page, the ends of it; return whether the words of its host are known by that."""
    value = memory.get(queue + _ROW) or _NO_PAGES
    n = value[0] + 1
    if n > _PAGES or len(words) < 4 * _FEWEST:
        return False
    learned = value[1:] + words
    if n == _PAGES:
        counted = Counter(np.frombuffer(learned, dtype=np.uint32).tolist())
        common = sorted(word for word, times in counted.items() if times >= _COMMON * _PAGES and word not in _numbers())
        learned = np.array(common, dtype=np.uint32).tobytes()
    memory.put(queue + _ROW, bytes((n,)) + learned, weight=KEPT)
    return n == _PAGES


def unlearn(memory: Memory, queue: bytes) -> None:
    """Forget the pages of a host if they are not enough yet: some may have been a wall's."""
    if vocabulary_of(memory, queue).n < _PAGES:
        memory.delete(queue + _ROW)


def _n_shared(words: U64, common: bytes) -> int:
    """Return how many of these words, ascending, are among a page's first and last."""
    if NATIVE and words.flags.c_contiguous:
        return native.shared_words(words, _ENDS, common)
    return len(np.intersect1d(np.frombuffer(ends(words), dtype=np.uint32), np.frombuffer(common, dtype=np.uint32), assume_unique=True))


@cache
def _numbers() -> frozenset[int]:
    """Return the words that are numbers."""
    texts = (*map(str, range(_NUMBERS)), *(f"{digit:02}" for digit in range(10)))
    return frozenset(word_hash(text) >> int(_HALF) for text in texts)
