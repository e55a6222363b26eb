"""Finds what is new on a page compared with similar pages: by a sample of its words in threes, and the word pairs that a place has shown
before.

Three words in a row (a three) are new if neither the first two nor the last two stood together before. (A list of known things in another
order has new pairs where one thing ends and the next begins, but nothing in it is new.) Generated pages repeat what their place has shown
with other numbers. So the words of the page's own URL, and numbers of one or two digits, are left out: the 17th of May is like the 18th.
The sample is the 64 threes of least hash: similar pages have similar samples. A page is new if twelve of its threes are, or a quarter of
those of a short page.

A place remembers pairs as bits of a table, which is emptied when it is half full. That happens after some hundred new pages, and never
where nothing is new. As long as few bits are set, the table is stored by the gaps between them: the first page of a place takes 150 bytes.

Memory: a byte a pair, 2 KiB a place at most. Time: 80 µs per page of 1,500 words in numpy, 6 with the native code.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import U64, Page
from thresher.crawler.core.sketch import token_hashes, word_hash
from thresher.crawler.native import NATIVE, native

BITS = 1 << 14
SAMPLE = 64
NEW_THREES = 12  # new threes from which a page is new
NEW_SHARE = 0.25  # share of new threes from which a short page is new
_WORDS = re.compile(r"[^\W_]+")
_SHIFT = np.uint64(64 - 14)
_TOP_BITS = 14
_TOP = np.uint64(64 - _TOP_BITS)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_OF_THREE = np.arange(3)[:, np.newaxis]
_MOST_URL_WORDS = 16
_SAMPLE_OF = "sample of threes"  # key in a page's dict, beside its fields
_U = np.uint64
_LARGEST = (1 << 64) - 1
_FAR = 255  # in a packed table: the gap goes on

Places = npt.NDArray[np.uint16]


@lru_cache(maxsize=1)
def _other_than_small_numbers() -> npt.NDArray[np.bool_]:
    """Return a mask of top bits that hashes of small numbers never have. Of other words, one in 150 is left out with them."""
    numbers = token_hashes(" ".join([*map(str, range(100)), *(f"{n:02}" for n in range(10))]))
    found = np.ones(1 << _TOP_BITS, dtype=np.bool_)
    found[numbers >> _TOP] = False
    return found


def sample_of(page: Page) -> bytes:
    """Return the `sample` of a page; it is computed once."""
    beside = vars(page)
    found: bytes | None = beside.get(_SAMPLE_OF)
    if found is None:
        found = beside[_SAMPLE_OF] = sample(page.tokens, page.url.text[len(page.url.host) :])
    return found


def sample(tokens: U64, url: str) -> bytes:
    """Return the sample of a page: 16-bit numbers; first how many threes it has, then for each sampled one the places of its two pairs.

    Args:
        tokens: Hashes of the page's words in their order, [n_words] (thresher.crawler.core.sketch.token_hashes).
        url: The page's path and query, whose words are left out.

    Returns:
        b"" for a page with fewer than three words that count.
    """
    said = token_hashes(url)[:_MOST_URL_WORDS].tolist() if url.isascii() else [*map(word_hash, _WORDS.findall(url)[:_MOST_URL_WORDS])]
    if NATIVE and tokens.flags.c_contiguous:
        return native.sample(tokens, _other_than_small_numbers(), said)
    counts = _other_than_small_numbers().copy()
    counts[[word >> 64 - _TOP_BITS for word in said]] = False
    words = tokens[counts[tokens >> _TOP]]
    if words.size < 3:
        return b""
    threes = shingles(words, 3)
    words = words[_least(threes) + _OF_THREE]
    pairs: Places = ((words[:2] * _FACTOR ^ words[1:]) * _FACTOR >> _SHIFT).astype(np.uint16)
    return min(threes.size, 0xFFFF).to_bytes(2, sys.byteorder) + pairs.tobytes()


def _least(hashes: U64) -> npt.NDArray[np.intp]:
    """Return the positions of the 64 least hashes, the least first, each value once; fewer if hashes are repeated."""
    n = min(hashes.size, 2 * SAMPLE)  # some may be repeated
    among = np.flatnonzero(hashes < _U(min(3 * SAMPLE * (1 << 64) // hashes.size, _LARGEST)))
    if among.size < n:
        among = np.arange(hashes.size)
    found = hashes[among]
    order = found.argsort()[:n]
    found = found[order]
    is_first = np.ones(n, dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    return among[order[is_first][:SAMPLE]]


def look(sampled: bytes, table: bytes) -> tuple[bool, bytes]:
    """Return whether a page is new compared with a place's table, and the table with the page added.

    Args:
        sampled: The result of `sample`.
        table: A bit for each hash of a word pair, 2,048 bytes, or shorter as from `_packed`; b"" if the place has shown nothing yet.
    """
    if NATIVE:
        found = native.look(sampled, table)
        return (_is_new(found[0] / found[1], sampled), found[2]) if found else (False, table)
    numbers: Places = np.frombuffer(sampled, dtype=np.uint16)
    bits = _bits(table)
    unseen = (bits[numbers[1:]] == 0).reshape(2, -1)
    if not unseen.any():
        return False, table
    bits[numbers[1:]] = 1
    if np.count_nonzero(bits) > BITS // 2:
        bits[:] = 0
    share = int(np.count_nonzero(unseen[0] & unseen[1])) / unseen.shape[1]
    return _is_new(share, sampled), _packed(bits)


def _bits(table: bytes) -> npt.NDArray[np.uint8]:
    """Return the bits of a table. Raises `ValueError` if it is none."""
    stored = np.frombuffer(table, dtype=np.uint8)
    if stored.size == BITS // 8:
        return np.unpackbits(stored)
    bits, is_gap = np.zeros(BITS, dtype=np.uint8), stored != _FAR
    places = np.cumsum(stored + is_gap.astype(np.int64))[is_gap] - 1
    if stored.size > BITS // 8 or (places.size and places[-1] >= BITS):
        raise ValueError(f"expected a table of {BITS} places, found {stored.size} bytes of another one")
    bits[places] = 1
    return bits


def _packed(bits: npt.NDArray[np.uint8]) -> bytes:
    """Return a table as it is stored: for each bit that is set a byte for the gap before it, and before that one of 255 for each 255 places
    of a longer gap; the bits themselves if that is not shorter.
    """
    gaps = np.diff(np.flatnonzero(bits), prepend=-1) - 1
    ends = np.cumsum(gaps // _FAR + 1)
    if not ends.size or ends[-1] < BITS // 8:
        packed = np.full(ends[-1] if ends.size else 0, _FAR, dtype=np.uint8)
        packed[ends - 1] = gaps % _FAR
        return packed.tobytes()
    return np.packbits(bits).tobytes()


def _is_new(share: float, sampled: bytes) -> bool:
    """Return whether a page is new of whose sampled threes this share is."""
    return share > NEW_SHARE or share * int.from_bytes(sampled[:2], sys.byteorder) >= NEW_THREES
