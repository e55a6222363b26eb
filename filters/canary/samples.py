"""Samples: one page of four of a host, kept to be compared with what its URL shows when the host has nothing else to fetch.

A wall need not answer alike, nor in other words than its host's: of each page a teaser stays, or no link; an old state of the site
answers, or another of its pages. Canaries do not notice such a wall once it has fallen. So when a host has nothing else to fetch, some
samples are fetched again, those farthest from the ones that were fetched before: one of eight, `_MOST` at most; every second one on a
host that had a wall, all where it did not answer alike.

A sample that shows something else twice in a row, while a canary is good and an older page has not changed, is **bad**. The answers beside
it are fetched again, and what showed the same as one of these: a copy may have been dropped for the sake of what a wall showed elsewhere.
Its neighbours are fetched, too. Two bad neighbours are a wall, three where a canary has changed by itself; a bad sample alone may be a page
that has changed.

    queue ‖ "P" ‖ number 4     → Sample: a page, by the number of its answer
    queue ‖ "O" ‖ number / 64  → 64 times key 8 ‖ token 8: the host's answers in their order, the last `_LONGEST`

Memory: 16 bytes an answer, and 700 a sample: 190 bytes an answer, until a host has `_SAMPLES`; then every second one is dropped. Time: 2 µs
an answer, 30 a sample.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator
from enum import IntEnum
from typing import Final

import msgspec

from thresher.crawler.core.ports import Memory
from thresher.filters.canary.likeness import MOST_LOST, has_other_links, lost
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import KEPT, QUEUE, SITE, HostState
from thresher.filters.canary.sighting import TOKEN, is_page
from thresher.filters.soft_error.looks import Look

_SAMPLES: Final = 512  # of a host; twice as many answers lie between two of them from then on
_STEP: Final = 3  # places, of `every`, by which that of a sample moves on
_FOR_ONE: Final = 8  # samples for each that is fetched again on a host that never had a wall
_MOST: Final = 4  # of these
_FOR_ONE_OF_WALLS: Final = 2  # samples for each that is fetched again where all walls have answered alike
_MOST_GAINED: Final = 0.5  # share of a page's word pairs that it may have got since
_APART: Final = 16  # answers from one of a wall to its next, at most
_FELL: Final = 8  # walls that are remembered
_AROUND: Final = 8  # answers before a wall's first and after its last known one that may be its, too, at most
_TWICE: Final = 2  # times that a bad sample doubles how many are fetched again
_RUN: Final = 2  # bad samples in a row that are a wall
_RUN_OF_CHANGING: Final = 3  # the same where pages are known to change by themselves
_FLIPS: Final = 2  # samples that show two pages in turn; as many as bad ones, or more, are a site of variants
_FARTHEST: Final = 2  # times `every` that the next sample may be away, so that all until there is fetched again
_MANY: Final = 12  # bad samples
_MOST_BAD: Final = 0.9  # share of the samples that were fetched again
_HEIRS: Final = 2  # URLs that are fetched again because another one does not show any more what they have shown, too
_OF_SEVERAL: Final = 2  # URLs that show the same
_SHARED: Final = 3  # answers elsewhere that may have shown what a wall did; of more, one may have been dropped as a copy
_SAMPLE, _ORDER = b"P", b"O"
_ROW: Final = 64
_LONGEST: Final = 512 * _ROW
_ENTRY: Final = SITE + TOKEN

_encode = msgspec.msgpack.Encoder().encode


class Finding(IntEnum):
    """What a sample has shown when it was fetched again."""

    NOTHING = 0  # it was not
    SAME = 1
    UNCLEAR = 2  # it changes with each request, or no older page is as it was
    BAD = 3
    OF_WALL = 4  # one of a run of bad ones


class Sample(msgspec.Struct, array_like=True):
    """A page as it was when it was fetched."""

    url: str
    key: bytes
    token: bytes
    look: Look
    n_links: int
    found: Finding = Finding.NOTHING
    n_unclear: int = 0  # times that it has shown something else each time while walls came and went


class Range(msgspec.Struct, frozen=True):
    """The answers around a bad sample."""

    keys: tuple[bytes, ...]  # of the URLs that are to be fetched again
    is_new_wall: bool  # it makes a run of bad samples long enough


def n_since_place(n: int, every: int) -> int:
    """Return how many answers after the last place of a sample the n-th one of a host is: 0 at such a place, below 0 before the first.

    One of `every` answers is a place, each time another one, as sites have periods, too.
    """
    turn, at = divmod(n, every)
    turn -= at < _STEP * turn % every
    return n - turn * every - _STEP * turn % every if turn > 0 else -1


def is_wanted(memory: Memory, queue: bytes, state: HostState) -> bool:
    """Return whether a host's next page becomes a sample: at the place of one, or after it, if only redirects, errors and files came."""
    n = n_since_place(state.n_answers + 1, state.every)
    return n == 0 or (n > 0 and not any(map(is_page, _last_shown(memory, queue, state.n_answers, n))))


