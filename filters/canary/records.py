"""The filter's records of each host, under its queue's 16 bytes, of which the first 8 are its site's.

    queue ‖ "H"                → HostState: the host's state, and the request under way
    queue ‖ "E"                → its first answers, in place of all the others but "K", "P" and "W" (first_answers.py); empty once they are
                                 learned from
    queue ‖ "K" ‖ slot 1       → Candidate: a page that was kept and may be a canary
    queue ‖ "T" ‖ token 8      → Count: answers alike since the last good canary
    queue ‖ "S" ‖ key 8        → SuspectAnswer: a URL that was answered since then
    queue ‖ "B" ‖ token 8      → nothing: it was a wall's answer
    queue ‖ "N" ‖ key 8        → 1 byte: how often a URL was fetched again, and whether it still waits
    queue ‖ "W"                → which words are common (vocabulary.py)
    queue ‖ "P", queue ‖ "O"   → samples of its pages, and its answers in their order (samples.py)
    queue ‖ "Q" ‖ token 8 ‖ 4  → 2 bytes: how many alike answers ask for the next canary, if they were found honest before at URLs of one
                                 directory and the same parameters: a login form at its own URL is no wall, at a page's URL it is
    queue ‖ "Q" ‖ token 8      → 2 bytes: the most of these
    key 16 ‖ "A?"              → queue's last 8: of a page that was requested by this filter

A token stands for what an answer shows: pages of one text, redirects to one place, errors of one status and text.

Memory: 300 bytes and three candidates a host; 70 bytes a page since the last good canary, `MOST_SUSPECTS` at most; 100 bytes an answer for
samples.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeVar

import msgspec
import xxhash

from thresher.crawler.core.ports import Memory
from thresher.filters.soft_error.looks import Look

NAME: Final = "canary"
KEPT: Final = 1e30  # weight: these records are the last that the memory drops
MOST_SUSPECTS: Final = 2_000
N_CANDIDATES: Final = 3
_SECOND: Final = 2
_WAITS: Final = 0x80  # mark of a URL that is queued again and was not answered since
SITE: Final = 8
QUEUE: Final = 16
STATE: Final = b"H"
_CANDIDATE, _COUNT, _SUSPECT, _AGAIN, _HONEST, _OF_WALL, _ASKED = b"K", b"T", b"S", b"N", b"Q", b"B", b"A?"
_SLOTS: Final = tuple(_CANDIDATE + bytes((slot,)) for slot in range(N_CANDIDATES))

_encode = msgspec.msgpack.Encoder().encode
_T = TypeVar("_T")


class Stage(IntEnum):
    """The purpose of the filter's last request to a host."""

    IDLE = 0
    FIRST = 1  # a canary
    SECOND = 2  # a second canary, since the first has failed: its page alone may have changed
    TWICE = 3  # the first canary once more: a page that changes with each request proves nothing
    RECHECK = 4  # the canary is good: a suspected URL once more, does it still show the same?
    WALLED = 5  # a canary of a host that was parked
    CONFIRM = 6  # the suspected URL shows something else: the canary once more, has a wall fallen, or does a new one stand?
    NOISE = 7  # the canary is good still: the suspected URL once more, does it show something else each time?
    SAMPLE = 8  # a page once more that was kept, of a host that has nothing else to fetch (samples.py)
    SAMPLE_TWICE = 9  # the same once more, since it shows another page
    SAMPLE_CONFIRM = 10  # a canary: it shows that page steadily


