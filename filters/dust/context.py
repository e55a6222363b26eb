"""Contexts: where a rule holds if it does not hold everywhere.

A context is a host, a directory (or a single page, for parameters), another parameter of the query that is there, or one value of it. A
rule that pages agree with in one part of a site and disagree with in another is bound to contexts where it holds, learnt as a decision list
[Rivest 1987]: the one with most agreeing pairs and hardly any that disagrees, then of the pairs that it leaves the next. The rule is
then as wide as its evidence and no wider: a part counts against it, too, where none of the URLs that it leads to is known though elsewhere
many are, since there it may lead nowhere (`dark`), and where all that is known disagrees (`bad`).

A rule is valid only when no large part of its URLs is `uncharted`: in each some pair is known.

Time: 10 µs per instance and context tried.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from filters.dust.rules import Parameter, Rule, place_of

_DEEPEST: Final = 4  # directories below the root
_LEAST_PAIRS: Final = 5
_MOST_DISSENT: Final = 0.02
_MOST_CHANCE: Final = 0.05
_LARGE: Final = 0.05  # share of the instances that makes a part a large one
_MOST_BOUND: Final = 12  # contexts of one rule
_MOST_TRIED: Final = 8  # contexts looked into for one of them


class Context(NamedTuple):
    """A part of a site; what is empty bounds nothing."""

    host: str = ""
    path: str = ""
    having: tuple[str, ...] = ()


class Pair(NamedTuple):
    """One instance of a rule: whether its pages agree, None if the second is not known, and the contexts where its first page lies."""

    agrees: bool | None
    contexts: tuple[Context, ...]


Parts = Mapping[Context, Sequence[Pair]]


def places(path: str) -> Iterator[str]:
    """Yield the directories that hold a page, but the root, and the page itself."""
    at = path.find("/", 1)
    for _ in range(_DEEPEST):
        if at < 0 or at == len(path) - 1:
            break
        yield path[: at + 1]
        at = path.find("/", at + 1)
    yield path


def narrowed(rule: Rule, instances: Sequence[tuple[str, bool | None]]) -> list[Rule]:
    """Return the rule bound to each context where it holds; the rule itself if it holds everywhere, none if nowhere.

    instances: the first URL of each, and whether it agreed; None where the second page is not known.
    """
    if len({agrees for _, agrees in instances} - {None}) == 0 or all(agrees for _, agrees in instances):
        return [rule]
    pairs = paired(rule, instances)
    if _is_clean(pairs, 1) and _is_even(pairs):
        return [rule]
    if rule.host or rule.path:
        return [rule] if _is_clean(pairs, 1) else []
    found: list[Context] = []
    while len(found) < _MOST_BOUND and (where := _widest(pairs)) is not None:
        found.append(where)
        pairs = [pair for pair in pairs if where not in pair.contexts]
    return [msgspec.structs.replace(rule, host=where.host, path=where.path, having=(*rule.having, *where.having)) for where in found]


def uncharted(rule: Rule, instances: Sequence[tuple[str, bool | None]]) -> list[int]:
    """Return instances of which no pair is known in one of the large parts where they lie."""
    pairs = paired(rule, instances)
    dark = {where for where, some in _parts(pairs).items() if _is_large(some, pairs) and all(pair.agrees is None for pair in some)}
    return [i for i, pair in enumerate(pairs) if not dark.isdisjoint(pair.contexts)]


def is_bad_anywhere(rule: Rule, instances: Sequence[tuple[str, bool | None]]) -> bool:
    """Return whether in a large part what is known mostly disagrees."""
    pairs = paired(rule, instances)
    return any(_is_bad(some) for some in _parts(pairs).values() if _is_large(some, pairs))


def paired(rule: Rule, instances: Sequence[tuple[str, bool | None]]) -> list[Pair]:
    """Return the instances with their contexts."""
    located = [place_of(url) for url, _ in instances]
    one_host = len({host for host, _ in located}) == 1
    own = rule.name_.rstrip("*") if isinstance(rule, Parameter) else None
    pairs = []
    for (url, agrees), (host, path) in zip(instances, located, strict=True):
        host = "" if one_host else host
        found = [] if one_host else [Context(host)]
        pages = list(places(path))
        found += [Context(host, place) for place in (pages if own is not None or path.endswith("/") else pages[:-1])]
        found += [Context(having=(field,)) for field in _fields(url) if own is None or not field.startswith(own)]
        pairs.append(Pair(agrees, tuple(found)))
    return pairs


def _fields(url: str) -> Iterator[str]:
    """Yield the parameters of a query as `having` writes them: with its value, and with any."""
    for part in url.partition("?")[2].split("&"):
        name, equals, _ = part.partition("=")
        if name and equals:
            yield from (part, f"{name}=*")


def _parts(pairs: Iterable[Pair]) -> Parts:
    found: defaultdict[Context, list[Pair]] = defaultdict(list)
    for pair in pairs:
        for where in pair.contexts:
            found[where].append(pair)
    return found


def _widest(pairs: Sequence[Pair]) -> Context | None:
    """Return the context with most agreeing pairs where the rule holds, of equals the first."""
    clean = [(where, some) for where, some in _parts(pairs).items() if len(some) >= _LEAST_PAIRS and _is_clean(some, _LEAST_PAIRS)]
    clean.sort(key=lambda part: -sum(pair.agrees is True for pair in part[1]))
    return next((where for where, some in clean[:_MOST_TRIED] if _is_even(some)), None)


def _is_clean(pairs: Sequence[Pair], fewest: int) -> bool:
    agree = sum(pair.agrees is True for pair in pairs)
    disagree = sum(pair.agrees is False for pair in pairs)
    return agree >= fewest and disagree <= _MOST_DISSENT * (agree + disagree)


def _is_even(pairs: Sequence[Pair]) -> bool:
    """Return whether no directory or host is dark and no large part bad. What a parameter makes dark may be another rule's doing."""
    parts = {where: some for where, some in _parts(pairs).items() if _LEAST_PAIRS <= len(some) < len(pairs)}
    if any(_is_large(some, pairs) and _is_bad(some) for some in parts.values()):
        return False
    n_known = sum(pair.agrees is not None for pair in pairs)
    places = [some for where, some in parts.items() if not where.having]
    return not any(_is_dark(some, pairs, n_known, _MOST_CHANCE / len(places)) for some in places)


def _is_dark(part: Sequence[Pair], pairs: Sequence[Pair], n_known: int, chance: float) -> bool:
    """Return whether a part has no known pair though chance would have given it some."""
    if any(pair.agrees is not None for pair in part):
        return False
    elsewhere = len(pairs) - len(part)
    return (1 - n_known / elsewhere) ** len(part) < chance


def _is_bad(part: Sequence[Pair]) -> bool:
    agree, disagree = (sum(pair.agrees is word for pair in part) for word in (True, False))
    return disagree > agree


def _is_large(part: Sequence[Pair], pairs: Sequence[Pair]) -> bool:
    return len(part) >= max(_LEAST_PAIRS, _LARGE * len(pairs))
