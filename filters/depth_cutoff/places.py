"""The places of a site that a URL belongs to, from its pattern to the whole host: filters/pattern_yield's patterns, and directories above.

    http://a.example/c/3?f.size=m&f.colour=red
    a.example/c/<n>?f.colour=*&f.size=*       its pattern
    a.example/c/?                             the directory, up to the first segment that is no literal; URLs with a query apart
    a.example/*                               the host

A URL **explores** when nobody has fetched its like: its pattern is unknown, or, if it has a query, one of its parameter names is.
"""

from __future__ import annotations

from typing import NamedTuple

import xxhash

from filters.pattern_yield.patterns import LITERAL, Count, Parts, forms


class Places(NamedTuple):
    """Where a URL belongs."""

    pattern: str
    directory: str
    host: str
    names: tuple[int, ...]  # hashes of its path's pattern with each of its parameter names; () without a query

    def ladder(self) -> tuple[str, ...]:
        """Return the places, the largest first, each once."""
        return tuple(dict.fromkeys((self.host, self.directory, self.pattern)))


def places(parts: Parts, count: Count) -> Places:
    """Return the places of a URL that was taken apart. count: hash of a word → times it was seen."""
    path, has_query, _ = forms(parts, count)[0].partition("?")
    pattern = path + has_query + "&".join([f"{name}=*" for name, _ in parts.params])
    host = f"{parts.host}/*"
    literal: list[str] = []
    for value in parts.path[:-1]:
        if not value.word or count(value.word) < LITERAL:
            break
        literal.append(value.text)
    directory = "/".join([parts.host, *literal, has_query])
    names = tuple([xxhash.xxh32_intdigest(f"{path}?{name}".encode()) for name, _ in parts.params])
    return Places(pattern, directory if literal or has_query else host, host, names)
