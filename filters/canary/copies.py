"""Runs of pages that were dropped one after the other although hardly any other answer shows what they show.

A wall may show another page of the site in the place of each. Its answers are in the host's words, no three of them are alike, and each is
dropped as a copy of the page that was shown before. Sites have copies, too, some of them in runs. So a run is a group in doubt, as alike
answers are (doubts.py): it asks for a canary, and its last URL is fetched again. If that shows the same, it takes ever longer runs of such
URLs to ask for one (`records.patience`); if not, the run is fetched again.

    queue ‖ "T" ‖ "D" ‖ 0 7       → Count: the run that goes on
    queue ‖ "T" ‖ "D" ‖ number 7  → Count: one that has ended, by the number of its first answer

Memory: 100 bytes a run since the last good canary. Time: 1 µs an answer.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import records
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import Count, HostState, Stage, SuspectAnswer
from thresher.filters.canary.sighting import TOKEN, is_page

RUN: Final = b"D" + bytes(TOKEN - 1)  # the token of the run that goes on
LEAST: Final = 4  # dropped pages in a row that ask for a canary


def note(memory: Memory, seen: Seen, state: HostState, *, is_alone: bool) -> int:
    """Go on with a run, or end it; return how many answers the run has with this one, 0 if it belongs to none.

    Args:
        memory: The filter's memory.
        seen: The `state.n_answers`-th answer of its host.
        state: That of the host; it is changed, and not written.
        is_alone: Whether fewer answers are like it than are suspicious.
    """
    queue, run = seen.queue, records.counted(memory, seen.queue, RUN)
    if is_alone and not seen.is_kept and is_page(seen.token):
        n = run.n + 1 if run is not None else 1
        records.put_count(memory, queue, RUN, Count(n, seen.url, seen.key, LEAST))
        return n
    if run is not None:
        records.drop_count(memory, queue, RUN)
        if run.n >= LEAST:
            token = RUN[:1] + (state.n_answers - run.n).to_bytes(TOKEN - 1, "big")
            records.put_count(memory, queue, token, run)
            state.why = token if state.why == RUN and state.stage is not Stage.IDLE else state.why
    return 0


def is_run(token: bytes) -> bool:
    return token[:1] == RUN[:1]


def kind_of(token: bytes) -> bytes:
    """Return the token under which patience with groups like this one is kept: one for all runs."""
    return RUN if is_run(token) else token


def members(memory: Memory, queue: bytes, token: bytes) -> dict[bytes, SuspectAnswer]:
    """Return the answers of a run, by the URLs' keys."""
    answers, run = records.suspects(memory, queue), records.counted(memory, queue, token)
    if run is None or (token == RUN and run.key not in answers):
        return {}
    first = answers[run.key].at - run.n + 1 if token == RUN else int.from_bytes(token[1:], "big")
    return {key: one for key, one in answers.items() if first <= one.at < first + run.n}


def shown_by(memory: Memory, queue: bytes, token: bytes) -> bytes:
    """Return the token of what the URL of a group has shown, which is fetched again: the group's own, but for a run."""
    run = records.counted(memory, queue, token) if is_run(token) else None
    return token if run is None else records.suspects(memory, queue).get(run.key, SuspectAnswer(token, b"")).token