def note(memory: Memory, seen: Seen, state: HostState) -> None:
    """Record an answer, the `state.n_answers`-th one of its host."""
    queue, n = seen.queue, state.n_answers
    row = _order_row(queue, n)
    entry = seen.key[SITE:] + seen.token.ljust(TOKEN, b"\0")
    memory.put(row, (memory.get(row) or bytes(_ENTRY) * (n % _ROW)) + entry, weight=KEPT)
    if n % _ROW == 0 and n >= _LONGEST:
        memory.delete(_order_row(queue, n - _LONGEST))
    if not is_sample(seen):
        return
    keep(memory, seen, n)
    state.n_samples += 1
    if state.n_samples > _SAMPLES:
        state.every *= 2
        unknown = [at for at, sample in _all(memory, queue) if sample.found is Finding.NOTHING]
        for at in unknown[::2]:
            memory.delete(_key(queue, at))
        _count(memory, queue, state)


def is_sample(seen: Seen) -> bool:
    """Return whether an answer becomes a sample."""
    return seen.sample is not None and is_page(seen.token)


def keep(memory: Memory, seen: Seen, n: int) -> None:
    """Keep a page, the `n`-th answer of its host, as a sample."""
    assert seen.sample is not None
    put(memory, seen.queue, n, Sample(seen.url, seen.key, seen.token, seen.sample, seen.n_links))


def is_due(state: HostState) -> bool:
    """Return whether one more sample of a host that has nothing else to fetch is to be fetched again."""
    if state.n_flips >= max(_FLIPS, state.n_bad) or _changes_by_itself(state):
        return False
    return bool(state.near) or state.n_checked < _n_wanted(state)


def _changes_by_itself(state: HostState) -> bool:
    """Return whether most samples were bad although every URL was fetched again: what comes next would be no better."""
    has_all_again = 2 * state.n_again >= state.n_answers
    return has_all_again and state.n_bad >= _MANY and state.n_bad >= _MOST_BAD * state.n_checked


def next_due(memory: Memory, queue: bytes, state: HostState) -> tuple[int, Sample] | None:
    """Return the next sample that is to be fetched again, by its number; None if none is."""
    if not is_due(state):
        return None
    found = dict(_all(memory, queue))
    state.n_samples, state.n_checked = len(found), sum(one.found is not Finding.NOTHING for one in found.values())
    state.near = [at for at in state.near if at in found and found[at].found is Finding.NOTHING]
    if not is_due(state):
        return None
    unknown = [at for at, one in found.items() if one.found is Finding.NOTHING]
    known = [0, state.n_answers + 1, *(at for at, one in found.items() if one.found is not Finding.NOTHING)]
    at = state.near[0] if state.near else max(unknown, key=lambda at: (min(abs(at - other) for other in known), -at))
    return at, found[at]


def sample_at(memory: Memory, queue: bytes, at: int) -> Sample | None:
    value = memory.get(_key(queue, at))
    return None if value is None else _SAMPLE_ROWS.decode(value)


def older(memory: Memory, queue: bytes, than: int) -> dict[int, Finding]:
    """Return what the samples before an answer have shown, by their numbers, the oldest first."""
    return {at: sample.found for at, sample in _all(memory, queue) if at < than}


def is_other(sample: Sample, token: bytes, look: Look | None, n_links: int) -> bool:
    """Return whether an answer shows another page than a sample did, or hardly any links where there were some, or the reverse."""
    if look is not None and has_other_links(sample.n_links, n_links):
        return True
    if token == sample.token or look is None:
        return token != sample.token
    return differ(sample.look, look)


def differ(one: Look, later: Look) -> bool:
    """Return whether a page has another title, has lost much of what it was, or has become another by what it has got since."""
    return one.title != later.title or lost(one, later) > MOST_LOST or lost(later, one) > _MOST_GAINED


def close(memory: Memory, queue: bytes, state: HostState, at: int, found: Finding) -> None:
    """Record what a sample has shown."""
    sample = sample_at(memory, queue, at)
    if sample is not None:
        sample.found = found
        put(memory, queue, at, sample)
    _count(memory, queue, state)


