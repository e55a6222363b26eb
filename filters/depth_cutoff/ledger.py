"""One site's evidence over a filter's memory: its places, what they have shown, and its levels.

**A fetch was worth it** if the page is a 200 that every filter kept and followed, and there is something new on it against the pages of
its directory (filters/depth_cutoff/novelty.py). It teaches its pattern, its parameters, the directory and the host; of worthless fetches a
pattern and a directory teach what lies around them no more than 16, so that one barren place does not speak for all. While a site shows
one text for one URL after another, which may be an outage or a consent page, only the first 8 of a row teach.

**Records** (key: the site's 8 bytes, then)
    h                   → Head: levels, vocabulary, how many places have which limit
    p ‖ hash of a form  → Place
    t ‖ hash of a form  → table of the word pairs that a directory has shown

Memory: 60 bytes a pattern, 2 KiB a directory. Time: 60 µs per page.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import msgspec
import xxhash

from crawler.core.ports import Memory
from filters.depth_cutoff.evidence import PRIOR, Place, Rule
from filters.depth_cutoff.novelty import look
from filters.depth_cutoff.places import Places, places
from filters.pattern_yield.patterns import Parts
from filters.pattern_yield.vocabulary import Vocabulary

TAUGHT = 16  # worthless fetches that a place teaches the one around it
RUN = 8  # of one text in a row that teach
LOW = 16  # limits below are counted
_DEEPEST = 63
_HEAD_WEIGHT = 1e12
_TABLE_WEIGHT = 16.0


class Level(msgspec.Struct, array_like=True):
    """What a site's pages at one depth came to."""

    fetched: int = 0
    new: int = 0
    links: int = 0  # on its pages
    new_links: int = 0  # that named a URL first


class Head(msgspec.Struct, array_like=True):
    """What a site's places share. The first field is all that the learned gate needs of most sites."""

    low: list[int] = []  # number of places by limit, of limits below LOW
    levels: list[Level] = []
    run_text: int = 0
    run_length: int = 0
    n_counted: int = 0
    counters: bytes = b""


class Glance(msgspec.Struct, array_like=True):
    """The beginning of a Head."""

    low: list[int] = []


class Fetch(NamedTuple):
    """One answered request."""

    parts: Parts
    depth: int
    text: int  # hash of what it showed, 0: none
    sampled: bytes  # of novelty.sample
    is_good: bool  # a 200 that every filter kept and followed
    n_links: int = 0


class Change(NamedTuple):
    """A limit that was raised."""

    form: str
    before: int
    after: int


_head = msgspec.msgpack.Decoder(Head)
_glance = msgspec.msgpack.Decoder(Glance)
_place = msgspec.msgpack.Decoder(Place)
_encode = msgspec.msgpack.Encoder().encode


def least_limit(memory: Memory, site: bytes) -> int:
    """Return a depth up to which nothing of a site is cut by its places."""
    value = memory.get(site + b"h")
    low = _glance.decode(value).low if value else []
    return next((limit for limit, n in enumerate(low) if n > 0), LOW)


