"""Contexts: where a rule holds if it does not hold everywhere.

A rule that pages agree with in one part of a site and disagree with in another is bound to the parts where it holds: the largest
directories (or hosts, or single pages for parameters) with enough pairs and hardly any that disagree, as a decision tree over host and
path would find them. A part of the site counts against it too where none of the URLs that it leads to is known, though elsewhere many are:
there it may lead nowhere. The rule is then as wide as its evidence and no wider.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from filters.dust.rules import Parameter, Rule, place_of

_DEEPEST: Final = 4  # directories below the root
_LEAST_PAIRS: Final = 5
_MOST_DISSENT: Final = 0.02
_MOST_CHANCE: Final = 0.01


class Context(NamedTuple):
    """A part of a site; "" for any."""

    host: str
    path: str


class Pair(NamedTuple):
    """One instance of a rule: where its first page lies, and whether its pages agree; None if the second is not known."""

    host: str
    path: str
    agrees: bool | None


def narrowed(rule: Rule, instances: Sequence[tuple[str, bool | None]]) -> list[Rule]:
    """Return the rule bound to each context where it holds; the rule itself if it holds everywhere, none if nowhere.

    instances: the first URL of each, and whether it agreed; None where the second page is not known.
    """
    pairs = [Pair(*place_of(url), agrees) for url, agrees in instances]
    if not pairs or all(pair.agrees is None for pair in pairs):
        return [rule]
    if _is_clean(pairs, 1) and not _is_dark_anywhere(pairs):
        return [rule]
    if rule.host or rule.path:
        return [rule] if _is_clean(pairs, 1) else []
    found = []
    hosts: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        hosts[pair.host].append(pair)
    for host, below in hosts.items():
        bound = host if len(hosts) > 1 else ""
        found += [Context(bound, path) for path in _clean_directories(below, "/", 0, is_page_allowed=isinstance(rule, Parameter))]
    return [msgspec.structs.replace(rule, host=host, path=path if path != "/" else "") for host, path in found]


def _clean_directories(pairs: Sequence[Pair], directory: str, depth: int, *, is_page_allowed: bool) -> list[str]:
    """Return the largest directories (and pages) below `directory` where nearly all pairs agree."""
    below = _below(pairs, directory)
    if _is_clean(pairs, _LEAST_PAIRS) and not _is_dark(pairs, below.values()):
        return [directory]
    if depth >= _DEEPEST or not any(pair.agrees for pair in pairs):
        return []
    found = []
    for name, some in below.items():
        if name.endswith("/") and name != directory:
            found += _clean_directories(some, name, depth + 1, is_page_allowed=is_page_allowed)
        elif is_page_allowed and name != directory and _is_clean(some, _LEAST_PAIRS):
            found.append(name)
    return found


def _below(pairs: Iterable[Pair], directory: str) -> dict[str, list[Pair]]:
    """Return the pairs by the next directory, or by their page where that lies in `directory` itself."""
    found: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        slash = pair.path.find("/", len(directory))
        found[pair.path[: slash + 1] if slash >= 0 else pair.path].append(pair)
    return found


def _is_clean(pairs: Sequence[Pair], fewest: int) -> bool:
    agree = sum(pair.agrees is True for pair in pairs)
    disagree = sum(pair.agrees is False for pair in pairs)
    return agree >= fewest and disagree <= _MOST_DISSENT * (agree + disagree)


def _is_dark_anywhere(pairs: Sequence[Pair]) -> bool:
    """Return whether a host, or a directory below the root, is dark."""
    hosts: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        hosts[pair.host].append(pair)
    return _is_dark(pairs, hosts.values()) or _is_dark(pairs, _below(pairs, "/").values())


def _is_dark(pairs: Sequence[Pair], parts: Iterable[Sequence[Pair]]) -> bool:
    """Return whether a part has no known pair though chance would have given it some: the rule may lead nowhere there."""
    known = sum(pair.agrees is not None for pair in pairs)
    for part in parts:
        if all(pair.agrees is None for pair in part):
            elsewhere = len(pairs) - len(part)
            if elsewhere and (1 - known / elsewhere) ** len(part) < _MOST_CHANCE:
                return True
    return False