def bad(memory: Memory, queue: bytes, state: HostState, at: int) -> Range:
    """Record that a sample is bad; return what is to be fetched again."""
    found = dict(_all(memory, queue))
    telling = _telling(memory, queue, found)
    before = max((other for other in telling if other < at), default=0)
    after = min((other for other in telling if other > at), default=state.n_answers + 1)
    ill = [other for other in (before, after) if other in found and found[other].found >= Finding.BAD]
    run = _run(found, at)
    is_wall = len(run) >= (_RUN_OF_CHANGING if state.has_changed else _RUN)
    is_new = is_wall and not any(found[other].found is Finding.OF_WALL for other in run)
    for other in run if is_wall else (at,):
        close(memory, queue, state, other, Finding.OF_WALL if is_wall else Finding.BAD)
    state.near += [other for other in (before, after) if other in found and found[other].found is Finding.NOTHING]
    first = before if before in ill else max(before, at - _FARTHEST * state.every)
    last = after if after in ill else min(after, at + _FARTHEST * state.every)
    return Range(_between(memory, queue, first, last), is_new)


def _telling(memory: Memory, queue: bytes, found: dict[int, Sample]) -> list[int]:
    """Return the samples that say what answered beside them: not those that show the same again as several URLs do. A login form or a
    notice has little of what a wall may change.
    """
    shown = Counter(token for _, token in {answer for _, answer in _answers(memory, queue)})
    return [at for at, one in found.items() if one.found is not Finding.SAME or shown[one.token.ljust(TOKEN, b"\0")] < _OF_SEVERAL]


def _run(found: dict[int, Sample], at: int) -> list[int]:
    """Return a bad sample, and the bad ones on either side of it without another one between."""
    ordered = sorted(found)
    place = ordered.index(at)
    run = [at]
    for side in (reversed(ordered[:place]), ordered[place + 1 :]):
        run += itertools.takewhile(lambda other: found[other].found >= Finding.BAD, side)
    return run


def beside(memory: Memory, queue: bytes, state: HostState, keys: Collection[bytes]) -> tuple[bytes, ...]:
    """Return what else a wall may have answered that fell before it was seen.

    Walls that stood at the same time are one, which does not answer alike: what lies between its answers may be its own, too. So may what
    lies between and around the answers of one, if there are fewer others between them.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        state: That of the host.
        keys: Of the URLs for which it answered.
    """
    ats = sorted({key: at for at, (key, _) in _answers(memory, queue) if queue[:SITE] + key in keys}.values())  # of their last answers
    if not ats:
        return ()
    apart = [later for at, later in itertools.pairwise(ats) if later - at > _APART]  # what lies farther back is no answer of this wall
    here = (apart[-1] if apart else ats[0]), ats[-1], state.why
    others = [there for there in state.fell if there[0] <= here[1] and here[0] <= there[1] and there[2] != state.why]
    state.fell = [*(there for there in state.fell if there not in others), here][-_FELL:]
    if not others:
        n_of_wall = sum(at >= here[0] for at in ats)
        is_mixed = n_of_wall <= here[1] - here[0] < 2 * n_of_wall
        return tuple(key for key in around(memory, queue, *here[:2]) if key not in keys) if is_mixed else ()
    first, last = min(there[0] for there in (here, *others)), max(there[1] for there in (here, *others))
    state.fell[-1] = first, last, b""
    return tuple(key for key in _between(memory, queue, first - 1, last + 1) if key not in keys)


def around(memory: Memory, queue: bytes, first: int, last: int) -> tuple[bytes, ...]:
    """Return the URLs of the answers from one number to another, and of as many before and after, as a wall may have given these, too."""
    more = min(last - first + 1, _AROUND)
    return _between(memory, queue, first - 1 - more, last + 1 + more)


def since(memory: Memory, queue: bytes, n: int) -> tuple[bytes, ...]:
    """Return the URLs of the answers after the `n`-th one, and others that showed the same as one of these."""
    return _between(memory, queue, n, 1 << 32)


def last_shown(memory: Memory, queue: bytes, key: bytes) -> bytes:
    """Return the token that a URL has shown last, b"" if it is not known."""
    return next((token.rstrip(b"\0") for token in reversed(_values(memory, queue, key[SITE:], of_key=True))), b"")


def showing(memory: Memory, queue: bytes, token: bytes, but: bytes) -> list[bytes]:
    """Return some other URLs that have shown a token last, `_HEIRS` at most.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        token: What they have shown.
        but: Key of a URL that is left out.
    """
    found = []
    for key in dict.fromkeys(_values(memory, queue, token.ljust(TOKEN, b"\0"), of_key=False)):
        if key != but[SITE:] and last_shown(memory, queue, queue[:SITE] + key) == token:
            found.append(queue[:SITE] + key)
            if len(found) == _HEIRS:
                break
    return found


def is_of_another(memory: Memory, queue: bytes, key: bytes, token: bytes) -> bool:
    """Return whether another URL of a host has shown a page."""
    return any(shown == token and of != key[SITE:] for _, (of, shown) in _answers(memory, queue))