class HostState(msgspec.Struct, array_like=True):
    """The state of a host."""

    n_answers: int = 0  # of URLs of the crawl
    n_kept: int = 0
    n_asked: int = 0  # requests of this filter that found no wall
    n_of_round: int = 0  # requests since the last time that a canary was wanted
    good_at: int = 0  # answers when the last canary was good
    n_suspects: int = 0
    stage: Stage = Stage.IDLE
    asked_at: int = 0  # answers when the last request was asked for
    slot: int = 0  # of the canary that was asked for last
    first_slot: int = 0  # of the first canary of this round
    why: bytes = b""  # the suspected token that this round is about, b"": none
    failed: list[bytes] = []  # tokens of the canaries' answers in this round
    shown: Look | None = None  # by the first canary that failed
    has_met_wall: bool = False  # a canary showed the suspected token
    is_foreign: bool = False  # a canary showed its page in other words than the host's
    is_changed: bool = False  # failed canaries differ from one another: the site may have been rebuilt
    n_parked: int = 0  # times in a row because of the present wall, 0: not walled
    since: float = 0.0  # walled since, seconds since 1970
    told: str = ""  # a description of the wall's answer, for the operator
    n_walls: int = 0
    n_again: int = 0  # URLs that were queued again
    given_up: bool = False  # accepted as it is, since no canary was good for long
    n_strange: int = 0  # answers in a row, the last ones, that do not use the host's words
    has_own: bool = False  # a candidate uses the host's words
    n_honest: int = 0  # groups of alike answers since the last wall that none had given
    is_drained: bool = False  # this round was begun when the host had nothing else to fetch
    is_waiting: bool = False  # the canary that was asked for last waits for filters' share of the host's requests
    confirms: bool = False  # the suspected URL shows something else now: does the canary still show its page?
    again: tuple[bytes, Look] | None = None  # what the suspected URL has shown now: token and look
    bad: list[int] = []  # slots of this round's failed canaries
    changed: dict[int, tuple[bytes, Look]] = {}  # those of them that say something new in the host's words: token and look
    every: int = 4  # answers from one sample to the next
    n_samples: int = 0
    n_checked: int = 0  # of them were fetched again
    near: list[int] = []  # samples that are neighbours of bad ones, and were not
    sample_at: int = 0  # number of the sample that was fetched again last
    renewed_after: int = 0  # answers when the canary before that was good
    is_unsure: bool = False  # canaries have changed by themselves, and no other one was fetched since
    flaps: bool = False  # a wall answers some requests and not others, or comes and goes
    n_bad: int = 0  # samples that were bad
    n_flips: int = 0  # samples that showed another page, and their own again when they were fetched once more
    n_returned: int = 0  # times that canaries had changed and were what they had been again
    has_changed: bool = False  # a canary's page has changed by itself
    n_same: int = 0  # times that the suspected URL has shown the same in this round
    fell: list[tuple[int, int, bytes]] = []  # the last walls that fell unseen: number of the first answer, of the last, and token
    shows: tuple[bytes, Look | None] = (b"", None)  # what it has shown: token and look
    watched_until: int = 0  # answers until which canaries follow closely on one another
    unsure: list[int] = []  # samples that were compared since the last good canary, and are not bad
    n_doubted: int = 0  # such samples that were no evidence, since a wall stood

    @property
    def is_walled(self) -> bool:
        return self.n_parked > 0


class Candidate(msgspec.Struct, array_like=True):
    """A page that was kept."""

    url: str
    key: bytes
    token: bytes
    look: Look
    at: int  # answers of its host when it was fetched
    spread: float = 0.0  # share of its word pairs lost between two fetches while the host was healthy
    is_changing: bool = False  # it proves nothing: it changes with each request
    speaks: int = 0  # whether it uses its host's words, once those are known: vocabulary.Speech
    words: bytes = b""  # its own until then
    n_links: int = 0
    before: tuple[bytes, Look, int] | None = None  # what it was before it changed by itself: token, look, `at`
    is_proved: bool = False  # it has shown the same when it was fetched again
    n_failed: int = 0  # times that it has failed since, while another one was good


class Count(msgspec.Struct, array_like=True):
    """Answers of one token; those in another language, the most in a row."""

    n: int
    url: str  # of the last of these answers that was not found honest before at URLs like it, if there is one
    key: bytes
    least: int = 1  # so many of them are suspicious
    look: Look | None = None  # of one of them, if they are pages and there are two or more


class SuspectAnswer(msgspec.Struct, array_like=True):
    """The answer to one URL since the last good canary."""

    token: bytes
    via: bytes  # key of what redirected to it, b"" if none did
    speaks: int = 0  # whether it uses its host's words: vocabulary.Speech
    at: int = 0  # answers of its host until then


def stored_state(memory: Memory, queue: bytes) -> HostState | None:
    """Return the state of a host whose first answers were learned from, None if it has none."""
    return _read(memory, queue + STATE, _STATES)


