"""The records of the inline filter in its memory, with their keys; and its measure, for the journal.

| key                                   | value        | of                                                                       |
|---------------------------------------|--------------|--------------------------------------------------------------------------|
| 1 of hash ‖ "page" ‖ 3 zero ‖ name 8  | `KnownPage`  | a page that was judged, by the hash of its URL                           |
| 1 of hash ‖ 7 zero ‖ box 8            | collide.py   | kept pages by their signature                                            |
| 1 of hash ‖ 3 zero ‖ "band" ‖ box 8   | collide.py   | those of all agents, at the owner of a band (sharing.py)                 |
| site 8 ‖ "h" ‖ hash of origin 4       | `HostCounts` | whose pages the pages of a host replicate                                |
| site 8 ‖ "m"                          | (empty)      | the site has a host that was said to be a mirror                         |
| site 8 ‖ "t" ‖ hash of origin 4       | u1 × `SLOTS` | a host's template: what most of its pages have in each slot, 0 for none  |
| site 8 ‖ "p" ‖ name 8                 | `PendingPage`| a pair that looks alike, before all of its neighbourhood is known        |
| site 8 ‖ "links" or "via" …           |              | filters/copy_links.py                                                    |

Pages and boxes are dealt to 512 places that belong to no site, since replicas lie on any host; each is capped as a site is, so that all
of it stays below 512 × `filters.site_bytes`. A name is the hash of the origin and the hash of path and query, 4 bytes each: equal second
halves are equal paths.

A slot keeps one byte of its minimum. 256 slots of one byte take as much as 128 slots of two bytes, and say more. Of the replicas whose
resemblance is .94 to .96, a third were not sure enough to be called replicas with 128 slots of one byte, and one in fifteen with 256.

Memory: 595 bytes a page, of which 280 are its sketch and 130 its links; 450 bytes a host.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from thresher.crawler.core.minhash import least_links, origin_hash
from thresher.crawler.core.model import U64
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of

U8 = npt.NDArray[np.uint8]
SLOTS: Final = 256
COMPONENTS: Final = 5
NAME: Final = 8  # bytes
MOST_CHILDREN: Final = 16
_HALF: Final = np.uint64(32)
_KEY: Final = 16
_NUMBER: Final = re.compile(r"\d+")
_SIGNATURE: Final = struct.Struct(f"<{COMPONENTS}f")
Components = tuple[float, ...]
R = TypeVar("R")


class KnownPage(msgspec.Struct, array_like=True, frozen=True):
    """A page, as far as it is needed to compare later ones with it."""

    page: bytes  # key, 16
    name: bytes  # 8
    text: bytes  # first 8 bytes of the fingerprint of its words
    origin: str
    signature: bytes  # f4 × COMPONENTS
    minima: bytes  # u1 × SLOTS
    n_words: int
    children: bytes  # u8 each: the links whose paths have the least hashes, ascending: their names with halves exchanged
    canonical: bytes  # name of its rel=canonical, b"" for none
    replica_of: bytes = b""  # name of the kept page that it replicates
    at: float = 0.0  # when it was fetched, seconds since 1970
    exempt: bool = False  # a seed or home page: never a replica
    series: bytes = b""  # result of `series_of`

    def require_signature(self) -> None:
        """Check a page that was sent to compare neighbourhoods: it has a key, a name and a signature.

        Raises:
            ValueError: If it is no such page.
        """
        if (len(self.page), len(self.name)) != (_KEY, NAME):
            raise ValueError(f"expected a page's key of {_KEY} bytes and its name of {NAME}, found {len(self.page)} and {len(self.name)}")
        require_signature(self.signature)

    def require_whole(self) -> None:
        """Check a page that was sent to be compared as a whole.

        Raises:
            ValueError: If it is no such page.
        """
        self.require_signature()
        if len(self.minima) != SLOTS or len(self.children) % NAME or len(self.children) > NAME * MOST_CHILDREN:
            raise ValueError(
                f"expected {SLOTS} slots and at most {MOST_CHILDREN} links, found {len(self.minima)} and {len(self.children)} bytes"
            )

    @property
    def r(self) -> Components:
        return _SIGNATURE.unpack(self.signature)

    @property
    def slots(self) -> U8:
        return np.frombuffer(self.minima, dtype=np.uint8)

    @property
    def links(self) -> U64:
        return np.frombuffer(self.children, dtype="<u8")

    @property
    def site(self) -> bytes:
        return self.page[:8]


class ReplicaMeasure(msgspec.Struct, array_like=True, frozen=True):
    """What the filter needs of a page."""

    known: KnownPage | None  # None: no text to compare
    exempt: bool
    minima: bytes = b""  # of the slots that may be tags, u8 each
    kind: bytes = b""  # kind of its URL, as copy_links.py distinguishes them
    via: bytes = b""  # key of the page that led to it, b"" for none


class HostCounts(msgspec.Struct, array_like=True):
    """The counts of one host."""

    n_voters: int = 0  # pages that were counted for the template
    voters: bytes = b""  # their names, 8 bytes each, until there are enough
    n_pages: int = 0
    replicates: dict[str, int] = {}  # origin → pages that replicate its page of the same path
    mirror_of: str = ""
    lately: int = 0  # latest pages; the count is halved when it is full
    alike: int = 0  # pages among them that replicate the one of the same path on another host
    blocks: dict[str, int] = {}  # origin → blocks of time in which pages replicated its own (filters/evidence/blocks.py)

    @property
    def is_mirror_still(self) -> bool:
        """Whether enough of a mirror's latest pages are replicas: half of the share that makes a mirror by default."""
        return 5 * self.alike >= 2 * self.lately


