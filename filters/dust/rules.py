r"""A rule: URLs of one form are aliases of URLs of another [BKS07, 3].

There are two kinds. A **substitution** exchanges a part of the URL, tokens for tokens: `story?id=` → `story_`. In its parts, ^ and $ are
the beginning and the end of the URL, `{w1}` is any one token of letters and digits, `{n2}` a number (on the other side they are the same
text again), and a backslash is put before ^ $ { } \ for the character itself. A **parameter rule** drops a parameter of the query, or sets
it to one value, either whatever its value was or only if it was `when`.

Both may be bound to a context: one host (`host`, with port), one page or directory (`path`; a directory ends in /), and parameters that are
in the same query (`having`), with any value or with this one. They may have exceptions (`unless`): contexts where they do not hold. What
surrounds the change within a substitution is context too.

A rule shrinks a URL when the result is earlier in shortlex order: fewer tokens, or as many and smaller as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
import xxhash

from thresher.crawler.core.url import hostname_of, site_of
from thresher.filters.dust.tokens import END, START, tokens

PlaceKind = Literal["host", "language", "path", "parameter"]
Standing = Literal["unproven", "likely", "valid", "invalid", "undecided", "withdrawn"]
UNJUDGED: Final = frozenset[Standing]({"unproven", "likely"})  # "likely": supported by the list of which it was mined, or given by hand

_MOST_DISSENT: Final = 0.02  # share of the pairs
_SPECIAL: Final = re.compile(r"([\\^${}])")
_PIECE: Final = re.compile(
    r"\\(?P<literal>[\\^${}])|(?P<start>\^)|(?P<end>\$)|\{(?P<kind>[nw])(?P<number>\d)\}|(?P<bad>[{}\\])|(?P<text>[^\\^${}]+)"
)
_HOST_ENDS: Final = re.compile("[/?#]")
_LANGUAGES: Final = re.compile(
    "ar|bg|ca|cs|da|de|el|en|eo|es|et|eu|fa|fi|fr|gl|he|hi|hr|hu|id|it|ja|ka|ko|lt|lv|ms|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sr|sv|th|tr|uk|vi|zh",
    re.IGNORECASE,
)


class RuleError(ValueError):
    """A rule that cannot be right; the message says what was found and what is expected."""


class Hole(msgspec.Struct, frozen=True, array_like=True):
    """Matches one token: of digits (`n`), or of letters and digits (`w`)."""

    kind: str
    number: int


class _Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    host: str = ""  # "a.example:8080"; "": any of the site
    path: str = ""  # "/docs/": in it or below; "/view.php": this page; "": any
    having: tuple[str, ...] = ()  # "action=login", "id=*": other parameters that must be there, with this value or with any
    unless: tuple[str, ...] = ()  # where it does not hold: "/docs/fr/", "a.example/docs/", "/view.php", or "lang=fr", "lang=*" in the query

    @property
    def name(self) -> str:
        """A short name that is the same for the same rule everywhere."""
        return xxhash.xxh3_64_hexdigest(msgspec.json.encode(self, order="deterministic"))[:12]

    def covers(self, url: str) -> bool:
        """Return whether the URL is in the context where the rule holds."""
        if not (self.host or self.path or self.having or self.unless):
            return True
        if not _has_all(url, self.having):
            return False
        host, path = place_of(url)
        if any(_lies_in(url, host, path, each) for each in self.unless):
            return False
        return (not self.host or host == self.host) and (
            not self.path or path == self.path or (self.path.endswith("/") and path.startswith(self.path))
        )


class Substitution(_Rule, frozen=True, kw_only=True, tag="substitution", rename={"source": "from", "target": "to"}):
    """Exchange tokens for tokens, at the first place where `source` occurs."""

    source: str
    target: str

    @property
    def readable(self) -> str:
        """The change with one token around it: `"story?id=" → "story_"`."""
        source, target, _, _ = self._changed(around=1)
        return f'"{source}" → "{target}"'

    @property
    def context(self) -> dict[str, str]:
        """What surrounds the change, and where it holds, as far as there is any."""
        _, _, before, after = self._changed(around=1)
        where = {"host": self.host, "path": self.path, "having": "&".join(self.having), "unless": " ".join(self.unless)}
        found = where | {"before": before, "after": after}
        return {name: value for name, value in found.items() if value}

    @property
    def place(self) -> PlaceKind:
        """Which part of the URL the rule changes."""
        source, target, before, _ = self._changed(around=0)
        if _LANGUAGES.fullmatch(source) and _LANGUAGES.fullmatch(target):
            return "language"
        lead = before.removeprefix("^").removeprefix("https:").removeprefix("http:")
        if lead.startswith("//"):
            if "/" not in lead[2:]:
                return "host"
        elif "//" in source or source.startswith(("http", "^http")):
            return "host"
        return "parameter" if set("?&") & set(before + source + target) else "path"

    def _changed(self, around: int) -> tuple[str, str, str, str]:
        """Return source and target without what they share, but for `around` tokens; and the rest of what they share, before and after."""
        source, target = _written_tokens(self.source), _written_tokens(self.target)
        n = _common(source, target)
        m = _common(source[n:][::-1], target[n:][::-1])
        n, m = max(0, n - around), max(0, m - around)
        end, stop = len(source) - m, len(target) - m
        return "".join(source[n:end]), "".join(target[n:stop]), "".join(source[:n]), "".join(source[end:])


class Parameter(_Rule, frozen=True, kw_only=True, tag="parameter"):
    """Drop a parameter of the query, or set its value."""

    name_: str = msgspec.field(name="name")  # "utm_*": all names that begin so
    to: str | None = None  # its value then; None: it is dropped
    when: str | None = None  # only where it has this value; None: whatever it is

    @property
    def readable(self) -> str:
        """The change: `"[?&]sid=*" → ""`."""
        target = "" if self.to is None else f"{self.name_}={self.to}"
        return f'"[?&]{self.name_}={"*" if self.when is None else self.when}" → "{target}"'

    @property
    def context(self) -> dict[str, str]:
        """Where it holds, if not everywhere."""
        found = {"host": self.host, "path": self.path, "having": "&".join(self.having), "unless": " ".join(self.unless)}
        return {name: value for name, value in found.items() if value}

    @property
    def place(self) -> PlaceKind:
        return "parameter"


Rule = Substitution | Parameter


class LearnedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule with the evidence for and against it."""

    rule: Rule
    source: str = ""  # phase that found it: substring, cluster, parameter, universal
    support: int = 0  # pairs of URLs of the list, or clusters of copies, that it explains
    agree: int = 0  # pairs whose pages were compared and are alike
    equal: int = 0  # pairs that agree word for word
    disagree: int = 0  # pairs whose pages differ, or of which the second is an error
    controls: int = 0  # compared pairs of pages that it does not join: see evidence.py
    controls_alike: int = 0
    standing: Standing = "likely"
    disabled: bool = False
    alarm: float = 0.0  # cumulative sum of the audits (alarm.py)
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def is_applied(self) -> bool:
        """Whether URLs are rewritten by it."""
        return self.standing == "valid" and not self.disabled

    @property
    def is_unjudged(self) -> bool:
        """Whether it was never judged."""
        return self.standing in UNJUDGED

    @property
    def is_clean(self) -> bool:
        """Whether hardly any compared pair disagrees, so that either page can stand for both."""
        return self.disagree <= _MOST_DISSENT * (self.agree + self.disagree)

    @property
    def is_settled(self) -> bool:
        """Whether mining does not change it any more: only audits and the operator do."""
        return self.standing in ("valid", "withdrawn") or self.disabled


