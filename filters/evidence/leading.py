"""Pages that show nothing new and lead to what is new.

A list may say what another list says, or hardly any words at all, and name other documents. So a page that showed nothing new is remembered
until its links have decided what it was worth: of the pages that it was the first to name, a share is new. It leads on if that share is
surely `LEADS` or more; it does not if the share is surely less.

    site 8 ‖ "l" ‖ page 8  → pages that it named, and are settled 1 ‖ new ones among them 1 ‖ what the filter notes of it

Memory: 30 bytes a page and what is noted, until its links have decided. Time: 1 µs a page.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from thresher.crawler.core.ports import Memory
from thresher.filters.evidence.posterior import lower_share, upper_share

LEADS: Final = 0.35  # share of new pages among those that a page was the first to name, from which it leads on
_SITE: Final = 8
_MOST: Final = 64  # settled pages after which what is not decided leads nowhere
_MARK: Final = b"l"


class Leading(NamedTuple):
    """A page whose links are being settled."""

    is_decided: bool
    leads: bool  # it leads on
    note: bytes


def wait_for_links(memory: Memory, page: bytes, note: bytes) -> None:
    """Remember a page that showed nothing new until its links have decided.

    Args:
        page: Its key, 16 bytes.
        note: What is returned with the decision.
    """
    key = _key(page)
    if memory.get(key) is None:
        memory.put(key, bytes(2) + note)


def on_settled(memory: Memory, via: bytes, *, is_new: bool) -> Leading | None:
    """Count a settled page for the page that named it first; return that one, None if it is not waited for.

    Args:
        via: The key of the page that named it first.
        is_new: Whether the settled page showed something new.
    """
    stored = memory.get(_key(via))
    if stored is None:
        return None
    n, s, note = stored[0] + 1, stored[1] + is_new, stored[2:]
    leads = lower_share(n, s) >= LEADS
    is_decided = leads or upper_share(n, s) < LEADS or n >= _MOST
    if is_decided:
        memory.delete(_key(via))
    else:
        memory.put(_key(via), bytes((n, s)) + note)
    return Leading(is_decided, leads, note)


def waits_for(memory: Memory, page: bytes) -> bool:
    """Return whether a page's links have not decided yet, given its key; False for a page that showed something new."""
    return memory.get(_key(page)) is not None


def _key(page: bytes) -> bytes:
    return page[:_SITE] + _MARK + page[_SITE:]
