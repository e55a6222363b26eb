"""Decides whether a page replicates a kept page, by what is known about both now.

**Text.** The signatures must be within D (`max_distance`) of one another, and the sketches must agree in so many slots that the
resemblance reaches the threshold for a report (`resemblance`). For a page to be dropped, the resemblance must reach `drop_resemblance` with
a confidence of 95 %: of 256 slots, 239 must agree for .9. Slots whose minimum most pages of a host have belong to its template, and are
left out if both pages have them (boilerplate.py says why). If fewer than 25 slots are left, nothing is concluded.

**Canonical.** Two pages of one host that name different pages in rel=canonical are no replicas: the host says so. Those whose texts would
be replicas for sure are reported all the same, since most software names each page as its own canonical one, also a text that stands
once more under menus in another language. A page that is so alike to three others of its host is alike by their template.

**Neighbourhood.** It confirms replicas whose texts differ, and decides only between equal texts. The first of these that applies:
1. the links are the same by the rule of neighbours.py: same neighbourhood;
2. at least half of each page's own links were fetched: the hyperlink map (HM) in one step, γ times the mean over these; if it differs by
   less than C (`max_neighbour_distance`), same, else different;
3. else it is not known yet.

HM counts only the links that one page has and the other has not, since common links add the same to both. The page's own r, with which the
paper's x begins, is left out: it was compared with D already, and for a short text it differs more than what the links lead to.

Time: 30 µs a candidate, 100 µs if children are read.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
import numpy as np

from thresher.crawler.core.model import U64
from thresher.crawler.core.ports import Memory
from thresher.crawler.native import NATIVE, native
from thresher.filters.near_replica.collide import Grid
from thresher.filters.near_replica.neighbours import is_same
from thresher.filters.near_replica.random_projection import F64
from thresher.filters.near_replica.records import (
    COMPONENTS,
    MOST_CHILDREN,
    NAME,
    SLOTS,
    HostCounts,
    KnownPage,
    judged,
    keys_of,
    paths_of,
    template_key,
)
from thresher.filters.near_replica.resemblance import SHINGLE

GAMMA: Final = 0.8
_ENOUGH_KNOWN: Final = 0.5
MOST_CANDIDATES: Final = 8
_N_TAGS: Final = 2
TAG_STEP: Final = SLOTS // 8  # one slot in eight may be a tag
_TAG_PLACES: Final = (0, 4, 2, 6, 1, 3, 5, 7)  # the slots that may be tags, in the order in which they are tried
_FIRST_TAGS: Final = _TAG_PLACES[:_N_TAGS]
_AT_PLACE: Final = tuple(bytes(7) + b"%d" % place for place in range(SLOTS // TAG_STEP))  # no site, then the place of a tag
_N_BRIEF: Final = 16
_BRIEF: Final = slice(1, 1 + _N_BRIEF)  # slots that are never tags
NAME_IN_GRID: Final = NAME + _N_BRIEF  # bytes
_MOST_APART: Final = 2  # kept pages of its host that a page may replicate but for their canonical URLs: more are alike by their template
_SURE: Final = 1.645  # standard deviations: 95 %, one-sided
_FEWEST: Final = 25  # slots, or shingles of the shorter text, needed to conclude anything
ENOUGH_VOTERS: Final = 16  # pages of a host from which its template is learned
_MIN_VOTERS: Final = 8
_COMMON: Final = 0.6  # share of these pages that must have the minimum


class Likeness(NamedTuple):
    """How similar a page and a kept one are."""

    original: KnownPage
    random_projection: float
    resemblance: float
    hyperlink_map: float  # L∞ distance of neighbourhoods, -1: not known
    known: float  # share (0 to 1) of the neighbourhoods that was fetched
    same: bool | None  # whether they are replicas; None: equal texts, and too little is known of the neighbourhoods
    sure: bool  # the texts are similar enough for one to be dropped
    told_apart: bool = False  # their host says that they are no replicas


class CompareLimits(NamedTuple):
    """The thresholds from which two pages are replicas."""

    d: float
    c: float
    resemblance: float
    drop_resemblance: float


def nearest(page: KnownPage, minima: bytes, grid: Grid, limits: CompareLimits, memory: Memory) -> Likeness | None:
    """Return the kept page that a page replicates or may replicate, the surest and most similar one; None if no kept page is similar.

    Args:
        minima: Minima of the slots that may be tags (`tags_of`).
    """
    template = memory.get(template_key(page)) or b""
    tags = tags_of(page, minima, template, asks=True)
    close = grid.near(page.signature, memory, tags, page.minima[_BRIEF], fewest_alike(limits.resemblance))
    near = sorted((random_projection, name[:NAME]) for name, random_projection in close if name[:NAME] != page.name)
    best: Likeness | None = None
    n_apart = 0
    for random_projection, name in near[:MOST_CANDIDATES]:
        known = judged(memory, name)
        if known is None or known.replica_of:
            continue
        found = likeness(page, known, random_projection, limits, memory, template=template if known.name[:4] == page.name[:4] else b"")
        if found is not None and _are_told_apart(page, known):
            found = found._replace(same=False, told_apart=True) if found.sure else None
            n_apart += found is not None
        if found is not None and (best is None or _order(found) > _order(best)):
            best = found
    return None if best is not None and best.told_apart and n_apart > _MOST_APART else best


def likeness(
    page: KnownPage, known: KnownPage, random_projection: float, limits: CompareLimits, memory: Memory, *, template: bytes = b""
) -> Likeness | None:
    """Return how similar a page and a kept one are, None if their texts are not similar.

    Args:
        random_projection: L∞ distance of their signatures, 0 to 1.
        template: u1 × `SLOTS`, of the host if both are of one host; b"" if there is none.
    """
    alike, n = resemblance(page, known, template)
    if alike < limits.resemblance or n < _FEWEST:
        return None
    hyperlink_map, share = neighbourhood(page, known, memory)
    if page.text == known.text:
        return Likeness(
            known, random_projection, alike, hyperlink_map, share, None if hyperlink_map < 0 else hyperlink_map < limits.c, True
        )
    return Likeness(known, random_projection, alike, hyperlink_map, share, True, _is_sure(alike, n, limits.drop_resemblance))


def name_in_grid(page: KnownPage) -> bytes:
    """Return the name of a page in the grid. It contains a few slots, so that pages which are near by chance need not be read."""
    return page.name + page.minima[_BRIEF]


@lru_cache(maxsize=8)
def fewest_alike(least: float) -> int:
    """Return the number of slots in `name_in_grid` in which 999 of 1,000 pairs of this resemblance agree, or more."""
    return math.ceil(_N_BRIEF * least - 3.0 * math.sqrt(_N_BRIEF * least * (1.0 - least)))


def _are_told_apart(page: KnownPage, known: KnownPage) -> bool:
    """Return whether two pages of one host name different pages as canonical."""
    return bool(page.canonical and known.canonical and page.canonical != known.canonical) and page.name[:4] == known.name[:4]


def tags_of(page: KnownPage, minima: bytes, template: bytes, *, asks: bool = False) -> list[bytes]:
    """Return the tags of a page: the first two slots that are not in its host's template.

    With slots of the template, all pages of the host would share a tag. Two pages are compared if they have a tag in common.
    At a resemblance of .9, 99 of 100 pairs have.

    Args:
        minima: u8, little-endian, of every `TAG_STEP`th slot.
        template: b"" while it is not known.
        asks: Whether the tags are for a search and not for an entry. A search also takes the tags under which pages were entered before the
            template was known; while it is not known, all tags that a page of another host may have.
    """
    if not template:
        return [_tag(minima, at) for at in (_TAG_PLACES if asks else _FIRST_TAGS)]
    own = [at for at in _TAG_PLACES if template[TAG_STEP * at] != page.minima[TAG_STEP * at] or not template[TAG_STEP * at]][:_N_TAGS]
    if len(own) < _N_TAGS:
        own = [*_FIRST_TAGS]
    return [_tag(minima, at) for at in (dict.fromkeys((*own, *_FIRST_TAGS)) if asks else own)]


def _tag(minima: bytes, place: int) -> bytes:
    """Return the slot at a place among those that may be tags, as a memory key. Tags belong to no site, but to one of 256 places."""
    at = 8 * place
    return minima[at : at + 1] + _AT_PLACE[place] + minima[at : at + 6]


def _order(found: Likeness) -> tuple[bool, int, float, float]:
    """Return a sort key: it is greatest for the kept page that is most surely replicated."""
    settled = 0 if not found.sure else 3 if found.same else 1 if found.same is False else 2
    return not found.told_apart, settled, found.resemblance, -abs(found.hyperlink_map)


def resemblance(page: KnownPage, known: KnownPage, template: bytes) -> tuple[float, int]:
    """Return the share of slots that agree (0 to 1), without those of the template, and how many slots were compared.

    Args:
        template: b"" if there is none.
    """
    if page.text == known.text:
        return 1.0, SLOTS
    one, other = page.slots, known.slots
    same = one == other
    if template:
        shared = np.frombuffer(template, dtype=np.uint8)
        telling = (shared == 0) | ~same | (one != shared)
        n, n_same = int(np.count_nonzero(telling)), int(np.count_nonzero(same & telling))
    else:
        n, n_same = SLOTS, int(np.count_nonzero(same))
    shorter = min(page.n_words, known.n_words) - SHINGLE + 1  # slots of a short text are not independent
    return n_same / max(n, 1), min(n, shorter)


def _is_sure(alike: float, n: int, least: float) -> bool:
    """Return whether the resemblance of texts is `least` or more with a confidence of 95 %.

    Args:
        n: Slots that were compared.
    """
    return alike >= least + _SURE * math.sqrt(least * (1.0 - least) / n)


def distance(page: KnownPage, known: KnownPage) -> float:
    """Return the L∞ distance of two pages' signatures."""
    return max(abs(one - other) for one, other in zip(page.r, known.r, strict=True))


