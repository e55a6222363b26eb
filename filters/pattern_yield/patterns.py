"""The patterns of a URL, from the most specific one to the one with parameter names only. Pure; knows no filter and no memory.

    http://f.example/forum/index.php?topic=12.0&action=login
    f.example/forum/index.php?action=login&topic=<n>.<n>      words as they are, numbers and rare words generalised
    f.example/forum/index.php?action=<w>&topic=<n>.<n>        only the commonest values
    f.example/forum/index.php?action=*&topic=*                parameter names only
    f.example/<w>/index.php?action=*&topic=*                  and only the commonest segments of the path

A value is a number, a hash, a rare word or a literal. Each run of digits becomes <n> ("thread-<n>-<n>.html"). 7 to 64 hex digits with a
letter among them, or a UUID, become <h>. The rest are words: a word that was seen often at its place (path segment 3, parameter "action")
is a literal, any other becomes <w>. A <w> keeps its file extension, and a prefix with a colon that was itself seen often ("Talk:<w>"). No
canonical URL contains `<` or `>`, so no literal looks like a class. Parameters are sorted by name.

A word of 64 letters and more, escaped ones counted once, is hardly a name: it carries a state, such as what is unfolded or where to
return to, and grows with what it carries. So such words are a class for each doubling of that length, `<w>>`, `<w>>>`: pages with hardly
any state and pages with much of it are not judged by each other.

A word that ends in an ellipsis is a class too, `<w>...`: whoever wrote the link shortened a name to show it, and what has the name whole
does not answer to it.

The caller counts how often a word was seen (`count`): filters/pattern_yield/vocabulary.py does so in bounded space. [LEI10] learns a tree
of patterns top-down from all URLs of a site; here the patterns of one URL follow from counts alone, as a filter needs while a crawl runs.

Time: 10 to 15 µs per URL, 3 µs for one that differs from an earlier URL in digits alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import xxhash

from thresher.crawler.core.query import fields_of
from thresher.crawler.core.url import queue_name

NUMBER = "<n>"
HASH = "<h>"
WORD = "<w>"
LITERAL = 8  # times that a word was seen from which it is a literal
COMMON = 64  # times from which it is a literal in the coarser patterns too
_LONG = 64  # letters: as the longest hash has, and hardly a name

_HEX = re.compile(r"[0-9a-fA-F]{7,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGITS = re.compile(r"\d+")
_DIGITS_OR_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|\d+")
_WORDY = re.compile(r"[^\W\d_]|%")
_ELLIPSES = ("...", "%E2%80%A6")
_COLON = re.compile(r":|%3[Aa]")

_NO_DIGITS = {ord(digit): "0" for digit in "123456789"}
_U64 = (1 << 64) - 1
CACHE_URLS = 4_096
CACHE_HOSTS = 1_024
CACHE_FORMS = 256

Count = Callable[[int], int]


class Value(NamedTuple):
    """A path segment or parameter value, with digits and hashes generalised."""

    text: str
    word: int  # hash of the word at its place, 0 if it is a number, a hash or ""
    prefix: str = ""  # "Talk:"
    prefix_word: int = 0
    suffix: str = ""  # ".html" or "..."


_A_NUMBER = Value(NUMBER, 0)


class Parts(NamedTuple):
    """What patterns are made of."""

    host: str  # name of its host queue: one for http, https, www and bare of a name
    path: tuple[Value, ...]
    params: tuple[tuple[str, Value], ...]  # by name
    hashes: tuple[int, ...]  # of the words and prefixes
    spelled: dict[tuple[int, ...], list[str]]  # patterns by how common each word is; a cache, filled by `forms`

    def words(self) -> tuple[int, ...]:
        """Return the hashes of the words and prefixes, for counting."""
        return self.hashes


def parse(url: str, origin: str) -> Parts:
    """Split a canonical URL into parts; URLs that differ in digits alone are split once.

    Args:
        origin: Scheme and authority of the URL.
    """
    return _parse(url if "%" in url else url[: len(origin)] + url[len(origin) :].translate(_NO_DIGITS), origin)


@lru_cache(maxsize=CACHE_URLS)
def _parse(url: str, origin: str) -> Parts:
    return _split(_name_of(origin), url[len(origin) + 1 :])


@lru_cache(maxsize=CACHE_FORMS)
def parts_of(form: str) -> Parts:
    """Split a pattern into parts: those of its URLs, with what it generalises in place of their words."""
    host, _, rest = form.partition("/")
    return _split(host, rest)


def _split(host: str, rest: str) -> Parts:
    """Split what follows the host and its slash."""
    path, _, query = rest.partition("?")
    seed = _seed(host)
    segments = path.split("/")
    last = len(segments) - 1
    values = tuple([_value(segment, seed + i, is_file=i == last) for i, segment in enumerate(segments)])
    params: list[tuple[str, Value]] = []
    if query:
        for field in fields_of(query):
            name, equals, value = field.partition("=")
            name, value = (_shape(name), value) if equals else ("", field)
            params.append((name, _value(value, xxhash.xxh3_64_intdigest(name.encode(), seed))))
        params.sort()
    every = (*values, *[value for _, value in params])
    words = [value.word for value in every if value.word] + [value.prefix_word for value in every if value.prefix_word]
    return Parts(host, values, tuple(params), tuple(words), {})


_name_of = lru_cache(maxsize=CACHE_HOSTS)(queue_name)  # the name of a host in patterns


@lru_cache(maxsize=CACHE_HOSTS)
def _seed(host: str) -> int:
    """Return the seed for the hashes of a host's words."""
    return xxhash.xxh3_64_intdigest(host.encode()) >> 1


