"""Phase 1: pairs of substrings that a site seems to use one for the other [BKS07, Fig. 1].

Cut a substring α out of a URL p·α·s: (p, s) is its envelope, and all substrings that occur in one envelope make its bucket. The support of
a pair {α, β} is the number of buckets with both. Buckets with more than `most` members are left out: page numbers and people's names occur
together in many envelopes, real substitutions in few.

    URLs → (envelope hash, span) rows → sorted by envelope → buckets → pairs of like members → counted by the hash of the pair

If sketches are known, an envelope is one of URLs that show one text: buckets contain only copies, so they seldom overflow, and every pair
is one of copies. If not, pairs of a bucket whose sizes cannot be equal do not count.

Rows are made for one range of hashes at a time, and pairs that a first, rough count shows to be rare are never stored: memory does not
grow with the rows but with the pairs that count. No Python loop runs over anything but the pairs that are returned.

Time: 0.25 µs per row; (m + 1)(m + 2)/2 rows for a URL of m tokens, at most 35 of them in a span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import scrambled
from thresher.filters.dust.tokens import I64, Spans

_ROWS_AT_ONCE: Final = 1 << 20
_PAIRS_AT_ONCE: Final = 1 << 18
_FEW_PAIRS: Final = 1 << 22
_CELL_BITS: Final = 23  # of the rough count
_U = np.uint64
_TO_CELL: Final = _U(64 - _CELL_BITS)
_ENVELOPE: Final = _U(0x9E3779B97F4A7C15)
_LABEL: Final = _U(0xD1B54A32D192ED03)
_PAIR: Final = _U(0x8CB92BA72F3D8DD7)

TokenPlace = npt.NDArray[np.int32]  # between two tokens of a URL (tokens.py: Spans)
TokenPlaces = npt.NDArray[np.int32]  # rows of positions


@dataclass(frozen=True, slots=True)
class SubstringLimits:
    """Parameters of phase 1, with the paper's values."""

    max_tokens: int = 35  # S: tokens of a substring
    low: int = 6  # T of detection: largest bucket that counts for `support`
    high: int = 11  # T of elimination: for `size`
    min_support: int = 3  # MS


@dataclass(frozen=True, slots=True)
class Kinds:
    """By what URLs are known to be alike or not, one value a URL; None: not known, all may be alike."""

    label: npt.NDArray[np.int64] | None = None  # of the text; 0: like no other
    smallest: npt.NDArray[np.int64] | None = None  # range of sizes in bytes
    largest: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class LikelyPair:
    """A pair of substrings, unordered, with ^ and $ as the characters of filters/dust/tokens.py."""

    one: str
    other: str
    support: int  # instances in buckets of at most `low`
    size: int  # instances in buckets of at most `high`


