"""A host's first answers, which are only listed (early.py), and the state of a host whether they were learned from yet or not."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import records
from thresher.filters.canary.records import KEPT, QUEUE, SITE, STATE, HostState
from thresher.filters.evidence.early import PackedList

_EARLY: Final = b"E"
_IS_KEPT, _IS_SAMPLE, _SPEAKS = 1, 2, 4  # marks of a listed answer
_START: Final = Struct(">BIBB")  # of a listed answer: marks, `least`, lengths of token and `via`
_SUMS: Final = 2  # bytes at its end: answers kept until then, and whether a candidate uses the host's words


class EarlyAnswer(NamedTuple):
    """One of a host's first answers, as far as it is needed to learn from it later."""

    key: bytes
    url: str
    token: bytes
    least: int
    via: bytes
    is_kept: bool
    speaks: int  # vocabulary.Speech
    is_sample: bool

    def packed(self) -> bytes:
        """Return it as bytes, without its site."""
        mark = self.is_kept * _IS_KEPT + self.is_sample * _IS_SAMPLE + self.speaks * _SPEAKS
        return _START.pack(mark, self.least, len(self.token), len(self.via)) + self.key[SITE:] + self.token + self.via + self.url.encode()


class FirstAnswers(PackedList):
    """A host's first answers, while nothing else is known of it but candidates, samples, and words."""

    most = 32  # fewer than are answered before a sample may be due (samples.py)

    def __init__(self, memory: Memory, queue: bytes) -> None:
        super().__init__(memory, queue + _EARLY, KEPT, self.most)
        self._site = queue[:SITE]
        sums = self.tail(_SUMS) or bytes(_SUMS)
        self.n_kept = sums[0]  # how many of them were kept
        self.has_own = sums[1] > 0  # whether a candidate uses the host's words

    def add(self, answer: EarlyAnswer, *, has_own: bool) -> None:
        """List one more answer."""
        self.n_kept, self.has_own = self.n_kept + answer.is_kept, has_own
        self.append(answer.packed() + bytes((self.n_kept, has_own)))

    def answers(self) -> list[EarlyAnswer]:
        """Return them in their order."""
        return [self._unpacked(item) for item in self.items()]

    def last(self, n: int) -> Iterator[EarlyAnswer]:
        """Yield the last `n` of them, the latest first."""
        return map(self._unpacked, reversed(self.items()[-n:]))

    def close(self) -> list[EarlyAnswer]:
        """Close the list; return its answers."""
        return [self._unpacked(item) for item in self.take()]

    def _unpacked(self, item: bytes) -> EarlyAnswer:
        mark, least, n_token, n_via = _START.unpack_from(item)
        token_at = _START.size + SITE
        via_at = token_at + n_token
        url_at = via_at + n_via
        key, token, via = self._site + item[_START.size : token_at], item[token_at:via_at], item[via_at:url_at]
        url = item[url_at:-_SUMS].decode()
        return EarlyAnswer(key, url, token, least, via, bool(mark & _IS_KEPT), mark // _SPEAKS, bool(mark & _IS_SAMPLE))


def read_state(memory: Memory, queue: bytes) -> HostState:
    """Return a host's state, that of a new one if it was never asked for anything."""
    return find_state(memory, queue) or HostState()


def find_state(memory: Memory, queue: bytes) -> HostState | None:
    """Return a host's state, None if it was never asked for anything."""
    first = FirstAnswers(memory, queue)
    return _state_after(first) if len(first) else records.stored_state(memory, queue)


def states(memory: Memory, site: bytes = b"") -> Iterator[tuple[bytes, HostState]]:
    """Yield (queue, state) of every host, or of the hosts of a site."""
    for key, value in memory.scan(site):
        if len(key) == QUEUE + 1 and key[QUEUE:] == STATE:
            yield key[:QUEUE], records.state_of(value)
        elif len(key) == QUEUE + 1 and key[QUEUE:] == _EARLY and value:
            yield key[:QUEUE], _state_after(FirstAnswers(memory, key[:QUEUE]))


def _state_after(first: FirstAnswers) -> HostState:
    answers = first.answers()
    n_suspects, n_samples = len({answer.key for answer in answers}), sum(answer.is_sample for answer in answers)
    return HostState(len(answers), first.n_kept, n_suspects=n_suspects, has_own=first.has_own, n_samples=n_samples)
