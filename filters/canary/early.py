"""A host's first answers, listed until one of them may matter.

As long as its answers are not alike, no canary is wanted of a host, and before it has given some more none can be in another language. So
the first `EARLY` answers are only listed, in one record; the pages that may be canaries are kept at once. The rest is learned from them, in
their order, when an answer is like another one, when there are more, or when a canary is wanted. Most hosts of the web never have more.

Time: 10 µs an answer, in place of 40. Memory: 360 bytes an answer.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import records
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import EarlyAnswer

EARLY: Final = 8  # fewer than the kept pages from which a host's words are known (tongue.py)


def enter(memory: Memory, seen: Seen, share: float) -> int:
    """List an answer, if it is one of its host's first and no reason to ask for a canary; return how many there are now, else 0.

    Args:
        share: Of answers that may be canaries.
    """
    first = records.first_answers(memory, seen.queue)
    n = len(first) + 1
    if n > EARLY or seen.speaks or share * n >= 2 or not (first or records.is_new(memory, seen.queue)):
        return 0
    alike = [answer.least for answer in first if answer.token == seen.token] if seen.token else []
    if len(alike) + bool(seen.token) >= min([seen.least, *alike]):
        return 0
    first.append(EarlyAnswer(seen.key, seen.url, seen.token, seen.least, seen.via, seen.is_kept, seen.words))
    records.put_first_answers(memory, seen.queue, first)
    return n


def take(memory: Memory, queue: bytes) -> list[Seen]:
    """Return the answers that are listed of a host, and forget the list."""
    first = records.first_answers(memory, queue)
    if first:
        records.drop_first_answers(memory, queue)
    return [_told(queue, answer) for answer in first]


def _told(queue: bytes, answer: EarlyAnswer) -> Seen:
    """Return an answer as it was told, but for its look: its page is a candidate by now if it may be one."""
    return Seen(queue, answer.key, answer.url, answer.token, answer.least, answer.via, answer.is_kept, words=answer.words)
