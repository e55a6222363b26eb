"""The patterns of a URL, from its most specific form to its path with parameter names only. Pure; knows no filter and no memory.

    http://f.example/forum/index.php?topic=12.0&action=login
    f.example/forum/index.php?action=login&topic=<n>.<n>      values as they are, numbers and rare words generalised
    f.example/forum/index.php?action=*&topic=*                parameter names only
    f.example/<w>/index.php?action=*&topic=*                  and only the commonest segments of the path

A value is a number, a hash, a rare word or a literal. Runs of digits become <n> wherever they stand ("thread-<n>-<n>.html"), 7 to 64 hex
digits with a letter among them, or a UUID, become <h>. What is left are words: a word seen often at its place (path segment 3, parameter
"action") is a literal, any other becomes <w>; it keeps its file extension, and a prefix with a colon that is itself seen often
("Talk:<w>"). `<` stands in no canonical URL, so that no literal reads like a class. Parameters are sorted by name.

How often a word is seen is the caller's knowledge (`count`): filters/pattern_yield/vocabulary.py counts in bounded space.
Differs from a pattern tree learned top-down from all URLs of a site [Lei et al., WWW 2010] in that a URL's patterns are known at once, from
counts alone: what an inline filter needs. Time: 3 to 5 µs per URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import xxhash

from crawler.core.url import queue_name

NUMBER = "<n>"
HASH = "<h>"
WORD = "<w>"
LITERAL = 8  # times that a word is seen before it is a literal
COMMON = 64  # times before it is one in the coarsest form too

_HEX = re.compile(r"[0-9a-fA-F]{7,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGITS = re.compile(r"\d+")
_DIGITS_OR_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|\d+")
_WORDY = re.compile(r"[^\W\d_]|%")
_COLON = re.compile(r":|%3[Aa]")
_LONGEST_NUMBER = 18  # digits of it that count for its magnitude

Count = Callable[[int], int]


class Value(NamedTuple):
    """A path segment or parameter value, digits and hashes generalised."""

    text: str
    word: int  # hash of the word at its place, 0 if it is none: a number, a hash, ""
    prefix: str = ""  # "Talk:"
    prefix_word: int = 0
    suffix: str = ""  # ".html"


class Parts(NamedTuple):
    """What patterns are made of."""

    host: str  # its queue's name: http, https, www and bare of a name are one
    path: tuple[Value, ...]
    params: tuple[tuple[str, Value], ...]  # by name
    magnitude: int  # bits of the largest number in path and query: how far an enumeration has come

    def words(self) -> list[int]:
        """Return the hashes of the words and prefixes, for counting."""
        found = [value.word for value in self.path if value.word]
        found += [value.word for _, value in self.params if value.word]
        found += [value.prefix_word for value in self.path if value.prefix_word]
        found += [value.prefix_word for _, value in self.params if value.prefix_word]
        return found


def parse(url: str, origin: str) -> Parts:
    """Take a canonical URL apart; `origin` is its scheme and authority."""
    path, _, query = url[len(origin) :].partition("?")
    host = queue_name(origin)
    segments = path[1:].split("/")
    last = len(segments) - 1
    values = tuple([_value(segment, f"{host} {i}", is_file=i == last) for i, segment in enumerate(segments)])
    params: list[tuple[str, Value]] = []
    if query:
        for field in query.split("&"):
            name, _, value = field.partition("=")
            name = _shape(name)
            params.append((name, _value(value, f"{host}?{name}")))
        params.sort()
    numbers = _DIGITS.findall(url, len(origin))
    magnitude = max([int(number[:_LONGEST_NUMBER]) for number in numbers], default=0).bit_length()
    return Parts(host, values, tuple(params), magnitude)


def forms(parts: Parts, count: Count, *, literal: int = LITERAL, common: int = COMMON) -> list[str]:
    """Return the patterns of a URL, the most specific first, each once. count: hash of a word → times it was seen."""
    path = "/".join([_spell(value, count, literal) for value in parts.path])
    coarse = "/".join([_spell(value, count, common) for value in parts.path])
    if not parts.params:
        found = [path, coarse]
    else:
        values = "&".join([f"{name}={_spell(value, count, literal)}" for name, value in parts.params])
        names = "&".join([f"{name}=*" for name, _ in parts.params])
        found = [f"{path}?{values}", f"{path}?{names}", f"{coarse}?{names}"]
    return [f"{parts.host}/{form}" for form in dict.fromkeys(found)]


def _spell(value: Value, count: Count, least: int) -> str:
    if not value.word or count(value.word) >= least:
        return value.text
    if value.prefix_word and count(value.prefix_word) >= least:
        return f"{value.prefix}{WORD}{value.suffix}"
    return WORD + value.suffix


def _value(text: str, place: str, *, is_file: bool = False) -> Value:
    """Generalise one value; `place` names where it stands, so that a word is counted there alone."""
    shape = _shape(text)
    if shape in ("", NUMBER, HASH) or not _WORDY.search(shape.replace(NUMBER, "")):
        return Value(shape, 0)
    prefix, prefix_word = "", 0
    if colon := _COLON.search(shape):
        prefix = shape[: colon.end()]
        prefix_word = _hash(f"{place} {prefix}")
    return Value(shape, _hash(f"{place} {shape}"), prefix, prefix_word, _extension(shape) if is_file else "")


def _shape(text: str) -> str:
    """Replace a hash by its class, and every number in what is none."""
    if not text or text.isalpha():
        return text
    if text.isdigit():
        return NUMBER
    if _HEX.fullmatch(text):
        return HASH
    if "%" in text:
        return _DIGITS_OR_ESCAPE.sub(lambda found: found[0] if found[0][0] == "%" else NUMBER, text)
    return _DIGITS.sub(NUMBER, text)


def _extension(shape: str) -> str:
    """Return the file extension with its dot, "" if there is none."""
    stem, dot, extension = shape.rpartition(".")
    return dot + extension if stem and 0 < len(extension) <= 5 and extension.isalnum() else ""


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode()) or 1