def forms(parts: Parts, count: Count, *, literal: int = LITERAL, common: int = COMMON) -> list[str]:
    """Return the patterns of a URL, the most specific first. The list must not be changed.

    Args:
        count: Returns how often the word of a hash was seen.
        literal: Times seen from which a word is a literal.
        common: Times seen from which it is one in the coarser patterns too.
    """
    grades = tuple([(n >= literal) + (n >= common) for n in map(count, parts.hashes)])
    found = parts.spelled.get(grades)
    if found is None:
        found = parts.spelled[grades] = _spell_all(parts, dict(zip(parts.hashes, grades, strict=True)))
    return found


def spelled(parts: Parts) -> str:
    """Return a URL's pattern with every word as it is: `parts_of` makes its parts of it again, when other words are known."""
    return forms(parts, lambda _: LITERAL)[0]


def more_general(form: str, count: Count) -> Iterator[str]:
    """Yield the patterns that URLs of a pattern had before words of it became literals, the latest first: none for words known for long."""
    parts = parts_of(form)
    for n in sorted({n for n in map(count, parts.hashes) if LITERAL <= n < 2 * LITERAL}):
        yield forms(parts, count, literal=n + 1)[0]


def shape_of(url: str, origin: str) -> str:
    """Return the coarsest pattern of a canonical URL; it does not depend on which words are common."""
    return forms(parse(url, origin), lambda _: 0)[-1]


def _spell_all(parts: Parts, grades: dict[int, int]) -> list[str]:
    path = "/".join([_spell(value, grades, 1) for value in parts.path])
    coarse = "/".join([_spell(value, grades, 2) for value in parts.path])
    if not parts.params:
        found = [path, coarse]
    else:
        values, common = ("&".join([f"{name}={_spell(value, grades, least)}" for name, value in parts.params]) for least in (1, 2))
        names = "&".join([f"{name}=*" for name, _ in parts.params])
        found = [f"{path}?{values}", f"{path}?{common}", f"{path}?{names}", f"{coarse}?{names}"]
    return [f"{parts.host}/{form}" for form in dict.fromkeys(found)]


def _spell(value: Value, grades: dict[int, int], least: int) -> str:
    if not value.word or grades[value.word] >= least:
        return value.text
    if value.prefix_word and grades[value.prefix_word] >= least:
        return f"{value.prefix}{_word(value.text)}{value.suffix}"
    return _word(value.text) + value.suffix


def _word(text: str) -> str:
    """Return the class of a word, with a `>` for each doubling that makes it long; the text may be a class of a pattern already."""
    marks = text.count(">") - text.count("<")
    if not marks and len(text) >= _LONG:
        marks = (len(unquote(text)) // _LONG).bit_length()
    return WORD + ">" * marks


def _value(text: str, place: int, *, is_file: bool = False) -> Value:
    """Generalise one value.

    Args:
        place: Seed of the hash, so that a word is counted separately at each place.
    """
    if text.isdigit():
        return _A_NUMBER
    shape = _shape(text)
    if shape in ("", HASH) or not _WORDY.search(shape.replace(NUMBER, "")):
        return Value(shape, 0)
    prefix, prefix_word = "", 0
    if ":" in shape or "%3" in shape:
        colon = _COLON.search(shape)
        prefix = shape[: colon.end()] if colon else ""
        prefix_word = _hash(prefix, place) if prefix else 0
    return Value(shape, _hash(shape, place), prefix, prefix_word, _ending(shape, is_file=is_file))


def _shape(text: str) -> str:
    """Return the class of a hash; in any other value, replace each number."""
    if not text or text.isalpha():
        return text
    if text.isdigit():
        return NUMBER
    if _HEX.fullmatch(text):
        return HASH
    if "%" in text:
        return _DIGITS_OR_ESCAPE.sub(lambda found: found[0] if found[0][0] == "%" else NUMBER, text)
    return _DIGITS.sub(NUMBER, text)


def _ending(shape: str, *, is_file: bool) -> str:
    """Return the ellipsis, or a file's extension with its dot; "" if there is none."""
    if shape.endswith(_ELLIPSES):
        return _ELLIPSES[0]
    if not is_file:
        return ""
    stem, dot, extension = shape.rpartition(".")
    return dot + extension if stem and 0 < len(extension) <= 5 and extension.isalnum() else ""


def _hash(text: str, place: int) -> int:
    return xxhash.xxh3_64_intdigest(text.encode(), place & _U64) or 1
