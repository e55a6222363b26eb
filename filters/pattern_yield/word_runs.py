"""How many of the last URLs with a word were barren, in bounded space: a count-min sketch that grows with the site's vocabulary.

Each word has two counters, of which the smaller one counts. Only the smaller one is changed, both if they are equal: a barren fetch adds 1
to it, one that was worth it, or may still be, sets it to 0. So hundreds of good URLs, each with a word of its own, seldom hide a run: the
counter that such a word shares with the run's word is mostly its larger one. Where they do, the pattern that begins with the word has to
show its run anew. A run is longer than it was only if both counters collide.

Memory: 64 to 1,024 bytes a site. Time: under 1 µs per word.
"""

from __future__ import annotations

from collections.abc import Iterable

_LEAST = 64
_MOST = 1_024
_FULL = 255


class WordRuns:
    """Runs of words, by their 64-bit hashes."""

    __slots__ = ("_mask", "_runs")

    def __init__(self, counters: bytes, size: int) -> None:
        """Restore the runs.

        Args:
            counters: Those of the earlier ones, b"" for none.
            size: That of the site's vocabulary, a power of two: the sketch doubles with it, up to 1,024.
        """
        counters = counters or bytes(_LEAST)
        self._runs = bytearray(counters * (min(size, _MOST) // len(counters)))
        self._mask = len(self._runs) - 1

    @property
    def counters(self) -> bytes:
        return bytes(self._runs)

    def learn(self, words: Iterable[int], *, is_barren: bool) -> None:
        """Count one fetch for the words of its URL."""
        runs, mask = self._runs, self._mask
        for word in words:
            at, other = word & mask, word >> 32 & mask
            least = min(runs[at], runs[other])
            then = min(_FULL, least + 1) if is_barren else 0
            if runs[at] == least:
                runs[at] = then
            if runs[other] == least:
                runs[other] = then

    def of(self, word: int) -> int:
        """Return how many of the latest URLs with this word were barren: nearly always right, else mostly less."""
        return min(self._runs[word & self._mask], self._runs[word >> 32 & self._mask])
