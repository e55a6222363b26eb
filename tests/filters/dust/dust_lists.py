"""Small lists of URLs to mine, and the plain way to do what phase 1 does with hashes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from thresher.filters.dust.substrings import Kinds, LikelyPair, SubstringLimits, likely_pairs
from thresher.filters.dust.tokens import anchored, spans, tokens
from thresher.filters.dust.urllist import Sighting, UrlList


def stories(numbers: Iterable[int]) -> list[str]:
    """Return the URLs of the paper's forum: each story under two names."""
    return [f"http://s/story{mark}{number}" for number in numbers for mark in ("?id=", "_")]


def pairs_of(urls: list[str], limits: SubstringLimits) -> list[LikelyPair]:
    return likely_pairs(spans(urls), Kinds(), limits, at_most=1_000_000)


def listed(shows: Mapping[str, str]) -> UrlList:
    """Return a list of URLs with what each shows; "" for an error."""
    return UrlList.of(Sighting(url, 200 if text else 404, None, text) for url, text in shows.items())


def envelopes(url: str, part: str) -> set[tuple[str, str]]:
    """Return what stands before and behind `part` wherever it stands in the URL, tokens by tokens."""
    whole, wanted = tokens(anchored(url)), tokens(part)
    n = len(wanted)
    found = range(len(whole) - n + 1)
    return {("".join(whole[:i]), "".join(whole[i + n :])) for i in found if whole[i : i + n] == wanted}


def plain_pairs(urls: list[str], limits: SubstringLimits) -> dict[tuple[str, str], tuple[int, int]]:
    """Return (support, size) of every pair by the definition: buckets in a dictionary."""
    buckets: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for url in urls:
        whole = tokens(anchored(url))
        for i in range(len(whole) + 1):
            for j in range(i, min(len(whole), i + limits.max_tokens) + 1):
                buckets["".join(whole[:i]), "".join(whole[j:])].add("".join(whole[i:j]))
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for bucket in buckets.values():
        for one, other in combinations(sorted(bucket), 2):
            found[one, other][0] += len(bucket) <= limits.low
            found[one, other][1] += len(bucket) <= limits.high
    return {pair: (support, size) for pair, (support, size) in found.items() if support >= limits.min_support}
