"""Phase 3: parameters of the query that change nothing [BKS07, full version; MaybeDont].

For each name two hypotheses: drop the parameter, set it to one value. What speaks for them are pairs of URLs of the list that differ in
this parameter alone: with it and without, or with two values. Without texts or sizes only popularity speaks. A hypothesis that does not
hold for the whole site is tried per page, per page and other parameter (`action=login`), and per value (`h=master`, the default).

Time: 5 µs per URL and parameter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from filters.dust.rules import LearnedRule, Parameter, place_of
from filters.dust.urllist import UrlList

_MOST_PARAMETERS: Final = 12  # of a URL that is looked at
_MOST_DISSENT: Final = 0.05
_MOST_VALUES: Final = 5  # of a parameter tried one by one
_MOST_OTHERS: Final = 8  # other parameters of a page that are tried as context


class _Use(NamedTuple):
    """One parameter of one URL."""

    at: int
    value: str
    page: str  # host and path
    others: tuple[str, ...]  # the rest of the query


@dataclass(slots=True)
class _Count:
    """Pairs for and against: without the parameter, and with another value."""

    bare: list[int] = field(default_factory=lambda: [0, 0])  # disagree, agree
    values: list[int] = field(default_factory=lambda: [0, 0])
    unknown: int = 0  # pairs of which nothing is known

    def add(self, kind: list[int], agrees: bool | None) -> None:
        if agrees is None:
            self.unknown += 1
        else:
            kind[agrees] += 1

    @property
    def agree(self) -> int:
        return self.bare[1] + self.values[1]

    def holds(self, least: int) -> bool:
        """Return whether enough pairs agree and hardly any does not."""
        disagree = self.bare[0] + self.values[0]
        if not self.agree and not disagree:
            return self.unknown >= least
        return self.agree >= least and disagree <= _MOST_DISSENT * (self.agree + disagree)

    def drops(self) -> bool:
        """Return whether the URL without the parameter may be the canonical one."""
        return self.bare[0] <= _MOST_DISSENT * sum(self.bare)


def parameter_rules(known: UrlList, least: int) -> list[LearnedRule]:
    """Return likely parameter rules that at least `least` pairs speak for, in no particular order."""
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
        if not mark or not known.is_good[i] or len(parts) > _MOST_PARAMETERS:
            continue
        for at, part in enumerate(parts):
            name, equals, value = part.partition("=")
            if name and equals:
                found[name].append(_Use(i, value, head, (*parts[:at], *parts[at + 1 :])))
    return dict(found)


def _of_name(known: UrlList, name: str, uses: list[_Use], least: int) -> Iterator[LearnedRule]:
    """Yield the widest rules on one parameter that hold."""
    pairs = list(_pairs(known, uses))
    whole = _count(pairs)
    if whole.holds(least):
        yield from _rules(name, uses, whole, least)
        return
    yield from _of_values(name, pairs, least)
    pages: defaultdict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        pages[pair.use.page].append(pair)
    one_host = len({place_of(page)[0] for page in pages}) == 1
    for page, some in pages.items():
        host, path = place_of(page)
        where = ("" if one_host else host, path)
        count = _count(some)
        if count.holds(least):
            yield from _rules(name, [pair.use for pair in some], count, least, where)
        else:
            yield from _of_others(name, some, where, least)


def _of_values(name: str, pairs: list[_Pair], least: int) -> Iterator[LearnedRule]:
    """Yield rules that drop a parameter where it has its default value."""
    popular = Counter(pair.use.value for pair in pairs if pair.is_bare).most_common(_MOST_VALUES)
    for value, n in popular:
        count = _count([pair for pair in pairs if pair.is_bare and pair.use.value == value])
        if n >= least and count.holds(least):
            yield LearnedRule(rule=Parameter(name_=name, when=value), source="parameter", support=count.agree)


def _of_others(name: str, pairs: list[_Pair], where: tuple[str, str], least: int) -> Iterator[LearnedRule]:
    """Yield rules that hold where another parameter has one value."""
    others = Counter(other for pair in pairs for other in pair.use.others)
    for other, n in others.most_common(_MOST_OTHERS):
        some = [pair for pair in pairs if other in pair.use.others]
        count = _count(some)
        if n >= least and count.holds(least):
            for learned in _rules(name, [pair.use for pair in some], count, least, where):
                rule = learned.rule
                assert isinstance(rule, Parameter)
                bound = Parameter(name_=name, to=rule.to, having=(other,), host=rule.host, path=rule.path)
                yield LearnedRule(rule=bound, source="parameter", support=learned.support)


class _Pair(NamedTuple):
    """A use of a parameter beside the same URL without it, or with another value."""

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


def _rules(name: str, uses: list[_Use], count: _Count, least: int, where: tuple[str, str] = ("", "")) -> Iterator[LearnedRule]:
    """Yield the two hypotheses; which of them is right is for the validation."""
    support, (host, path) = count.agree or count.unknown, where
    if count.drops():
        yield LearnedRule(rule=Parameter(name_=name, host=host, path=path), source="parameter", support=support)
    set_support = count.values[1] if count.agree else count.unknown
    if set_support >= least:
        value = Counter(use.value for use in uses).most_common(1)[0][0]
        rule = Parameter(name_=name, to=value, host=host, path=path)
        yield LearnedRule(rule=rule, source="parameter", support=set_support)
