"""Moves the visits of a page's siblings forward when the page is found changed, as far as they change together (core/co_change.py).

    a visit ─► learn: a trial of the bursts of its patterns; how likely the change is its own ─► (changed) sooner: which siblings come when

A visit is moved forward by the time in which the page's own rate gives the same probability of change as the burst: a page that changes
with every request is not moved, one that hardly ever changes is visited at once. Pages that are then due now are visited in the order of
(probability of a change · weight), after all visits that are due already, so that no deadline is missed. Each visit moves some pages; each
sibling that is found changed, too, moves the next ones. So a wrong burst costs a few visits, and the work for a burst of a whole site is
spread over many commits.

The place of a page: the leaf pattern of its URL, a zero byte, its key. So a node's pages are a range of places.

Pure: records are read and written through `PlanStore`. Time: 20 µs for each examined sibling, at most 256 a visit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from thresher.crawler.core.co_change import LEAST, Burst, earlier_s, explained
from thresher.crawler.core.revisit_plans import FamilyPlan, PagePlan, PlanStore, ScheduledPage
from thresher.crawler.core.url_tree import branch

_LOOKED_AT: Final = 256  # most siblings that are examined in a visit
_AT_ONCE: Final = 32  # most of them that are moved forward
_AGAIN: Final = 0.15  # siblings are examined again when q has grown by this
_CHUNK: Final = 64
_NO_NEWS: Final = 0.8  # if a page was as likely to have changed by its own rate, its change says nothing about others
_WORTH_IT: Final = 0.1  # a visit is moved only by at least this share of the time until it
_WAITING: Final = frozenset(("first", "changed", "unchanged", "announced"))
_PART_S: Final = 1e-3  # seconds between pages that are due at once, so that they keep their order


class PatternNode(NamedTuple):
    """A pattern of a page, and its record."""

    pattern: str
    family: FamilyPlan


class Sooner(NamedTuple):
    """A page whose visit is moved forward."""

    key: bytes
    plan: PagePlan
    due: float
    siblings: tuple[str, int, int]  # why: see PagePlan


@dataclass(slots=True)
class ChangeLook:
    """A visit that has shown whether a page has changed."""

    page: ScheduledPage
    before: float  # time of the visit before it
    now: float
    rate: float  # rate of the page's own changes
    often: float  # share of its visits that saw a change, own or common
    is_changed: bool
    by: str | None  # pattern because of whose burst it was moved forward
    since: float = field(init=False)  # the change is after this time

    def __post_init__(self) -> None:
        self.since = self.before


class Siblings:
    """Learns which pages of a host change together."""

    def __init__(self, plans: PlanStore) -> None:
        self._plans = plans

    def learn(self, look: ChangeLook, nodes: Sequence[PatternNode]) -> float:
        """Record what a visit shows about the bursts of its page's patterns; return the probability that its change is its own, 0 to 1."""
        expected = max(look.often, -math.expm1(-look.rate * max(1.0, look.now - look.before)))
        q = 0.0
        children = _children(nodes)
        bursts: list[Burst | None] = []
        for node, child in zip(nodes, children, strict=True):
            together = node.family.together
            burst = together.burst if together.burst is not None and together.burst.is_trial(child, look.before) else None
            bursts.append(burst)
            if burst is not None:
                q = max(q, together.chance() * burst.covers(look.before))
                look.since = max(look.since, burst.since)
                if look.by is None or len(look.by) <= len(node.pattern):
                    together.answer(is_changed=look.is_changed, expected=expected)
        if not look.is_changed or expected >= _NO_NEWS:
            return 1.0
        for node, child, burst in zip(nodes, children, bursts, strict=True):
            if burst is None:
                node.family.together.begin(look.since, look.now, child)
        return 1.0 - explained(q, expected)

    def sooner(self, look: ChangeLook, nodes: Sequence[PatternNode], least_s: float, at_most: int) -> list[Sooner]:
        """Return the siblings of a changed page to move forward: those of its narrowest pattern first, the most important first.

        Args:
            at_most: How many more visits its host has room for.
        """
        found: dict[bytes, Sooner] = {}
        worths: dict[bytes, float] = {}
        n_left = _LOOKED_AT
        for node in reversed(nodes):
            burst, q = node.family.together.burst, node.family.together.chance()
            if burst is None or q < LEAST or len(found) >= at_most:
                continue
            if q >= burst.scanned_for + _AGAIN:
                burst.scanned, burst.scanned_for = b"", q
            said = (node.pattern, round(burst.trials.changed), round(burst.trials.n))
            for key, plan in self._unseen(look, node, nodes[-1] is node, n_left):
                n_left -= 1
                chance = q * burst.covers(plan.visited_at)
                due = max(look.now, plan.visited_at + least_s, plan.visited_at + plan.interval_s - earlier_s(chance, plan.rate))
                if chance < LEAST or plan.due - due <= _WORTH_IT * (plan.due - plan.visited_at):
                    continue
                if key not in found or due < found[key].due:
                    found[key] = Sooner(key, plan, due, said)
                    worths[key] = plan.weight * (1.0 - (1.0 - chance) * math.exp(-plan.rate * (look.now - plan.visited_at)))
                if len(found) >= min(_AT_ONCE, at_most):
                    break
        ordered = sorted(found.values(), key=lambda item: (item.due, -worths[item.key]))
        return [item._replace(due=item.due + i * _PART_S) for i, item in enumerate(ordered)]

    def _unseen(self, look: ChangeLook, node: PatternNode, is_leaf: bool, at_most: int) -> Iterator[tuple[bytes, PagePlan]]:
        """Yield waiting pages of a node, from where the last examination ended, without those of the child in which its burst began."""
        burst = node.family.together.burst
        assert burst is not None
        prefix = node.pattern.encode() + (b"\0" if is_leaf else b"/")
        origin = burst.origin.encode()
        inside = () if is_leaf else (origin + b"/", origin + b"\0")
        at = burst.scanned or prefix
        while at_most > 0:
            places = self._plans.places(look.page.queue, at, min(at_most, _CHUNK))
            for place in places:
                if not place.startswith(prefix):
                    return
                at_most -= 1
                at = burst.scanned = place + b"\0"
                if inside and place.startswith(inside):
                    at = burst.scanned = origin + (b"0" if place.startswith(origin + b"/") else b"\1")  # "0" follows "/"
                    break
                key = place.partition(b"\0")[2]
                plan = self._plans.page(key)
                if plan is not None and plan.why in _WAITING and plan.due > look.now and key != look.page.key:
                    yield key, plan
            else:
                if len(places) < _CHUNK:
                    return


def _children(nodes: Sequence[PatternNode]) -> list[str]:
    """Return the child of each node below which a page is; "" for the last node, whose child is the page itself."""
    return [node.pattern for node in nodes[1:]] + [""]


def place_of(text: str, key: bytes) -> bytes:
    """Return the place of a URL's page among its siblings."""
    return branch(text)[-1].encode() + b"\0" + key
