"""What is listed of a host's first answers (filters/evidence/early.py).

A canary is wanted when answers are alike, or when pages are in words that the host does not use. So a host's first answers are only listed;
pages that may be canaries, samples, and the words of its pages are kept at once. Everything else is learned later: when an answer is like
another one, when there are more answers than fit into the list, or when a canary is wanted.

Time: 10 µs an answer, in place of 40. Memory: 30 bytes an answer, and its URL.
"""

from __future__ import annotations

from typing import Final

from thresher.filters.canary import samples
from thresher.filters.canary.first_answers import EarlyAnswer, FirstAnswers
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import HostState
from thresher.filters.canary.sighting import is_page
from thresher.filters.canary.vocabulary import Speech

_ALONE: Final = 8  # from so many answers on, one that is like another one is learned from at once
_EVERY: Final = HostState().every


def entry(seen: Seen, first: FirstAnswers, share: float) -> EarlyAnswer | None:
    """Return what is listed of an answer, None if it is a reason to ask for a canary, or there is no room.

    Args:
        seen: The answer.
        first: Answers listed until now.
        share: Of answers that may be canaries.
    """
    if not first.has_room or seen.speaks == Speech.STRANGE or share * (len(first) + 1) >= 2:
        return None
    alike: list[int] = []
    if seen.token and first.may_have(seen.token):
        alike = [answer.least for answer in first.answers() if answer.token == seen.token]
        if alike and len(first) >= _ALONE:
            return None
    if len(alike) + bool(seen.token) >= min([seen.least, *alike]):
        return None
    return EarlyAnswer(seen.key, seen.url, seen.token, seen.least, seen.via, seen.is_kept, seen.speaks, samples.is_sample(seen))


def is_sampled(first: FirstAnswers) -> bool:
    """Return whether the page after these answers becomes a sample."""
    n = samples.n_since_place(len(first) + 1, _EVERY)
    return n == 0 or (n > 0 and not any(is_page(answer.token) for answer in first.last(n)))


def is_counted(first: FirstAnswers, token: bytes) -> bool:
    """Return whether an answer with this token is like one of these and is learned from at once, so that it matters what it shows."""
    return len(first) >= _ALONE and bool(token) and first.may_have(token)


def told(queue: bytes, answer: EarlyAnswer) -> Seen:
    """Return a listed answer as it was when it came, without what was kept of it then."""
    return Seen(queue, answer.key, answer.url, answer.token, answer.least, answer.via, answer.is_kept, speaks=answer.speaks)
