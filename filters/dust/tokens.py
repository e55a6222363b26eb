"""URLs as tokens, and the hashes of all their prefixes, suffixes and spans at once [BKS07, 2].

A token is a run of letters and digits, an escape such as %3A, or any other single character; a URL is `^ t1 … tm $`, where ^ and $ are
control characters that no URL holds. Differs from [BKS07] in the escapes: %3A stands for one character, so it is one token, and `%3A` → `:`
is then a rule; with their tokens it would be `%`, `3ABob`.

The hash of a span c0 c1 … is Σ r[ci]·Bⁱ mod 2⁶⁴ with random r; spans are differences of one running sum, divided by B to the power of
their place (as in crawler/core/sketch.py). No loop runs over URLs or tokens.

Time: 0.2 µs per byte. Memory: 32 bytes per token, 8 per byte while it is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import scrambled

START: Final = "\x02"  # ^
END: Final = "\x03"  # $

I64 = npt.NDArray[np.int64]

_TOKEN: Final = re.compile(r"%[0-9A-Fa-f]{2}|[0-9A-Za-z\x80-\U0010ffff]+|.", re.DOTALL)
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_BASE: Final = 0x9E3779B97F4A7C15
_U = np.uint64


def tokens(text: str) -> list[str]:
    """Return the tokens of a URL or of a part of one."""
    return _TOKEN.findall(text)


def anchored(url: str) -> str:
    """Return the URL between ^ and $."""
    return f"{START}{url}{END}"


def is_boundary(text: str, at: int) -> bool:
    """Return whether a position is between two tokens, or at an end. Decided by the three characters before it and the one after."""
    if not 0 < at < len(text):
        return True
    if _is_escape(text, at - 1) or _is_escape(text, at - 2):
        return False
    return not (_is_word(text[at - 1]) and _is_word(text[at])) or _is_escape(text, at - 3)


def _is_escape(text: str, at: int) -> bool:
    return at >= 0 and text[at] == "%" and _ESCAPE.match(text, at) is not None


def _is_word(char: str) -> bool:
    """Return whether a character belongs to a run of letters and digits."""
    return char.isalnum() or char >= "\x80"


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens, or characters, two sequences have in common at their beginnings."""
    n = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        n += 1
    return n


@dataclass(frozen=True, slots=True)
class Spans:
    """Every position between two tokens of every URL, in order. URL u has the positions `first[u]` to `first[u + 1] - 1`, the last after $.

    A span is given by the positions where it starts and ends.
    """

    text: bytes  # all URLs between ^ and $, one after the other
    first: I64  # [n + 1], the first position of each URL; then the number of positions
    offset: I64  # of each position in `text`; each URL begins at its own ^
    prefix: U64  # of each position: hash of the text before it in its URL
    suffix: U64  # of each position: hash of the text after it
    inverse: U64  # of each position: B to the power of minus its offset in the URL

    def hashes(self, start: npt.NDArray[np.signedinteger], end: npt.NDArray[np.signedinteger]) -> U64:
        """Return the hashes of spans; equal spans have equal hashes in every URL."""
        hashes: U64 = (self.prefix[end] - self.prefix[start]) * self.inverse[start]
        return hashes

    def read(self, start: int, end: int) -> str:
        """Return a span as text, with ^ and $ as the control characters that stand for them."""
        return self.text[int(self.offset[start]) : int(self.offset[end])].decode("utf-8", "surrogateescape")


def spans(urls: Sequence[str]) -> Spans:
    """Tokenise a list of URLs."""
    encoded = [anchored(url).encode("utf-8", "surrogateescape") for url in urls]
    text = b"".join(encoded)
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    starts = np.concatenate(([0], np.cumsum(lengths)))
    places, owner = _places(np.frombuffer(text, dtype=np.uint8), starts)
    local = np.arange(len(text)) - np.repeat(starts[:-1], lengths)
    sums = np.zeros(len(text) + 1, dtype=np.uint64)
    powers = _powers(_BASE, int(lengths.max(initial=1)) + 1)
    np.cumsum(_NUMBERS[np.frombuffer(text, dtype=np.uint8)] * powers[local], out=sums[1:])
    inverse = _powers(pow(_BASE, -1, 1 << 64), powers.size)[places - starts[owner]]
    prefix = sums[places] - sums[starts[owner]]
    suffix = (sums[starts[owner + 1]] - sums[places]) * inverse
    first = np.searchsorted(owner, np.arange(len(encoded) + 1))
    return Spans(text, first, places, prefix, suffix, inverse)


def _places(text: npt.NDArray[np.uint8], starts: I64) -> tuple[I64, I64]:
    """Return every position between two tokens, with the first and last of each URL, and the URL of each."""
    is_word = _IS_WORD[text]
    is_escape = np.zeros(text.size, dtype=np.bool_)
    if text.size > 2:
        is_escape[:-2] = (text[:-2] == ord("%")) & _IS_HEX[text[1:-1]] & _IS_HEX[text[2:]]
    inner = np.zeros(text.size, dtype=np.bool_)  # second and third characters of an escape
    inner[1:] |= is_escape[:-1]
    last = np.zeros(text.size, dtype=np.bool_)
    last[2:] = is_escape[:-2]
    inner |= last
    joined = np.zeros(text.size, dtype=np.bool_)  # no position before this character
    joined[1:] = is_word[1:] & is_word[:-1] & ~last[:-1]
    joined |= inner
    joined[starts[:-1]] = False
    begins = np.flatnonzero(~joined)
    owner = np.searchsorted(starts, begins, side="right") - 1
    order = np.argsort(np.concatenate((owner, np.arange(starts.size - 1))), kind="stable")
    return np.concatenate((begins, starts[1:]))[order], np.concatenate((owner, np.arange(starts.size - 1)))[order]


def _powers(base: int, n: int) -> U64:
    """Return base⁰ … baseⁿ⁻¹ mod 2⁶⁴."""
    powers = np.full(n, base % (1 << 64), dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


_NUMBERS: Final = scrambled((np.arange(256, dtype=np.uint64) + _U(1)) * _U(0x2545F4914F6CDD1D))
_IS_WORD: Final = np.array([chr(code).isalnum() if code < 0x80 else True for code in range(256)])
_IS_HEX: Final = np.array([chr(code) in "0123456789abcdefABCDEF" for code in range(256)])
