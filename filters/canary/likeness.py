"""Decides whether a page that is fetched again shows the same as the one that was kept.

It does if its words are equal, or if it has most of the word pairs of the kept page: an experiment's banner, a notice or the links of a new
session add words and take none away. A page that has lost its links is another one: what it names is not found any more. The share of its
word pairs that a page loses between two fetches of a healthy host is its own noise (`Candidate.spread`). A page that loses more than twice
that, and more than `MOST_LOST`, is another page.

A wall may change the prose of a page only, of which a list of links has little. So a canary that has shown the same whenever it was fetched
again says nothing for sure if it has lost more than a clock or a count would change, or has another title (`is_less`). Nor does one that
was never fetched again, where others fail that have always shown the same.
"""

from __future__ import annotations

from typing import Final

from thresher.filters.canary.records import Candidate
from thresher.filters.soft_error.looks import Look, most_noise, resemblance

MOST_LOST: Final = 0.25  # share of a page's word pairs that it may lose in any case
_FEW_LINKS: Final = 0.25  # share of its links that a page may lose and still be the same
_LINKS: Final = 2  # links that make no difference are fewer
MOST_NOISE: Final = 0.6  # a page that loses more between two fetches of a healthy host proves nothing


def is_like(candidate: Candidate, token: bytes, look: Look | None, n_links: int) -> bool:
    """Return whether an answer shows the kept page, with most of its links."""
    if look is not None and n_links < candidate.n_links and has_other_links(candidate.n_links, n_links):
        return False
    if token == candidate.token:
        return True
    return look is not None and lost(candidate.look, look) <= max(MOST_LOST, min(MOST_NOISE, 2 * candidate.spread))


def is_less(candidate: Candidate, token: bytes, look: Look | None) -> bool:
    """Return whether an answer shows less than a page that has never lost anything."""
    return candidate.is_proved and candidate.spread <= most_noise(candidate.look) and shows_less(candidate, token, look)


def shows_less(candidate: Candidate, token: bytes, look: Look | None) -> bool:
    """Return whether an answer shows less of a page than a clock or a count would change, or has another title."""
    if look is None or token == candidate.token:
        return False
    return look.title != candidate.look.title or lost(candidate.look, look) > most_noise(candidate.look)


def says(candidate: Candidate) -> int:
    """Return how much a page says by which a wall may be known: its words, if it has links, too."""
    return candidate.look.n_words if has_other_links(candidate.n_links, 0) else 0


def lost(kept: Look, found: Look) -> float:
    """Return the share of a page's word pairs that another fetch does not have, 0 to 1, estimated from sketches and lengths."""
    if not kept.sketch or not found.sketch:
        return float(kept.sketch != found.sketch)
    alike = resemblance(kept.sketch, found.sketch)
    both = alike * (kept.n_words + found.n_words) / (1 + alike)
    return max(0.0, 1.0 - min(1.0, both / max(1, kept.n_words)))


def is_like_look(one: Look, other: Look) -> bool:
    """Return whether another fetch has most of a page's word pairs."""
    return lost(one, other) <= MOST_LOST


def has_other_links(n: int, other: int) -> bool:
    """Return whether two fetches of a page differ that much in the number of its links: one has hardly any of the other's."""
    return min(n, other) <= _FEW_LINKS * max(n, other) and abs(n - other) >= _LINKS


def is_changing(one: Look | None, other: Look | None) -> bool:
    """Return whether two fetches of a page in a row differ so much that the page proves nothing about its host."""
    return one is not None and other is not None and lost(one, other) > MOST_LOST
