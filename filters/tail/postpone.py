"""Into a class, and out of it again without being drawn: cohorts, caps, lineage.

**Caps.** A cohort stores the `cap` URLs that would be drawn first and counts the others. Since the order is random, those are as good a
sample as any; the others are found again from the links of stored pages when the class is released.

**Lineage.** A URL that only postponed pages name inherits their class, so that an endless space cannot breed classes with fresh credit. A
page outside that gave something new and names it frees it. A URL that an opinion of its own holds is not freed by being named.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from thresher.filters.tail.records import Cohort, TailClass, TailPolicy


class Outcome(Enum):
    """What a page was that names links."""

    NEW = "gave something new"
    BARREN = "gave nothing new"


class Source(msgspec.Struct, frozen=True):
    """The page that names a link."""

    outcome: Outcome
    holder: str = ""  # class that the page itself was postponed in
    follow_holder: str = ""  # class that an opinion gives to its links instead of stopping them


class Membership(msgspec.Struct, frozen=True):
    """The class that a new URL waits in."""

    holder: str
    is_inherited: bool


def membership(source: Source, opinion: str) -> Membership | None:
    """Return the class that a URL first named by this page waits in; None: it is fresh.    opinion: class that holds it, or none: ""
    """
    if opinion:
        return Membership(opinion, is_inherited=False)
    inherited = source.holder or source.follow_holder
    return Membership(inherited, is_inherited=True) if inherited else None


def frees(source: Source, of: Membership) -> bool:
    """Return whether a waiting URL is fresh once this page has named it."""
    return of.is_inherited and source.outcome is Outcome.NEW and not source.holder and not source.follow_holder


def join(of: TailClass) -> int:
    """Count one more URL; return the number of the cohort that it waits in. Beyond the cap see `keeps`."""
    if not of.cohorts or of.cohorts[-1].is_frozen or of.cohorts[-1].is_closed:
        of.cohorts.append(Cohort())
    of.cohorts[-1].known += 1
    return len(of.cohorts) - 1


def leave(of: TailClass, cohort: int) -> None:
    """Note that a URL was freed or refused before it was drawn."""
    of.cohorts[cohort].gone += 1
    stratum = of.cohorts[cohort].stratum
    if stratum is not None:
        stratum.gone += 1


def keeps(order: bytes, stored: Sequence[bytes], cap: int) -> tuple[bool, bytes | None]:
    """Return whether a URL at this place of the order is stored, and which stored one makes room for it.    stored: ascending"""
    if len(stored) < cap:
        return True, None
    return (True, stored[-1]) if order < stored[-1] else (False, None)
