"""Does a page use the words of its host? A wall that answers in another language may give each URL a different text: no answers are alike.

The words that most pages of a host have in common are those of its template and the short words of its language. Of each page's first and
last words, where templates lie, a sample is taken: those whose hashes have certain bits, so that a word is in the sample of every page or
of none, and of these the smallest, so that nothing is known beyond the last word of a full sample. The first `_PAGES` kept pages define
which sampled words are common. A page with hardly any of them is **strange**. Pages of the site's own that are in another language or
template are strange, too, but a wall leaves no other between them: strange pages in a row are counted. One is fetched again while the host
is healthy, shows the same, and from then on it takes ever more of them in a row to ask for a canary (`records.patience`).

    queue ‖ "W"                → Tongue

Memory: 130 bytes a page of a host until `_PAGES` were counted, then as many a host. Time: O(words) of the sample, natively or in numpy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import msgspec
import numpy as np

from thresher.crawler.core.model import U64, Page
from thresher.crawler.core.ports import Memory
from thresher.crawler.native import NATIVE, native
from thresher.filters.canary.records import KEPT

STRANGE: Final = b"L" + bytes(7)  # the token of all strange pages
LEAST: Final = 2  # strange pages in a row that ask for a canary
_ROW: Final = b"W"
_ENDS: Final = 200  # first and last words of a page that are looked at
_SAMPLE: Final = np.uint64(3)  # words are sampled whose hashes have none of these bits
_HALF: Final = np.uint64(32)
_MOST: Final = 32  # words of a page's sample
_HIGHEST: Final = 1 << 64
_FEWEST: Final = 5  # a page with fewer is not judged
_PAGES: Final = 12
_COMMON: Final = 0.6  # share of the pages that contain a word, from which it is common
_HARDLY: Final = 0.25  # share of the common words below which a page is strange


class Speech(IntEnum):
    """Whether a page uses its host's words."""

    UNKNOWN = 0  # it has too few words, or its host has no common ones
    OWN = 1
    STRANGE = 2


class Tongue(msgspec.Struct, array_like=True):
    """The words of a host's pages."""

    n: int = 0  # pages that were counted, `_PAGES` at most
    words: dict[int, int] = {}  # common word → pages that have it; none before `_PAGES` pages were counted
    samples: bytes = b""  # of the pages until then, u32


def sampled(words: U64) -> list[int]:
    """Return the sample of a page's words, each once.

    Args:
        words: Hashes, in the order of the page.
    """
    if NATIVE and words.flags.c_contiguous:
        return native.least_words(words, _ENDS, _MOST)
    first = words if len(words) <= 2 * _ENDS else np.concatenate((words[:_ENDS], words[-_ENDS:]))
    found: list[int] = np.unique(first[(first & _SAMPLE) == 0] >> _HALF).tolist()
    return found[:_MOST]


def words_of(page: Page) -> list[int]:
    """Return the words by which a page is judged, none for an error."""
    return sampled(page.tokens) if page.status == 200 else []


def tongue_of(memory: Memory, queue: bytes) -> Tongue:
    """Return the words of a host's pages."""
    value = memory.get(queue + _ROW)
    return Tongue() if value is None else _decode(value)


def speech(tongue: Tongue, words: Sequence[int]) -> Speech:
    """Return whether a page uses the words of its host."""
    if tongue.n < _PAGES or len(words) < _FEWEST or len(tongue.words) < _FEWEST:
        return Speech.UNKNOWN
    last = max(words) if len(words) == _MOST else _HIGHEST  # a full sample has its page's smallest hashes: nothing is known beyond them
    common = [word for word in tongue.words if word <= last]
    if len(common) < _FEWEST:
        return Speech.UNKNOWN
    return Speech.STRANGE if len(set(common).intersection(words)) <= _HARDLY * len(common) else Speech.OWN


def learn(memory: Memory, queue: bytes, tongue: Tongue, words: Sequence[int]) -> None:
    """Count the words of a kept page.

    Args:
        tongue: The result of `tongue_of` for its host.
    """
    if tongue.n >= _PAGES or len(words) < _FEWEST:
        return
    tongue.n += 1
    tongue.samples += np.array(words, dtype=np.uint32).tobytes()
    if tongue.n == _PAGES:
        counted = Counter(np.frombuffer(tongue.samples, dtype=np.uint32).tolist())
        tongue.words, tongue.samples = {word: n for word, n in counted.items() if n >= _COMMON * _PAGES}, b""
    memory.put(queue + _ROW, _encode(tongue), weight=KEPT)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Tongue).decode