def place_of(url: str) -> tuple[str, str]:
    """Return host (with port) and path of a URL."""
    begin = url.find("://") + 3 if "://" in url else 0
    found = _HOST_ENDS.search(url, begin)
    end = found.start() if found else len(url)
    return url[begin:end], url[end:].partition("?")[0] or "/"


def _lies_in(url: str, host: str, path: str, where: str) -> bool:
    """Return whether a URL lies in a directory or on a page, or has a parameter, as `unless` writes them."""
    at, slash, below = where.partition("/")
    if not slash or "=" in where:
        return _has_all(url, (where,))
    place = slash + below
    return at in ("", host) and (path.startswith(place) if place.endswith("/") else path == place)


def _has_all(url: str, wanted: Sequence[str]) -> bool:
    """Return whether the query has all of these parameters."""
    parts = url.partition("?")[2].split("&")
    return all(any(part.startswith(each[:-1]) for part in parts) if each.endswith("=*") else each in parts for each in wanted)


def site_named(url: str) -> str:
    """Return the registrable domain of a URL, even if the URL is not canonical."""
    return site_of(hostname_of(f"http://{place_of(url)[0].rpartition('@')[2].lower()}"))


def written(text: str) -> str:
    """Return tokens as a rule writes them: ^ and $ for beginning and end, a backslash before the characters themselves."""
    return _SPECIAL.sub(r"\\\1", text).replace(START, "^").replace(END, "$")


