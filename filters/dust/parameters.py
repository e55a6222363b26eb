"""Phase 3: parameters of the query that change nothing [BKS07, full version; MaybeDont].

Each name gives two hypotheses: drop the parameter, or set it to one value. The evidence is pairs of URLs of the list that differ in this
parameter alone: with it and without, or with two values. If neither texts nor sizes are known, only popularity counts.

If a hypothesis does not hold for the whole site, a decision list is learned [RIV87]. Contexts are a directory, a page, another parameter
with any value or with one (`action=login`), and the parameter's own value (`h=master`, the default). The context that holds for most pairs
is taken first, then the same among the pairs that are left.

Time: 5 µs per URL and parameter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from thresher.filters.dust.context import places
from thresher.filters.dust.rules import LearnedRule, Parameter, place_of
from thresher.filters.dust.urllist import UrlList

_MOST_PARAMETERS: Final = 12  # parameters of a URL that is looked at
_MOST_DISSENT: Final = 0.05
_MOST_VALUES: Final = 5  # values of a parameter that are tried one by one
_MOST_OTHERS: Final = 50  # values of other parameters that are tried as context
_MOST_CONTEXTS: Final = 12  # contexts of one parameter
_UNKNOWN: Final = 2  # index in a count


class _Use(NamedTuple):
    """One parameter of one URL."""

    at: int
    value: str
    page: str  # host and path
    others: tuple[str, ...]  # the rest of the query


@dataclass(slots=True)
class _Count:
    """Pairs without the parameter, and pairs with another value: how many disagree, agree, and are not known."""

    bare: list[int] = field(default_factory=lambda: [0, 0, 0])
    values: list[int] = field(default_factory=lambda: [0, 0, 0])

    def add(self, kind: list[int], agrees: bool | None) -> None:
        kind[_UNKNOWN if agrees is None else agrees] += 1

    def for_dropping(self, least: int) -> int:
        """Return how many pairs are evidence for dropping the parameter, 0 if there are too few or too many against it."""
        if self.bare[0] > _MOST_DISSENT * (self.bare[0] + self.bare[1]):
            return 0
        both = _support([bare + values for bare, values in zip(self.bare, self.values, strict=True)], least)
        return min(both, max(self.bare[1], self.values[1]) or both)

    def for_setting(self, least: int) -> int:
        """Return how many pairs are evidence for one value, whatever the page without the parameter shows."""
        return _support(self.values, least)


def _support(pairs: list[int], least: int) -> int:
    disagree, agree, unknown = pairs
    if not agree and not disagree:
        return unknown if unknown >= least else 0
    return agree if agree >= least and disagree <= _MOST_DISSENT * (agree + disagree) else 0


def parameter_rules(known: UrlList, least: int) -> list[LearnedRule]:
    """Return likely parameter rules with at least `least` pairs as evidence, in no particular order."""
    found: list[LearnedRule] = []
    for name, uses in _uses(known).items():
        if len(uses) >= least:
            found += _of_name(known, name, uses, least)
    return found


def _uses(known: UrlList) -> dict[str, list[_Use]]:
    found: defaultdict[str, list[_Use]] = defaultdict(list)
    for i, url in enumerate(known.urls):
        head, mark, query = url.partition("?")
        parts = query.split("&")
        if not mark or not known.suggests[i] or len(parts) > _MOST_PARAMETERS:
            continue
        for at, part in enumerate(parts):
            name, equals, value = part.partition("=")
            if name and equals:
                found[name].append(_Use(i, value, head, (*parts[:at], *parts[at + 1 :])))
    return dict(found)


class _Where(NamedTuple):
    """A context: where a rule on a parameter may hold."""

    host: str = ""
    path: str = ""
    when: str | None = None  # the parameter's own value
    having: tuple[str, ...] = ()

    @property
    def n_bounds(self) -> int:
        return sum(map(bool, (self.host, self.path, self.when is not None, self.having)))


def _of_name(known: UrlList, name: str, uses: list[_Use], least: int) -> Iterator[LearnedRule]:
    """Yield the widest rules on one parameter that hold: first the context with most pairs, then the same among the pairs that are left."""
    pairs = list(_pairs(known, uses))
    for _ in range(_MOST_CONTEXTS):
        if sum(pair.agrees is not False for pair in pairs) < least:
            return
        found = _widest(pairs, least)
        if found is None:
            return
        where, some = found
        yield from _rules(name, some, where, least)
        held = set(map(id, some))
        pairs = [pair for pair in pairs if id(pair) not in held]


def _widest(pairs: list[_Pair], least: int) -> tuple[_Where, list[_Pair]] | None:
    """Return the context with most pairs in which the rule holds, of equals the plainest, and its pairs; None if there is none."""
    whole = _count(pairs)
    if whole.for_dropping(least) or whole.for_setting(least):
        return _Where(), pairs
    by_context: defaultdict[_Where, list[_Pair]] = defaultdict(list)
    for pair, contexts in zip(pairs, _contexts(pairs, least), strict=True):
        for where in contexts:
            by_context[where].append(pair)
    best, best_rank = None, (0, 0)
    for where, some in by_context.items():
        if len(some) < max(least, best_rank[0]):
            continue
        count = _count(some)
        support = max(count.for_dropping(least), 0 if where.when is not None else count.for_setting(least))
        rank = support, -where.n_bounds
        if support and rank > best_rank:
            best, best_rank = (where, some), rank
    return best


def _contexts(pairs: list[_Pair], least: int) -> Iterator[list[_Where]]:
    """Yield the contexts of each pair: the parameter's value, another parameter or its value, directories, the page, page and value."""
    values = {value for value, n in Counter(pair.use.value for pair in pairs if pair.is_bare).most_common(_MOST_VALUES) if n >= least}
    others = [other for other, n in Counter(other for pair in pairs for other in pair.use.others).most_common(_MOST_OTHERS) if n >= least]
    one_host = len({place_of(pair.use.page)[0] for pair in pairs}) == 1
    for pair in pairs:
        host, path = place_of(pair.use.page)
        host = "" if one_host else host
        found = [_Where(host, place) for place in places(path)]
        found += [_Where(having=(f"{name}=*",)) for name in dict.fromkeys(other.partition("=")[0] for other in pair.use.others) if name]
        for other in (other for other in others if other in pair.use.others):
            found += [_Where(having=(other,)), _Where(host, path, having=(other,))]
        if pair.is_bare and pair.use.value in values:
            found.append(_Where(when=pair.use.value))
        yield found


