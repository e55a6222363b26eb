"""Phase 2: of pairs that mean the same, keep the one with most context [BKS07, Fig. 2].

α' → β' refines α → β when α' = γαδ and β' = γβδ: it is the same change in narrower surroundings. If both have nearly the same size, the
surroundings are nearly always there, so the refining pair is as wide and more precise.

Whether one pair refines another depends on their difference alone: without the common beginning and end, both leave the same core (up to
rotation, when one side is empty). Only pairs of one core are compared, so that the cost is not quadratic in all pairs. Meanwhile tokens are
single characters of a private alphabet: to find one list of tokens in another is then a search in a string.

Time: about 1 µs per two pairs of one core.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple

from thresher.filters.dust.substrings import LikelyPair
from thresher.filters.dust.tokens import common, tokens

_FIRST_CODE: Final = 0xE000  # the first code point after the surrogates


class Elimination(NamedTuple):
    """Parameters of phase 2, with the paper's values."""

    max_relative: float = 0.05  # MRD: difference of sizes, as a share of the larger
    max_absolute: float = 1.0  # MAD: difference of sizes in instances; one of the two limits is enough
    window: int = 1100  # MW: pairs further down the list that are looked at


AS_PUBLISHED: Final = Elimination()


class Coded(NamedTuple):
    """A pair with one character a token."""

    one: str
    other: str


class Alphabet:
    """One character for each token met."""

    def __init__(self) -> None:
        codes = count(_FIRST_CODE)
        self._codes: defaultdict[str, str] = defaultdict(lambda: chr(next(codes)))

    def write(self, text: str) -> str:
        """Return the text with one character a token."""
        return "".join([self._codes[token] for token in tokens(text)])

    def pair(self, one: str, other: str) -> Coded:
        return Coded(self.write(one), self.write(other))


def close_in_size(size: int, smaller: int, limits: Elimination = AS_PUBLISHED) -> bool:
    """Return whether two sizes are so close that the pairs may mean the same."""
    return size - smaller <= max(limits.max_relative * size, limits.max_absolute)


def refines(narrow: Coded, wide: Coded) -> bool:
    """Return whether `narrow` is `wide` with more context [BKS07, Lemma 5.3], in either direction of the pair."""
    return _extends(narrow, wide.one, wide.other) or _extends(narrow, wide.other, wide.one)


def core(pair: Coded) -> Coded:
    """Return what a pair exchanges, without the common beginning and end; equal for pairs of which one refines the other."""
    one, other = sorted(pair)
    n = common(one, other)
    one, other = one[n:], other[n:]
    n = common(one[::-1], other[::-1])
    one, other = one[: len(one) - n], other[: len(other) - n]
    if one and other:
        return Coded(*sorted((one, other)))
    inserted = one or other
    return Coded("", min((inserted[i:] + inserted[:i] for i in range(len(inserted))), default=""))


def eliminate(pairs: Sequence[LikelyPair], limits: Elimination = AS_PUBLISHED) -> list[LikelyPair]:
    """Return the pairs that no other of nearly the same size refines; `pairs` come with the largest size first."""
    alphabet = Alphabet()
    coded = [alphabet.pair(pair.one, pair.other) for pair in pairs]
    families: defaultdict[Coded, list[int]] = defaultdict(list)
    for i, pair in enumerate(coded):
        families[core(pair)].append(i)
    gone: set[int] = set()
    for family in families.values():
        _eliminate_in(family, pairs, coded, limits, gone)
    return [pair for i, pair in enumerate(pairs) if i not in gone]


def _eliminate_in(family: Sequence[int], pairs: Sequence[LikelyPair], coded: Sequence[Coded], limits: Elimination, gone: set[int]) -> None:
    for at, i in enumerate(family):
        if i in gone:
            continue
        for j in family[at + 1 : bisect_right(family, i + limits.window)]:
            if not close_in_size(pairs[i].size, pairs[j].size, limits):
                break
            if j in gone:
                continue
            if refines(coded[i], coded[j]):
                gone.add(j)
            elif refines(coded[j], coded[i]):
                gone.add(i)
                break


def _extends(narrow: Coded, one: str, other: str) -> bool:
    at = narrow.one.find(one)
    while at >= 0:
        if narrow.other == narrow.one[:at] + other + narrow.one[at + len(one) :]:
            return True
        at = narrow.one.find(one, at + 1)
    return False
