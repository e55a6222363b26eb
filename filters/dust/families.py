"""Families of aliases: an opinion from pairs of pages that show the same, before any rule is proved [MaybeDont; DUSTER].

Each fetched page is compared with fetched pages whose URLs differ from its own at one place (places.py): does any of them show the same?
The answer is counted for the value at the place (a language, a branch, a print view) in its section of the site (kinds.py), for the group
(the sessions of one page), for the value everywhere, and for the place with all of its values. A URL that differs at one place from a
fetched one is believed to be an alias if the most specific of these four that has enough answers says so. So a family is one hypothesis
on a place; sections, values and groups with answers of their own are its exceptions.

This is an opinion: its URLs are held, so a low bound is enough, since they are fetched last and not lost. Those that are fetched all the
same (audits, the tail) are compared like any other page, so the bound of a wrong opinion falls. Once the upper bound of a pool is below
`BELIEF`, too, what it holds is released: it is surely no family. A bound that goes up and down around it releases nothing.

Two pages show the same if they have the same words, in any order, and name the same paths (a list that is sorted in another way shows
nothing else; the table of another season, in which the same teams have other places, names other matches), or one original: the page of
which exact_duplicate or near_replica says that they are copies, or would say so if their host did not tell them apart (shown.py).

    site 8 ‖ "g" ‖ group 8            → answers 2 ‖ up to `_PEERS` times text 5 ‖ original 5
    (no site's) 8 ‖ group 8           → the same, of pages at one path on several hosts: these 8 bytes are no site's
    site 8 ‖ "v" ‖ pool 8             → answers 2: pages compared, alike ones among them; also those of a kind of URLs
    site 8 ‖ "b"                      → the places with any opinion
    (no site's) 8 ‖ hash of class 8   → answers 2, for the order of the tail
    site 8 ‖ "f"                      → its first pages (`EarlyPage`; filters/evidence/early.py: `PackedList`)

Answers are halved at `_MOST`, so that they decay. At a place where hardly any page was ever alike, one group in eight is compared.
A site's first pages are only listed (filters/evidence/early.py) until one of them may be like another: nothing can be believed before.
Other sites compare their pages with these by path, so these groups are kept from the first page on.

Memory: 40 bytes a URL and place; 13 and its URL for one of the first pages. Time: 30 µs a page, 60 with storage, 10 for one of the first;
10 µs a URL whose site has a family that is held, else nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
import xxhash

from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.dust.kinds import name_of_section, names_of_kind
from thresher.filters.dust.leads import lead_on
from thresher.filters.dust.places import HOST, SPELLING, Place, host_place, places
from thresher.filters.dust.pools import class_of, name_of_group, names_of_pools
from thresher.filters.dust.shown import HASH, ShownPage
from thresher.filters.evidence.decay import Recent, halved
from thresher.filters.evidence.early import PackedList
from thresher.filters.evidence.posterior import lower_share, upper_share

BELIEF: Final = 0.35  # lower bound of the share of alike pages from which a URL is held
ENOUGH: Final = 4  # answers needed for an opinion
_NOTED: Final = 4  # the counts of a class are written again after so many answers
_PRIOR: Final = 8  # a family's answers are given to the tail as so many fetches
_MOST: Final = 64  # answers that are remembered
_HARDLY: Final = 1 / 16
_SAMPLE: Final = 8
_PEERS: Final = 8  # pages of a group that the next one is compared with
_ENTRY: Final = 2 * HASH
_MOST_PLACES: Final = 64  # places of a site that may have an opinion
_LASTING: Final = 1.0  # weight of the records of answers: records of groups are dropped before them
_NONE: Final = b"\0\0"
_GROUP: Final = b"g"
_POOL: Final = b"v"
_BELIEVED: Final = b"b"
_FIRST: Final = b"f"
_WAS_MET, _IS_COPY = 1, 2  # marks of a listed page
MOST_LISTED: Final = 96  # first pages of a site that are listed; learning from all at once takes 2 ms
_LONGEST_URL: Final = 250  # characters of one that is listed with the first pages

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[str]).decode
_digest = xxhash.xxh3_64_digest


class EarlyPage(NamedTuple):
    """One of a site's first pages, which is like no other that it was compared with."""

    url: str
    shown: ShownPage
    was_met: bool  # a page at its path on another host was compared with it

    def packed(self, n_met: int) -> bytes:
        """Return it as bytes, of which the last one is `n_met`, the pages that were met until then."""
        mark = self.was_met * _WAS_MET + self.shown.is_copy * _IS_COPY
        return bytes((mark,)) + self.shown.text + self.shown.original + self.url.encode() + bytes((n_met,))

    @classmethod
    def unpacked(cls, item: bytes) -> EarlyPage:
        """Read what `packed` returned."""
        mark, text, original, url = item[0], item[1 : 1 + HASH], item[1 + HASH : 1 + _ENTRY], item[1 + _ENTRY : -1]
        return cls(url.decode(), ShownPage(text, original, bool(mark & _IS_COPY)), was_met=bool(mark & _WAS_MET))