class PendingPage(msgspec.Struct, array_like=True):
    """A page that looks like a kept one, while it is not known whether it is a replica."""

    original: bytes  # name
    merged: bool  # whether it has counted as a replica so far
    tries: int = 0


def judged(memory: Memory, name: bytes) -> KnownPage | None:
    """Return a page that can be compared; None if there is none. (A page lent by another agent, see sharing.py, has only its signature.)"""
    known = read(memory, page_key(name), KnownPage)
    return known if known is not None and known.minima else None


def require_signature(signature: bytes) -> None:
    """Check a signature.

    Raises:
        ValueError: If it has another length, or a component is not between 0 and 1.
    """
    if len(signature) != _SIGNATURE.size or not all(0.0 <= at <= 1.0 for at in _SIGNATURE.unpack(signature)):
        raise ValueError(f"expected a signature of {COMPONENTS} numbers from 0 to 1, found {signature.hex()}")


def signature_of(r: Sequence[float]) -> bytes:
    """Return a page's r as it is stored."""
    return _SIGNATURE.pack(*r)


def name_of(url: str) -> bytes:
    """Return the name of a canonical URL."""
    return name_on(origin_of(url), url)


def name_on(origin: str, url: str) -> bytes:
    """Return the name of a canonical URL of an origin."""
    return (origin_hash(origin) << 32 | _half(url[len(origin) + 1 :].encode())).to_bytes(8, "big")


def series_of(origin: str, url: str) -> bytes:
    """Return 4 bytes that are equal for URLs of an origin which differ in their numbers alone: the days of a calendar, the pages of a list.

    Hexadecimal ids are no numbers: they tell versions of one thing apart.
    """
    return xxhash.xxh32_digest(_NUMBER.sub("0", url[len(origin) :]).encode())


def children_of(urls: Sequence[str]) -> bytes:
    """Return the links that describe a page's neighbourhood; on another host, links of the same paths are chosen.

    Args:
        urls: Distinct.

    Returns:
        Names with their halves exchanged, u8 each, ascending.
    """
    found = least_links(urls, MOST_CHILDREN)
    return struct.pack(f"<{len(found)}Q", *found)


_half = xxhash.xxh32_intdigest


def paths_of(children: U64) -> U64:
    """Return the hashes of paths in names of children."""
    return children >> _HALF


def page_key(name: bytes) -> bytes:
    return name[4:5] + b"page\0\0\0" + name


def keys_of(children: U64) -> list[bytes]:
    """Return the memory keys of children."""
    return [page_key(value[4:] + value[:4]) for value in (int(child).to_bytes(8, "big") for child in children.tolist())]


def host_key(known: KnownPage) -> bytes:
    return known.site + b"h" + known.name[:4]


def template_key(known: KnownPage) -> bytes:
    return known.site + b"t" + known.name[:4]


def pending_key(known: KnownPage) -> bytes:
    return known.site + b"p" + known.name


def read(memory: Memory, key: bytes, of: type[R]) -> R | None:
    """Return a record, None if there is none."""
    value = memory.get(key)
    return None if value is None else msgspec.msgpack.decode(value, type=of)


def write(memory: Memory, key: bytes, record: msgspec.Struct, weight: float = 0.0) -> None:
    memory.put(key, msgspec.msgpack.encode(record), weight)
