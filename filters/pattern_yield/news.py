"""What a page shows that its URL does not say already, and how the panel's judgement of the page is used.

Each page of a calendar says which day it is, each edit form which article it is for: the URL says that already. Without these words
(crawler/core/echo.py) all such pages are equal.

If this filter believed every verdict, it would learn the errors of other filters and add to them. So a page is old if it is an exact copy;
if it is a near copy and is kept all the same; if two filters dropped it; or if one did and the page's own pattern showed the same lately.
The verdict of one filter alone teaches nothing. A page that looks like a kept one, without being its near copy for sure, counts for its
pattern as an old one does, since it costs little to hold a pattern wrongly. The tail takes it for a document, so such pages close no class.
The pages of a **series**, whose URLs differ in their numbers alone, are alike by their template (days of a calendar, products of a list).
One of them is new as long as it resembles the others by less than nine tenths.

Time: 15 µs a page, 50 if its URL holds a date.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final

import numpy as np
import xxhash

from thresher.crawler.core.echo import without_echo
from thresher.crawler.core.model import OF_SERIES, TOLD_APART, U64, Judgement, Page, Reason, Verdict

TELLS_COPIES: Final = "exact_duplicate"  # the filter whose verdict alone is enough
_ALIASES: Final = "dust"  # the filter that knows of aliases
_NEWS: Final = "news"  # key in a page's dict, beside its fields
_ALIKE: Final = 0.9  # resemblance from which a page is like another one of its series


class Novelty(Enum):
    """The panel's judgement of a page, as this filter uses it."""

    NEW = "kept"
    LIKE = "kept, and looks like a kept page"
    DOUBT = "dropped by one filter"
    OLD = "a copy, or dropped by more"

    @property
    def is_barren(self) -> bool:
        """Whether the page counts for its pattern as one that shows nothing new."""
        return self in (Novelty.LIKE, Novelty.OLD)

    @property
    def is_against(self) -> bool:
        """Whether a filter has said that the page is nothing new."""
        return self in (Novelty.DOUBT, Novelty.OLD)


def novelty_of(judgement: Judgement, judges: Collection[str]) -> Novelty:
    """Return whether the judgement makes a page new or old; without verdicts of `judges` it is used as it is.

    Args:
        judges: Filters whose verdicts on pages count: those that enforce.
    """
    if judgement.is_new:
        told = [verdict for verdict in judgement.verdicts if verdict.evidence]  # empty for nearly every page
        is_like = told and any(_looks_like(verdict) for verdict in told if verdict.filter in judges)
        return Novelty.LIKE if is_like else Novelty.NEW
    against = [verdict for verdict in judgement.standing if verdict.filter in judges and verdict.is_against]
    is_doubtful = len(against) == 1 and against[0].reason is not Reason.DUPLICATE_CONTENT and (against[0].new or not against[0].keep)
    return Novelty.DOUBT if is_doubtful else Novelty.OLD


def _looks_like(verdict: Verdict) -> bool:
    return verdict.tells_likeness and TOLD_APART not in verdict.evidence and (OF_SERIES not in verdict.evidence or verdict.score >= _ALIKE)


def news(url: str, origin: str, tokens: U64) -> int:
    """Return a number that is equal for pages which show the same apart from what their URLs repeat.

    Args:
        tokens: Hashes of the page's words.
    """
    return xxhash.xxh3_64_intdigest(np.ascontiguousarray(without_echo(url, origin, tokens), dtype="<u8").data)


def news_of(page: Page) -> int:
    """Return the `news` of a page; it is computed once."""
    beside = vars(page)
    found: int | None = beside.get(_NEWS)
    if found is None:
        found = beside[_NEWS] = news(page.url.text, page.url.host, page.tokens)
    return found


def canonical_of(judgement: Judgement) -> str:
    """Return the canonical URL of a page that was fetched under an alias by a valid rule, "" if it was not."""
    said_of = (verdict.evidence.get("canonical") for verdict in judgement.verdicts if verdict.filter == _ALIASES)
    return next((str(url) for url in said_of if url), "")
