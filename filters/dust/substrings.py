"""Phase 1: pairs of substrings that a site seems to use one for the other [BKS07, Fig. 1].

Cut a substring α out of a URL p·α·s: (p, s) is its envelope, and all substrings that occur in one envelope make its bucket. The support of
a pair {α, β} is the number of buckets with both. Buckets with more than `most` members are left out: numbers of pages and names of people
occur in many, substitutions for one another in few.

    URLs → (envelope hash, span) rows → sorted by envelope → buckets → pairs of like members → counted by the hash of the pair

Where sketches are known, an envelope is of URLs that show one text: only copies fill a bucket, so that it overflows seldom and every pair
is of copies. Without, pairs of a bucket whose sizes cannot be equal do not count.

Rows are made for one range of hashes at a time, and pairs that a first, rough count shows to be rare are never stored: memory does not
grow with the rows but with the pairs that count. Python touches only the pairs that are returned.

Time: 0.25 µs per row; (m + 1)(m + 2)/2 rows for a URL of m tokens, at most 35 of them in a span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from crawler.core.model import U64
from crawler.core.sketch import scrambled
from filters.dust.tokens import I64, Spans

_ROWS_AT_ONCE: Final = 1 << 22
_PAIRS_AT_ONCE: Final = 1 << 20
_CELL_BITS: Final = 24  # of the rough count
_U = np.uint64
_ENVELOPE: Final = _U(0x9E3779B97F4A7C15)
_LABEL: Final = _U(0xD1B54A32D192ED03)
_PAIR: Final = _U(0x8CB92BA72F3D8DD7)


@dataclass(frozen=True, slots=True)
class Limits:
    """Parameters of phase 1, with the paper's values."""

    max_tokens: int = 35  # S: tokens of a substring
    low: int = 6  # T of detection: largest bucket that counts for `support`
    high: int = 11  # T of elimination: for `size`
    min_support: int = 3  # MS


@dataclass(frozen=True, slots=True)
class Kinds:
    """What tells like URLs from unlike ones, one value a URL; None: unknown, so that all are alike."""

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


def likely_pairs(spans: Spans, kinds: Kinds, limits: Limits, *, at_most: int) -> list[LikelyPair]:
    """Return the pairs with enough support, the largest `size` first; no more than `at_most`."""
    buckets = list(_buckets(spans, kinds, limits))
    rough = np.zeros(1 << _CELL_BITS, dtype=np.uint32)
    for hashes, _, _ in _pairs(spans, kinds, buckets):
        np.add.at(rough, hashes >> _U(64 - _CELL_BITS), 1)
    found: list[tuple[U64, I64, npt.NDArray[np.bool_]]] = []
    for hashes, places, n_members in _pairs(spans, kinds, buckets):
        often = rough[hashes >> _U(64 - _CELL_BITS)] >= limits.min_support
        found.append((hashes[often], places[often], np.full(int(often.sum()), n_members <= limits.low)))
    return _counted(spans, found, limits, at_most)


