"""What is learned from an answer to a URL of the crawl: how many answers are alike, and which pages may be canaries."""

from __future__ import annotations

from typing import Final, NamedTuple

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import copies, doubts, early, records, samples, vocabulary, watch
from thresher.filters.canary.first_answers import FirstAnswers
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import Candidate, HostState, Stage, SuspectAnswer
from thresher.filters.canary.sighting import AT_ONCE, of_redirect
from thresher.filters.canary.vocabulary import Speech

FEWEST_WORDS: Final = 30  # of a page that may be a canary
_SLOTS_AT: Final = (1, 2, 3, 8, 32, 128, 512)  # kept pages that become candidates


class AnswerGroup(NamedTuple):
    """The group of answers to which an answer belongs."""

    token: bytes  # b"": its answers cannot be compared
    n: int  # answers in it by now
    wanted: int  # answers in it that ask for a canary


class Wanted(NamedTuple):
    """What is wanted of the next page of a host."""

    look: bool  # if it is kept: it becomes a candidate
    sample: bool  # it becomes a sample
    shown: bool  # it shows what was counted since the last good canary


def opened(memory: Memory, queue: bytes, first: FirstAnswers) -> HostState:
    """Return a host's state, after its first answers were learned from."""
    has_own = first.has_own
    answers = first.close()
    state = records.stored_state(memory, queue) or HostState()
    for answer in answers:
        learn(memory, early.told(queue, answer), state)
        state.n_samples += answer.is_sample
    state.has_own = state.has_own or has_own
    return state


def enter(memory: Memory, seen: Seen, first: FirstAnswers, share: float) -> bool:
    """List an answer with a host's first ones, and keep what is needed of its page; return whether it could be listed.

    Args:
        memory: The filter's memory.
        seen: The answer.
        first: Answers listed until now.
        share: Of answers that may be canaries.
    """
    answer = early.entry(seen, first, share)
    if answer is None:
        return False
    state = HostState(len(first) + 1, has_own=first.has_own) if seen.look is not None or seen.words else None
    if state is not None and seen.is_kept:
        _learn_page(memory, seen, state)
    if answer.is_sample:
        samples.keep(memory, seen, len(first) + 1)
    first.add(answer, has_own=first.has_own if state is None else state.has_own)
    return True


def heirs(memory: Memory, seen: Seen, state: HostState) -> list[bytes]:
    """Return URLs that are to be fetched again: they have shown what was found honest, and another one that has shown it, too, came back
    and shows something else. A wall that answers some requests only may be found honest.
    """
    if not (state.n_again and records.is_coming(memory, seen.queue, seen.key)):
        return []
    before = samples.last_shown(memory, seen.queue, seen.key)
    if before in (b"", seen.token) or not records.is_honest(memory, seen.queue, before):
        return []
    return samples.showing(memory, seen.queue, before, seen.key)


def learn(memory: Memory, seen: Seen, state: HostState) -> AnswerGroup:
    """Learn from an answer.

    Args:
        memory: The filter's memory.
        seen: The answer.
        state: That of its host; it is changed, and not written.
    """
    queue, speaks = seen.queue, seen.speaks
    state.n_answers += 1
    samples.note(memory, seen, state)
    if state.n_again:
        records.note_came(memory, queue, seen.key)
    if state.n_suspects < records.MOST_SUSPECTS:
        state.n_suspects += records.put_suspect(memory, queue, seen.key, SuspectAnswer(seen.token, seen.via, speaks, state.n_answers))
    token = seen.token
    is_walls = state.n_walls > 0 and records.is_of_wall(memory, queue, token)
    least = AT_ONCE if is_walls else seen.least
    n_alike = records.count(memory, queue, token, seen.url, seen.key, least, seen.shown) if token else 0
    if speaks == Speech.OWN:
        state.n_strange = 0
    elif speaks == Speech.STRANGE and n_alike < least:
        token, least, state.n_strange = vocabulary.STRANGE, vocabulary.LEAST, state.n_strange + 1
        n_alike = records.count_run(memory, queue, token, state.n_strange, seen.url, seen.key, least)
    n_run = copies.note(memory, seen, state, is_alone=n_alike < least)
    if n_run and token != vocabulary.STRANGE:
        token, least, n_alike = copies.RUN, copies.LEAST, n_run
    if seen.is_kept:
        state.n_kept += 1
        _learn_page(memory, seen, state)
    wanted = doubts.LARGE if is_walls and state.flaps else least if is_walls else doubts.wanted(least, state.n_honest)
    return AnswerGroup(token, n_alike, wanted)


