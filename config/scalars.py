"""Reads text as a number, switch or word, by the type of the option: YAML's own guesses (`NO` false, `12:30:00` 45000, `010` 8) never
apply.

    switch     true yes on · false no off, in any case
    number     2  2.5  1e-3  10_000; an option that is a count accepts whole numbers; no leading zero, no base, no infinity
    duration   seconds as a number, or number and unit, with a space or without: 500 ms · 10s · 10 min · 24h · 7 d
    size       bytes as a number, or number and unit, likewise: 10 B · 64KB (1000) · 64 KiB (1024) · MB MiB GB GiB TB TiB
    null       null  ~  none, unquoted, if the option may be without a value

Quotes around a number or word change nothing. Nearly right values ("2 sec", "10M", "1 hour") are refused with the value to write.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Literal, NamedTuple

Unit = Literal["", "seconds", "bytes"]

UNITS: dict[Unit, dict[str, float]] = {
    "": {},
    "seconds": {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400},
    "bytes": {
        "B": 1,
        **{letter + "B": 1000**power for power, letter in enumerate("KMGT", 1)},
        **{letter + "iB": 1024**power for power, letter in enumerate("KMGT", 1)},
    },
}
_NEARLY: dict[Unit, dict[str, float]] = {
    "": {},
    "seconds": {
        **dict.fromkeys(("sec", "secs", "second", "seconds"), 1),
        **dict.fromkeys(("m", "mins", "minute", "minutes"), 60),
        **dict.fromkeys(("hr", "hrs", "hour", "hours"), 3600),
        **dict.fromkeys(("day", "days"), 86400),
        **dict.fromkeys(("msec", "millisecond", "milliseconds"), 0.001),
    },
    "bytes": {
        **dict.fromkeys(("byte", "bytes"), 1),
        **{letter: 1024**power for power, letter in enumerate("kmgt", 1)},
        **{letter + "b": 1000**power for power, letter in enumerate("kmgt", 1)},
        **{letter + "ib": 1024**power for power, letter in enumerate("kmgt", 1)},
    },
}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*(?:_[0-9]+)*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_WITH_UNIT = re.compile(rf"({_DECIMAL.pattern})(\s*)([A-Za-z]+)")
_MAX_DIGITS = 40
_LARGE = 100_000  # a message names an upper bound of this size only if the value is above it

TRUE = frozenset({"true", "yes", "on"})
FALSE = frozenset({"false", "no", "off"})
NULLS = frozenset({"null", "~", "none"})


class MismatchError(Exception):
    """The text is not valid for the option. It has what was expected, and what to do ("": the caller gives an example)."""

    def __init__(self, expected: str, advice: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.advice = advice


class Range(NamedTuple):
    """The numbers that an option accepts."""

    whole: bool
    unit: Unit
    least: float | None = None
    above: float | None = None  # exclusive
    most: float | None = None

    def holds(self, value: float) -> bool:
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
        )

    def words(self, value: float | None = None) -> str:
        """Return a description of the range; a very large upper bound is named only if `value` is above it."""
        noun = f"a number of {self.unit}" if self.unit else "a whole number" if self.whole else "a number"
        if self.most is not None and value is not None and value > self.most >= _LARGE:
            return f"{noun} ≤ {self.most:.0f}"
        if self.least is not None and self.most is not None and self.most < _LARGE:
            return f"{noun} from {self.least:g} to {self.most:g}"
        if self.above is not None:
            return f"{noun} > {self.above:g}"
        return noun if self.least is None else f"{noun} ≥ {self.least:g}"


def switch(text: str) -> bool:
    """Read a yes or no.

    Raises:
        MismatchError: If it is neither.
    """
    word = text.lower()
    if word in TRUE or word in FALSE:
        return word in TRUE
    raise MismatchError("true or false", "Write true or false")


def word(text: str, words: tuple[str, ...]) -> str:
    """Read one of `words`.

    Raises:
        MismatchError: If it is none; it names the most similar one.
    """
    if text in words:
        return text
    near = get_close_matches(text[:40].lower(), words, 1)
    raise MismatchError(_alternatives(words), f"Write {near[0]}" if near else "Write one of these")


def number(text: str, of: Range) -> int | float:
    """Read a number, with a unit if the range has one.

    Raises:
        MismatchError: If it is not a number in the range.
    """
    value = _exact(text, of)
    if value is None:
        raise MismatchError(of.words(), _nearly(text, of))
    if not of.holds(value):
        raise MismatchError(of.words(value))
    return value


def _exact(text: str, of: Range) -> int | float | None:
    if len(text) > _MAX_DIGITS:
        return None
    if (_WHOLE if of.whole else _DECIMAL).fullmatch(text):
        return int(text) if of.whole else float(text)
    measured = _WITH_UNIT.fullmatch(text)
    if measured and measured[2] in ("", " ") and measured[3] in UNITS[of.unit]:
        return _scaled(measured[1], UNITS[of.unit][measured[3]], of)
    return None


def _nearly(text: str, of: Range) -> str:
    """Return advice with the value that was most likely meant, or ""."""
    if len(text) > _MAX_DIGITS:
        return ""
    measured = _WITH_UNIT.fullmatch(text.strip())
    if measured:
        scale = UNITS[of.unit].get(measured[3]) or _NEARLY[of.unit].get(measured[3].lower())
        value = _scaled(measured[1], scale, of) if scale else None
    else:
        value = _scaled(text.strip(), 1, of) if _DECIMAL.fullmatch(text.strip()) else None
    return f"Write {value}" if value is not None and of.holds(value) else ""


def _scaled(text: str, scale: float, of: Range) -> int | float | None:
    """Return text × scale; None if bytes or counts would not be whole numbers."""
    value = float(text) * scale
    if not of.whole:
        return round(value, 9)
    return int(value) if abs(value) < 1e18 and value == int(value) else None


def _alternatives(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
