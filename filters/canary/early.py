"""What is listed of a host's first answers (filters/evidence/early.py).

As long as its answers are not alike, no canary is wanted of a host, and before it has given some more none can be in another language. So
its first answers are only listed; the pages that may be canaries are kept at once. The rest is learned when an answer is like another one,
when there are more, or when a canary is wanted.

Time: 10 µs an answer, in place of 40. Memory: 360 bytes an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import EarlyAnswer


def entry(seen: Seen, first: Sequence[EarlyAnswer], share: float) -> EarlyAnswer | None:
    """Return what is listed of an answer, None if it is a reason to ask for a canary.

    Args:
        seen: The answer.
        first: Answers listed until now.
        share: Of answers that may be canaries.
    """
    if seen.speaks or share * (len(first) + 1) >= 2:
        return None
    alike = [answer.least for answer in first if answer.token == seen.token] if seen.token else []
    if len(alike) + bool(seen.token) >= min([seen.least, *alike]):
        return None
    return EarlyAnswer(seen.key, seen.url, seen.token, seen.least, seen.via, seen.is_kept, seen.words)


def told(queue: bytes, answer: EarlyAnswer) -> Seen:
    """Return an answer as it was told, but for its look: its page is a candidate by now if it may be one."""
    return Seen(queue, answer.key, answer.url, answer.token, answer.least, answer.via, answer.is_kept, words=answer.words)