def vote(host: HostCounts, page: KnownPage, memory: Memory) -> None:
    """Count a page's slots for its host's template: it is computed first after eight pages, and finally after sixteen."""
    host.n_voters += 1
    host.voters += page.name
    if host.n_voters not in (_MIN_VOTERS, ENOUGH_VOTERS):
        return
    names = [host.voters[at : at + NAME] for at in range(0, len(host.voters), NAME)]
    voters = [page if name == page.name else judged(memory, name) for name in names]
    memory.put(template_key(page), _common(b"".join([voter.minima for voter in voters if voter is not None])))
    if host.n_voters == ENOUGH_VOTERS:
        host.voters = b""


def _common(voters: bytes) -> bytes:
    """Return for each slot the minimum that three in five pages have, 0 if there is none. Only the median can be such a value."""
    if NATIVE and voters:
        return native.common(voters, SLOTS, math.ceil(_COMMON * (len(voters) // SLOTS)))
    slots = np.frombuffer(voters, dtype=np.uint8).reshape(-1, SLOTS)
    middle = np.sort(slots, axis=0)[len(slots) // 2]
    return np.where((slots == middle).sum(axis=0) >= _COMMON * len(slots), middle, 0).astype(np.uint8).tobytes()


def neighbourhood(page: KnownPage, known: KnownPage, memory: Memory) -> tuple[float, float]:
    """Return the L∞ distance of two pages' neighbourhoods, -1 if too little is known of them, and the share (0 to 1) that is known."""
    ours, theirs = _comparable(page.links, known.links)
    is_one_host = page.name[:4] == known.name[:4]
    if is_same(ours, theirs, is_one_host=True) or (
        not is_one_host and is_same(np.unique(paths_of(ours)), np.unique(paths_of(theirs)), is_one_host=False)
    ):
        return 0.0, 1.0
    own, other = np.setdiff1d(ours, theirs), np.setdiff1d(theirs, ours)
    (mine, share), (its, its_share) = _mean(own, memory), _mean(other, memory)
    share = min(share, its_share)
    if share < _ENOUGH_KNOWN:
        return -1.0, share
    return float(GAMMA * np.abs(mine - its).max()), share


def _comparable(ours: U64, theirs: U64) -> tuple[U64, U64]:
    """Return the links of two pages that both samples cover: a sample has the links of least path, so a full one ends early."""
    ends = [paths_of(links)[-1] for links in (ours, theirs) if links.size >= MOST_CHILDREN]
    if not ends:
        return ours, theirs
    return ours[paths_of(ours) <= min(ends)], theirs[paths_of(theirs) <= min(ends)]


def _mean(children: U64, memory: Memory) -> tuple[F64, float]:
    """Return the mean of what the known children contribute, [COMPONENTS], and the share (0 to 1) of the children that is known."""
    values = [value for value in memory.get_many(keys_of(children)) if value is not None]
    if not values:
        return np.zeros(COMPONENTS), 0.0 if children.size else 1.0
    r = np.array([msgspec.msgpack.decode(value, type=KnownPage).r for value in values], dtype=np.float64)
    return (r * r).mean(axis=0), len(values) / children.size
