"""Which URLs a wall has answered for, once it has fallen.

They are those whose answer was that of the canaries; none if that is a known wall's and no URL has shown it. A wall is **unlike** if a
canary showed what no other URL did: then all that was answered since the last good canary may be its, if that is little; of much, samples
tell which. If a canary was in other words than its host's, only what lies between the last and the next answer in the host's words is, and
the last answers where these were in the host's words, too. One or two of the host's words between strange answers are so by chance: the
first words of a page may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import records, samples, vocabulary, watch
from thresher.filters.canary.records import HostState, SuspectAnswer
from thresher.filters.canary.sighting import is_error, is_page, is_redirect
from thresher.filters.canary.vocabulary import Speech

_BY_CHANCE: Final = 2  # answers between two strange ones that use the host's words by chance, at most
_FEW: Final = 16  # answers since the last good canary of which all are fetched again; of more, samples tell which


def answered(memory: Memory, queue: bytes, state: HostState) -> tuple[tuple[bytes, ...], set[bytes]]:
    """Return the URLs that are to be fetched again, and the tokens that are no longer in doubt; watch the host if the wall is unlike.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        state: That of the host; it is changed, and not written.
    """
    keys, tokens = of_wall(memory, queue, state)
    is_unlike = not tokens.issuperset(filter(None, state.failed))
    if is_unlike and not state.given_up:
        watch.begin(state)
    is_unlike = is_unlike and state.why != vocabulary.STRANGE
    if is_unlike and state.n_answers - state.good_at <= _FEW:
        return samples.since(memory, queue, state.good_at), set()  # earlier answers in doubt stay so
    last = samples.unknown(memory, queue, state.good_at)[-1:]
    if is_unlike and state.is_foreign and state.n_strange == 0:
        others = samples.since(memory, queue, (last or [state.good_at])[0])
        return tuple(dict.fromkeys((*keys, *others))), tokens
    if is_unlike and len(keys) > _FEW and not state.is_foreign:
        state.near = last
        return (samples.since(memory, queue, last[0]), set()) if last else (keys, tokens)
    if not is_unlike and is_page(state.why) and not watch.is_on(state):
        keys = (*keys, *samples.beside(memory, queue, state, keys))
    return keys, tokens


def of_wall(memory: Memory, queue: bytes, state: HostState) -> tuple[tuple[bytes, ...], set[bytes]]:
    """Return the URLs that a wall answered for, and its tokens: those of the canary's answer, or all if no answer was that one."""
    answers, alike = records.suspects(memory, queue), records.counts(memory, queue)
    of_canary = set(state.failed)
    is_one = len(of_canary) == 1  # else the wall answers differently for each URL, and others may have met it beside those alike
    is_met = is_one and any(one.token in of_canary for one in answers.values())
    if is_one and not is_met and all(records.is_of_wall(memory, queue, token) for token in of_canary):
        return (), of_canary  # it is known, answers alike, and a canary was the first to meet it
    if of_canary and not is_met and not any(map(is_error, of_canary)):
        is_foreign = state.is_foreign or state.why == vocabulary.STRANGE
        return tuple(_foreign(answers) if is_foreign else answers), set(alike)
    tokens = of_canary | {token for token in alike if token[:1] in (b"C", b"F")}
    walls = {key for key, one in answers.items() if one.token in tokens and one.token}
    return with_redirects(memory, queue, answers, [key for key in sorted(walls) if answers[key].via not in walls]), tokens


def with_redirects(memory: Memory, queue: bytes, answers: Mapping[bytes, SuspectAnswer], keys: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the URLs of a wall's answers, and those that redirected there: it may have been the wall that did, to its login form."""
    via = {answers[key].via for key in keys} - {b"", *keys}
    return (*keys, *sorted(key for key in via if is_redirect(samples.last_shown(memory, queue, key))))


def _foreign(answers: Mapping[bytes, SuspectAnswer]) -> list[bytes]:
    """Return the URLs whose answers a wall in other words may have given: it leaves hardly any of the host's words between two of them.

    A few answers between strange ones use them by chance, as the first words of a page may.
    """
    found: list[bytes] = []
    since: list[bytes] = []  # what came after the last strange answer, or the last in the host's words
    n_own, is_strange = 0, False
    for key, one in sorted(answers.items(), key=lambda of: of[1].at):
        if one.speaks == Speech.STRANGE:
            found, since, n_own, is_strange = [*found, *since, key], [], 0, True
            continue
        if one.speaks == Speech.OWN:
            n_own += 1
            if is_strange and n_own > _BY_CHANCE:
                found += _up_to_own(since, answers)
                is_strange = False
        since = [*since, key] if is_strange or one.speaks != Speech.OWN else []
    return [*found, *_up_to_own(since, answers)] if is_strange else found


def _up_to_own(keys: Sequence[bytes], answers: Mapping[bytes, SuspectAnswer]) -> list[bytes]:
    """Return the first of these URLs, until one has answered in the host's words."""
    return list(takewhile(lambda key: answers[key].speaks != Speech.OWN, keys))
