"""Decides whether a page that is fetched again shows the same as the one that was kept.

It does if its words are equal, or if it has most of the word pairs of the kept page: an experiment's banner, a notice or the links of a new
session add words and take none away. The share of its word pairs that a page loses between two fetches of a healthy host is its own noise
(`Candidate.spread`). A page that loses more than twice that, and more than `MOST_LOST`, is another page.
"""

from __future__ import annotations

from typing import Final

from thresher.filters.canary.records import Candidate
from thresher.filters.soft_error.looks import Look, resemblance

MOST_LOST: Final = 0.25  # share of a page's word pairs that it may lose in any case
MOST_NOISE: Final = 0.6  # a page that loses more between two fetches of a healthy host proves nothing


def is_like(candidate: Candidate, token: bytes, look: Look | None) -> bool:
    """Return whether an answer shows the kept page."""
    if token == candidate.token:
        return True
    return look is not None and lost(candidate.look, look) <= max(MOST_LOST, min(MOST_NOISE, 2 * candidate.spread))


def lost(kept: Look, found: Look) -> float:
    """Return the share of a page's word pairs that another fetch does not have, 0 to 1, estimated from sketches and lengths."""
    if not kept.sketch or not found.sketch:
        return float(kept.sketch != found.sketch)
    alike = resemblance(kept.sketch, found.sketch)
    both = alike * (kept.n_words + found.n_words) / (1 + alike)
    return max(0.0, 1.0 - min(1.0, both / max(1, kept.n_words)))


def is_changing(one: Look | None, other: Look | None) -> bool:
    """Return whether two fetches of a page in a row differ so much that the page proves nothing about its host."""
    return one is not None and other is not None and lost(one, other) > MOST_LOST
