"""Contexts: the parts of a site where a rule holds, if it does not hold everywhere.

A context is a host, a directory (or a single page, for parameters), another parameter in the query, or one value of it. If the pages of one
part of a site agree with a rule and those of another disagree, the rule is bound to contexts where it holds. They are learned as a decision
list [RIV87]: first the context with the most agreeing pairs and hardly any that disagrees, then the same among the pairs that are left. So
the rule is as wide as its evidence. A part of the site also counts against the rule if no URL that the rule leads to there is known,
although elsewhere many are (`dark`: there the rule may lead nowhere), or if most known pairs there disagree (`bad`).

A rule on many values of one position (a language, a branch, a session) that holds for most of them is one hypothesis with listed exceptions
(`excepted`): the context with the greatest share of disagreeing pairs is excluded, again and again, until hardly any pair disagrees
[DUSTER]. So all of its pairs count together, and it is valid as soon as they are enough. If more than a quarter of the values are
exceptions, nothing can be said of a new value: the rule is then bound to the values that are known.

A rule is valid only when no large part of its URLs is `uncharted`: in each part some pair must be known.

Contexts have numbers, and each URL is located once (`ContextTable`), so that the pairs of a rule are counted by context in arrays.

Time: 10 µs a URL located, 0.3 µs per instance and rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.filters.dust.rules import Parameter, Rule, place_of
from thresher.filters.dust.tokens import I64

_DEEPEST: Final = 4  # directories below the root
_LEAST_PAIRS: Final = 5
_MOST_DISSENT: Final = 0.02
_MOST_CHANCE: Final = 0.05
_LARGE: Final = 0.05  # share of the instances from which a part is large
_MOST_BOUND: Final = 12  # contexts of one rule
_MOST_TRIED: Final = 8  # contexts tried for one of them
_MOST_EXCEPTIONS: Final = 24
_LEAST_POOLED: Final = 0.5  # share of the known pairs that must agree outside the exceptions
_MOST_EXCEPTED: Final = 0.25  # share of the values of one position
_FEW_AGAINST: Final = 2  # fewer pairs that disagree are not attributed to a context

_Flags = npt.NDArray[np.bool_]


class Context(NamedTuple):
    """A part of a site; an empty field means any."""

    host: str = ""
    path: str = ""
    having: tuple[str, ...] = ()


Instances = Sequence[tuple[str, bool | None]]  # first URL, and whether the pages agree; None: the second is not known


def places(path: str) -> Iterator[str]:
    """Yield the directories of a page without the root, then the page itself."""
    at = path.find("/", 1)
    for _ in range(_DEEPEST):
        if at < 0 or at == len(path) - 1:
            break
        yield path[: at + 1]
        at = path.find("/", at + 1)
    yield path


class ContextTable:
    """The contexts of a list's URLs, by number."""

    def __init__(self) -> None:
        self.contexts: list[Context] = []
        self._numbers: dict[Context, int] = {}
        self._located: dict[tuple[str, bool, bool], I64] = {}
        self._hosts: dict[str, str] = {}

    def host(self, url: str) -> str:
        """Return the host of a URL, with port."""
        if url not in self._hosts:
            self._hosts[url] = place_of(url)[0]
        return self._hosts[url]

    def of(self, url: str, *, with_host: bool, with_page: bool) -> I64:
        """Return the contexts of a URL.

        Args:
            with_host: Whether the host is a context: only if there are several.
            with_page: Whether the page itself is one, although it is no directory.
        """
        asked = url, with_host, with_page
        if asked not in self._located:
            self._located[asked] = np.array([self._number(where) for where in _contexts(*asked)], dtype=np.int64)
        return self._located[asked]

    def _number(self, where: Context) -> int:
        if where not in self._numbers:
            self._numbers[where] = len(self.contexts)
            self.contexts.append(where)
        return self._numbers[where]


