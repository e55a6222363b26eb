"""Which page named a URL first, remembered for URLs found or looked up lately, as the pages of one site repeat their links.

Memory: 8,192 runs of URLs that a page made known together and 8,192 URLs that were looked up; 2 MB. Time: 0.5 µs.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_REMEMBERED: Final = 8_192


class Finders:
    """Keys of finding pages, by the sequence numbers of what they found."""

    def __init__(self) -> None:
        self._firsts: list[int] = []  # of the runs, ascending
        self._runs: list[tuple[int, bytes]] = []  # behind its last number, and who found it
        self._looked_up: dict[int, bytes] = {}

    def add(self, seqs: range, via: bytes) -> None:
        """Remember who found new URLs, whose numbers are above all that were added before."""
        if len(self._firsts) >= _REMEMBERED:
            del self._firsts[: _REMEMBERED // 2], self._runs[: _REMEMBERED // 2]
        self._firsts.append(seqs.start)
        self._runs.append((seqs.stop, via))

    def keep(self, seq: int, via: bytes) -> bytes:
        """Remember who found a URL that was looked up; return it."""
        if len(self._looked_up) >= _REMEMBERED:
            self._looked_up.clear()
        self._looked_up[seq] = via
        return via

    def get(self, seq: int) -> bytes | None:
        """Return who found a URL, None if that is not remembered."""
        at = bisect_right(self._firsts, seq) - 1
        if at >= 0 and seq < self._runs[at][0]:
            return self._runs[at][1]
        return self._looked_up.get(seq)
