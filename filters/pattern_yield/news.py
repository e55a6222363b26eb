"""What a page says that its URL does not say, and what the panel's word on it is worth.

A calendar says on each of its pages which day it is, an edit form which article: the URL has said so before. What is left when this is left
out (crawler/core/echo.py) is equal for all of them.

A learner whose judges err learns their errors and multiplies them. So a page was old if it is an exact copy, a near one that is kept all
the same, if two filters dropped it, or if one did and the page's own pattern showed lately what it shows; one filter's word alone teaches
nothing.

Time: 15 µs a page, 50 if its URL holds a date.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final

import numpy as np
import xxhash

from thresher.crawler.core.echo import without_echo
from thresher.crawler.core.model import U64, Judgement, Reason

TELLS_COPIES: Final = "exact_duplicate"  # the filter whose word is enough
_ALIASES: Final = "dust"  # and the one that knows of aliases


class Said(Enum):
    """What the panel says of a page."""

    NEW = "kept"
    DOUBT = "dropped by one filter"
    OLD = "a copy, or dropped by more"


def said(judgement: Judgement, judges: Collection[str]) -> Said:
    """Return the panel's word; without verdicts of judges it is taken as it stands. judges: filters that are no mere observers."""
    if judgement.is_new and judgement.follow:
        return Said.NEW
    against = [verdict for verdict in judgement.standing if verdict.filter in judges and verdict.is_against]
    is_doubtful = len(against) == 1 and against[0].reason is not Reason.DUPLICATE_CONTENT and (against[0].new or not against[0].keep)
    return Said.DOUBT if is_doubtful else Said.OLD


def news(url: str, origin: str, tokens: U64) -> int:
    """Return a number that is equal for pages which show the same beside what their URLs say.    tokens: hashes of the page's words"""
    return xxhash.xxh3_64_intdigest(np.ascontiguousarray(without_echo(url, origin, tokens), dtype="<u8").data)


def canonical_of(judgement: Judgement) -> str:
    """Return the canonical URL of a page that was fetched under an alias, as a valid rule has it; "" if it is none."""
    said_of = (verdict.evidence.get("canonical") for verdict in judgement.verdicts if verdict.filter == _ALIASES)
    return next((str(url) for url in said_of if url), "")
