"""The redirect log: one edge per original, kept whatever becomes of its target; and originals with the end of their chain.

Edges are indexed both ways, so that the originals that end at a target are found from the target: a hundred originals of one page are
a hundred pairs although the page is fetched once [LEE09].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from thresher.storage.records import EDGE, PAIR, EdgeRecord, PairRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import EDGES, EDGES_IN, PAIRS
from thresher.storage.tables.bloom import Met

MAX_ORIGINS = 10_000  # of one target that are followed at once
MAX_HOPS = 5  # of a chain that makes a pair
_LONGEST_LOOK = 100  # hops after which no loop is looked for any more

# How a chain stands: its end has settled, it comes back to a URL of its own, it has more hops than a pair, its first target is no URL, or
# its end is still to come.
ChainEnd = Literal["settled", "loop", "too_long", "no_url", "open"]


class Redirects:
    """Edges, and the pairs that were completed."""

    def __init__(self, rows: Rows, *, writes: bool) -> None:
        """Create the log.

        Args:
            writes: Nobody else writes these tables while it is used: targets are looked for only if one was written.
        """
        self._rows = rows
        self._met = Met() if writes and not rows.scan(EDGES_IN, limit=1) else None

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
        """Return where an original redirects to."""
        value = self._rows.get(EDGES, key)
        return None if value is None else EDGE.decode(value)

    def chain_end(self, key: bytes) -> tuple[ChainEnd, int]:
        """Return how the chain of an original without a pair stands, and its hops so far; those of a loop, until it meets a URL again."""
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
        """Write that an original whose own row another agent has redirects to this target."""
        self._rows.put(EDGES_IN, to_key + key, b"")
        if self._met is not None:
            self._met.add(to_key)

    def ending_at(
        self, key: bytes, max_hops: int = MAX_HOPS, *, is_own: Callable[[bytes], bool] = lambda _: True
    ) -> list[tuple[bytes, int]]:
        """Return (original, hops) of every chain of at most `max_hops` that leads to this target, nearest first.

        An original has one edge, so it is met once, and a loop is one that comes back to the target.

        Args:
            is_own: Whether an original is this agent's; what leads to another's is that agent's to know.
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
