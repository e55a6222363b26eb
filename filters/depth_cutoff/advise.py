"""How deep a whole site is worth crawling, as a number and in words, from the counts of its levels and places [BC04]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thresher.filters.depth_cutoff.evidence import PRIOR, CutRule, PlaceCounts
from thresher.filters.depth_cutoff.records import Level

_FEW = 8  # with fewer fetches, the share of new pages of a level is not mentioned
_DULL = 0.5  # share of new pages below which a level is mentioned


@dataclass(frozen=True, slots=True)
class Advice:
    """The suggestion for a site.

    Attributes:
        depth: Greatest depth that is worth crawling; None: nothing that was fetched is a reason to stop anywhere.
    """

    depth: int | None
    why: str
    cut: tuple[PlaceCounts, ...]  # places with a limit below their known depth, most fetched first


def advise(levels: Sequence[Level], places: Sequence[PlaceCounts], rule: CutRule) -> Advice:
    """Advise on a site by its levels. If only places of it are cut, the site as a whole is not."""
    deepest = max((depth for depth, level in enumerate(levels) if level.fetched), default=0)
    limit, _ = rule.limit(_whole(levels), PRIOR, is_host=True)
    cut = tuple(sorted((place for place in places if place.limit <= deepest and _speaks(place)), key=lambda place: -place.n_ever))
    if limit > deepest:
        n = sum(level.fetched for level in levels)
        share = sum(level.new for level in levels) / max(1, n)
        ended = f"{share:.0%} of {n:,} pages to depth {deepest} were new"
        return Advice(None, ended + (f"; {len(cut)} places are cut by themselves" if cut else ""), cut)
    dull = [
        f"depth {depth}: {level.new / level.fetched:.0%} of {level.fetched:,} new"
        for depth, level in enumerate(levels)
        if level.fetched >= _FEW and level.new < _DULL * level.fetched
    ]
    reason = f"levels to {limit} hold {rule.target:.0%} of a surfer's views"
    if rule.q is not None:
        reason += f" who goes deeper with probability {rule.q:g}"
    return Advice(limit, "; ".join([reason, *dull]), cut)


def _whole(levels: Sequence[Level]) -> PlaceCounts:
    """Return the counts of a site's levels as one place."""
    place = PlaceCounts("", [level.fetched for level in levels], [level.new for level in levels])
    place.first = 1
    return place


def _speaks(place: PlaceCounts) -> bool:
    """Return whether a place was fetched at all and is not a whole host."""
    return bool(place.n_ever) and not place.form.endswith("/*")
