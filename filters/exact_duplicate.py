"""Exact duplicates: a page whose visible text a page of the same site showed before.

The record of a copy is kept, its links are not followed and its body is not stored (`store_copies` keeps it). Seeds and home pages are
never copies. Where two copies exist the canonical one is preferred whichever came first: a page that names itself in rel=canonical
replaces a kept copy that does not, and the verdict on the older is revised [BMSV18, 4.4 gates links likewise, by a digest of the page].

Memory: per site, text fingerprint (16 bytes) → key of the kept page and whether it names itself canonical; 17 bytes a text.
"""

from __future__ import annotations

import msgspec

from config.settings import ExactDuplicate
from crawler.core.model import Judgement, Page, Reason, Revise, Verdict
from crawler.core.ports import Memory
from crawler.core.url import is_home
from filters.base import NO_EFFECTS, Effects

NAME = "exact_duplicate"


class Measure(msgspec.Struct, array_like=True, frozen=True):
    """What telling a copy needs of a page."""

    cell: bytes  # memory key: the site's 8 bytes, then the fingerprint; b"" if the page is no text to compare
    page: bytes  # key of the page
    names_itself: bool  # rel=canonical is the page's own URL
    exempt: bool


class ExactDuplicateFilter:
    """Page gate."""

    name = NAME
    measure_type = Measure

    def __init__(self, settings: ExactDuplicate) -> None:
        self._min_tokens = settings.min_tokens
        self._store_copies = settings.store_copies

    def measure(self, page: Page, /) -> Measure:
        comparable = page.status == 200 and len(page.tokens) >= self._min_tokens
        return Measure(
            cell=page.url.key[:8] + page.fingerprint if comparable else b"",
            page=page.url.key,
            names_itself=page.canonical == page.url.text,
            exempt=page.url.seed_distance == 0 or is_home(page.url.text),
        )

    def decide(self, measure: Measure, memory: Memory, /) -> tuple[Verdict, Effects]:
        kept = self._kept(measure, memory)
        if kept is None or measure.exempt:
            return Verdict(NAME), NO_EFFECTS
        key, kept_names_itself = kept
        if measure.names_itself and not kept_names_itself:
            return Verdict(NAME, evidence={"replaces": key.hex()}), (Revise(key, self._copy_of(measure.page)),)
        return self._copy_of(key), NO_EFFECTS

    def observe(self, measure: Measure, judgement: Judgement, memory: Memory, /) -> Effects:
        if measure.cell and judgement.keep and judgement.follow:
            kept = self._kept(measure, memory)
            if kept is None or (measure.names_itself and not kept[1]):
                memory.put(measure.cell, measure.page + bytes([measure.names_itself]))
        return NO_EFFECTS

    def _kept(self, measure: Measure, memory: Memory) -> tuple[bytes, bool] | None:
        """Return the page kept with this text, other than the page itself, and whether it names itself canonical."""
        value = memory.get(measure.cell) if measure.cell else None
        return (value[:16], bool(value[16])) if value and value[:16] != measure.page else None

    def _copy_of(self, key: bytes) -> Verdict:
        return Verdict(
            NAME, keep=self._store_copies, follow=False, score=1.0, reason=Reason.DUPLICATE_CONTENT, evidence={"copy_of": key.hex()}
        )
