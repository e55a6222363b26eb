"""Watches a host before which a wall stood that does not answer alike: only a canary shows whether such a wall stands.

So canaries follow closely on one another for a while, and a wall is found while it stands. What was answered since the last good canary are
a few URLs then, which are fetched again; what lies between two good canaries was no wall's. Samples are believed to show the same only once
a canary is good after them.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import records, samples
from thresher.filters.canary.records import HostState
from thresher.filters.canary.samples import Finding

EVERY: Final = 8  # answers, or samples, from one canary to the next
_MOST_FAILED: Final = 3  # times in a row that a canary fails while another one is good: its page has changed
_UNCLEAR: Final = 6  # times that a sample that shows something else each time is looked at again
_FOR: Final = 32 * EVERY  # answers


def begin(state: HostState) -> None:
    """Watch a host from now on."""
    state.watched_until = state.n_answers + _FOR


def is_on(state: HostState) -> bool:
    return state.n_answers < state.watched_until


def is_due(state: HostState) -> bool:
    """Return whether a canary is to be fetched because of the host's last answers."""
    return is_on(state) and state.n_answers - state.good_at >= EVERY


def is_due_at_end(state: HostState) -> bool:
    """Return whether a canary is to be fetched before a host that has nothing else to fetch is done with."""
    return is_on(state) and state.n_answers > state.good_at


def is_due_for_samples(state: HostState, *, is_last: bool) -> bool:
    """Return whether a canary is to be fetched because of the last samples.

    Args:
        state: That of the host.
        is_last: Whether no further sample is due.
    """
    return is_on(state) and len(state.unsure) >= (1 if is_last else EVERY)


def note(state: HostState, at: int) -> None:
    """Note a sample that has shown the same, or something else each time, until a canary is good."""
    if is_on(state) and state.n_doubted <= state.n_answers:
        state.unsure = [*state.unsure, at]


def may_wait(memory: Memory, queue: bytes, state: HostState) -> bool:
    """Return whether a sample that shows something else each time is looked at once more later: a wall may stand, or have just fallen."""
    sample = samples.sample_at(memory, queue, state.sample_at)
    if sample is None or not is_on(state) or sample.n_unclear >= _UNCLEAR:
        return False
    sample.n_unclear += 1
    samples.put(memory, queue, state.sample_at, sample)
    return True


def is_steady(memory: Memory, queue: bytes, slot: int) -> bool:
    """Return whether a canary that has failed beside a good one has been good before, and has not failed so often since."""
    one = records.candidates(memory, queue).get(slot)
    if one is None or not one.is_proved:
        return False
    one.n_failed += 1
    records.put_candidate(memory, queue, slot, one)
    return one.n_failed < _MOST_FAILED


def doubt(memory: Memory, queue: bytes, state: HostState) -> None:
    """Forget what samples have shown since the last good canary: a wall stands."""
    for at in state.unsure:
        samples.close(memory, queue, state, at, Finding.NOTHING)
    state.n_doubted += len(state.unsure)
    state.unsure = []
