"""A page's present verdicts: records of pages are append-only, revisions are stored beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from thresher.storage.export.fields import iso
from thresher.storage.records import PageRecord, RevisionRecord, VerdictRecord

_KEY = re.compile("[0-9a-f]{32}")


class NewestVerdict(NamedTuple):
    """A filter's newest verdict on a page. `revised_at` is 0 for the verdict that was given with the page."""

    verdict: VerdictRecord
    revised_at: float


def standing(page: PageRecord, revisions: Iterable[RevisionRecord]) -> list[NewestVerdict]:
    """Return the newest verdict of each filter."""
    newest = {verdict.filter: NewestVerdict(verdict, 0.0) for verdict in page.verdicts}
    newest.update((revision.verdict.filter, NewestVerdict(revision.verdict, revision.at)) for revision in revisions)
    return list(newest.values())


def keeps(page: PageRecord, verdicts: Sequence[NewestVerdict]) -> bool:
    """Return whether the page is kept, by the newest verdicts."""
    if not verdicts:
        return page.keep
    return _stands(page.keep, [(standing.verdict.keep, standing.revised_at) for standing in verdicts])


def follows(page: PageRecord, verdicts: Sequence[NewestVerdict]) -> bool:
    """Return whether the page's links are followed, by the newest verdicts."""
    if not verdicts:
        return page.follow
    return _stands(page.follow, [(standing.verdict.follow, standing.revised_at) for standing in verdicts])


def _stands(was: bool, words: Sequence[tuple[bool, float]]) -> bool:
    """Return the present decision: a revision decides, since only enforcing filters revise; a refused page is kept once no filter refuses
    it any more.
    """
    revised = [word for word, at in words if at]
    if not all(revised):
        return False
    return was or (bool(revised) and all(word for word, _ in words))


def named_keys(verdicts: Iterable[NewestVerdict]) -> list[bytes]:
    """Return the keys of URLs in the evidence of the verdicts, for example the original of a copy."""
    values = [value for standing in verdicts for value in standing.verdict.evidence.values()]
    return [bytes.fromhex(value) for value in values if isinstance(value, str) and _KEY.fullmatch(value)]


def verdict_object(standing: NewestVerdict, texts: Mapping[bytes, str]) -> dict[str, Any]:
    """Return a verdict as exports and `explain` show it, with `texts` in place of the keys of URLs."""
    verdict, revised_at = standing
    names = {key.hex(): text for key, text in texts.items()}
    shown = {
        "filter": verdict.filter,
        "keep": verdict.keep,
        "follow": verdict.follow,
        "score": verdict.score,
        "reason": verdict.reason or None,
        "evidence": {name: names.get(value, value) if isinstance(value, str) else value for name, value in verdict.evidence.items()},
    }
    return {**shown, "revised_at": iso(revised_at)} if revised_at else shown


def is_new(verdicts: Iterable[VerdictRecord]) -> bool:
    """Return whether no filter that kept the page said that its text is known already. (A dropped page is not new anyway.)"""
    return all(verdict.new or not verdict.keep for verdict in verdicts)
