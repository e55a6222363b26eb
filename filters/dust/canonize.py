"""Canonization: applies a site's rules to a URL, in their order, again and again until nothing changes [BKS07, 3.4].

One pass applies each rule once, at the first place where it fits. There are at most ten passes: a URL that still changes then is returned
as it was given, so that to canonize twice is the same as once. Rules that only shrink URLs need no such bound, since each change leads to a
URL that is earlier in shortlex order; rules that grow a URL may not pass `MAX_LENGTH`.

Time: 0.1 µs per rule that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from thresher.filters.dust.rules import Hole, Parameter, Rule, Substitution, pieces
from thresher.filters.dust.tokens import END, START, anchored, is_boundary

PASSES: Final = 10
MAX_LENGTH: Final = 2048
_CLASSES: Final = {"n": "[0-9]+", "w": "[0-9A-Za-z\x80-\U0010ffff]+"}

Step = Callable[[str], str]


class Canonized(NamedTuple):
    """The result of canonizing a URL."""

    url: str
    by: tuple[Rule, ...]  # rules that changed it, in order
    passes: int  # passes that changed anything

    @property
    def names(self) -> str:
        """The names of the rules that changed it, as an alias's record contains them."""
        return "+".join(dict.fromkeys(rule.name for rule in self.by))


class Canonizer:
    """The rules of one site, in order."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._steps = [(rule, applier(rule)) for rule in self.rules]

    def __call__(self, url: str) -> str:
        """Return the canonical URL."""
        return self.settle(url).url

    def settle(self, url: str) -> Canonized:
        """Canonize a URL; return the result with the rules that made it. A URL that does not settle is returned unchanged."""
        at, by = url, []
        for n in range(PASSES):
            before = at
            for rule, step in self._steps:
                changed = step(at)
                if changed != at:
                    by.append(rule)
                    at = changed
                if len(at) > MAX_LENGTH:
                    return Canonized(url, (), 0)
            if at == before:
                return Canonized(at, tuple(by), n)
        is_settled = all(step(at) == at for _, step in self._steps)
        return Canonized(at, tuple(by), PASSES) if is_settled else Canonized(url, (), 0)


def applier(rule: Rule) -> Step:
    """Return a function that applies a rule once; it returns a URL that the rule does not fit unchanged."""
    if isinstance(rule, Parameter):
        return lambda url: _set_parameter(rule, url)
    source, target = pieces(rule.source), pieces(rule.target)
    if any(isinstance(piece, Hole) for piece in source):
        return _by_pattern(rule, source, target)
    return _by_text(rule, "".join(map(str, source)), "".join(map(str, target)))


def _by_text(rule: Substitution, source: str, target: str) -> Step:
    plain = source.strip(START + END)

    def step(url: str) -> str:
        if plain not in url or not rule.covers(url):
            return url
        text = anchored(url)
        at = text.find(source)
        while at >= 0:
            if is_boundary(text, at) and is_boundary(text, at + len(source)):
                return _bare(text[:at] + target + text[at + len(source) :], url)
            at = text.find(source, at + 1)
        return url

    return step


def _by_pattern(rule: Substitution, source: Sequence[str | Hole], target: Sequence[str | Hole]) -> Step:
    seen: set[int] = set()
    parts = []
    for piece in source:
        if isinstance(piece, str):
            parts.append(re.escape(piece))
        elif piece.number in seen:
            parts.append(f"(?P=h{piece.number})")
        else:
            seen.add(piece.number)
            parts.append(f"(?P<h{piece.number}>{_CLASSES[piece.kind]})")
    pattern = re.compile("".join(parts))

    def step(url: str) -> str:
        if not rule.covers(url):
            return url
        text = anchored(url)
        match = pattern.search(text)
        while match:
            if _stands_at_boundaries(match, text):
                new = "".join(piece if isinstance(piece, str) else match[f"h{piece.number}"] for piece in target)
                return _bare(text[: match.start()] + new + text[match.end() :], url)
            match = pattern.search(text, match.start() + 1)
        return url

    return step


def _stands_at_boundaries(match: re.Match[str], text: str) -> bool:
    """Return whether the match and every hole in it consist of whole tokens."""
    return all(is_boundary(text, start) and is_boundary(text, end) for start, end in match.regs)


def _bare(text: str, otherwise: str) -> str:
    """Return the URL between ^ and $; `otherwise` if the change left no URL with a host and a path."""
    url = text[1:-1]
    host_at = url.find("://") + 3
    is_url = host_at > 2 and url.find("/", host_at) > host_at
    return url if is_url or "://" not in otherwise else otherwise


def _set_parameter(rule: Parameter, url: str) -> str:
    head, mark, query = url.partition("?")
    if not mark or rule.name_.rstrip("*") not in query or not rule.covers(url):
        return url
    parts = query.split("&")
    kept = [new for part in parts if (new := _part(rule, part)) is not None]
    if kept == parts:
        return url
    return f"{head}?{'&'.join(kept)}" if kept else head


def _part(rule: Parameter, part: str) -> str | None:
    name, _, value = part.partition("=")
    is_meant = name.startswith(rule.name_[:-1]) if rule.name_.endswith("*") else name == rule.name_
    if not is_meant or rule.when not in (None, value):
        return part
    return None if rule.to is None else f"{name}={rule.to}"
