"""The filter danger: recognises links that change something when they are followed, by their URL alone.

A crawler that follows such a link logs out, deletes, votes, buys, subscribes or uses up a token that was meant for one reader. Software
that does so on a GET writes its links in a few forms; `scope.danger.links` lists them, one pattern each:

    /segment/segment   names at the end of the path; a name without a dot also matches scripts of that name ("logout" matches "logout.php"
                       and "logout.aspx"), but no documents ("logout.html")
    /segment/**        the same, and everything below
    ?name=value&name   parameters in any order, among any others; "?name" alone: with any value, or none
    a|b  *  #          either; any letters, at least one if they are the whole value; a number, or a token of letters and digits

Upper and lower case are equal. A URL matches if it has everything that the pattern names: "/vote?how=*" is a path that ends in "vote" with
a parameter `how` that has some value.

A page *about* such a thing has the same name: /docs/logout, /wiki/Logout, /2024/05/delete. So below the directories of `manuals` (and on
hosts whose name begins with one of them) a path matches only if its name has a dot or a colon; below those of `titles`, and below a year, a
path of one plain name does not match. Parameters whose values name pages (id, title, q, page) are in no pattern, except for special pages.

Only links are judged: forms are never sent. A dangerous link is refused before it is recorded, so that nothing can release it later.

Time: 1 µs a link, by one search for all patterns [RE2]; 20 µs for a link that the search finds. Memory: constant.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote_plus

import re2

from thresher.config.settings import DangerSettings
from thresher.crawler.core.url import hostname_of, origin_of

_SCRIPT = r"(?:\.(?:php[0-9]?|phtml|aspx?|jspa?|jsf|do|action|cgi|fcgi|pl|cfm|py|rb|ashx))?"
_TOKEN = r"(?:[0-9]+|(?=[a-z]*[0-9])[0-9a-f-]{8,}|(?=(?:[a-z_=]*[0-9]){2})[0-9a-z_=]{12,})"  # noqa: S105 - a form of names, no password
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_BETWEEN_FIELDS = re.compile("[&;]")


class _Field(NamedTuple):
    """A parameter that must be there."""

    name: re.Pattern[str]
    value: re.Pattern[str] | None  # None: any value, or none


class DangerPattern(NamedTuple):
    """One line of the list."""

    text: str  # as it is listed
    path: tuple[re.Pattern[str], ...]  # patterns of the last segments; (): any path
    is_below: bool  # URLs below it match, too
    fields: tuple[_Field, ...]
    is_file: bool  # a name with a dot or a colon: no title
    is_plain: bool  # a path of one name and nothing else

    def matches(self, segments: Sequence[str], fields: Sequence[tuple[str, str]]) -> int:
        """Return the number of segments before the named ones; -1 if it does not match."""
        for name, value in self.fields:
            if not any(name.fullmatch(field) and (value is None or value.fullmatch(said)) for field, said in fields):
                return -1
        n = len(self.path)
        if not n:
            return len(segments)
        starts = range(len(segments) - n + 1) if self.is_below else range(max(0, len(segments) - n), len(segments) - n + 1)
        for start in starts:
            if all(part.fullmatch(segment) for part, segment in zip(self.path, segments[start : start + n], strict=True)):
                return start
        return -1


def compiled(text: str) -> DangerPattern:
    """Read one pattern.

    Raises:
        ValueError: If it names nothing.
    """
    path, _, query = text.strip().lower().partition("?")
    is_below = path.endswith("/**")
    names = [name for name in path.removesuffix("**").split("/") if name]
    fields = [_field(field) for field in query.split("&") if field]
    if (path and not path.startswith("/")) or not (names or fields):
        raise ValueError(f'expected a pattern like "/logout", "/vote?how=*" or "?action=delete", found {text!r}')
    parts = tuple(re.compile(_names(name, script=_SCRIPT if i == len(names) - 1 else "")) for i, name in enumerate(names))
    is_file = any(c in path for c in ".:@")
    return DangerPattern(text, parts, is_below, tuple(fields), is_file, is_plain=len(names) == 1 and not (is_below or fields))


def _field(text: str) -> _Field:
    name, equals, value = text.partition("=")
    return _Field(re.compile(_names(name)), re.compile(_names(value)) if equals else None)


def _names(text: str, *, script: str = "") -> str:
    """Return names, separated by "|", as an expression; `script` follows those without a dot."""
    return "|".join(_TOKEN if name == "#" else _letters(name) + ("" if "." in name else script) for name in text.split("|"))


def _letters(name: str) -> str:
    return ".+" if name == "*" else ".*".join(re.escape(part) for part in name.split("*"))


class Danger:
    """The list of a crawl. It is compiled when the first link looks dangerous, since that takes 30 ms."""

    def __init__(self, settings: DangerSettings) -> None:
        self._settings = settings
        self._manuals = frozenset(word.lower() for word in settings.manuals)
        self._titles = frozenset(word.lower() for word in settings.titles)
        self._harmless = [re2.compile(pattern) for pattern in settings.harmless]
        self._hint = re2.compile("(?im)" + "|".join(_hint(pattern.lower()) for pattern in settings.links)) if settings.links else None

    def suspects(self, texts: Sequence[str]) -> list[int]:
        """Return the positions of links that may be dangerous: by one search for all, and one more after each hit."""
        found: list[int] = []
        if self._hint is None or not texts:
            return found
        origin = origin_of(texts[0])  # most links lead to one host, whose name need not be searched
        joined = "\n".join([text.removeprefix(origin) for text in texts])  # takes a third of the time of one `replace` in all
        lines = joined.encode("ascii", "replace")
        match = self._hint.search(lines)
        ends = [*accumulate(map(len, joined.split("\n")), lambda end, n: end + n + 1, initial=-1)][1:] if match is not None else []
        while match is not None:
            found.append(bisect_left(ends, match.start()))
            match = self._hint.search(lines, ends[found[-1]])  # a match may span several links
        return found

    def pattern_of(self, text: str, origin: str, site: str) -> str:
        """Return the pattern by which a link is dangerous, "" if it is not."""
        if self._hint is None or not self._hint.search(text, len(origin)):
            return ""
        path, _, query = text[len(origin) :].partition("?")
        segments = [unquote_plus(segment.partition(";")[0]).lower() for segment in path.split("/") if segment]
        fields = [_said(field) for field in _BETWEEN_FIELDS.split(query) if field]
        named = self._hints.Match(text[len(origin) :])
        for pattern in self._patterns if named is None else [self._patterns[i] for i in sorted(named)]:  # None: RE2 ran out of memory
            at = pattern.matches(segments, fields)
            if at >= 0 and not (pattern.path and self._is_about(pattern, segments, at, _labels(origin, site))):
                return "" if any(harmless.search(text) for harmless in self._harmless) else pattern.text
        return ""

    @cached_property
    def _hints(self) -> re2.Set:
        """Return the set of expressions that says which patterns a link may match, by number."""
        hints = re2.Set.SearchSet()
        for pattern in self._settings.links:
            hints.Add(f"(?im){_hint(pattern.lower())}")
        hints.Compile()
        return hints

    @cached_property
    def _patterns(self) -> list[DangerPattern]:
        return [compiled(text) for text in self._settings.links]

    def _is_about(self, pattern: DangerPattern, segments: Sequence[str], at: int, labels: Iterable[str]) -> bool:
        """Return whether a path may be the title of a page about the dangerous action.

        Args:
            at: Position of the first segment that the pattern names.
            labels: The labels of the host.
        """
        before = segments[:at]
        if pattern.is_file:
            return False
        if any(_YEAR.fullmatch(segment) for segment in segments[: at + 1]):
            return True
        if not self._manuals.isdisjoint(before) or not self._manuals.isdisjoint(labels):
            return True
        return pattern.is_plain and not self._titles.isdisjoint(before)


def _hint(pattern: str) -> str:
    """Return an expression that matches every link that a pattern may match, and few others, by names in the path or query."""
    path, _, query = pattern.partition("?")
    names = [name for name in path.removesuffix("**").split("/") if name]
    if names:
        telling = next((name for name in reversed(names) if not {"#", "*"} & set(name.split("|"))), "")
        return f"/(?:{_loose(telling)})(?:[/.?;]|$)" if telling else "/"
    name, equals, values = query.partition("&")[0].partition("=")
    value = f"(?:{_loose(values)})(?:[&;]|$)" if equals and not {"#", "*"} & set(values.split("|")) else ""
    return f"[?&;](?:{_loose(name)}){'=' if equals else '(?:[=&;]|$)'}{value}"


def _loose(names: str) -> str:
    """Return names as an expression over a URL, in which punctuation may be percent-escaped."""
    return "|".join("[^&;]*".join("".join(map(_sign, part)) for part in name.split("*")) for name in names.split("|"))


@cache
def _sign(sign: str) -> str:
    return re2.escape(sign) if sign.isalnum() or sign in "-._" else f"(?:{re2.escape(sign)}|%{ord(sign):02x})"


def _said(field: str) -> tuple[str, str]:
    name, _, value = field.partition("=")
    return unquote_plus(name).lower(), unquote_plus(value).lower()


def _labels(origin: str, site: str) -> Iterable[str]:
    """Return the labels of a host's name below its site."""
    return hostname_of(origin).removesuffix(site).rstrip(".").split(".")