def wanted(memory: Memory, queue: bytes, speaks: Speech, token: bytes) -> Wanted:
    """Return what is wanted of the next page of a host.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        speaks: Whether the page uses its host's words.
        token: Of the page, b"" if that is not known yet.
    """
    first = FirstAnswers(memory, queue)
    if len(first):
        is_slot = first.n_kept + 1 in _SLOTS_AT or (speaks is Speech.OWN and not first.has_own)
        return Wanted(is_slot, early.is_sampled(first), early.is_counted(first, token))
    is_counted = bool(token) and not first.is_open and records.is_counted(memory, queue, token)
    state = None if first.is_open else records.stored_state(memory, queue)
    if state is None:
        return Wanted(True, False, is_counted)
    is_slot = state.n_kept + 1 in _SLOTS_AT or (speaks is Speech.OWN and not state.has_own)
    return Wanted(is_slot, samples.is_wanted(memory, queue, state), is_counted)


def _learn_page(memory: Memory, seen: Seen, state: HostState) -> None:
    """Keep a page that may be a canary, and learn the words of one that was kept."""
    if seen.look is not None:
        keep(memory, seen, state)
    if seen.words and vocabulary.learn(memory, seen.queue, seen.words):
        _judge_candidates(memory, seen.queue, state)


def keep(memory: Memory, seen: Seen, state: HostState) -> None:
    """Make a kept page a candidate; if there are enough, it takes the place of the newest one, first of those in foreign words."""
    assert seen.look is not None
    slot, is_asked = records.free_slot(memory, seen.queue), False
    if slot is None:
        found = records.candidates(memory, seen.queue)
        slot = max(
            found, key=lambda slot: (watch.is_on(state) and not found[slot].is_proved, found[slot].speaks != Speech.OWN, found[slot].at)
        )
        is_asked = slot == state.slot and state.stage is not Stage.IDLE
        if watch.is_on(state) and found[slot].is_proved:
            return
    if seen.look.n_words >= FEWEST_WORDS and not is_asked:
        candidate = Candidate(
            seen.url, seen.key, seen.token, seen.look, state.n_answers, speaks=seen.speaks, words=seen.words, n_links=seen.n_links
        )
        records.put_candidate(memory, seen.queue, slot, candidate)
        state.has_own = state.has_own or seen.speaks == Speech.OWN


def usable(memory: Memory, queue: bytes, *, but: bytes = b"") -> list[int]:
    """Return the slots of a host's candidates, those in the host's words first, then the oldest.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        but: Token of suspected answers: a candidate that shows the same, or to which they redirect, proves nothing.
    """
    found = records.candidates(memory, queue)
    slots = (slot for slot, one in found.items() if but not in (one.token, of_redirect(one.url).token))
    return sorted(slots, key=lambda slot: (found[slot].speaks != Speech.OWN, found[slot].at))


def _judge_candidates(memory: Memory, queue: bytes, state: HostState) -> None:
    """Record of each candidate whether it uses its host's words, which have just become known."""
    for slot, one in records.candidates(memory, queue).items():
        one.speaks, one.words = vocabulary.speech_of(memory, queue, one.words), b""
        records.put_candidate(memory, queue, slot, one)
        state.has_own = state.has_own or one.speaks == Speech.OWN
