"""Pages of different text that lead to the same pages: the date, thread and author indexes of one archive.

Links that are on at least half of a host's pages (menus) are left out first. The rest is compared by MinHash, so that a link from one
index to the other does no harm.

Memory: 128 bytes a page and 24 a link. Time: 20 µs a page and 0.3 µs a link.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from thresher.crawler.core.minhash import slots
from thresher.crawler.core.model import U64
from thresher.filters.near_replica.hyperlink_map import I64
from thresher.filters.near_replica.minhash import agreement, band_pairs
from thresher.filters.near_replica.random_projection import F64
from thresher.filters.near_replica.resemblance import U32, resemblances
from thresher.filters.near_replica.sketching import Sketches, without_menus

_SLOTS: Final = 32
_ROWS: Final = 4


def same_children(sketches: Sketches, r: F64, *, of_texts: float, least: int = 3, resemblance: float = 0.8) -> list[list[int]]:
    """Return groups of pages with the same children and different texts: page numbers, ascending, the first is the representative.

    Args:
        r: Signatures, (n, K).
        of_texts: Resemblance from which texts are the same.
        least: Children that a page must have.
        resemblance: Resemblance of the sets of children from which they are the same.
    """
    links, starts = without_menus(sketches)
    wanted = np.flatnonzero(np.diff(starts) >= least)
    minima = _minima(links, starts, wanted)
    pairs = band_pairs(minima, r[wanted, 0], rows=_ROWS)
    pairs = pairs[agreement(minima, pairs) >= resemblance]
    pages = wanted[pairs]
    pages = pages[resemblances(sketches.least, pages) < of_texts]
    leader: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for first, second in sorted(map(tuple, pages.tolist())):
        if first not in leader:
            leader[first] = first
            groups[first] = [first]
        if second not in leader and leader[first] == first:
            leader[second] = first
            groups[first].append(second)
    return [group for group in groups.values() if len(group) > 1]


def _minima(links: U64, starts: I64, pages: I64) -> U32:
    found = np.empty((pages.size, _SLOTS), dtype=np.uint32)
    for row, page in enumerate(pages.tolist()):
        found[row] = slots(links[starts[page] : starts[page + 1]], _SLOTS) & np.uint64(0xFFFF_FFFF)
    return found
