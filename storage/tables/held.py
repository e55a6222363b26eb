"""URLs that filters hold, by holder and by URL; a URL is released when its last holder has released it.

held       holder hash 8 ‖ key 16 → holder        release walks one holder's rows
held_by    key 16 ‖ holder hash 8 → holder        who holds this URL?
releasing  holder hash 8 → holder                 its URLs are released a part at a time, in several commits
"""

from __future__ import annotations

from hashlib import blake2b

from thresher.storage.rows import Rows
from thresher.storage.schema import HELD, HELD_BY, RELEASING


class Held:
    """Held URLs, in two tables with the same content: by holder and by URL."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._may_release = True  # False once no holder is being released

    def hold(self, key: bytes, holder: str) -> None:
        """Add a holder to a URL."""
        tag = _tag(holder)
        self._rows.put(HELD, tag + key, holder.encode())
        self._rows.put(HELD_BY, key + tag, holder.encode())

    def release(self, holder: str) -> None:
        """Mark a holder as released; `take_released` drops its holds, a part at a time. It may hold other URLs meanwhile."""
        self._rows.put(RELEASING, _tag(holder), holder.encode())
        self._may_release = True

    def take_released(self, limit: int, holder: str = "") -> list[bytes]:
        """Drop up to `limit` holds of `holder`, or of any released holder; return the keys without any holder left, in order."""
        first = self._rows.scan(RELEASING, _tag(holder) if holder else b"", limit=1) if self._may_release else []
        if not first:
            self._may_release = bool(holder)
            return []
        tag = first[0][0]
        rows = self._rows.scan(HELD, tag, limit=limit)
        released = []
        for row, _ in rows:
            key = row[8:]
            if len(self._rows.scan(HELD_BY, key, limit=2)) == 1:
                released.append(key)
            self._rows.delete(HELD, row)
            self._rows.delete(HELD_BY, key + tag)
        if len(rows) < limit:
            self._rows.delete(RELEASING, tag)
        return released

    @property
    def is_releasing(self) -> bool:
        """Whether `take_released` may return any."""
        return self._may_release

    def forget(self, key: bytes) -> None:
        """Drop every hold on one URL."""
        for row, _ in self._rows.scan(HELD_BY, key):
            self._rows.delete(HELD_BY, row)
            self._rows.delete(HELD, row[16:] + key)

    def drop(self, key: bytes, prefix: str) -> list[bytes]:
        """Drop the holds on one URL by holders whose names begin with `prefix`; return [key] if no other holds it, else []."""
        rows = self._rows.scan(HELD_BY, key)
        dropped = [row for row, holder in rows if holder.startswith(prefix.encode())]
        for row in dropped:
            self._rows.delete(HELD_BY, row)
            self._rows.delete(HELD, row[16:] + key)
        return [key] if dropped and len(dropped) == len(rows) else []

    def holders(self, key: bytes) -> list[str]:
        """Return the holders of a URL."""
        return [holder.decode() for _, holder in self._rows.scan(HELD_BY, key)]

    def keys(self, holder: str) -> list[bytes]:
        """Return the keys of the URLs that one holder holds."""
        return [row[8:] for row, _ in self._rows.scan(HELD, _tag(holder))]


def filter_of(holder: str) -> str:
    """Return the filter in a holder's name: "dust" of "dust rule 3", and of "links dust", which holds what only refused pages name."""
    words = holder.split(" ", 2)
    return words[1] if words[0] == "links" and len(words) > 1 else words[0]


def _tag(holder: str) -> bytes:
    return blake2b(holder.encode(), digest_size=8).digest()