class Learned(NamedTuple):
    """What a page has taught."""

    n_alike: int = 0  # alike pages in its largest family, with the page itself; 0 if it is in no family
    sunk: tuple[str, ...] = ()  # classes of the pools that are surely no families
    alike_at: tuple[str, ...] = ()  # names of the places at which it is alike


class Alias(NamedTuple):
    """An opinion that a URL shows what a fetched one shows."""

    holder: str  # the class in which it is held
    bound: float  # lower bound of the share of pages alike
    compared: int  # number of answers behind the opinion
    alike: int


def learn(memory: Memory, site: bytes, url: str, origin: str, shown: ShownPage) -> Learned:
    """Compare a fetched page with those whose URLs differ at one place, and remember it for later ones.

    Args:
        site: First 8 bytes of the page's key.
        url: The page's canonical URL.
        origin: Scheme and authority of the URL.
    """
    first = PackedList(memory, site + _FIRST, _LASTING, MOST_LISTED)
    if first.has_room and (page := _early(memory, url, origin, shown, first)):
        first.append(page.packed(_n_met(first) + page.was_met))
        return Learned()
    for listed in map(EarlyPage.unpacked, first.take()):
        _learn(memory, site, listed.url, origin_of(listed.url), listed.shown, of_host=listed.was_met)
    return _learn(memory, site, url, origin, shown)


def _early(memory: Memory, url: str, origin: str, shown: ShownPage, first: PackedList) -> EarlyPage | None:
    """Return a page that can be listed with a site's first pages, now compared by its path; None if it may be like another one."""
    if len(url) > _LONGEST_URL or first.may_have(shown.text) or first.may_have(shown.original):
        return None
    key = _group_key(b"", host_place(url, origin))
    stored = memory.get(key)
    if stored is None and key[-1] % _SAMPLE and _n_met(first) >= _MOST // 2:  # as `_is_skipped`: none of these was alike
        return EarlyPage(url, shown, was_met=False)
    stored = stored or _NONE
    is_alike, answers = _answer(stored, None, shown), stored[:2]
    if is_alike is not None:
        answers = _count(answers, is_alike=is_alike)
        if is_alike or _may_be_believed(answers):
            return None
    if (grown := answers + _entered(stored[2:], shown)) != stored:
        memory.put(key, grown)
    return EarlyPage(url, shown, was_met=is_alike is not None)


def _n_met(first: PackedList) -> int:
    """Return how many listed pages were compared with a page at their path on another host."""
    return first.tail(1)[0] if len(first) else 0


