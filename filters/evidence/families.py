"""Alias families from collisions as they occur: URLs that differ at one place (host, segment of the path, parameter or its absence).

Each fetch is compared with fetched URLs that differ from it at one place: do they show one text? The answer is pooled three ways: for the
two values, for one value against all others (a language, a branch, a print view), and for the place (a session, an order of a listing) [the
pools of MaybeDont; DUSTER's families]. A URL whose like is known is believed to be an alias when the most specific pool that has enough
answers says so. That is an opinion: it postpones, and a low bound is enough, since what it holds is fetched last and not never.

Memory: 40 bytes a URL and place, at most `PEERS` values each; pools: 2 numbers. Time: 10 µs a URL with five places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from thresher.filters.evidence.posterior import lower_share

PEERS = 8  # fetched URLs that one is compared with at each place
ENOUGH = 4  # answers that make a pool
NAMED = 12  # answers from which a pool gives a class its name
BELIEF = 0.3  # lower bound of the share of agreement from which a URL is postponed
ABSENT = None

Pool = tuple[str, ...]


class Place(NamedTuple):
    """Where a URL may differ from another: what is left without its value there names the URLs that differ there alone."""

    pool: Pool  # of all URLs of this place
    rest: tuple[str, ...]
    value: str | None
    bare: tuple[str, ...] | None = None  # the same URL without this parameter


class Alias(NamedTuple):
    """A belief that a URL is an alias."""

    rule: str  # the family
    bound: float  # lower bound of the share of agreement, of the most specific pool that has enough answers
    compared: int  # URLs of the family
    agreed: int


class Families:
    """What fetches say of aliases, of one site or of all that may mirror each other."""

    def __init__(self, *, belief: float = BELIEF, enough: int = ENOUGH) -> None:
        self._belief, self._enough = belief, enough
        self._peers: dict[tuple[Pool, tuple[str, ...]], dict[str | None, str]] = defaultdict(dict)
        self._whole: dict[tuple[str, ...], str] = {}
        self._answers: dict[tuple[str | None, ...], list[int]] = defaultdict(lambda: [0, 0])  # pool → compared, agreed

    def learn(self, url: str, text: str) -> None:
        """Compare a fetched page with its like. text: hash of what it shows"""
        for place in places(url):
            peers = self._peers[place.pool, place.rest]
            for value, shown in self._like(place):
                for pool in _pools(place, value):
                    answers = self._answers[pool]
                    answers[0] += 1
                    answers[1] += shown == text
            peers.pop(place.value, None)
            peers[place.value] = text
            if len(peers) > PEERS:
                del peers[next(iter(peers))]
        self._whole[_whole(url)] = text

    def _like(self, place: Place) -> list[tuple[str | None, str]]:
        """Return (value, text) of the fetched URLs that differ at this place alone."""
        found = list(self._peers.get((place.pool, place.rest), {}).items())
        shown = self._whole.get(place.bare) if place.bare is not None else None
        return found if shown is None else [*found, (ABSENT, shown)]

    def alias(self, url: str) -> Alias | None:
        """Return the strongest belief that a URL shows what a fetched one shows; None if there is none that is strong enough."""
        best: Alias | None = None
        for place in places(url):
            for value, _ in self._like(place):
                found = self._belief_of(place, value)
                if found is not None and found.bound >= self._belief and (best is None or found.bound > best.bound):
                    best = found
        return best

    def _belief_of(self, place: Place, other: str | None) -> Alias | None:
        pools = _pools(place, other)
        for i, pool in enumerate(pools):
            n, agreed = self._answers.get(pool, (0, 0))
            if n >= self._enough:
                named = pool if i else next((each for each in pools[1:] if self._answers.get(each, (0, 0))[0] >= NAMED), pools[-1])
                total, same = self._answers[named]
                return Alias(_name(named), lower_share(n, agreed), total, same)
        return None


def places(url: str) -> Iterator[Place]:
    """Yield the places of a URL: its host, every segment of its path, every parameter that it has once."""
    parts = urlsplit(url)
    fields = tuple(sorted(parts.query.split("&"))) if parts.query else ()
    segments = parts.path.split("/")
    yield Place(("host",), (parts.path, *fields), parts.netloc)
    for i in range(1, len(segments)):
        rest = ("/".join(segments[:i]), "/".join(segments[i + 1 :]), *fields)
        yield Place((parts.netloc, "segment", str(i), str(len(segments) - i if i > 3 else 0)), rest, segments[i])
    names = [field.partition("=")[0] for field in fields]
    for field in fields:
        name, _, value = field.partition("=")
        if names.count(name) == 1:
            others = tuple(other for other in fields if other is not field)
            yield Place((parts.netloc, parts.path, name), others, value, (parts.netloc, parts.path, *others))


def _whole(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    return (parts.netloc, parts.path, *(sorted(parts.query.split("&")) if parts.query else ()))


def _pools(place: Place, other: str | None) -> tuple[tuple[str | None, ...], ...]:
    """Return the pools of a comparison, the most specific first."""
    pool, value = place.pool, place.value
    pair, here = (*pool, value, other), (*pool, "?", *place.rest)
    if place.bare is None:
        return pair, here, (*pool, value), pool
    anywhere = (pool[0], "*", pool[2])  # the parameter at any path
    return pair, (*anywhere, value, other), here, (*pool, value), (*anywhere, value), pool, anywhere


def _name(pool: tuple[str | None, ...]) -> str:
    return "alias " + " ".join("-" if part is None else part for part in pool)
