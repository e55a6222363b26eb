"""Names of the pools in which answers of a place (places.py) are counted, and of the classes in which their URLs are held."""

from __future__ import annotations

from typing import Final

import xxhash

from thresher.filters.dust.kinds import name_of_section
from thresher.filters.dust.places import HOST, Place

CLASS: Final = "dust family "  # begins the name of every class
_LONGEST: Final = 100  # characters of a class's name


def names_of_pools(place: Place, origin: str) -> list[str]:
    """Return the names of the pools of a place, the most specific first.

    They are those of the value in its section, of the value, of a parameter at its path, of the place.
    """
    if place.name == HOST:
        return [f"{HOST} {origin}", HOST]
    first = f"{origin} {place.name}"
    value = f"{first}{place.value if place.of else f' {place.value}'}"
    if place.of:
        return [value, f"{origin}{place.of} {place.name}", first]
    section = name_of_section(place, origin)
    return [section, value, first] if section else [value, first]


def name_of_group(place: Place) -> str:
    return f"{place.name} {place.group}"


def class_of(name: str) -> str:
    """Return the class of a pool or group."""
    readable = name.replace("\0", "*")
    if len(readable) > _LONGEST:
        readable = f"{readable[:_LONGEST]}… {xxhash.xxh3_64_hexdigest(name.encode())}"
    return CLASS + readable


def classes_of(place: Place, origin: str) -> list[str]:
    """Return the classes in which a URL may be held for one of its places."""
    return [class_of(name) for name in (name_of_group(place), *names_of_pools(place, origin))]