def pieces(text: str) -> list[str | Hole]:
    """Split one side of a substitution into literals, with ^ and $ as control characters, and holes.

    Raises:
        RuleError: If a hole is not written as one.
    """
    found: list[str | Hole] = []
    for match in _PIECE.finditer(text):
        if match["bad"]:
            raise RuleError(
                f"{text!r}: expected {{w1}} or {{n1}}, or a backslash before {match['bad']!r} where the character itself is meant"
            )
        if match["kind"]:
            found.append(Hole(match["kind"], int(match["number"])))
            continue
        literal = START if match["start"] else END if match["end"] else match["literal"] or match["text"]
        if found and isinstance(found[-1], str):
            found[-1] += literal
        else:
            found.append(literal)
    return found


def check(rule: Rule) -> None:
    """Check that a rule can be applied.

    Raises:
        RuleError: If it cannot.
    """
    if isinstance(rule, Parameter):
        if not rule.name_.rstrip("*") or set(rule.name_) & set("=&?#") or "*" in rule.name_[:-1]:
            raise RuleError(f"name: expected the name of a parameter, found {rule.name_!r}")
        return
    source, target = pieces(rule.source), pieces(rule.target)
    if rule.source == rule.target or not source:
        raise RuleError(f"from {rule.source!r} to {rule.target!r}: expected two different parts of a URL, the first not empty")
    for anchor, at in ((START, 0), (END, -1)):
        if _is_anchored(source, anchor, at) != _is_anchored(target, anchor, at):
            raise RuleError(f"from {rule.source!r} to {rule.target!r}: expected {'^' if anchor == START else '$'} on both sides or on none")
    if _holes(target) - _holes(source):
        raise RuleError(f"to {rule.target!r}: expected only holes that stand in from {rule.source!r}")


def reversed_rule(learned: LearnedRule) -> LearnedRule | None:
    """Return the rule in the other direction, None if it has none."""
    rule = learned.rule
    if not isinstance(rule, Substitution) or not rule.target:
        return None
    turned = msgspec.structs.replace(rule, source=rule.target, target=rule.source)
    try:
        check(turned)
    except RuleError:  # the target lacks a hole of the source
        return None
    return LearnedRule(rule=turned, source=learned.source, support=learned.support)


def shortlex(url: str) -> tuple[int, str]:
    """Return the key of the shortlex order: number of tokens, then the text."""
    return len(tokens(url)), url


def to_json(learned: LearnedRule, *, rank: int = 0, interval: tuple[float, float] | None = None) -> dict[str, Any]:
    """Return a learned rule as a JSON object: readable fields first, `definition` for machines."""
    rule = learned.rule
    found: dict[str, Any] = {"rule": rule.readable, "name": rule.name, "place": rule.place}
    if rank:
        found["rank"] = rank
    if rule.context:
        found["context"] = rule.context
    if interval is not None:
        found["interval"] = [round(bound, 4) for bound in interval]
    rest: dict[str, Any] = msgspec.to_builtins(learned)
    return found | {"definition": rest.pop("rule")} | rest


def from_json(value: Mapping[str, Any]) -> LearnedRule:
    """Decode what `to_json` wrote.

    Raises:
        RuleError: If the object is no rule.
    """
    if not isinstance(value, dict) or "definition" not in value:
        raise RuleError('expected an object with "definition", as `thresher dust mine` prints it')
    fields = set(LearnedRule.__struct_fields__) - {"rule"}
    try:
        learned = msgspec.convert({"rule": value["definition"]} | {name: value[name] for name in fields & value.keys()}, LearnedRule)
    except msgspec.ValidationError as error:
        raise RuleError(f"definition: {error}") from None
    check(learned.rule)
    return learned


def _written_tokens(text: str) -> list[str]:
    """Return the tokens of a written text, each as it is written."""
    found: list[str] = []
    for piece in pieces(text):
        found += [f"{{{piece.kind}{piece.number}}}"] if isinstance(piece, Hole) else [written(token) for token in tokens(piece)]
    return found


def _common(one: list[str], other: list[str]) -> int:
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return n


def _is_anchored(side: list[str | Hole], anchor: str, at: int) -> bool:
    """Return whether the side begins (`at` 0) or ends (-1) with the anchor.

    Raises:
        RuleError: If the anchor is at another place.
    """
    text = "".join(piece if isinstance(piece, str) else "x" for piece in side)
    if anchor in (text[1:] if at == 0 else text[:-1]):
        raise RuleError("expected ^ only at the beginning and $ only at the end; write \\^ and \\$ for the characters themselves")
    return bool(text) and text[at] == anchor


def _holes(side: Iterable[str | Hole]) -> set[int]:
    return {piece.number for piece in side if isinstance(piece, Hole)}
