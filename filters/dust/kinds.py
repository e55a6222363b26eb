"""Kinds of URLs at a place (places.py): URLs whose paths have as many segments of words and numbers, and the same parameters.

What the lists of a site have in common says nothing of what they list: the lists of two parishes may say the same, their parcels do not.
So the answers of each kind are counted, too, and may speak against an opinion that other kinds have made. Those of a kind with one value in
one section of the site, its first segment, are the first to be asked, for an opinion and against it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from thresher.filters.dust.places import HOLE, HOST, SEGMENT, SPELLING, Place

_LETTERS, _NUMBERS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_RUN: Final = re.compile(r"[wn](?:[-_+%]+[wn]+)+")


def name_of_section(place: Place, origin: str) -> str:
    """Return the name of the answers of a URL's kind with its value at a segment, in its section.

    "" for other places, and for the first segment, which is the section. The lists of authors may show the same in every order, since each
    is whole on one page, and the lists of books other books.
    """
    section = place.group[len(origin) + 1 :].partition("/")[0]
    if not place.name.startswith(SEGMENT) or HOLE in section:
        return ""
    return f"{origin} {place.name} of /{section}{_kind(place.group, len(origin) + 1 + len(section))} {place.value}"


def names_of_kind(place: Place, origin: str) -> list[str]:
    """Return the names of the answers of a URL's kind: of those with its value at the place, and of all.

    They are none for hosts and spellings, at which all kinds are alike, and for parameters, whose pools are those of one path.
    """
    if place.of or place.name in (HOST, SPELLING):
        return []
    kind = f"{origin} {place.name} of {_kind(place.group, len(origin))}"
    return [f"{kind} {place.value}", kind]


@lru_cache(maxsize=8_192)
def _kind(group: str, n: int) -> str:
    """Return the kind of the URLs of a group: words and numbers are taken for one another.

    Args:
        n: Length of the origin.
    """
    path, _, query = group[n:].partition("?")
    names = "&".join(sorted(field.partition("=")[0] for field in query.split("&"))) if query else ""
    return _RUN.sub("w", _NUMBERS.sub("n", _LETTERS.sub("w", path))) + (f"?{names}" if names else "")