class Ledger:
    """Read from a memory, changed, and written back by `save`."""

    def __init__(self, memory: Memory, site: bytes, rule: Rule) -> None:
        """site: 8 bytes."""
        self._memory, self._site, self._rule = memory, site, rule
        value = memory.get(site + b"h")
        self.head = _head.decode(value) if value else Head(low=[0] * LOW)
        self.vocabulary = Vocabulary(self.head.n_counted, self.head.counters)
        self._known: dict[str, Place | None] = {}
        self._changed: dict[str, Place] = {}

    # -- asking

    def where(self, parts: Parts) -> Places:
        """Return a URL's places as the site's vocabulary spells them now."""
        return places(parts, self.vocabulary.count)

    def cut(self, where: Places, depth: int) -> Place | None:
        """Return the place that cuts a URL off, None if it is to be fetched."""
        found = self.speaker(where)
        if found is None or depth <= found.limit:
            return None
        return None if self._explores(where) and depth <= self._rule.unknown() else found

    def speaker(self, where: Places) -> Place | None:
        """Return the smallest known place that a URL belongs to; of its parameters the one that is cut first."""
        known = self._get(where.pattern)
        if known is None and where.parameters:
            known = min((place for form in where.parameters if (place := self._get(form))), key=lambda place: place.limit, default=None)
        return known or self._get(where.directory) or self._get(where.host)

    def _explores(self, where: Places) -> bool:
        return any(self._get(form) is None for form in where.parameters or (where.pattern,))

    # -- learning

    def learn(self, fetch: Fetch) -> list[Change]:
        """Learn from an answered request; return the limits that rose."""
        self.vocabulary.add(fetch.parts.words())
        where = self.where(fetch.parts)
        is_new = fetch.is_good and self._is_new(where.directory, fetch.sampled)
        level = self._level(fetch.depth)
        level.fetched += 1
        level.new += is_new
        level.links += fetch.n_links
        if not self._teaches(fetch.text, is_new):
            return []
        *around, pattern = [self._at(form) for form in where.ladder()]
        parameters = [self._at(form) for form in where.parameters]
        learned = self._teach([*around, pattern], fetch.depth, is_new)
        for place in parameters:
            place.learn(fetch.depth, is_new)
        changes, prior = [], PRIOR
        for place, within in pairwise([*around, pattern]):
            if place.form in learned:
                changes.append(self._limit(place, prior, is_host=place.form == where.host))
            prior = place.share(prior, new=within.n_new, old=within.n_taught)
        changes += [self._limit(place, prior, is_host=False) for place in parameters]
        prior = min([place.share(prior, new=pattern.n_new, old=pattern.n_old) for place in parameters], default=prior)
        changes.append(self._limit(pattern, prior, is_host=not around))
        return [change for change in changes if change.after > change.before]

    def links(self, depth: int, n_new: int) -> None:
        """Count the URLs that a page named first."""
        self._level(depth).new_links += n_new

    def _is_new(self, directory: str, sampled: bytes) -> bool:
        if not sampled:
            return True  # nothing to compare: a page without words, as of pictures
        key = self._key(b"t", directory)
        before = self._memory.get(key) or b""
        is_new, table = look(sampled, before)
        if table != before:
            self._memory.put(key, table, _TABLE_WEIGHT)
        return is_new

    def _teaches(self, text: int, is_new: bool) -> bool:
        head = self.head
        head.run_length = head.run_length + 1 if text == head.run_text else 1
        head.run_text = text
        return is_new or head.run_length <= RUN

    def _teach(self, ladder: list[Place], depth: int, is_new: bool) -> set[str]:
        """Let places, the largest first, learn of a fetch up to one that has taught enough worthless ones; return those that did."""
        learned = set()
        for place in reversed(ladder):
            place.learn(depth, is_new)
            learned.add(place.form)
            if not is_new:
                if place.n_taught >= TAUGHT:
                    break
                place.n_taught += 1
        return learned

    def _limit(self, place: Place, prior: float, *, is_host: bool) -> Change:
        before = place.limit
        place.limit = self._rule.limit(place, prior, is_host=is_host)
        for limit, step in ((before, -1), (place.limit, 1)):
            if limit < LOW:
                self.head.low[limit] += step
        return Change(place.form, before, place.limit)

    # -- records

    def save(self) -> None:
        """Write what has changed."""
        head = self.head
        head.n_counted, head.counters = self.vocabulary.n_counted, self.vocabulary.counters
        for form, place in self._changed.items():
            self._memory.put(self._key(b"p", form), _encode(place), float(place.n_ever))
        self._changed.clear()
        self._memory.put(self._site + b"h", _encode(head), _HEAD_WEIGHT)

    def all_places(self) -> list[Place]:
        """Return all that the memory holds."""
        return [_place.decode(value) for _, value in self._memory.scan(self._site + b"p")]

    def _level(self, depth: int) -> Level:
        levels, at = self.head.levels, min(depth, _DEEPEST)
        while len(levels) <= at:
            levels.append(Level())
        return levels[at]

    def _get(self, form: str) -> Place | None:
        if form not in self._known:
            value = self._memory.get(self._key(b"p", form))
            self._known[form] = _place.decode(value) if value else None
        return self._known[form]

    def _at(self, form: str) -> Place:
        place = self._get(form)
        if place is None:
            place = self._known[form] = Place(form)
        self._changed[form] = place
        return place

    def _key(self, kind: bytes, form: str) -> bytes:
        return self._site + kind + xxhash.xxh3_64_digest(form.encode())
