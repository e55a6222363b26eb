"""Reads the source of a single tag as the HTML Standard's tokeniser and prescan do: in linear time, without a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# All quantifiers are possessive: no input causes backtracking. A quote counts only at the beginning of a value: within a value without
# quotes it is an # ordinary character, and so it is in a name, which may begin with "=". An open quote takes all that follows.
ATTRIBUTES: Final = (
    rb"""(?:[\t\n\f\r /]++|[^\t\n\f\r />][^\t\n\f\r />=]*+"""
    rb"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)?+)?+)*+"""
)
_COUNTED_BYTES: Final = 4 << 10
_BEFORE_ATTRIBUTE: Final = b"\t\n\f\r /\"'"
_TAG = re.compile(rb"</?[^\t\n\f\r />]++(" + ATTRIBUTES + rb")")
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)[\t\n\f\r ]*+"""
    rb"""(?:=[\t\n\f\r ]*+(?:"([^"]*+)"?+|'([^']*+)'?+|([^\t\n\f\r >]*+)))?+"""
)


def attributes(inside: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield names, in lower case, and values of the attributes in the inside of a tag."""
    position = 0
    while match := _ATTRIBUTE.match(inside, position):
        name, double, single, bare = match.groups()
        yield name.lower(), double or single or bare or b""
        position = match.end()


def measure(body: bytes, at: int) -> tuple[int, int]:
    """Return (where the tag that begins at `at` ends, the number of its attributes; for a large tag an upper bound)."""
    tag = _TAG.match(body, at)
    if tag is None:
        return at, 0
    inside = tag[1]
    if len(inside) <= _COUNTED_BYTES:
        return tag.end(), len(_ATTRIBUTE.findall(inside))
    return tag.end(), len(inside) - len(inside.translate(None, _BEFORE_ATTRIBUTE))