def _contexts(url: str, with_host: bool, with_page: bool) -> Iterator[Context]:
    host, path = place_of(url)
    pages = list(places(path))
    if with_host:
        yield Context(host)
    for place in pages if with_page or path.endswith("/") else pages[:-1]:
        yield Context(host if with_host else "", place)
    for part in url.partition("?")[2].split("&"):
        name, equals, _ = part.partition("=")
        if name and equals:
            yield Context(having=(part,))
            yield Context(having=(f"{name}=*",))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Instances of a rule and their contexts: one row for each instance and context."""

    agrees: npt.NDArray[np.int8]  # 1, 0, or -1: not known
    instance: I64  # of each row
    context: I64

    def __len__(self) -> int:
        return self.agrees.size

    @property
    def n_agree(self) -> int:
        return int((self.agrees == 1).sum())

    @property
    def n_disagree(self) -> int:
        return int((self.agrees == 0).sum())

    def within(self, wanted: _Flags) -> _Pairs:
        """Return some of the instances."""
        kept = wanted[self.instance]
        return _Pairs(self.agrees[wanted], (np.cumsum(wanted) - 1)[self.instance[kept]], self.context[kept])

    def lies_in(self, contexts: I64) -> _Flags:
        """Return which instances are in one of some contexts."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.instance[np.isin(self.context, contexts)]] = True
        return found

    def parts(self) -> _Parts:
        context, first, where = np.unique(self.context, return_index=True, return_inverse=True)
        word = self.agrees[self.instance]
        n, agree, disagree = (np.bincount(where[chosen], minlength=context.size) for chosen in (slice(None), word == 1, word == 0))
        return _Parts(context, first, n, agree, disagree)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The counts of pairs in each context."""

    context: I64
    first: I64  # row where it occurs first
    n: I64
    agree: I64
    disagree: I64

    def is_large(self, n_pairs: int) -> _Flags:
        return np.asarray(self.n >= max(_LEAST_PAIRS, _LARGE * n_pairs))

    @property
    def known(self) -> list[int]:
        """The contexts with a known pair."""
        found: list[int] = self.context[self.agree + self.disagree > 0].tolist()
        return found

    @property
    def is_bad(self) -> _Flags:
        return np.asarray(self.disagree > self.agree)

    @property
    def is_unknown(self) -> _Flags:
        return np.asarray(self.agree + self.disagree == 0)


def narrowed(rule: Rule, instances: Instances, atlas: ContextTable | None = None) -> list[Rule]:
    """Return the rule bound to each context where it holds; the rule itself if it holds everywhere, [] if nowhere."""
    words = {agrees for _, agrees in instances}
    if words <= {None} or words == {True}:
        return [rule]
    atlas = atlas or ContextTable()
    pairs = _paired(rule, instances, atlas)
    is_clean = _is_clean(pairs.n_agree, pairs.n_disagree, 1)
    if is_clean and _is_even(pairs, atlas):
        return [rule]
    if rule.host or rule.path:
        return [rule] if is_clean else []
    found: list[Context] = []
    while len(found) < _MOST_BOUND and (where := _widest(pairs, atlas)) is not None:
        found.append(atlas.contexts[where])
        pairs = pairs.within(~pairs.lies_in(np.array([where])))
    return [msgspec.structs.replace(rule, host=where.host, path=where.path, having=(*rule.having, *where.having)) for where in found]


def excepted(rule: Rule, instances: Instances, atlas: ContextTable | None = None) -> Rule | None:
    """Return the rule with exceptions where it does not hold; None if it holds everywhere, or in too few of the known pairs."""
    words = {agrees for _, agrees in instances}
    if not words >= {True, False}:
        return None
    atlas = atlas or ContextTable()
    pairs = _paired(rule, instances, atlas)
    n_known, without = int((pairs.agrees >= 0).sum()), list[Context]()
    seen = [atlas.contexts[where] for where in pairs.parts().known]
    while not _is_clean(pairs.n_agree, pairs.n_disagree, 1):
        where = _worst(pairs)
        if where is None or len(without) == _MOST_EXCEPTIONS:
            return None
        without.append(atlas.contexts[where])
        pairs = pairs.within(~pairs.lies_in(np.array([where])))
        if pairs.n_agree < _LEAST_POOLED * n_known:
            return None
    if not _are_few(without, seen):
        return None
    unless = (*rule.unless, *(_written(where) for where in without))
    return msgspec.structs.replace(rule, unless=unless) if without else None


def _are_few(exceptions: list[Context], seen: list[Context]) -> bool:
    """Return whether only a small share of the values of each position are exceptions."""
    positions, excepted_at = Counter(map(_position, seen)), Counter(map(_position, exceptions))
    return all(n <= _MOST_EXCEPTED * positions[position] for position, n in excepted_at.items())


def _position(where: Context) -> tuple[str, ...]:
    """Return the position of which a context is a value: for a parameter its name, for a directory or page its parent."""
    if where.having:
        return (where.having[0].partition("=")[0],)
    return (where.host, where.path.rstrip("/").rpartition("/")[0]) if where.path else ("",)


def _worst(pairs: _Pairs) -> int | None:
    """Return the context with the greatest share of disagreeing pairs, of equals the one with most pairs; None if none has several."""
    parts = pairs.parts()
    share = parts.disagree / np.maximum(1, parts.agree + parts.disagree)
    counts = parts.disagree >= _FEW_AGAINST
    order = np.lexsort((parts.first, -parts.disagree, -share))
    found = parts.context[order[counts[order]]]
    return int(found[0]) if found.size else None


def _written(where: Context) -> str:
    return "".join(where.having) or where.host + (where.path or "/")


def uncharted(rule: Rule, instances: Instances, atlas: ContextTable | None = None) -> list[int]:
    """Return the positions of instances in large parts of which no pair is known."""
    pairs = _paired(rule, instances, atlas or ContextTable())
    parts = pairs.parts()
    dark = parts.context[parts.is_large(len(pairs)) & parts.is_unknown]
    found: list[int] = np.flatnonzero(pairs.lies_in(dark)).tolist()
    return found


def is_bad_anywhere(rule: Rule, instances: Instances, atlas: ContextTable | None = None) -> bool:
    """Return whether most known pairs disagree in any large part."""
    pairs = _paired(rule, instances, atlas or ContextTable())
    parts = pairs.parts()
    return bool((parts.is_large(len(pairs)) & parts.is_bad).any())


def _paired(rule: Rule, instances: Instances, atlas: ContextTable) -> _Pairs:
    """Return the instances with their contexts: hosts only if there are several, and for a parameter's rule without that parameter."""
    with_host = len({atlas.host(url) for url, _ in instances}) > 1
    own = rule.name_.rstrip("*") if isinstance(rule, Parameter) else None
    rows = [atlas.of(url, with_host=with_host, with_page=own is not None) for url, _ in instances]
    agrees = np.array([-1 if agrees is None else agrees for _, agrees in instances], dtype=np.int8)
    instance = np.repeat(np.arange(len(rows)), [row.size for row in rows])
    context = np.concatenate([np.zeros(0, np.int64), *rows])
    if own is None:
        return _Pairs(agrees, instance, context)
    others = [where for where in np.unique(context).tolist() if not "".join(atlas.contexts[where].having).startswith(own)]
    kept = np.isin(context, others)
    return _Pairs(agrees, instance[kept], context[kept])