def likely_pairs(spans: Spans, kinds: Kinds, limits: SubstringLimits, *, at_most: int) -> list[LikelyPair]:
    """Return the pairs with enough support, the largest `size` first; no more than `at_most`."""
    buckets = list(_buckets(spans, kinds, limits))
    if not buckets:
        return []
    n_pairs = sum(len(members) * members.shape[1] * (members.shape[1] - 1) // 2 for members in buckets)
    often = _often(spans, kinds, buckets, n_pairs, limits.min_support)
    low, high = (_joined(often, is_low=is_low, at=limits.low) for is_low in (True, False))
    del often
    first = np.flatnonzero(np.concatenate(([True], low[1:] != low[:-1]))) if low.size else np.zeros(0, np.int64)
    support = np.diff(np.append(first, low.size))
    enough = support >= limits.min_support
    hashes, support = low[first[enough]], support[enough]
    size = support + np.searchsorted(high, hashes, side="right") - np.searchsorted(high, hashes)
    best = np.sort(np.argsort(-size, kind="stable")[:at_most])
    places = _first_places(spans, kinds, buckets, hashes[best])
    pairs = [_named(spans, *row) for row in zip(places.tolist(), support[best].tolist(), size[best].tolist(), strict=True)]
    return sorted(pairs, key=lambda pair: (-pair.size, pair.one, pair.other))


def _often(spans: Spans, kinds: Kinds, buckets: list[TokenPlaces], n_pairs: int, least: int) -> list[tuple[U64, int]]:
    """Return the hashes of pairs, and the members of their buckets; if there are many, without pairs that a rough count shows rare."""
    every = ((hashes, pairs.n) for hashes, pairs in _hashed(spans, kinds, buckets))
    if n_pairs <= _FEW_PAIRS:
        return list(every)
    rough = np.zeros(1 << _CELL_BITS, dtype=np.uint32)
    for hashes, _ in every:
        np.add.at(rough, hashes >> _TO_CELL, 1)
    return [(hashes[rough[hashes >> _TO_CELL] >= least], pairs.n) for hashes, pairs in _hashed(spans, kinds, buckets)]


def _joined(often: list[tuple[U64, int]], *, is_low: bool, at: int) -> U64:
    """Return the hashes of the pairs of buckets of at most `at` members, or of larger ones, in order."""
    found = np.concatenate([np.empty(0, np.uint64), *(hashes for hashes, n in often if (n <= at) == is_low)])
    found.sort()
    return found


def _first_places(spans: Spans, kinds: Kinds, buckets: list[TokenPlaces], wanted: U64) -> TokenPlaces:
    """Return where a pair of each hash occurs first.

    Args:
        wanted: Hashes, in order.
    """
    found = np.zeros((wanted.size, 4), dtype=np.int32)
    is_found = np.zeros(wanted.size, dtype=np.bool_)
    for hashes, pairs in _hashed(spans, kinds, buckets) if wanted.size else ():
        at = np.minimum(np.searchsorted(wanted, hashes), wanted.size - 1)
        hits = np.flatnonzero((wanted[at] == hashes) & ~is_found[at])[::-1]
        found[at[hits]], is_found[at[hits]] = pairs.places(hits), True
    return found


def _named(spans: Spans, places: list[int], support: int, size: int) -> LikelyPair:
    one, other = sorted((spans.read(places[0], places[1]), spans.read(places[2], places[3])))
    return LikelyPair(one, other, support, size)


def _buckets(spans: Spans, kinds: Kinds, limits: SubstringLimits) -> Iterator[TokenPlaces]:
    """Yield buckets of one number of members at a time: array of (bucket, member, start and end of its span)."""
    starts, ends, labels = _shared_places(spans, kinds)
    first, last = _reach(spans, starts, ends, limits.max_tokens)
    for part in _parts(spans.prefix[starts] + labels, last - first):
        n_ends = (last - first)[part]
        at = np.repeat(first[part] - np.cumsum(n_ends) + n_ends, n_ends) + np.arange(n_ends.sum())
        start, end = np.repeat(starts[part], n_ends), ends[at]
        hashes = spans.prefix[start] * _ENVELOPE
        hashes ^= spans.suffix[end]
        hashes += np.repeat(labels[part], n_ends)
        yield from _gathered(scrambled(hashes), start, end, max(limits.low, limits.high))


def _gathered(hashes: U64, start: TokenPlace, end: TokenPlace, most: int) -> Iterator[TokenPlaces]:
    """Yield the buckets of at most `most` members, of one number of members at a time, out of rows."""
    if not hashes.size:
        return
    order = np.argsort(hashes).astype(np.int32)
    hashes = hashes[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    n_members = np.diff(np.append(first, hashes.size))
    for n in range(2, most + 1):
        of_n = first[n_members == n]
        if of_n.size:
            rows = order[of_n[:, None] + np.arange(n)]
            yield np.stack((start[rows], end[rows]), axis=-1)


def _shared_places(spans: Spans, kinds: Kinds) -> tuple[TokenPlace, TokenPlace, U64]:
    """Return where an envelope of several URLs may open, in the order of the text before; where one may close; labels of the former.

    At other positions no other URL that is alike has the same beginning, or the same end.
    """
    labels = np.zeros(spans.prefix.size, dtype=np.uint64)
    shared = np.ones(spans.prefix.size, dtype=np.bool_)
    if kinds.label is not None:
        n_places = np.diff(spans.first)
        labels = np.repeat(kinds.label.astype(np.uint64) * _LABEL, n_places)
        shared = np.repeat(~_alone(kinds, n_places.size), n_places)
    known = np.flatnonzero(shared)
    opens = known[_repeated(spans.prefix[known] + labels[known])]
    closes = np.sort(known[_repeated(spans.suffix[known] + labels[known])])
    return opens.astype(np.int32), closes.astype(np.int32), labels[opens]


def _repeated(values: U64) -> I64:
    """Return the positions of values that occur several times, in the order of the values."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if not same.size:
        return order[:0]
    return order[np.concatenate((same, [False])) | np.concatenate(([False], same))]


def _reach(spans: Spans, starts: TokenPlace, ends: TokenPlace, max_tokens: int) -> tuple[I64, I64]:
    """Return for each start the first of `ends` that its spans may have, and the first that none has."""
    owner = np.searchsorted(spans.first, starts, side="right")
    farthest = np.minimum(starts + max_tokens, spans.first[owner] - 1)
    return np.searchsorted(ends, starts), np.searchsorted(ends, farthest, side="right")


def _parts(groups: U64, n_rows: I64) -> Iterator[slice]:
    """Cut groups of equal values into slices of whole groups, each of about `_ROWS_AT_ONCE` rows or of one group."""
    ends = np.append(np.flatnonzero(groups[1:] != groups[:-1]) + 1, groups.size)
    done = np.cumsum(n_rows)[ends - 1] if groups.size else np.zeros(1, np.int64)
    begin, n_before = 0, 0
    while begin < groups.size:
        one = int(np.searchsorted(ends, begin, side="right"))
        i = max(one, int(np.searchsorted(done, n_before + _ROWS_AT_ONCE, side="right")) - 1)
        yield slice(begin, int(ends[i]))
        begin, n_before = int(ends[i]), int(done[i])


def _alone(kinds: Kinds, n: int) -> npt.NDArray[np.bool_]:
    """Return which URLs are known to be like no other."""
    if kinds.label is None:
        return np.zeros(n, dtype=np.bool_)
    _, where, count = np.unique(kinds.label, return_inverse=True, return_counts=True)
    alone: npt.NDArray[np.bool_] = (count[where] < 2) | (kinds.label == 0)
    return alone


class _Pairs(NamedTuple):
    """Pairs of like members of some buckets of one number of members."""

    members: TokenPlaces  # (bucket, member, start and end of its span)
    left: I64  # of each pair: its place among all pairs of members, bucket by bucket
    n: int  # members of a bucket

    def places(self, some: I64) -> TokenPlaces:
        """Return the two spans of some of the pairs, [n, 4]."""
        one, other = _combined(self.n)
        bucket, pair = np.divmod(self.left[some], one.size)
        return np.concatenate((self.members[bucket, one[pair]], self.members[bucket, other[pair]]), axis=1)


def _hashed(spans: Spans, kinds: Kinds, buckets: list[TokenPlaces]) -> Iterator[tuple[U64, _Pairs]]:
    """Yield the hashes of all pairs of like members of buckets, some buckets at a time."""
    for members in buckets:
        n = members.shape[1]
        one, other = _combined(n)
        at_once = max(1, _PAIRS_AT_ONCE // one.size)
        for i in range(0, len(members), at_once):
            some = members[i : i + at_once]
            hashes = spans.hashes(some[:, :, 0], some[:, :, 1])
            hashes = _of_pairs(hashes[:, one], hashes[:, other]).reshape(-1)
            left = _of_like_sizes(spans, kinds, some[:, :, 0], one, other)
            yield hashes[left], _Pairs(some, left, n)


def _combined(n: int) -> tuple[I64, I64]:
    """Return all pairs of n members: the first of each, the second of each."""
    one, other = np.triu_indices(n, 1)
    return one, other


def _of_pairs(one: U64, other: U64) -> U64:
    """Return the hashes of pairs, whichever of the two comes first."""
    hashes = scrambled(np.maximum(one, other) + _LABEL)
    hashes += np.minimum(one, other) * _PAIR
    return scrambled(hashes)


def _of_like_sizes(spans: Spans, kinds: Kinds, starts: TokenPlaces, one: I64, other: I64) -> I64:
    """Return the pairs of members whose pages may be of equal size; all pairs if no size is known, or if labels decide."""
    if kinds.smallest is None or kinds.largest is None or kinds.label is not None:
        return np.arange(len(starts) * one.size)
    urls = np.searchsorted(spans.first, starts, side="right") - 1
    smallest, largest = kinds.smallest[urls], kinds.largest[urls]
    is_like = (smallest[:, one] <= largest[:, other]) & (smallest[:, other] <= largest[:, one])
    return np.flatnonzero(is_like.reshape(-1))
