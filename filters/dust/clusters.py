"""Rules learned from clusters of copies, general over each cluster [DKS08, KLACGS10, DUSTER].

In each cluster every URL is compared with one target: of the URLs on the host that the site uses most, the first in shortlex order. Their
common beginning and end are cut off, but for one token, and each word or number of the rest becomes a hole. `x.com/money/` and
`money.x.com/` thus give `{1}.{2}/{3}/` → `{3}.{1}.{2}/`, the same for every cluster of that kind. Pairs of one form are put together. A
hole that had the same text in all of them becomes that text again; one that had several texts stays a hole, of numbers if it had only
numbers. What surrounds the change in all pairs becomes context. A form counts once for each cluster, since the members of one cluster may
be alike for a reason of their own; but many members of one cluster count as well.

A form without holes is a plain substitution; it is found here even if the buckets of phase 1 overflow.

Comparing with one target only makes the cost linear in the cluster. Hosts are words like others, so that rules may lead to another host of
the site.

Time: 30 µs per URL that is a copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from thresher.filters.dust.rules import LearnedRule, Substitution, shortlex, written
from thresher.filters.dust.tokens import END, START, anchored, common, tokens
from thresher.filters.dust.urllist import UrlList, origin

_MOST_MEMBERS: Final = 50  # of a cluster that are compared
_FEW: Final = 5  # so few members of one cluster suggest no rule: they may be alike by chance
_MOST_CHANGED: Final = 24  # tokens: longer differences are no rule
_MOST_HOLES: Final = 9
_MOST_CONTEXT: Final = 24  # tokens of context on either side

_Form = tuple[str | int, ...]  # literals, and numbers of holes


@dataclass(slots=True)
class _Family:
    """Pairs of one form."""

    clusters: set[int] = field(default_factory=set)
    values: list[tuple[str, ...]] = field(default_factory=list)  # texts that the holes had
    before: list[list[str]] = field(default_factory=list)  # tokens that both URLs share
    after: list[list[str]] = field(default_factory=list)
    example: tuple[str, str] = ("", "")

    @property
    def support(self) -> int:
        """How many clusters show it; if only one does, how many of its members, without the first few."""
        return max(len(self.clusters), len(set(self.values)) - _FEW)


def cluster_rules(known: UrlList, least: int) -> list[LearnedRule]:
    """Return the rules that at least `least` clusters of copies show, or that many members of one cluster show, in no particular order."""
    families: defaultdict[tuple[_Form, _Form], _Family] = defaultdict(_Family)
    used = known.popularity
    for number, members in enumerate(_clusters(known)):
        urls = sorted((known.urls[i] for i in members), key=lambda url: (-used.get(origin(url), 0), shortlex(url)))[:_MOST_MEMBERS]
        for url in urls[1:]:
            _compare(url, urls[0], number, families)
    return [rule for forms, family in families.items() if family.support >= least for rule in _generalised(forms, family, least)]


def _clusters(known: UrlList) -> Iterator[Sequence[int]]:
    """Yield the positions of the members of each cluster of copies."""
    if known.texts is None:
        return
    labels = np.where(known.suggests, known.texts.labels, 0)
    order = np.argsort(labels, kind="stable")
    edges = np.flatnonzero(np.diff(labels[order])) + 1
    for members in np.split(order, edges):
        if members.size > 1 and labels[members[0]]:
            yield members.tolist()


def _compare(url: str, target: str, number: int, families: defaultdict[tuple[_Form, _Form], _Family]) -> None:
    """Put one pair into its family."""
    one, other = tokens(anchored(url)), tokens(anchored(target))
    n = common(one, other)
    m = common(one[n:][::-1], other[n:][::-1])
    n, m = max(0, n - 1), max(0, m - 1)
    source, changed = one[n : len(one) - m], other[n : len(other) - m]
    if max(len(source), len(changed)) > _MOST_CHANGED:
        return
    holes: dict[str, int] = {}
    for token in source:
        if _is_word(token):
            holes.setdefault(token, len(holes) + 1)
    if len(holes) > _MOST_HOLES:
        return
    form = tuple([holes.get(token, token) for token in source]), tuple([holes.get(token, token) for token in changed])
    family = families[form]
    family.clusters.add(number)
    family.values.append(tuple(holes))
    family.before.append(one[max(0, n - _MOST_CONTEXT) : n])
    family.after.append(one[len(one) - m : len(one) - m + _MOST_CONTEXT])
    family.example = family.example if family.example[0] else (url, target)


def _generalised(forms: tuple[_Form, _Form], family: _Family, least: int) -> Iterator[LearnedRule]:
    """Yield the rule of a family: literals where every pair had the same text, holes where they differ."""
    kinds: dict[int, str] = {}
    for i, values in enumerate(zip(*family.values, strict=True), 1):
        distinct = set(values)
        if len(distinct) == 1:
            kinds[i] = written(values[0])
        elif len(distinct) < least:
            return  # neither a literal nor a hole that may have any text
        else:
            kinds[i] = f"{{{'n' if all(value.isdigit() for value in distinct) else 'w'}{i}}}"
    before = _shared_end([context[::-1] for context in family.before])[::-1]
    after = _shared_end(family.after)
    source, target = ("".join((*map(written, before), *(_side(form, kinds)), *map(written, after))) for form in forms)
    if source != target:
        yield LearnedRule(
            rule=Substitution(source=source, target=target), source="cluster", support=family.support, examples=(family.example,)
        )


def _side(form: _Form, kinds: dict[int, str]) -> Iterator[str]:
    return (kinds[part] if isinstance(part, int) else written(part) for part in form)


def _shared_end(contexts: Iterable[list[str]]) -> list[str]:
    """Return what all contexts begin with."""
    shared: list[str] | None = None
    for context in contexts:
        shared = context if shared is None else shared[: common(shared, context)]
    return shared or []


def _is_word(token: str) -> bool:
    return token[0].isalnum() and token not in (START, END)