class _Pair(NamedTuple):
    """A URL with a parameter, and the same URL without it or with another value."""

    use: _Use
    is_bare: bool
    agrees: bool | None


def _pairs(known: UrlList, uses: list[_Use]) -> Iterator[_Pair]:
    first: dict[tuple[str, tuple[str, ...]], _Use] = {}
    for use in uses:
        rest = (use.page, use.others)
        bare = known.index.get(f"{use.page}?{'&'.join(use.others)}" if use.others else use.page)
        if bare is not None:
            yield _Pair(use, True, known.alike(use.at, bare))
        earlier = first.setdefault(rest, use)
        if earlier is not use and earlier.value != use.value:
            yield _Pair(use, False, known.alike(earlier.at, use.at))


def _count(pairs: list[_Pair]) -> _Count:
    count = _Count()
    for pair in pairs:
        count.add(count.bare if pair.is_bare else count.values, pair.agrees)
    return count


def _rules(name: str, pairs: list[_Pair], where: _Where, least: int) -> Iterator[LearnedRule]:
    """Yield the two hypotheses; the validation decides which is right."""
    count = _count(pairs)
    bound = Parameter(name_=name, host=where.host, path=where.path, when=where.when, having=where.having)
    if support := count.for_dropping(least):
        yield LearnedRule(rule=bound, source="parameter", support=support)
    if where.when is None and (support := count.for_setting(least)):
        value = Counter(pair.use.value for pair in pairs).most_common(1)[0][0]
        yield LearnedRule(rule=msgspec.structs.replace(bound, to=value), source="parameter", support=support)