def _widest(pairs: _Pairs, atlas: ContextTable) -> int | None:
    """Return the context with most agreeing pairs in which the rule holds, of equals the first."""
    parts = pairs.parts()
    is_clean = (parts.n >= _LEAST_PAIRS) & (parts.agree >= _LEAST_PAIRS)
    is_clean &= parts.disagree <= _MOST_DISSENT * (parts.agree + parts.disagree)
    order = np.lexsort((parts.first, -parts.agree))
    for where in parts.context[order[is_clean[order]]][:_MOST_TRIED]:
        if _is_even(pairs.within(pairs.lies_in(np.array([where]))), atlas):
            return int(where)
    return None


def _is_clean(agree: int, disagree: int, fewest: int) -> bool:
    return agree >= fewest and disagree <= _MOST_DISSENT * (agree + disagree)


def _is_even(pairs: _Pairs, atlas: ContextTable) -> bool:
    """Return whether no directory or host is dark and no large part bad. Parameters are not tested: another rule may make them dark."""
    parts = pairs.parts()
    is_part = (parts.n >= _LEAST_PAIRS) & (parts.n < len(pairs))
    if (is_part & parts.is_large(len(pairs)) & parts.is_bad).any():
        return False
    is_place = is_part & np.array([not atlas.contexts[where].having for where in parts.context], dtype=np.bool_)
    n_known = int((pairs.agrees >= 0).sum())
    dark = parts.n[is_place & parts.is_unknown]
    return not _is_by_no_chance(dark, len(pairs), n_known, _MOST_CHANCE / max(1, int(is_place.sum())))


def _is_by_no_chance(dark: I64, n_pairs: int, n_known: int, chance: float) -> bool:
    """Return whether one of some parts has no known pair though by chance it would have some.

    Args:
        dark: How many instances each of the parts has.
        n_pairs: Instances of the rule.
        n_known: Known pairs among them.
        chance: Probability below which it is no chance.
    """
    return bool(((1 - n_known / (n_pairs - dark)) ** dark < chance).any())