def unknown(memory: Memory, queue: bytes, n: int) -> list[int]:
    """Return the numbers of the samples after the `n`-th answer that were not fetched again."""
    return [at for at, sample in _all(memory, queue) if at > n and sample.found is Finding.NOTHING]


def forget(memory: Memory, queue: bytes, state: HostState, keys: Collection[bytes]) -> None:
    """Drop the samples of URLs that are fetched again, if they were not compared yet and are no neighbours of bad ones."""
    for at, sample in list(_all(memory, queue)):
        if sample.key in keys and sample.found is Finding.NOTHING and at not in state.near:
            memory.delete(_key(queue, at))
    _count(memory, queue, state)


def _between(memory: Memory, queue: bytes, first: int, last: int) -> tuple[bytes, ...]:
    """Return the URLs whose last answers lie between two numbers, and others that showed the same as one of these."""
    order = dict(_answers(memory, queue))
    last_of = {key: at for at, (key, _) in order.items()}
    within = {at for at, (key, _) in order.items() if first < at < last and last_of[key] == at}
    tokens = {order[at][1] for at in within} - {bytes(TOKEN)}
    alike = Counter(token for at, (_, token) in order.items() if at not in within and token in tokens)
    others = [at for at, (key, token) in order.items() if alike[token] and at not in within and last_of[key] == at]
    of_shared = {order[at][1]: at for at in reversed(others) if alike[order[at][1]] > _SHARED}  # the first one of each
    also = {at for at in others if alike[order[at][1]] <= _SHARED} | set(of_shared.values())
    return tuple(dict.fromkeys(queue[:SITE] + order[at][0] for at in sorted(within | also)))


def _answers(memory: Memory, queue: bytes) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
    """Yield the answers of a host by their numbers: the last 8 bytes of the URL's key, and the token."""
    for row, value in memory.scan(queue + _ORDER):
        first = int.from_bytes(row[QUEUE + 1 :], "big") * _ROW
        for i in range(len(value) // _ENTRY):
            entry = value[i * _ENTRY : (i + 1) * _ENTRY]
            yield first + i, (entry[:SITE], entry[SITE:])


def _last_shown(memory: Memory, queue: bytes, last: int, n: int) -> Iterator[bytes]:
    """Yield the tokens of the `n` answers of a host up to the `last`-th one, the latest first."""
    row = b""
    for at in range(last, max(0, last - n), -1):
        if not row or at % _ROW == _ROW - 1:
            row = memory.get(_order_row(queue, at)) or b""
        yield row[at % _ROW * _ENTRY :][SITE:_ENTRY].rstrip(b"\0")


def _values(memory: Memory, queue: bytes, wanted: bytes, *, of_key: bool) -> list[bytes]:
    """Return the tokens of the answers of a key, or the keys of the answers that have shown a token, in their order.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        wanted: The last 8 bytes of a key, or a token with 8 bytes.
        of_key: Whether it is a key.
    """
    found, start = [], 0 if of_key else SITE
    for _, value in memory.scan(queue + _ORDER):
        at = value.find(wanted)
        while at >= 0:
            if at % _ENTRY == start:
                found.append(value[at + SITE : at + _ENTRY] if of_key else value[at - SITE : at])
            at = value.find(wanted, at + 1)
    return found


def _n_wanted(state: HostState) -> int:
    if state.n_walls:
        return state.n_samples // (1 if state.watched_until or state.n_bad else _FOR_ONE_OF_WALLS)
    return min(_MOST << min(state.n_bad, _TWICE), state.n_samples // (1 if state.n_bad else _FOR_ONE))


def _count(memory: Memory, queue: bytes, state: HostState) -> None:
    found = [sample.found for _, sample in _all(memory, queue)]
    state.n_samples, state.n_checked = len(found), len(found) - found.count(Finding.NOTHING)


def _all(memory: Memory, queue: bytes) -> Iterator[tuple[int, Sample]]:
    for row, value in memory.scan(queue + _SAMPLE):
        yield int.from_bytes(row[QUEUE + 1 :], "big"), _SAMPLE_ROWS.decode(value)


def put(memory: Memory, queue: bytes, at: int, sample: Sample) -> None:
    memory.put(_key(queue, at), _encode(sample), weight=KEPT)


def _key(queue: bytes, at: int) -> bytes:
    return queue + _SAMPLE + at.to_bytes(4, "big")


def _order_row(queue: bytes, at: int) -> bytes:
    return queue + _ORDER + (at // _ROW).to_bytes(4, "big")


_SAMPLE_ROWS = msgspec.msgpack.Decoder(Sample)
