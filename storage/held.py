"""URLs that filters set back, by holder and by URL; a URL is free when its last holder has released it.

held      holder hash 8 ‖ key 16 → holder        release walks one holder's rows
held_by   key 16 ‖ holder hash 8 → holder        who holds this URL?
"""

from __future__ import annotations

from hashlib import blake2b

from storage.rows import Rows
from storage.schema import HELD, HELD_BY


class Held:
    """Both tables always tell the same."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def hold(self, key: bytes, holder: str) -> None:
        """Let one more holder hold the URL."""
        tag = _tag(holder)
        self._rows.put(HELD, tag + key, holder.encode())
        self._rows.put(HELD_BY, key + tag, holder.encode())

    def release(self, holder: str) -> list[bytes]:
        """Drop every hold of `holder`; return the keys that nobody holds any more, in key order."""
        tag = _tag(holder)
        free = []
        for row, _ in self._rows.scan(HELD, tag):
            key = row[8:]
            self._rows.delete(HELD, row)
            self._rows.delete(HELD_BY, key + tag)
            if not self._rows.scan(HELD_BY, key, limit=1):
                free.append(key)
        return free

    def forget(self, key: bytes) -> None:
        """Drop every hold on one URL."""
        for row, _ in self._rows.scan(HELD_BY, key):
            self._rows.delete(HELD_BY, row)
            self._rows.delete(HELD, row[16:] + key)

    def holders(self, key: bytes) -> list[str]:
        """Return who holds a URL."""
        return [holder.decode() for _, holder in self._rows.scan(HELD_BY, key)]

    def keys(self, holder: str) -> list[bytes]:
        """Return what one holder holds."""
        return [row[8:] for row, _ in self._rows.scan(HELD, _tag(holder))]


def _tag(holder: str) -> bytes:
    return blake2b(holder.encode(), digest_size=8).digest()
