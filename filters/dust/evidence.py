"""The evidence for and against a rule in a list of known pages, and where each pair is.

An instance is a URL that the rule changes. It agrees if both pages are known and alike; it disagrees if both are known and differ, or if
the second is an error. If the first page is an error, it counts for nothing. A negative control compares the page of an instance with
another page of the site to which the rule does not lead. If many controls are alike too, the site shows one page for everything, and
agreement means nothing.

In a crawl, URLs that a rule leads to one place are compared with each other if that place is not in the list (`pooled`): pages of many
sessions, say, when no link without a session was ever met. There the rule saves the fetches of all linked URLs but the first for each
place; if only one form is linked, it saves nothing.

The standing of a rule is an interval [WIL27] of the share of agreeing pairs: it is wide at first, and is updated as long as audits go on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Final, NamedTuple

import xxhash

from thresher.filters.dust.canonize import applier
from thresher.filters.dust.rules import LearnedRule, Parameter, Rule, Substitution, pieces
from thresher.filters.dust.tokens import END, START
from thresher.filters.dust.urllist import UrlList
from thresher.filters.evidence import intervals
from thresher.filters.evidence.blocks import are_enough, with_block

Z: Final = 1.959963984540054  # 95 %
_MOST_APPLIED: Final = 1000  # URLs of a list to which a rule is applied
MOST_DISSENT: Final = 0.05  # share of the pairs that may disagree [BKS07, ε]
_EXAMPLES: Final = 3


class Instance(NamedTuple):
    """A URL of the list that the rule changes, and its target."""

    at: int  # place in the list
    target: str
    to: int | None  # place of the target, None if it is not in the list


class Saving(NamedTuple):
    """The requests that a rule would have saved of a list's linked URLs."""

    n: int  # URLs that it changes
    n_linked: int  # of these, whose target is in the list
    fetches: int

    @property
    def share_linked(self) -> float:
        return self.n_linked / self.n if self.n else 0.0


@dataclass(slots=True)
class RuleEvidence:
    """The counts of one rule over a list."""

    agree: int = 0
    equal: int = 0  # of these, word for word
    disagree: int = 0
    controls: int = 0
    controls_alike: int = 0
    seen: list[tuple[str, bool | None]] = field(default_factory=list)  # (URL, whether it agrees; None: not known), in random order
    targets: list[str] = field(default_factory=list)  # target of each of these
    examples: list[tuple[str, str]] = field(default_factory=list)  # that agree
    effect: int = 0  # equal for rules that lead the same URLs to the same targets
    blocks: dict[int, int] | None = None  # host → its blocks of time with agreeing pages; None: times of fetches are not known

    @property
    def is_of_several_blocks(self) -> bool:
        """Whether the pages that agree were fetched in enough blocks of time of one host."""
        return self.blocks is None or any(map(are_enough, self.blocks.values()))

    def add_block(self, *pages: tuple[int, int] | None) -> None:
        """Record when two pages that agree were fetched."""
        self.blocks = self.blocks or {}
        for host, block in filter(None, pages):
            self.blocks[host] = with_block(self.blocks.get(host, 0), block)


def wilson(agree: int, disagree: int, z: float = Z) -> tuple[float, float]:
    """Return the interval of the share of agreeing pairs; (0, 1) for no pair."""
    n = agree + disagree
    return intervals.wilson(agree / n if n else 0.0, n, z)


