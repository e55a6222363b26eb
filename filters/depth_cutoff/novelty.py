"""What is new on a page, against the pages like it: a sample of its word pairs, and which pairs a place of the site has shown before.

A generated page says again what its place has said, in other numbers. The words of the page's own URL and numbers of one or two digits are
therefore no news, so that the 17th of May is like the 18th. The sample is the 128 least hashes of pairs of neighbouring words: pages that
are alike have samples that are alike. A place remembers pairs as bits of a table that begins anew when it is half full, which happens
after some hundred pages that are new, and never where nothing is.

Memory: 2 KiB a place. Time: 25 µs per page of 300 words, 60 µs of 2,000.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from crawler.core.minhash import shingles
from crawler.core.model import U64
from crawler.core.sketch import token_hashes

BITS = 1 << 14
SAMPLE = 128
NEW_PAIRS = 6  # in a sample, from which the page is new
NEW_SHARE = 0.25  # of a small sample, the same
_WORDS = re.compile(r"[^\W_]+")
_SCALE = np.uint64(64 - 14)

Places = npt.NDArray[np.uint16]


@lru_cache(maxsize=1)
def _small_numbers() -> U64:
    return token_hashes(" ".join([*map(str, range(100)), *(f"{n:02}" for n in range(10))]))


def sample(tokens: U64, url: str) -> bytes:
    """Return the places in the table of a page's sampled word pairs, as 16-bit numbers; b"" if it has no words.

    tokens: of crawler.core.sketch.token_hashes
    """
    dull = np.concatenate((_small_numbers(), token_hashes(" ".join(_WORDS.findall(url)))))
    pairs = np.unique(shingles(tokens[~np.isin(tokens, dull)], 2))[:SAMPLE]
    return np.unique((pairs * np.uint64(0x9E3779B97F4A7C15) >> _SCALE).astype(np.uint16)).tobytes()


def look(sampled: bytes, table: bytes) -> tuple[bool, bytes]:
    """Return whether a page is new against a place's table (b"": it has shown nothing yet), and the table with the page in it."""
    places: Places = np.frombuffer(sampled, dtype=np.uint16)
    bits = np.frombuffer(table or bytes(BITS // 8), dtype=np.uint8).copy()
    index, bit = places >> 3, np.left_shift(np.uint8(1), (places & 7).astype(np.uint8))
    n_new = int(np.count_nonzero((bits[index] & bit) == 0))
    if n_new:
        np.bitwise_or.at(bits, index, bit)
    is_new = n_new >= NEW_PAIRS or n_new > NEW_SHARE * len(places)
    if n_new and int(np.bitwise_count(bits).sum()) > BITS // 2:
        bits[:] = 0
    return is_new, bits.tobytes()
