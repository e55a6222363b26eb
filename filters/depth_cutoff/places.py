"""The places of a site to which a URL belongs, from its pattern to the whole host: filters/pattern_yield's patterns, and directories above.

    http://a.example/c/3?f.size=m&f.colour=red
    a.example/c/<n>?f.colour=*&f.size=*       its pattern
    a.example/c/<n>?f.size                    each of its parameters
    a.example/c/<n>? chooses                  all of its path whose query chooses a view, as evidence for each of them
    a.example/c/?                             the directory, up to the first segment that is no literal; URLs with a query have their own
    a.example/*                               the host

Its **kind** needs no vocabulary of the site: its slashes, where it has digits, and the names of its parameters.

A URL **explores** if nothing like it was fetched: its pattern is unknown or, if it has a query, one of its parameters is.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import xxhash

from thresher.crawler.core.query import fields_of
from thresher.filters.depth_cutoff.records import N_KINDS
from thresher.filters.pattern_yield.patterns import NUMBER, Count, Parts, forms

_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_NO_SHAPE = bytes(set(range(256)) - set(b"/0123456789"))
_MOST_PARAMETERS = 8  # parameters that are places


class UrlPlaces(NamedTuple):
    """The places of one URL."""

    pattern: str
    directory: str
    host: str
    parameters: tuple[str, ...]  # one place for each; () without a query
    choices: str  # of all URLs of its path whose query chooses a view; "" if its own does not

    def ladder(self) -> tuple[str, ...]:
        """Return the places, the largest first, each once."""
        return tuple(dict.fromkeys((self.host, self.directory, self.pattern)))


def places(parts: Parts, count: Count) -> UrlPlaces:
    """Return the places of a URL that was split into parts.

    Args:
        count: Hash of a word → times it was seen.
    """
    path = forms(parts, count)[0].partition("?")[0]
    return _places(path, parts.host, tuple([name for name, _ in parts.params]), chooses=is_choice(parts))


@lru_cache(maxsize=4096)
def _places(path: str, host: str, names: tuple[str, ...], *, chooses: bool) -> UrlPlaces:
    """Return the places of URLs of one path, as text, and the names of their parameters. chooses: their queries choose a view."""
    segments = path[len(host) + 1 :].split("/")
    literal = list(takewhile(lambda segment: "<" not in segment, segments[:-1]))
    query = "?" if names else ""
    everything = f"{host}/*"
    return UrlPlaces(
        pattern=path + query + "&".join([f"{name}=*" for name in names]),
        directory="/".join([host, *literal, query]) if literal or names else everything,
        host=everything,
        parameters=tuple([f"{path}?{name}" for name in dict.fromkeys(names)][:_MOST_PARAMETERS]),
        choices=f"{path}? chooses" if chooses else "",
    )


@lru_cache(maxsize=128)  # a page is asked for twice, the second time after all others of its batch
def kind_of(url: str, origin: str) -> int:
    """Return the number of a canonical URL's kind, below N_KINDS. Time: 1 µs."""
    path, _, query = url[len(origin) :].partition("?")
    shape = path.encode().translate(_DIGITS_ALIKE, _NO_SHAPE).replace(b"000", b"0").replace(b"00", b"0").replace(b"00", b"0")
    if query:
        shape += b"?" + b"&".join([field.partition("=")[0].encode() for field in fields_of(query)])
    return xxhash.xxh3_64_intdigest(shape) % N_KINDS


def is_choice(parts: Parts) -> bool:
    """Return whether a URL's query has any value but numbers: it chooses a view (an action, an order), and choices combine freely."""
    return any(value.text != NUMBER for _, value in parts.params)
