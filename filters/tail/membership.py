"""Into a class, and out of it again without being drawn: cohorts, caps, lineage.

**Caps.** A cohort stores the `cap` URLs that would be drawn first and counts the others. Since the order is random, those are as good a
sample as any; the others are found again from the links of stored pages when the class is released.

**Lineage.** A URL that only postponed pages name inherits their class, so that an endless space cannot breed classes with fresh credit. A
page outside that gave something new and names it frees it. A URL that an opinion of its own holds is not freed by being named.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from thresher.filters.tail.records import Cohort, TailClass


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
    """Return the class that a URL first named by this page waits in; None: it is fresh.    opinion: class that holds it; "": none."""
    if opinion:
        return Membership(opinion, is_inherited=False)
    inherited = source.holder or source.follow_holder
    return Membership(inherited, is_inherited=True) if inherited else None


def releases(source: Source, of: Membership) -> bool:
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


def keeps(order: bytes, *, n_stored: int, last: bytes, cap: int) -> bool:
    """Return whether a URL at this place of the order is stored; at the cap the last of the stored ones makes room for it."""
    return n_stored < cap or order < last


def drop(of: TailClass, cohort: int) -> None:
    """Note that the cohort counts one more URL that is not stored: the new one, or one that made room for it."""
    of.cohorts[cohort].dropped += 1


def refills(of: TailClass) -> list[int]:
    """Return the cohorts of which all that was stored is drawn while more are counted: these are to be read from stored links again."""
    return [
        i for i, cohort in enumerate(of.cohorts) if cohort.dropped and not cohort.waiting and not cohort.pending and not cohort.is_closed
    ]


def refill(of: TailClass, cohort: int, n: int) -> None:
    """Note that so many of the URLs that were only counted are stored now. Those that come first in the order, at most `cap`."""
    of.cohorts[cohort].dropped -= n
