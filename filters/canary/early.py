"""What is listed of a host's first answers (filters/evidence/early.py).

A canary is wanted when answers are alike, or when pages are in words that the host did not use before; its own words are known only after
some more pages. So a host's first answers are only listed, and pages that may be canaries are kept at once. Everything else is learned
later: when an answer is like another one, when there are more answers than fit into the list, or when a canary is wanted.

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
    """Return a listed answer as it was when it came, without its look: if its page may be a candidate, it is one already."""
    return Seen(queue, answer.key, answer.url, answer.token, answer.least, answer.via, answer.is_kept, words=answer.words)
