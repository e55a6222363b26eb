"""Results of the panel: one round of its filters at a gate, what they learned from it, and the answer about a URL before its request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from thresher.crawler.core.effects import Effect
from thresher.crawler.core.model import Verdict
from thresher.filters.base import Gate
from thresher.filters.journal import JournalRecord

J = TypeVar("J")
Asked = tuple[str, Effect]  # (the filter that asks, the effect that it asks for)
Learned = tuple[tuple[Asked, ...], JournalRecord | None]  # (effects that filters ask for after learning, the record for the journal)


class Deliberation(msgspec.Struct, Generic[J], frozen=True):
    """One round of the panel: the judgement, the effects that filters ask for, and the measures that they will learn from."""

    gate: Gate
    judgement: J
    effects: tuple[Asked, ...]
    measures: tuple[Any, ...]  # in the order of the gate's filters
    audited: frozenset[int] = frozenset()  # learned gate: positions of refused links that pass as audits
    subject: str = ""  # URL of the judged subject, "" for links
    said: Mapping[int, Verdict] | None = None  # learned gate: the verdicts of filters in mode `observe`


class Turn(NamedTuple):
    """The panel's answer for a URL that is about to be requested."""

    held: tuple[Asked, ...] = ()  # effects of filters that hold or rewrite it
    refused: Verdict | None = None
    said: tuple[str, ...] = ()  # filters in mode `observe` that would hold or refuse it


NO_OBJECTION = Turn()
