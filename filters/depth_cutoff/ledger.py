"""What is known of one site in a filter's memory: its places, the word pairs that they have shown, and its levels.

**A fetch was worth it** if the page is a 200 that every filter kept, and shows something new compared with the pages of its
directory (filters/depth_cutoff/novelty.py). It is counted for its pattern, its parameters, its directory and the host. Of the worthless
fetches of a pattern or directory, at most 16 are also counted for the larger places, so that one barren place does not decide for them all.
The URLs of a pattern that worthless pages named are a place of their own; there, a fetch counts as worthless only if another filter dropped
its page, for example as a copy: copies lead to more copies. While a site shows the same text for one URL after another, which may be an
outage or a consent page, only the first 8 such answers are learned from.

Records and their sizes: filters/depth_cutoff/records.py. Time: 100 µs per fetch.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import msgspec
import xxhash

from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.depth_cutoff.evidence import BELIEF, PRIOR, QUOTA, SPEAKS, UNLIMITED, CutRule, PlaceCounts
from thresher.filters.depth_cutoff.novelty import look
from thresher.filters.depth_cutoff.places import UrlPlaces, places
from thresher.filters.depth_cutoff.records import (
    BARREN_WEIGHT,
    HEAD_WEIGHT,
    LOW,
    POOR,
    TABLE_WEIGHT,
    EarlyPage,
    Level,
    SiteHead,
    barren_key,
    encode,
    first_pages,
    head_key,
    poor_key,
)
from thresher.filters.pattern_yield.patterns import Parts, parse
from thresher.filters.pattern_yield.vocabulary import Vocabulary

INNER = " named by worthless pages"  # suffix: a pattern's URLs that worthless pages named are a place of their own
TAUGHT = 16  # worthless fetches of a place that are also counted for the larger one
RUN = 8  # answers in a row of one text that are learned from
_DEEPEST = 63
_HASH_BYTES = 8
_FORMS = 4_096  # whose hashes are remembered


class DepthFetch(NamedTuple):
    """One answered request."""

    parts: Parts
    depth: int
    text: int  # hash of its text, 0: none
    sampled: bytes  # of novelty.sample
    drop: str = ""  # why it was worth nothing: duplicate, near_replica, soft_error, alias, error, other; "": a 200 that was kept
    n_links: int = 0
    key: bytes = b""  # of the URL within its site
    kind: int = -1  # of the URL (filters/depth_cutoff/places.py), -1: not needed
    stands_for: int = 1  # number of fetches of which it is the sample
    is_poor: bool = False  # only worthless pages have named it

    @property
    def is_good(self) -> bool:
        return not self.drop


class Released(NamedTuple):
    """The URLs of a place up to a depth are to be released."""

    form: str
    depth: int


_place = msgspec.msgpack.Decoder(PlaceCounts)


class Ledger:
    """One site's evidence: read from a memory, changed, and written back by `save`."""

    def __init__(self, memory: Memory, site: bytes, rule: CutRule) -> None:
        """Read what a site's places share.

        Args:
            site: 8 bytes.
        """
        self._memory, self._site, self._rule = memory, site, rule
        first = first_pages(memory, site)
        self.head = first.head
        self.vocabulary = Vocabulary(self.head.n_counted, self.head.counters)
        self._unknown = rule.unknown()
        self.is_spent = False  # the place of the last fetch has shown nothing new for so long that it counts as endless
        self._known: dict[str, PlaceCounts | None] = {}
        self._changed: dict[str, PlaceCounts] = {}
        if early := first.take():
            self._learn_early(early)

    # -- questions

    def where(self, parts: Parts) -> UrlPlaces:
        """Return a URL's places by the site's present vocabulary."""
        return places(parts, self.vocabulary.count)

    def pattern(self, url: str, origin: str) -> str:
        """Return a URL's pattern by the site's present vocabulary."""
        return self.where(parse(url, origin)).pattern

    def cut(self, where: UrlPlaces, depth: int, *, is_poor: bool, is_choice: bool = True) -> PlaceCounts | None:
        """Return the place that cuts a URL; None if the URL is to be fetched.

        Args:
            is_poor: Whether only worthless pages have named it.
            is_choice: Whether its query chooses a view. What is no choice, and was named by a good page, is only cut if also less is kept
                here: the days of a calendar, or works of a painter, have the same words, and are documents.
        """
        inner = self._get(where.pattern + INNER) if is_poor else None
        if inner is not None and inner.n_ever >= SPEAKS and depth > inner.limit and inner.is_less(self.head.standing):
            return inner
        found = self.speaker(where)
        if found is None or depth <= found.limit:
            return None
        if depth > found.bound:
            return None if self._explores(where) and depth <= self._rule.unknown() else found
        is_less = found.is_less(self.head.standing, by_kept=not (is_choice or is_poor))
        is_open = found.n_ever < SPEAKS or not is_less or not (is_poor or self._is_held(found, where))
        return None if is_open or self._explores(where) else found

    def _is_held(self, place: PlaceCounts, where: UrlPlaces) -> bool:
        """Return whether a place has shown nothing new for so long that it is held; half as long is enough if the choices of its path are.

        Args:
            where: The places of a URL of that place.
        """
        if place.opinion.is_held or not where.choices:
            return place.opinion.is_held
        every = self._get(where.choices)
        return every is not None and every.opinion.is_held and BELIEF.is_likely(place.opinion)

    def speaker(self, where: UrlPlaces) -> PlaceCounts | None:
        """Return the smallest known place that a URL belongs to; of its parameters the one with the least limit."""
        known = self._get(where.pattern)
        if where.parameters and (known is None or known.n_ever < SPEAKS):
            parameters = [place for form in where.parameters if (place := self._get(form)) and (known is None or place.n_ever >= SPEAKS)]
            known = min(parameters, key=lambda place: place.limit, default=known)
        return known or self._get(where.directory) or self._get(where.host)

    def _explores(self, where: UrlPlaces) -> bool:
        return any(self._get(form) is None for form in where.parameters or (where.pattern,))

    # -- learning

    def learn(self, fetch: DepthFetch) -> list[Released]:
        """Learn from an answered request; return the URLs that were held wrongly."""
        before = self.where(fetch.parts)
        self.vocabulary.add(fetch.parts.words())
        where = self.where(fetch.parts)
        is_new = fetch.is_good and self._is_new(where.directory, fetch.sampled)
        self.head.taught(fetch.kind, is_new=is_new, is_dropped=bool(fetch.drop))
        return self._learn(fetch, before, where, is_new=is_new)

    def led_on(self, note: bytes) -> list[Released]:
        """Count a fetch that showed nothing new as one that did, since its page has led to what is new; return as `learn` does.

        Args:
            note: Depth and URL of the page.
        """
        depth, url = note.decode().split(" ", 1)
        where = self.where(parse(url, origin_of(url)))
        ladder = [self._at(form) for form in (*where.ladder(), *where.parameters)]
        wrong = [place for place in ladder if place.credit(int(depth))]
        if where.choices:
            self._at(where.choices).credit(int(depth))
        self._limits(where, set(where.ladder()), is_new=False)
        return [Released(place.form, place.limit) for place in wrong]

    def _learn_early(self, early: list[EarlyPage]) -> None:
        """Learn from the site's first pages, all of which were new (early.py)."""
        self.vocabulary = Vocabulary()
        for page in early:
            parts = parse(page.url, origin_of(page.url))
            before = self.where(parts)
            self.vocabulary.add(parts.words())
            fetch = DepthFetch(parts, page.depth, page.text, b"", n_links=page.n_links, key=page.key, stands_for=page.stands_for)
            self._learn(fetch, before, self.where(parts), is_new=True)
            self._level(page.depth).new_links += page.new_links

    def _learn(self, fetch: DepthFetch, before: UrlPlaces, where: UrlPlaces, *, is_new: bool) -> list[Released]:
        """Learn from a request whose page was compared.

        Args:
            before: The places of its URL before its words were counted.
            where: Its places now.
        """
        self._count(fetch, is_new=is_new)
        if not self._teaches(fetch.text, is_new):
            return []
        learned, wrong = self._teach([self._at(form) for form in where.ladder()], fetch, is_new)
        parameters = [self._at(form) for form in where.parameters]
        wrong += [place for place in parameters if place.learn(fetch.depth, is_new=is_new, is_good=fetch.is_good)]
        if where.choices:
            self._at(where.choices).learn(fetch.depth, is_new=is_new, is_good=fetch.is_good)
        if not is_new:
            self._memory.put(barren_key(self._site + fetch.key), POOR if fetch.is_poor else b"", BARREN_WEIGHT)
        self._limits(where, learned, is_new=is_new)
        self.is_spent = any(self._at(form).opinion.recent.streak >= QUOTA for form in where.ladder())
        if fetch.is_poor:
            self._memory.delete(poor_key(self._site + fetch.key))
            inner = self._at(where.pattern + INNER)
            wrong += [inner] if inner.learn(fetch.depth, is_new=fetch.is_good, is_good=fetch.is_good) else []
            self._limit(inner, PRIOR, is_host=False)
        self._stand(where, fetch, is_new=is_new)
        return [*[Released(place.form, place.limit) for place in wrong], *self._outgrown(before, where)]

    def _stand(self, where: UrlPlaces, fetch: DepthFetch, *, is_new: bool) -> None:
        """Count what was new for the host, and for the places of the fetch."""
        every = self.head.standing
        clock, share = every.at + fetch.stands_for, (is_new + fetch.is_good) / 2
        forms = [where.pattern, *where.parameters, *([where.directory] if where.directory != where.host else [])]
        of = [self._at(form) for form in dict.fromkeys([*forms, *([where.pattern + INNER] if fetch.is_poor else [])])]
        for standing in (every, *[place.standing for place in of]):
            standing.learn(fetch.stands_for, share, clock)

    def _count(self, fetch: DepthFetch, *, is_new: bool) -> None:
        level = self._level(fetch.depth)
        level.fetched += fetch.stands_for
        level.new += fetch.stands_for if is_new else 0
        level.links += fetch.stands_for * fetch.n_links
        if fetch.drop:
            level.drops[fetch.drop] = level.drops.get(fetch.drop, 0) + 1
        self.head.awaits = fetch.key + bytes((fetch.stands_for,))

    def _outgrown(self, before: UrlPlaces, now: UrlPlaces) -> list[Released]:
        """Release the URLs of places that have a new name since the vocabulary grew: nothing is counted for the old names any more."""
        if before == now:
            return []
        forms = dict.fromkeys(
            (before.directory, before.pattern, before.pattern + INNER, *before.parameters)
        )  # not a set: a replay must have the same order
        gone = [form for form in forms if form not in (now.directory, *now.parameters)]
        known = [place for form in gone if (place := self._get(form)) is not None and place.limit < UNLIMITED]
        return [Released(place.form, UNLIMITED) for place in known]

    def _limits(self, where: UrlPlaces, learned: set[str], *, is_new: bool) -> None:
        """Set the limits of the places that learned, each with the next larger one as its prior. A new page lowers no limit."""
        *around, pattern = [self._at(form) for form in where.ladder()]
        parameters = [self._at(form) for form in where.parameters]
        unknown, every = self._unknown, (*around, pattern, *parameters)
        if is_new and all(place.limit == unknown or (place.limit > unknown and place.n_ever > 1) for place in every):
            return
        prior = PRIOR
        for place, within in pairwise([*around, pattern]):
            if place.form in learned:
                self._limit(place, prior, is_host=place.form == where.host)
            prior = place.share(prior, new=within.n_new, old=within.n_taught)
        for place in parameters:
            self._limit(place, prior, is_host=False)
        prior = min([place.share(prior, new=pattern.n_new, old=pattern.n_old) for place in parameters], default=prior)
        self._limit(pattern, prior, is_host=not around)

    def links(self, key: bytes, depth: int, n_new: int) -> None:
        """Count the URLs that a page named first.

        Args:
            key: The key of its URL within the site.
        """
        if self.head.awaits[:_HASH_BYTES] == key:
            self._level(depth).new_links += n_new * self.head.awaits[_HASH_BYTES]

    def named_by_worthless(self, named: Iterable[bytes]) -> None:
        """Record that URLs of the site were named first by a page that showed nothing new.

        Args:
            named: For each its key within the site, followed by POOR if it may belong to a space without end.
        """
        for one in named:
            self._memory.put(poor_key(self._site + one[:_HASH_BYTES]), one[_HASH_BYTES:], BARREN_WEIGHT)

    def _is_new(self, directory: str, sampled: bytes) -> bool:
        if not sampled:
            return True  # a page without words, for example of pictures: nothing can be compared
        key = table_key(self._site, directory)
        before = self._memory.get(key) or b""
        is_new, table = look(sampled, before)
        if table != before:
            self._memory.put(key, table, TABLE_WEIGHT)
        return is_new

    def _teaches(self, text: int, is_new: bool) -> bool:
        head = self.head
        head.run_length = head.run_length + 1 if text == head.run_text else 1
        head.run_text = text
        return is_new or head.run_length <= RUN

    def _teach(self, ladder: list[PlaceCounts], fetch: DepthFetch, is_new: bool) -> tuple[set[str], list[PlaceCounts]]:
        """Count a fetch for places, the largest last, up to one that has passed on enough worthless fetches.

        Returns:
            The places that counted it, and those that were held wrongly.
        """
        learned, wrong = set[str](), list[PlaceCounts]()
        for place in reversed(ladder):
            wrong += [place] if place.learn(fetch.depth, is_new=is_new, is_good=fetch.is_good) else []
            learned.add(place.form)
            if not is_new:
                if place.n_taught >= TAUGHT:
                    break
                place.n_taught += 1
        return learned, wrong

    def _limit(self, place: PlaceCounts, prior: float, *, is_host: bool) -> None:
        before = place.limit
        place.limit, place.bound = self._rule.limit(place, prior, is_host=is_host)
        for limit, step in ((before, -1), (place.limit, 1)):
            if limit < LOW:
                self.head.low[limit] += step
            if limit < self._unknown:
                self.head.n_limited += step
        if place.limit < self._unknown:
            BELIEF.hold(place.opinion)

    # -- records

    def save(self) -> SiteHead:
        """Write what has changed; return the head as it was written."""
        head = self.head
        head.n_counted, head.counters = self.vocabulary.n_counted, self.vocabulary.counters
        for form, place in self._changed.items():
            self._memory.put(self._key(b"p", form), encode(place), float(place.n_ever))
        self._changed.clear()
        self._memory.put(head_key(self._site), encode(head), HEAD_WEIGHT)
        return head

    def all_places(self) -> list[PlaceCounts]:
        """Return all places in the memory, with changes."""
        stored = {key: _place.decode(value) for key, value in self._memory.scan(self._site + b"p")}
        return [*{**stored, **{self._key(b"p", form): place for form, place in self._changed.items()}}.values()]

    def _level(self, depth: int) -> Level:
        levels, at = self.head.levels, min(depth, _DEEPEST)
        while len(levels) <= at:
            levels.append(Level())
        return levels[at]

    def _get(self, form: str) -> PlaceCounts | None:
        if form not in self._known:
            value = self._memory.get(self._key(b"p", form))
            self._known[form] = _place.decode(value) if value else None
        return self._known[form]

    def _at(self, form: str) -> PlaceCounts:
        place = self._get(form)
        if place is None:
            place = self._known[form] = PlaceCounts(form)
        self._changed[form] = place
        return place

    def _key(self, kind: bytes, form: str) -> bytes:
        return self._site + kind + _hash(form)


def table_key(site: bytes, directory: str) -> bytes:
    """Return the memory key of the word pairs that a directory has shown."""
    return site + b"t" + _hash(directory)


@lru_cache(maxsize=_FORMS)
def _hash(form: str) -> bytes:
    return xxhash.xxh3_64_digest(form.encode())
