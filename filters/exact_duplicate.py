"""Exact duplicates: pages whose visible text was already shown by another page of the same site.

A page without a word (a frameset, a page of pictures) is a copy if its body is another one's, byte for byte, and names links. One without
links may be filled by a script.

The record of a copy is kept. Its body is not stored, unless `store_copies` asks for it; what filters learn is the same either way. Its
links are followed within a budget (copy_links.py).

Seeds and home pages are never copies. If two pages have one text, the canonical one is preferred, whichever came first: a page that names
itself in rel=canonical replaces a kept page that does not, and the verdict on the older page is revised ([BMSV18, 4.4] also finds copies by
a digest of the page).

A clock at the foot of a page would give each of its copies a different text. So if a text ends with a time (three or more numbers in a row
among its last words), these numbers are left out, unless the text is short.

A text belongs to an answer, not to a URL: a wall may show a page's text under another URL. If that URL is fetched again, the text is free
until a page shows it once more.

    site 8 ‖ fingerprint 16        → key of the kept page 16, whether it names itself canonical 1, its answer as below
    page's key 16 ‖ "again"        → how often it was fetched again, 1 byte
    site 8 ‖ "again"               → nothing: some page of it was

Memory: 33 bytes a text, 22 a page that is fetched again. Time: 6 µs a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
import numpy as np

from thresher.config.settings import ExactDuplicateSettings
from thresher.crawler.core.effects import Revise
from thresher.crawler.core.model import NEEDS_BROWSER, U64, Judgement, Mode, Page, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.sketch import fingerprint, token_hashes
from thresher.crawler.core.url import is_home
from thresher.filters import copy_links
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.spec import FilterSpec

NAME = "exact_duplicate"
_FOOT: Final = 32  # words
_WITH_FOOT: Final = 100  # a text with at least so many words may end with a time
_CLOCK: Final = 3  # numbers in a row: a time with seconds, or a date with more
_NO_TIME: Final = np.uint64(0)
_AGAIN: Final = b"again"
_LASTING: Final = 1e9  # weight: these records are the last that the memory drops
_SILENT: Final = Verdict(NAME)


def spec(settings: ExactDuplicateSettings) -> FilterSpec:
    """Return the filter with its parts."""
    page = ExactDuplicateFilter(settings)
    return FilterSpec(NAME, Mode(settings.mode), learned=copy_links.CopyLedger(NAME), page=page, on_again=outdate, learns_late=True)


def outdate(pages: Sequence[bytes], memory: Memory) -> None:
    """Take texts from pages that are fetched again: who shows such a text next has it.

    Args:
        pages: Keys, of one site.
        memory: The filter's memory.
    """
    for page in pages:
        n = (memory.get(page + _AGAIN) or b"\0")[0]
        memory.put(page + _AGAIN, bytes([n % 255 + 1]), _LASTING)
        memory.put(page[:8] + _AGAIN, b"", _LASTING)


def _answer_of(page: bytes, memory: Memory) -> bytes:
    """Return the number of the answer that a page was last asked for, b"" for the first."""
    return memory.get(page + _AGAIN) or b"" if memory.get(page[:8] + _AGAIN) is not None else b""


class DigestMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What the filter needs of a page to recognise a copy."""

    cell: bytes  # memory key: the site's 8 bytes, then the fingerprint; b"" if the page has nothing to compare
    page: bytes  # key of the page
    kind: bytes  # kind of its URL, as copy_links.py distinguishes them
    via: bytes  # key of the page that led to it, b"" for none
    names_itself: bool  # rel=canonical is the page's own URL
    exempt: bool


@cache
def _numbers() -> frozenset[int]:
    """Return the hashes of the numbers that a time may consist of."""
    return frozenset(token_hashes(" ".join(f"{n:0{width}}" for width in (1, 2, 4) for n in range(10**width))).tolist())


class ExactDuplicateFilter:
    """Page gate."""

    name = NAME
    measure_type = DigestMeasure

    def __init__(self, settings: ExactDuplicateSettings) -> None:
        self._min_tokens = settings.min_tokens
        self._store_copies = settings.store_copies
        self._max_links = settings.max_links

    def measure(self, page: Page, /) -> DigestMeasure:
        of_body = page.digest if page.links and page.flags.isdisjoint(NEEDS_BROWSER) else b""
        shown = _print(page) if len(page.tokens) >= max(1, self._min_tokens) else of_body
        return DigestMeasure(
            cell=page.url.key[:8] + shown if shown and page.status == 200 else b"",
            page=page.url.key,
            kind=copy_links.kind_of(page.url),
            via=page.url.via,
            names_itself=page.canonical == page.url.text,
            exempt=page.url.seed_distance == 0 or is_home(page.url.text),
        )

    def decide(self, measure: DigestMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        kept = self._kept(measure, memory)
        if kept is None or measure.exempt:
            return _SILENT, NO_EFFECTS
        key, kept_names_itself = kept
        if measure.names_itself and not kept_names_itself:
            return Verdict(NAME, evidence={"replaces": key.hex()}), (Revise(key, self._copy_of(measure.page, follow=True)),)
        return self._copy_of(key, follow=copy_links.may_follow(measure.page, measure.kind, self._max_links, memory)), NO_EFFECTS

    def observe(self, measure: DigestMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        if not measure.cell or not judgement.follow:
            return NOTHING_LEARNED
        kept = self._kept(measure, memory)
        replaces = kept is not None and measure.names_itself and not kept[1]
        if judgement.keep and (kept is None or replaces):  # a near copy that is kept may have exact copies, too
            memory.put(measure.cell, measure.page + bytes([measure.names_itself]) + _answer_of(measure.page, memory))
        if kept is None:
            copy_links.pay(measure.via, memory)
        elif not replaces and not measure.exempt:
            copy_links.mark(measure.page, measure.kind, memory)
        return NO_EFFECTS

    def _kept(self, measure: DigestMeasure, memory: Memory) -> tuple[bytes, bool] | None:
        """Return the page kept with this text, other than the page itself, and whether it names itself canonical; None if it was fetched
        again since.
        """
        value = memory.get(measure.cell) if measure.cell else None
        if not value or value[:16] == measure.page or value[17:] != _answer_of(value[:16], memory):
            return None
        return value[:16], bool(value[16])

    def _copy_of(self, key: bytes, *, follow: bool) -> Verdict:
        evidence = {"copy_of": key.hex()}
        keep = self._store_copies
        return Verdict(NAME, keep, follow, score=1.0, reason=Reason.DUPLICATE_CONTENT, evidence=evidence, new=False)


def _print(page: Page) -> bytes:
    """Return 16 bytes that identify the page's words without a time at their end."""
    if page.tokens.size < _WITH_FOOT:
        return page.fingerprint
    places = _times(page.tokens[-_FOOT:].tolist())
    if not places:
        return page.fingerprint
    words: U64 = page.tokens.copy()
    words[[place - _FOOT for place in places]] = _NO_TIME
    return fingerprint(words)


def _times(words: list[int]) -> list[int]:
    """Return the places of words that belong to a time, ascending."""
    found: list[int] = []
    numbers, end = _numbers(), 0
    for place in range(_CLOCK - 1, len(words), _CLOCK):  # a run of `_CLOCK` numbers includes one of these
        if words[place] not in numbers or place < end:
            continue
        first, end = place, place + 1
        while first and words[first - 1] in numbers:
            first -= 1
        while end < len(words) and words[end] in numbers:
            end += 1
        if end - first >= _CLOCK:
            found += range(first, end)
    return found