def _counted(spans: Spans, found: list[tuple[U64, I64, npt.NDArray[np.bool_]]], limits: Limits, at_most: int) -> list[LikelyPair]:
    if not sum(hashes.size for hashes, _, _ in found):
        return []
    hashes = np.concatenate([hashes for hashes, _, _ in found])
    places = np.concatenate([places for _, places, _ in found])
    is_low = np.concatenate([is_low for _, _, is_low in found])
    order = np.argsort(hashes, kind="stable")
    hashes, is_low = hashes[order], is_low[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    size = np.diff(np.append(first, hashes.size))
    support = np.add.reduceat(is_low.astype(np.int64), first)
    enough = np.flatnonzero(support >= limits.min_support)
    best = enough[np.argsort(-size[enough], kind="stable")][:at_most]
    pairs = [_named(spans, places[order[first[i]]], int(support[i]), int(size[i])) for i in best]
    return sorted(pairs, key=lambda pair: (-pair.size, pair.one, pair.other))


def _named(spans: Spans, places: I64, support: int, size: int) -> LikelyPair:
    one, other = sorted((spans.read(places[0], places[1]), spans.read(places[2], places[3])))
    return LikelyPair(one, other, support, size)


def _buckets(spans: Spans, kinds: Kinds, limits: Limits) -> Iterator[I64]:
    """Yield buckets of one number of members at a time: array of (bucket, member, start and end of its span)."""
    alone = _alone(kinds, spans.first.size - 1)
    n_rows = sum(matrix[0].size * matrix[1].size for matrix in _spans_by_length(spans, alone, limits.max_tokens))
    n_parts = max(1, -(-n_rows // _ROWS_AT_ONCE))
    for part in range(n_parts):
        rows = list(_rows(spans, kinds, alone, limits.max_tokens, part, n_parts))
        hashes = np.concatenate([hashes for hashes, _ in rows]) if rows else np.empty(0, np.uint64)
        if not hashes.size:
            continue
        places = np.concatenate([places for _, places in rows])
        order = np.argsort(hashes)
        hashes = hashes[order]
        first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
        n_members = np.diff(np.append(first, hashes.size))
        for n in range(2, max(limits.low, limits.high) + 1):
            of_n = first[n_members == n]
            if of_n.size:
                yield places[order[of_n[:, None] + np.arange(n)]]


def _alone(kinds: Kinds, n: int) -> npt.NDArray[np.bool_]:
    """Return which URLs are known to have no like."""
    if kinds.label is None:
        return np.zeros(n, dtype=np.bool_)
    _, where, count = np.unique(kinds.label, return_inverse=True, return_counts=True)
    alone: npt.NDArray[np.bool_] = (count[where] < 2) | (kinds.label == 0)
    return alone


def _spans_by_length(spans: Spans, alone: npt.NDArray[np.bool_], max_tokens: int) -> Iterator[tuple[I64, npt.NDArray[np.int32]]]:
    """Yield, for each number of tokens, the URLs that have so many and the spans of each as (start, end)."""
    n_places = np.diff(spans.first)
    for n in np.unique(n_places[~alone]):
        starts, ends = np.triu_indices(int(n))
        short = ends - starts <= max_tokens
        yield np.flatnonzero((n_places == n) & ~alone), np.stack((starts[short], ends[short])).astype(np.int32)


def _rows(
    spans: Spans, kinds: Kinds, alone: npt.NDArray[np.bool_], max_tokens: int, part: int, n_parts: int
) -> Iterator[tuple[U64, npt.NDArray[np.int32]]]:
    """Yield (hash of the envelope, start and end of the span) of every row whose hash is in one part of the range."""
    low, high = (part << 64) // n_parts, ((part + 1) << 64) // n_parts - 1
    for every, span in _spans_by_length(spans, alone, max_tokens):
        at_once = max(1, _ROWS_AT_ONCE // 8 // span.shape[1])
        for i in range(0, every.size, at_once):
            base = spans.first[every[i : i + at_once]][:, None]
            start, end = base + span[0], base + span[1]
            hashes = spans.prefix[start] * _ENVELOPE
            hashes ^= spans.suffix[end]
            if kinds.label is not None:
                hashes += (kinds.label[every[i : i + at_once]].astype(np.uint64) * _LABEL)[:, None]
            scrambled(hashes)
            kept = (hashes >= _U(low)) & (hashes <= _U(high))
            yield hashes[kept], np.stack((start[kept], end[kept]), axis=1).astype(np.int32)


def _pairs(spans: Spans, kinds: Kinds, buckets: list[I64]) -> Iterator[tuple[U64, I64, int]]:
    """Yield (hash of the pair, its two spans, members of its bucket) of every pair of like members of a bucket."""
    for members in buckets:
        n = members.shape[1]
        left, right = np.array(list(combinations(range(n), 2))).T
        at_once = max(1, _PAIRS_AT_ONCE // left.size)
        for i in range(0, len(members), at_once):
            some = members[i : i + at_once]
            places = np.concatenate((some[:, left].reshape(-1, 2), some[:, right].reshape(-1, 2)), axis=1)
            places = places[_sizes_overlap(spans, kinds, places)]
            one, other = spans.hashes(places[:, 0], places[:, 1]), spans.hashes(places[:, 2], places[:, 3])
            smaller, larger = np.minimum(one, other), np.maximum(one, other)
            yield scrambled(smaller * _PAIR + scrambled(larger + _LABEL)), places, n


def _sizes_overlap(spans: Spans, kinds: Kinds, places: I64) -> npt.NDArray[np.bool_]:
    if kinds.smallest is None or kinds.largest is None or kinds.label is not None:
        return np.ones(len(places), dtype=np.bool_)
    one = np.searchsorted(spans.first, places[:, 0], side="right") - 1
    other = np.searchsorted(spans.first, places[:, 2], side="right") - 1
    return (kinds.smallest[one] <= kinds.largest[other]) & (kinds.smallest[other] <= kinds.largest[one])
