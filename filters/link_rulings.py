"""How the rulings of several filters on one batch of links become one: the first refusal counts, and audits pass in spite of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thresher.crawler.core.effects import Hold, Rewrite
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Verdict
from thresher.filters.deliberation import Asked
from thresher.filters.evidence.audits import is_audited


def merge(refused: Mapping[int, Verdict], *, into: dict[int, Verdict]) -> None:
    """Add a filter's refusals; the first filter to refuse a link names the reason."""
    for i, verdict in refused.items():
        into.setdefault(i, verdict)


def leave_out_changed(batch: LinkBatch, effects: Iterable[Asked], admitted: Any) -> None:
    """Remove the links that an effect rewrites or holds from the admitted ones."""
    aside = {effect.url for _, effect in effects if isinstance(effect, Rewrite | Hold)}
    if aside:
        admitted[[i for i, text in enumerate(batch.texts) if text in aside]] = False


def audit(
    batch: LinkBatch, refused: Mapping[int, Verdict], effects: list[Asked], share_of: Callable[[str], float]
) -> tuple[frozenset[int], list[Asked]]:
    """Choose the refused or rewritten links that are fetched all the same, a share of them by URL, and drop the effects on them.

    Held links are not chosen here: the tail audits them.
    """
    if not refused and not effects:
        return frozenset(), effects
    position = {text: i for i, text in enumerate(batch.texts)}
    touched = set(refused) | {position[e.url] for _, e in effects if isinstance(e, Rewrite) and e.url in position}
    audited = frozenset(i for i in touched if is_audited(batch.keys[i], share_of(batch.texts[i])))
    spared = {batch.texts[i] for i in audited}
    return audited, [(who, e) for who, e in effects if not (isinstance(e, Rewrite | Hold) and e.url in spared)]