def is_refuted(agree: int, disagree: int) -> bool:
    """Return whether too many pairs disagree, even at the end of the interval that is best for the rule."""
    return wilson(agree, disagree)[1] < 1 - MOST_DISSENT


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The good URLs of a list in the order of a hash: a random sample that is the same each time."""

    places: list[int]  # in the list
    text: str  # the URLs in this order, one a line: searched as one text
    starts: list[int]  # position at which each begins


def in_chance_order(known: UrlList) -> Shuffled:
    """Shuffle the good URLs of a list."""
    good = (i for i in range(len(known)) if known.is_good[i])
    places = sorted(good, key=lambda i: xxhash.xxh3_64_intdigest(known.urls[i].encode("utf-8", "surrogateescape")))
    urls = [known.urls[i] for i in places]
    return Shuffled(places, "".join(f"{url}\n" for url in urls), list(accumulate((len(url) + 1 for url in urls), initial=0)))


def may_apply(rule: Rule, order: Shuffled) -> bool:
    """Return whether a URL may be an instance; cheaper than a search for one."""
    return _mark(rule) in order.text


def instances(rule: Rule, known: UrlList, order: Shuffled) -> Iterator[Instance]:
    """Yield the instances of a rule in random order."""
    step, mark = applier(rule), _mark(rule)
    at = order.text.find(mark)
    while 0 <= at < len(order.text):
        n = bisect_right(order.starts, at) - 1
        place = order.places[n]
        url = known.urls[place]
        target = step(url)
        if target != url:
            yield Instance(place, target, known.index.get(target))
        at = order.text.find(mark, order.starts[n + 1])


def gather(
    rule: Rule,
    known: UrlList,
    order: Shuffled,
    *,
    stop: Callable[[RuleEvidence], bool] = lambda _found: False,
    most: int = _MOST_APPLIED,
    pooled: bool = False,
) -> RuleEvidence:
    """Compare the pages that the list knows, in random order, until `stop(evidence)` is true or after `most` instances.

    Args:
        pooled: Whether URLs with one target are compared with the first of them if the target is not in the list.
    """
    found = RuleEvidence()
    first: dict[str, int] = {}
    effect: list[str] = []
    step = applier(rule)
    for n, instance in enumerate(islice(instances(rule, known, order), most)):
        to = instance.to
        if to is None and pooled:
            to = first.setdefault(instance.target, instance.at)
            to = None if to == instance.at else to
        agrees = None if to is None else known.alike(instance.at, to)
        url = known.urls[instance.at]
        found.seen.append((url, agrees))
        found.targets.append(instance.target)
        effect.append(f"{instance.at} {instance.target}")
        if agrees is None or to is None:
            continue
        found.agree += agrees
        found.equal += agrees and known.equal(instance.at, to)
        found.disagree += not agrees
        if agrees and (known.seen_at[instance.at] or known.seen_at[to]):
            found.add_block(known.seen_at[instance.at], known.seen_at[to])
        if agrees and len(found.examples) < _EXAMPLES:
            found.examples.append((url, instance.target))
        other = order.places[(7 * n + 3) % len(order.places)]
        if step(known.urls[other]) != instance.target and other != instance.at:
            found.controls += 1
            found.controls_alike += bool(known.alike(instance.at, other))
        if stop(found):
            break
    found.effect = xxhash.xxh3_64_intdigest("\n".join(effect).encode("utf-8", "surrogateescape"))
    return found


def saving(rule: Rule, known: UrlList, order: Shuffled, most: int = _MOST_APPLIED) -> Saving:
    """Count the requests that a rule would have saved of the list's linked URLs."""
    n = n_linked = fetches = 0
    places: set[str] = set()
    for instance in islice(instances(rule, known, order), most):
        if not known.suggests[instance.at]:
            continue
        is_linked = instance.to is not None and bool(known.suggests[instance.to])
        n, n_linked = n + 1, n_linked + is_linked
        fetches += is_linked or instance.target in places
        places.add(instance.target)
    return Saving(n, n_linked, fetches)


def with_evidence(learned: LearnedRule, found: RuleEvidence) -> LearnedRule:
    """Return the rule with the counts of the list in place of earlier ones."""
    return LearnedRule(
        rule=learned.rule,
        source=learned.source,
        support=learned.support,
        agree=found.agree,
        equal=found.equal,
        disagree=found.disagree,
        controls=found.controls,
        controls_alike=found.controls_alike,
        standing=learned.standing,
        disabled=learned.disabled,
        examples=tuple(found.examples) or learned.examples,
    )


def tells_apart(controls: int, controls_alike: int) -> bool:
    """Return whether agreement means anything, by the negative controls: fewer than half of them may be alike."""
    return 2 * controls_alike < controls or controls == 0


def _mark(rule: Rule) -> str:
    """Return text that occurs in every URL that the rule changes."""
    if isinstance(rule, Parameter):
        return rule.name_.rstrip("*")
    assert isinstance(rule, Substitution)
    return max((piece.strip(START + END) for piece in pieces(rule.source) if isinstance(piece, str)), key=len, default="")
