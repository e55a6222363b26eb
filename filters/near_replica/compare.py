"""Does a page replicate a kept one? By what is known of both today.

Text: the signatures lie within D of one another, and the sketches agree in enough slots. Slots whose minimum most pages of a host have
are its template's and say nothing when both have it; so the template does not count [boilerplate.py says why].

Neighbourhood, first of these that tells:
1. neither page has a link that the other has not: the same;
2. on two hosts: the same paths are linked to, as in a mirror: the same;
3. at least half of each page's own links have been fetched: HM over these, γ over their number, one step; below C the same, else different;
4. else nobody knows yet.

HM counts only the links that one page has and the other has not: what both link to adds the same to both.

Time: 30 µs a candidate, 100 µs where children are read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import numpy as np

from crawler.core.model import U64
from crawler.core.ports import Memory
from filters.near_replica.collide import Grid
from filters.near_replica.records import (
    COMPONENTS,
    MOST_CHILDREN,
    SLOTS,
    U16,
    HostRecord,
    Known,
    host_key,
    keys_of,
    page_key,
    paths_of,
    read,
)
from filters.near_replica.rp import F64

GAMMA: Final = 0.8
_SAME_PATHS: Final = 0.8  # of the paths linked to: resemblance from which two hosts' pages have the same neighbourhood
_ENOUGH_KNOWN: Final = 0.5
_MOST_CANDIDATES: Final = 8
_TAG_SLOTS: Final = (0, SLOTS // 2)
_MIN_HOST: Final = 8  # pages from which a host's template is told
_COMMON: Final = 0.2  # votes for each page of a host: three of five pages have the minimum
_MIN_TELLING: Final = 8  # slots; of fewer the whole sketches are compared
_MOST_VOTES: Final = 60_000
_NONE: Final = np.zeros(SLOTS, dtype=np.uint16)


class Likeness(NamedTuple):
    """How a page and a kept one compare."""

    original: Known
    rp: float
    resemblance: float
    hm: float  # L∞ distance of neighbourhoods, -1 while it is not known
    known: float  # share (0 to 1) of the neighbourhoods that this rests on
    same: bool | None  # None: too little is known of the neighbourhoods


class Limits(NamedTuple):
    """From where on two pages are replicas."""

    d: float
    c: float
    resemblance: float


def nearest(page: Known, grid: Grid, limits: Limits, memory: Memory) -> Likeness | None:
    """Return the kept page that a page replicates or may replicate, the surest and most alike first; None if none looks like it."""
    near = [(float(np.abs(at - page.r).max()), name[:8]) for name, at in grid.near(page.r, memory, tags_of(page))]
    near = sorted(one for one in near if one[1] != page.name)[:_MOST_CANDIDATES]
    template = None
    best: Likeness | None = None
    for rp, name in near:
        known = read(memory, page_key(name), Known)
        if known is None or known.replica_of:
            continue
        if template is None:
            template = common_slots(read(memory, host_key(page), HostRecord))
        alike = agreement(page.slots, known.slots, template if known.name[:4] == page.name[:4] else _NONE)
        if alike < limits.resemblance:
            continue
        hm, share = neighbourhood(page, known, rp, memory)
        found = Likeness(known, rp, alike, hm, share, None if hm < 0 else hm < limits.c)
        if best is None or _order(found) > _order(best):
            best = found
    return best


def tags_of(page: Known) -> list[bytes]:
    """Return what a page must have in common with one to be compared with it: one of two slots. At a resemblance of .9, 99 of 100 have."""
    return [b"%d" % slot + page.minima[2 * slot : 2 * slot + 2] for slot in _TAG_SLOTS]


def _order(found: Likeness) -> tuple[int, float]:
    return (2 if found.same else 0 if found.same is False else 1, -found.hm)


def agreement(one: U16, other: U16, template: U16) -> float:
    """Return the share of slots that agree, those left out where both have the template's minimum.    template: 0 where there is none"""
    telling = ~((one == template) & (other == template) & (template > 0))
    if np.count_nonzero(telling) < _MIN_TELLING:
        telling[:] = True
    return float(np.count_nonzero((one == other) & telling)) / int(np.count_nonzero(telling))


def common_slots(host: HostRecord | None) -> U16:
    """Return the minimum that most pages of a host have in each slot, 0 where there is none."""
    if host is None or host.n_voters < _MIN_HOST:
        return _NONE
    votes = np.frombuffer(host.votes, dtype="<u2")
    return np.where(votes >= _COMMON * host.n_voters, np.frombuffer(host.common, dtype="<u2"), 0).astype(np.uint16)


def vote(host: HostRecord, slots: U16) -> None:
    """Let a page of a host say what its template is: Boyer and Moore's majority in each slot."""
    common, votes = np.frombuffer(host.common, dtype="<u2"), np.frombuffer(host.votes, dtype="<u2")
    is_new = votes == 0
    common = np.where(is_new, slots, common)
    votes = np.where(common == slots, np.minimum(votes, _MOST_VOTES) + 1, votes - 1).astype("<u2")
    host.n_voters += 1
    host.common, host.votes = common.astype("<u2").tobytes(), votes.tobytes()


def neighbourhood(page: Known, known: Known, rp: float, memory: Memory) -> tuple[float, float]:
    """Return the distance of two pages' neighbourhoods, -1 if too little is known of them, and the share that is known."""
    ours, theirs = page.links, known.links
    if page.name[:4] != known.name[:4] and _paths_agree(ours, theirs):
        return rp, 1.0
    own, other = np.setdiff1d(ours, theirs), np.setdiff1d(theirs, ours)
    (mine, share), (its, its_share) = _mean(own, memory), _mean(other, memory)
    share = min(share, its_share)
    if share < _ENOUGH_KNOWN:
        return -1.0, share
    return float(np.abs((page.r + GAMMA * mine) - (known.r + GAMMA * its)).max()), share


def _paths_agree(ours: U64, theirs: U64) -> bool:
    """Return whether two pages link to the same paths. Both samples are those of least hash, so the lesser one tells how far to look."""
    if not ours.size or not theirs.size:
        return ours.size == theirs.size
    one, other = np.unique(paths_of(ours)), np.unique(paths_of(theirs))
    reach = min(one[-1], other[-1]) if max(one.size, other.size) >= MOST_CHILDREN else max(one[-1], other[-1])
    one, other = one[one <= reach], other[other <= reach]
    both = np.intersect1d(one, other, assume_unique=True).size
    return bool(both >= _SAME_PATHS * (one.size + other.size - both))


def _mean(children: U64, memory: Memory) -> tuple[F64, float]:
    """Return the mean over known children of what they pass on, and the share that is known."""
    values = [value for value in memory.get_many(keys_of(children)) if value is not None]
    if not values:
        return np.zeros(COMPONENTS), 0.0 if children.size else 1.0
    r = np.array([msgspec.msgpack.decode(value, type=Known).r for value in values], dtype=np.float64)
    return (r * r).mean(axis=0), len(values) / children.size


def n_unknown(page: Known, memory: Memory) -> int:
    """Return how many of a page's links, as far as they are remembered, have not been fetched."""
    return sum(value is None for value in memory.get_many(keys_of(page.links)))
