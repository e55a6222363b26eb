"""Alike pages that lead to what is new: URLs of their kind are no aliases.

An alias leads where its original leads. The lists of two days may say the same and name other minutes: what they say tells nothing of their
worth. So a page that was like another one waits for its links (filters/evidence/leading.py), and whether it leads on is counted for the
kind of its URL (kinds.py) at each place where it was alike. While the pages of a kind lead on, none of the kind is believed to be an alias
at that place, and what is held there is released with each page that leads on.

    site 8 ‖ "v" ‖ pool 8  → answers 2: alike pages of a kind whose links have decided; those that lead on

Memory: 40 bytes a kind and place. Time: 2 µs a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import xxhash

from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.dust.kinds import names_of_kind
from thresher.filters.dust.places import Place, places
from thresher.filters.dust.pools import classes_of
from thresher.filters.evidence.decay import halved
from thresher.filters.evidence.leading import LEADS, on_settled, wait_for_links
from thresher.filters.evidence.posterior import lower_share

_SITE: Final = 8
_MOST: Final = 64  # answers that are remembered
_LASTING: Final = 1.0  # weight, as of the other pools
_BETWEEN: Final = "\0"


def learn(memory: Memory, key: bytes, via: bytes, url: str, alike_at: Sequence[str], *, is_new: bool) -> list[str] | None:
    """Learn from a page for itself and for the page that named it first.

    Args:
        key: The page's 16 bytes.
        via: The key of the page that named it first, b"" for none.
        url: Its canonical URL.
        alike_at: Names of the places at which it was like another page.
        is_new: Whether it showed something new, and was like no other page.

    Returns:
        The classes whose URLs are to be released; None: nothing was learned.
    """
    if alike_at:
        wait_for_links(memory, key, _BETWEEN.join([url, *alike_at]).encode())
    found = on_settled(memory, via, is_new=is_new) if via[:_SITE] == key[:_SITE] else None
    if found is None:
        return [] if alike_at else None
    if not found.is_decided:
        return []
    leader, *names = found.note.decode().split(_BETWEEN)
    origin, freed = origin_of(leader), list[str]()
    for place in places(leader, origin, names):
        if _count(memory, key[:_SITE], place, origin, leads=found.leads) and found.leads:
            freed += classes_of(place, origin)
    return freed


def lead_on(memory: Memory, site: bytes, place: Place, origin: str) -> bool:
    """Return whether the pages of a URL's kind that were alike at this place lead on."""
    answers = memory.get(_pool(site, place, origin))
    return answers is not None and lower_share(*answers) >= LEADS


def _count(memory: Memory, site: bytes, place: Place, origin: str, *, leads: bool) -> bool:
    """Count a page whose links have decided; return whether the pages of its kind lead on."""
    key = _pool(site, place, origin)
    n, s = memory.get(key) or bytes(2)
    answers = halved(n + 1, s + leads, _MOST)
    memory.put(key, bytes(answers), _LASTING)
    return lower_share(*answers) >= LEADS


def _pool(site: bytes, place: Place, origin: str) -> bytes:
    kind = (names_of_kind(place, origin) or [f"{origin} {place.name} of {place.of}"])[-1]
    return site + b"v" + xxhash.xxh3_64_digest(f"{kind} leads".encode())