def state_of(value: bytes) -> HostState:
    """Return the state that a record holds."""
    return _STATES.decode(value)


def write_state(memory: Memory, queue: bytes, state: HostState) -> None:
    memory.put(queue + STATE, _encode(state), weight=KEPT)


def candidates(memory: Memory, queue: bytes) -> dict[int, Candidate]:
    """Return the pages that may be canaries, by slot."""
    return {slot: _CANDIDATES.decode(value) for slot, value in enumerate(_candidates(memory, queue)) if value is not None}


def free_slot(memory: Memory, queue: bytes) -> int | None:
    """Return the first slot without a candidate, None if there is none."""
    for slot, name in enumerate(_SLOTS):
        if memory.get(queue + name) is None:
            return slot
    return None


def _candidates(memory: Memory, queue: bytes) -> list[bytes | None]:
    return memory.get_many([queue + name for name in _SLOTS])


def put_candidate(memory: Memory, queue: bytes, slot: int, candidate: Candidate) -> None:
    memory.put(queue + _SLOTS[slot], _encode(candidate), weight=KEPT)


def drop_candidate(memory: Memory, queue: bytes, slot: int) -> None:
    memory.delete(queue + _SLOTS[slot])


def count(memory: Memory, queue: bytes, token: bytes, url: str, key: bytes, least: int, look: Look | None = None) -> int:
    """Count one more answer of a token, by this URL; return how many there are.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        token: Of the answer.
        url: That was answered.
        key: Its key.
        least: So many are suspicious.
        look: Of the answer, if it is known.
    """
    row = queue + _COUNT + token
    found = _read(memory, row, _COUNTS)
    if found is None:
        found = Count(0, url, b"", least)
    found.n += found.key != key  # a URL that is fetched again is not one more
    if not (found.key and is_honest(memory, queue, token, url)):
        found.url, found.key, found.least = url, key, min(least, found.least)
    found.look = found.look or look
    memory.put(row, _encode(found), weight=KEPT)
    return found.n


def count_run(memory: Memory, queue: bytes, token: bytes, n: int, url: str, key: bytes, least: int) -> int:
    """Record that `n` answers in a row have a token, and the URL of the second of them; return `n`.

    The second, since the first may still be the site's own answer, and the last, too, if the wall has fallen. A longer run replaces a
    shorter one; any run replaces one that is not in doubt.
    """
    row = queue + _COUNT + token
    found = _read(memory, row, _COUNTS)
    if found is None or (n <= _SECOND and found.n < patience(memory, queue, token, found.url, least)):
        memory.put(row, _encode(Count(n, url, key, least)), weight=KEPT)
    elif n > found.n:
        found.n = n
        memory.put(row, _encode(found), weight=KEPT)
    return n


def is_counted(memory: Memory, queue: bytes, token: bytes) -> bool:
    """Return whether an answer of this token was counted since the last good canary."""
    return memory.get(queue + _COUNT + token) is not None


def counted(memory: Memory, queue: bytes, token: bytes) -> Count | None:
    return _read(memory, queue + _COUNT + token, _COUNTS)


def put_count(memory: Memory, queue: bytes, token: bytes, one: Count) -> None:
    memory.put(queue + _COUNT + token, _encode(one), weight=KEPT)


def counts(memory: Memory, queue: bytes) -> dict[bytes, Count]:
    return {key[QUEUE + 1 :]: _COUNTS.decode(value) for key, value in memory.scan(queue + _COUNT)}


def put_suspect(memory: Memory, queue: bytes, key: bytes, suspect: SuspectAnswer) -> bool:
    """Record the answer of a URL; return whether it is the first one recorded."""
    row = queue + _SUSPECT + key[SITE:]
    is_new = memory.get(row) is None
    memory.put(row, _encode(suspect), weight=KEPT)
    return is_new


def suspects(memory: Memory, queue: bytes) -> dict[bytes, SuspectAnswer]:
    """Return the recorded answers since the last good canary, by the URL's key."""
    return {queue[:SITE] + key[QUEUE + 1 :]: _SUSPECTS.decode(value) for key, value in memory.scan(queue + _SUSPECT)}


