"""How a URL enters a class of the tail, and how it leaves without being drawn: cohorts, caps, lineage.

**Caps.** A cohort stores the `cap` URLs that come first in the order of drawing, and only counts the others. Since the order is random,
the stored ones are as good a sample as any. The others are found again in the links of stored pages when the class is released.

**Lineage.** A URL that is named only by held pages joins their class, so that an endless space cannot go on by making new classes with no
fetches yet. It is released if a page outside the class that gave something new names it, unless an opinion holds it for itself.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from thresher.filters.tail.records import Cohort, TailClass


class SourceOutcome(Enum):
    """What the page gave that names the links."""

    NEW = "gave something new"
    BARREN = "gave nothing new"


class Source(msgspec.Struct, frozen=True):
    """The page that names a link."""

    outcome: SourceOutcome
    holder: str = ""  # class in which the page itself was held
    follow_holder: str = ""  # class into which an opinion puts its links instead of stopping them


class Membership(msgspec.Struct, frozen=True):
    """The class that holds a new URL."""

    holder: str
    is_inherited: bool


def membership(source: Source, opinion: str) -> Membership | None:
    """Return the class that holds a URL first named by this page, None if it is not held.

    Args:
        source: The page that names it.
        opinion: Class in which a filter's opinion holds it, "" if none does.
    """
    if opinion:
        return Membership(opinion, is_inherited=False)
    inherited = source.holder or source.follow_holder
    return Membership(inherited, is_inherited=True) if inherited else None


def releases(source: Source, of: Membership) -> bool:
    """Return whether a held URL is released, now that this page has named it."""
    return of.is_inherited and source.outcome is SourceOutcome.NEW and not source.holder and not source.follow_holder


def join(of: TailClass) -> int:
    """Count one more URL; return the number of the cohort that it joins. Beyond the cap, `keeps` says whether it is stored."""
    if not of.cohorts or of.cohorts[-1].is_frozen or of.cohorts[-1].is_closed:
        of.cohorts.append(Cohort())
    of.cohorts[-1].known += 1
    return len(of.cohorts) - 1


def leave(of: TailClass, cohort: int) -> None:
    """Count a URL that was released or refused before it was drawn."""
    of.cohorts[cohort].gone += 1
    stratum = of.cohorts[cohort].stratum
    if stratum is not None:
        stratum.gone += 1


def keeps(order: bytes, *, n_stored: int, last: bytes, cap: int) -> bool:
    """Return whether a URL at this position of the order is stored. At the cap it takes the place of the last stored one."""
    return n_stored < cap or order < last


def drop(of: TailClass, cohort: int) -> None:
    """Count a URL that is not stored: the new one, or the one whose place it took."""
    of.cohorts[cohort].dropped += 1


def refills(of: TailClass) -> list[int]:
    """Return the cohorts whose stored URLs are all drawn while more were counted: their URLs are to be read again from the stored links."""
    return [
        i for i, cohort in enumerate(of.cohorts) if cohort.dropped and not cohort.waiting and not cohort.pending and not cohort.is_closed
    ]


def refill(of: TailClass, cohort: int, n: int) -> None:
    """Count that so many URLs, counted only until now, are stored; they are the first of the order, at most `cap`."""
    of.cohorts[cohort].dropped -= n
