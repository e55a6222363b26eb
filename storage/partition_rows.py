"""Which rows are of which partitions: the tables of which a range of partitions is a range of keys, and walks over their rows."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.overlay import Row
from thresher.storage.schema import (
    ALIAS_OF,
    ALIASES,
    ANNOUNCED,
    ANNOUNCERS,
    ANNOUNCING,
    CHECKS,
    EDGES,
    EDGES_IN,
    FAILURES,
    FAMILIES,
    FOREIGN_LABELS,
    FORGOTTEN,
    HELD_BY,
    HOST_PLANS,
    LETTING_GO,
    MEMORY,
    MEMORY_BYTES,
    PAIRS,
    PLANS,
    POLICIES,
    RELEASING,
    REQUISITE_HOSTS,
    REQUISITES,
    REVISITS,
    ROBOTS,
    ROBOTS_FILES,
    SITE_LINKS,
    SITEMAPS,
    SITES,
    SUSPECTS,
    TAIL_CLASSES,
    TAIL_DRAWS,
    TAIL_HOSTS,
    TAIL_MEMBERS,
    TAIL_PLACES,
    VERDICTS,
    WATCHES,
)
from thresher.storage.store import Store
from thresher.storage.view import View

_OF_TAILS = (TAIL_HOSTS, TAIL_CLASSES, TAIL_MEMBERS, TAIL_PLACES, TAIL_DRAWS)
_OF_SITEMAPS = (SITEMAPS, ANNOUNCERS, ANNOUNCED, ANNOUNCING)
_OF_REQUISITES = (REQUISITES, REQUISITE_HOSTS)
_OF_ROUNDS = (REVISITS, CHECKS, WATCHES, PLANS, HOST_PLANS, FAMILIES)
_OF_ALIASES = (ALIASES, ALIAS_OF, LETTING_GO)
BY_SITE = (
    ROBOTS,
    POLICIES,
    SITE_LINKS,
    SITES,
    EDGES,
    EDGES_IN,
    PAIRS,
    HELD_BY,
    FAILURES,
    VERDICTS,
    SUSPECTS,
    *_OF_TAILS,
    *_OF_ALIASES,
    *_OF_SITEMAPS,
    *_OF_ROUNDS,
    *_OF_REQUISITES,
)
BY_FILTER = (MEMORY, MEMORY_BYTES)
WHOLE = (ROBOTS_FILES, RELEASING, FORGOTTEN, FOREIGN_LABELS)  # tables whose keys do not begin with a site
_CHUNK = 1000
LAST = b"\xff" * 32  # after all keys of a prefix
_TAG = 2  # bytes of a filter's tag, before the site
_NO_SITE = b"\0\0\0"  # end of the value that replaces the site in keys of records without a site


def is_of_no_site(row: bytes) -> bool:
    """Return whether a filter's record belongs to no site.

    Args:
        row: The key of the record, or of the row with its site's bytes.
    """
    return row[_TAG : _TAG + 8].endswith(_NO_SITE)


def of_range(store: Store | View, table: str, begin: bytes, end: bytes) -> Iterator[Row]:
    """Yield a table's rows of a range of partitions."""
    if table not in BY_FILTER:
        yield from scanned(store, table, begin, end)
        return
    start = b""
    while first := store.scan(table, start=start, limit=1):
        tag = first[0][0][:_TAG]
        yield from scanned(store, table, tag + begin, tag + end)
        start = tag + LAST


def scanned(store: Store | View, table: str, first: bytes, end: bytes | None) -> Iterator[Row]:
    """Yield rows from `first` until `end`, a chunk at a time; they may be deleted meanwhile."""
    while rows := store.scan(table, start=first, limit=_CHUNK):
        for row in rows:
            if end is not None and row[0] >= end:
                return
            yield row
        first = rows[-1][0] + b"\0"