def _learn(memory: Memory, site: bytes, url: str, origin: str, shown: ShownPage, *, of_host: bool | None = None) -> Learned:
    """Learn as `learn` does.

    Args:
        of_host: Whether the page, one of the first, was like no page at its path on another host; None: it is to be compared.
    """
    believed = known_places(memory, site)
    news: set[str] = set()
    largest, sunk, alike_at = 0, list[str](), list[str]()
    for place in places(url, origin):
        if of_host is not None and place.name == HOST:
            if of_host:
                _count_in_pools(memory, site, place, origin, _NONE, is_alike=False)
            continue
        key = _group_key(site, place)
        stored = memory.get(key)
        if stored is None and _is_skipped(memory, site, place, origin, believed, key):
            continue
        bare = memory.get(_group(site, place.bare)) if place.bare else None
        if stored is None and bare is None:  # the first page of its group: this is the usual case
            memory.put(key, _NONE + shown.text + shown.original)
            continue
        stored = stored or _NONE
        is_alike = _answer(stored, bare, shown)
        answers = stored[:2]
        if is_alike is not None:
            answers = _count(answers, is_alike=is_alike)
            n_alike, is_believed, lost = _count_in_pools(memory, site, place, origin, answers, is_alike=is_alike)
            largest = max(largest, n_alike if is_alike else 0)
            sunk += lost
            alike_at += [place.name] if is_alike else []
            news |= {place.name} if is_believed else set()
        if (grown := answers + _entered(stored[2:], shown)) != stored:
            memory.put(key, grown)
    if not news <= believed and len(believed) < _MOST_PLACES:
        memory.put(site + _BELIEVED, _encode(sorted(believed | news)[:_MOST_PLACES]), _LASTING)
    return Learned(largest, tuple(sunk), tuple(alike_at))


def alias(memory: Memory, site: bytes, url: str, origin: str, *, belief: float = BELIEF, enough: int = ENOUGH) -> Alias | None:
    """Return the strongest opinion that a URL shows what a fetched one shows; None if none is strong enough.

    Args:
        memory: The filter's memory.
        site: First 8 bytes of the URL's key.
        url: A canonical URL.
        origin: Its scheme and authority.
        belief: Least lower bound of the share of alike pages, 0 to 1.
        enough: Answers that an opinion needs.
    """
    believed = known_places(memory, site)
    best: Alias | None = None
    for place in places(url, origin, believed) if believed else ():
        stored = memory.get(_group_key(site, place)) or _NONE
        if len(stored) == len(_NONE) and not (place.bare and memory.get(_group(site, place.bare))):
            continue
        found = _belief_of(memory, site, place, origin, stored[:2], enough)
        if found is not None and found.bound >= belief and (best is None or found.bound > best.bound):
            best = found
    return best


def known_places(memory: Memory, site: bytes) -> frozenset[str]:
    """Return the places of a site's URLs that ever had an opinion."""
    value = memory.get(site + _BELIEVED)
    return _read(value) if value else frozenset()


def recent(holder: str, memory: Memory) -> Recent:
    """Return the yield of a family's pages before it was held: pages that were not alike gave something new."""
    n, alike = memory.get(_class_key(holder)) or _NONE
    worth = min(n, _PRIOR)
    return Recent(float(worth), worth * (1 - alike / n)) if n else Recent()


def _is_skipped(memory: Memory, site: bytes, place: Place, origin: str, believed: frozenset[str], key: bytes) -> bool:
    """Return whether a new group is one of those that are not compared, since hardly any page is alike at its place."""
    if not key[-1] % _SAMPLE or place.name == SPELLING or place.name in believed:
        return False
    n, alike = memory.get(site + _pool_of_place(HOST if place.name == HOST else f"{origin} {place.name}")) or _NONE
    return n >= _MOST // 2 and alike <= _HARDLY * n


@lru_cache(maxsize=8_192)  # pages of a host have the same places
def _pool_of_place(name: str) -> bytes:
    """Return what follows the site in the key of a place's pool.

    Args:
        name: The last of `names_of_pools`.
    """
    return _POOL + _digest(name.encode())


def _count_in_pools(memory: Memory, site: bytes, place: Place, origin: str, here: bytes, *, is_alike: bool) -> tuple[int, bool, list[str]]:
    """Count an answer for the pools of a place.

    Returns:
        The alike pages of the place, whether it has any opinion, and the classes of the pools that are surely no families any more.

    Args:
        here: Answers of the group, which are counted already.
    """
    names = names_of_pools(place, origin)
    for kind in _pools_of_kind(site, place, origin):
        memory.put(kind, _count(memory.get(kind) or _NONE, is_alike=is_alike), _LASTING)
    keys = [site + _POOL + _digest(name.encode()) for name in names]
    before = [memory.get(key) or _NONE for key in keys]
    counted = [_count(answers, is_alike=is_alike) for answers in before]
    for key, answers in zip(keys, counted, strict=True):
        memory.put(key, answers, _LASTING)
    if not any(_may_be_believed(answers) for answers in (here, *counted)):
        return counted[-1][1], False, []
    for name, answers in zip((name_of_group(place), *names), (here, *counted), strict=True):
        if answers[0] >= ENOUGH and answers[0] % _NOTED == 0:
            memory.put(_class_key(class_of(name)), answers, _LASTING)
    changes = zip(names, before, counted, strict=True)
    sunk = [class_of(name) for name, was, answers in changes if was[0] >= ENOUGH and not _is_against(was) and _is_against(answers)]
    return counted[-1][1], True, sunk


