"""The order in which a class is drawn: by a keyed hash, so that any beginning of it is a random sample of the class.

A site orders its links by date, by name, by worth; the hash does not know that order, and a site that does not know the key cannot choose
URLs that come first. Audits, the tail and releases draw from one order: what was fetched for one of them is evidence for all.

Memory: none. Time: 1 µs a URL.
"""

from __future__ import annotations

from hashlib import blake2b

ORDER_BYTES = 8
_SCALE = 1 << 32


def draw_order(secret: bytes, holder: bytes, url_key: bytes) -> bytes:
    """Return the place of a URL in the order of its class, 8 bytes, smallest first.

    Args:
        secret: The crawl's, at most 64 bytes.
        holder: Names the class, so that a URL of two classes has two places.
    """
    return blake2b(url_key, digest_size=ORDER_BYTES, key=secret, salt=blake2b(holder, digest_size=16).digest()).digest()


def audits_due(known: int, audited: int, share: float) -> int:
    """Return how many URLs of a class are to be drawn now, so that `share` of what it has been given has been audited."""
    return max(0, int(known * share) - audited)


def is_audited(url_key: bytes, share: float) -> bool:
    """Return whether a URL that a filter refuses or rewrites is fetched all the same: always the same `share` of all URLs."""
    return int.from_bytes(url_key[-4:], "big") < int(share * _SCALE)