def drop_count(memory: Memory, queue: bytes, token: bytes) -> None:
    memory.delete(queue + _COUNT + token)


def drop_suspect(memory: Memory, queue: bytes, key: bytes) -> None:
    memory.delete(queue + _SUSPECT + key[SITE:])


def note_wall(memory: Memory, queue: bytes, token: bytes) -> None:
    memory.put(queue + _OF_WALL + token, b"")


def is_of_wall(memory: Memory, queue: bytes, token: bytes) -> bool:
    """Return whether a wall of this host has shown a token."""
    return memory.get(queue + _OF_WALL + token) is not None


def note_again(memory: Memory, queue: bytes, key: bytes, most: int) -> bool:
    """Count that a URL is queued again; return False if that has happened often enough, or if it still waits from the last time."""
    row = queue + _AGAIN + key[SITE:]
    n = (memory.get(row) or b"\0")[0]
    if n >= min(most, _WAITS):
        return False
    memory.put(row, bytes([(n + 1) | _WAITS]))
    return True


def is_coming(memory: Memory, queue: bytes, key: bytes) -> bool:
    """Return whether a URL was queued again and was not answered since."""
    return bool((memory.get(queue + _AGAIN + key[SITE:]) or b"\0")[0] & _WAITS)


def note_came(memory: Memory, queue: bytes, key: bytes) -> None:
    """Record that a URL was answered, which may have been queued again."""
    row = queue + _AGAIN + key[SITE:]
    n = (memory.get(row) or b"\0")[0]
    if n & _WAITS:
        memory.put(row, bytes([n ^ _WAITS]))


def patience(memory: Memory, queue: bytes, token: bytes, url: str, least: int) -> int:
    """Return how many alike answers ask for a canary, after a URL has given one more of them."""
    value = memory.get(queue + _HONEST + token + _kind_of(url))
    return least if value is None else max(least, int.from_bytes(value, "big"))


def is_honest(memory: Memory, queue: bytes, token: bytes, url: str = "") -> bool:
    """Return whether a token was shown again while the host was healthy, at URLs like this one or at any."""
    return memory.get(queue + _HONEST + token + (_kind_of(url) if url else b"")) is not None


def be_patient(memory: Memory, queue: bytes, token: bytes, url: str, n: int) -> None:
    """Set how many alike answers ask for the next canary, for a token that was found honest at URLs like this one."""
    of_token = max(n, longest_patience(memory, queue, token))
    for row, most in ((queue + _HONEST + token + _kind_of(url), n), (queue + _HONEST + token, of_token)):
        memory.put(row, min(most, 0xFFFF).to_bytes(2, "big"))


def longest_patience(memory: Memory, queue: bytes, token: bytes) -> int:
    """Return how many alike answers ask for a canary where a token was found honest most often, 0 if it never was."""
    return int.from_bytes(memory.get(queue + _HONEST + token) or b"", "big")


def _kind_of(url: str) -> bytes:
    """Return four bytes that are equal for URLs of one directory and the same parameters."""
    path, _, query = url.partition("?")
    names = sorted({field.partition("=")[0] for field in query.split("&")})
    return xxhash.xxh32_digest("\n".join((path.rpartition("/")[0], *names)).encode())


def note_asked(memory: Memory, queue: bytes, key: bytes) -> None:
    memory.put(key + _ASKED, queue[SITE:], weight=KEPT)


def take_asked(memory: Memory, key: bytes) -> bytes:
    """Return the host for which a page was requested by this filter, b"" if it was not, and forget it."""
    row = key + _ASKED
    value = memory.get(row)
    if value is None:
        return b""
    memory.delete(row)
    return key[:SITE] + value


def _read(memory: Memory, key: bytes, decoder: msgspec.msgpack.Decoder[_T]) -> _T | None:
    value = memory.get(key)
    return None if value is None else decoder.decode(value)


_STATES = msgspec.msgpack.Decoder(HostState)
_CANDIDATES = msgspec.msgpack.Decoder(Candidate)
_COUNTS = msgspec.msgpack.Decoder(Count)
_SUSPECTS = msgspec.msgpack.Decoder(SuspectAnswer)