def _is_against(answers: bytes) -> bool:
    """Return whether a share of alike pages that would be believed is surely not there."""
    return upper_share(*answers) < BELIEF


def _belief_of(memory: Memory, site: bytes, place: Place, origin: str, here: bytes, enough: int) -> Alias | None:
    """Return the opinion of the most specific answers of a place that are enough (`_by_specificity`).

    None if the answers of this kind of URL (kinds.py), those of its section or with its value if they are enough, are surely against it, or
    its alike pages lead to what is new (leads.py).
    """
    if lead_on(memory, site, place, origin):
        return None
    section = name_of_section(place, origin)
    keys = [site + _pool_of_place(section)] * bool(section) + _pools_of_kind(site, place, origin)
    of_kind = [memory.get(key) or _NONE for key in keys]
    if (answers := next((of for of in of_kind if of[0] >= enough), None)) is not None and _is_against(answers):
        return None
    names = names_of_pools(place, origin)
    for name, answers in _by_specificity(memory, site, names, (name_of_group(place), here)):
        n, alike = answers
        if n >= enough:
            return Alias(class_of(name), lower_share(n, alike), n, alike)
    return None


def _by_specificity(memory: Memory, site: bytes, names: Sequence[str], group: tuple[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and answers of a place, the most specific first: of the value in its section or else everywhere, then the group."""
    for i, name in enumerate(names):
        yield name, memory.get(site + _POOL + _digest(name.encode())) or _NONE
        if i == 0:
            yield group


def _pools_of_kind(site: bytes, place: Place, origin: str) -> list[bytes]:
    return [site + _POOL + _digest(name.encode()) for name in names_of_kind(place, origin)]


def _group_key(site: bytes, place: Place) -> bytes:
    if place.name == HOST:
        digest = _digest(place.group.encode())
        return digest[:1] + b"host\0\0\0" + digest
    return _group(site, place.group)


def _group(site: bytes, group: str) -> bytes:
    return site + _GROUP + _digest(group.encode())


def _class_key(holder: str) -> bytes:
    digest = _digest(holder.encode())
    return digest[:1] + b"fams\0\0\0" + digest


def _answer(stored: bytes, bare: bytes | None, shown: ShownPage) -> bool | None:
    """Return whether any page of a group, or the one without the value, shows the same; None if there is no other page."""
    entries = stored[2:] + bare[2:] if bare else stored[2:]
    found = None
    for at in range(0, len(entries), _ENTRY):
        has_original = entries[at + HASH : at + _ENTRY] == shown.original
        if has_original and not shown.is_copy:
            continue
        if has_original or entries[at : at + HASH] == shown.text:
            return True
        found = False
    return found


def _entered(entries: bytes, shown: ShownPage) -> bytes:
    """Return a group's pages with one more in place of the oldest; a page that shows the same as another is not entered."""
    for at in range(0, len(entries), _ENTRY):
        if entries[at : at + HASH] == shown.text:
            return entries
    return (entries + shown.text + shown.original)[-_PEERS * _ENTRY :]


def _count(answers: bytes, *, is_alike: bool) -> bytes:
    return bytes(halved(answers[0] + 1, answers[1] + is_alike, _MOST))


def _may_be_believed(answers: bytes) -> bool:
    return answers[0] >= ENOUGH and 2 * answers[1] >= BELIEF * answers[0]


@lru_cache(maxsize=1_000)
def _read(value: bytes) -> frozenset[str]:
    return frozenset(_decode(value))
