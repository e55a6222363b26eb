"""The redirect log: one edge per original, whatever becomes of its target; and pairs of an original with the end of its chain.

Edges are indexed both ways, so that the originals that end at a target are found from the target: a hundred originals of one page are
a hundred pairs although the page is fetched once [LEE09].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from thresher.storage.records import EDGE, PAIR, EdgeRecord, PairRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import EDGES, EDGES_IN, PAIRS
from thresher.storage.tables.bloom import BloomFilter

MAX_ORIGINS = 10_000  # most originals of one target that are followed together
MAX_HOPS = 5  # most hops of a chain that makes a pair
_LONGEST_LOOK = 100  # hops after which the search for a loop ends

# The state of a chain: its end has settled, it comes back to one of its URLs, it has more hops than a pair may have, its first target is
# not a URL, or its end has not settled yet.
ChainEnd = Literal["settled", "loop", "too_long", "no_url", "open"]


class Redirects:
    """Edges, and the pairs that were completed."""

    def __init__(self, rows: Rows, *, writes: bool) -> None:
        """Create the log.

        Args:
            writes: Whether no other object writes these tables meanwhile: then targets are only looked up if one was written.
        """
        self._rows = rows
        self._met = BloomFilter() if writes and not rows.scan(EDGES_IN, limit=1) else None

    def put(self, key: bytes, to_key: bytes, to_text: str, status: int, now: float) -> None:
        """Write the edge of an original, in place of an earlier one; `to_key` is b"" if the target is no URL."""
        earlier = self.edge(key)
        if earlier is not None and earlier.to_key:
            self._rows.delete(EDGES_IN, earlier.to_key + key)
        self._rows.put(EDGES, key, EDGE.encode(EdgeRecord(to_text, to_key, status, now)))
        if to_key:
            self.put_in(key, to_key)

    def forget(self, key: bytes) -> None:
        """Delete the edge of a URL that redirects no longer, and the end of its chain."""
        earlier = self.edge(key)
        if earlier is None:
            return
        if earlier.to_key:
            self._rows.delete(EDGES_IN, earlier.to_key + key)
        for table in (EDGES, PAIRS):
            if self._rows.get(table, key) is not None:
                self._rows.delete(table, key)

    def edge(self, key: bytes) -> EdgeRecord | None:
        """Return the redirect of an original; None if there is none."""
        value = self._rows.get(EDGES, key)
        return None if value is None else EDGE.decode(value)

    def chain_end(self, key: bytes) -> tuple[ChainEnd, int]:
        """Return (state of the chain of an original without a pair, its hops so far; for a loop, until a URL repeats)."""
        met = {key}
        for hops in range(_LONGEST_LOOK):
            edge = self.edge(key)
            if edge is None or not edge.to_key:
                return ("no_url", 1) if edge is not None and not hops else ("too_long" if hops > MAX_HOPS else "open", hops)
            key = edge.to_key
            if key in met:
                return "loop", hops + 1
            met.add(key)
        return "too_long", _LONGEST_LOOK

    def into(self, key: bytes, limit: int | None = None) -> list[bytes]:
        """Return the originals that redirect to this target in one hop."""
        if self._met is not None and key not in self._met:
            return []
        return [row[16:] for row, _ in self._rows.scan(EDGES_IN, key, limit=limit)]

    def put_in(self, key: bytes, to_key: bytes) -> None:
        """Write that an original of another agent, which has its own row, redirects to this target."""
        self._rows.put(EDGES_IN, to_key + key, b"")
        if self._met is not None:
            self._met.add(to_key)

    def ending_at(
        self, key: bytes, max_hops: int = MAX_HOPS, *, is_own: Callable[[bytes], bool] = lambda _: True
    ) -> list[tuple[bytes, int]]:
        """Return (original, hops) of every chain of at most `max_hops` that leads to this target, nearest first.

        An original has one edge, so it is met once, and a loop is one that comes back to the target.

        Args:
            is_own: Returns whether an original belongs to this agent; originals that lead to another agent's URL are known there.
        """
        found: dict[bytes, int] = {}
        ring = [key]
        for hops in range(1, max_hops + 1):
            ring = [origin for target in ring for origin in self.into(target, MAX_ORIGINS) if origin != key]
            found.update(dict.fromkeys(ring, hops))
            ring = [origin for origin in ring if is_own(origin)]
            if not ring or len(found) >= MAX_ORIGINS:
                break
        return list(found.items())[:MAX_ORIGINS]

    def put_pair(self, key: bytes, target: bytes, target_text: str, hops: int, status: int) -> None:
        """Write how the chain of an original ended."""
        self._rows.put(PAIRS, key, PAIR.encode(PairRecord(target, target_text, hops, status)))

    def pair(self, key: bytes) -> PairRecord | None:
        value = self._rows.get(PAIRS, key)
        return None if value is None else PAIR.decode(value)
