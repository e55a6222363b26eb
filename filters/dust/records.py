"""What the filter remembers of a site beside its rules (memory.py): the list that it mines, and how far the mining is.

    site 8 ‖ "S"               → Progress
    site 8 ‖ "C"               → what is common to the site's pages, by the last study: boilerplate is left out of comparisons
    site 8 ‖ "O"               → origin of the site: links to it, on a sample of its pages
    site 8 ‖ "A" ‖ hash 8      → (empty): a URL that was asked for
    site 8 ‖ "F" ‖ hash 8      → a URL that was fetched and is an alias of this one, which was not
    site 8 ‖ "T" ‖ hash 8      → u4: pages of an origin that came into the list
    site 8 ‖ "P" ‖ hash 8      → one page of the list: form 1 (block of time 6 bits; bad, met or unmet 2 bits) ‖
                                  fingerprint 8 ‖ sketch 2·64 ‖ key 8 ‖ URL

A page takes 180 bytes and its URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
import xxhash

from thresher.crawler.core.echo import without_echo
from thresher.crawler.core.model import U64
from thresher.crawler.core.ports import Memory
from thresher.filters.dust.memory import KEPT
from thresher.filters.dust.similarity import MIN_WORDS, PLACES, resemble, sketch
from thresher.filters.dust.urllist import Sighting, origin
from thresher.filters.evidence.blocks import block_of

_SITE: Final = 8
_PAGE: Final = b"P"
_PROGRESS: Final = b"S"
_ASKED: Final = b"A"
_COMMON: Final = b"C"
_ORIGINS: Final = b"O"
_FETCHED: Final = b"F"
_TIME: Final = b"T"
_SKETCH_BYTES: Final = 2 * PLACES
_PAGE_KEY: Final = 9 + _SKETCH_BYTES
_URL: Final = _PAGE_KEY + 8
_BAD: Final = bytes(_PAGE_KEY)
_MET: Final = 1
_UNMET: Final = 2
_FORM: Final = 3  # mask of the bits that say which of the three a page is
_BLOCK_AT: Final = 2  # bit at which its block of time begins
_LONG: Final = 2_000  # words
_AT_ONCE: Final = 500  # pages read in one go: 1 ms


class Progress(msgspec.Struct, array_like=True):
    """How far the mining of a site is."""

    site: str = ""
    n_pages: int = 0  # in the list
    next_at: int = 0  # pages at which it is mined next
    outstanding: int = 0  # pages asked for that have not come
    asked: int = 0  # pages asked for in all
    wasted: int = 0  # pages asked for that were none, or showed what was known; what they taught to save is taken off
    asked_at: int = 0  # pages in the list when some were asked for last
    is_judging: bool = False  # the rules wait for what was asked for; else for more pages
    copies: int = 0  # pages that others were told to be copies of, counted while they are few; or found by the last study
    titles: list[int] = []  # hashes of those of the pages that came into the list last, while it is a sample
    repeated: int = 0  # pages whose title was among these
    pending_at: int = 0  # pages at which a study is asked for because of copies that no rule explains; 0: there is no need


class Look(msgspec.Struct, array_like=True, frozen=True):
    """What a page shows, for comparing: empty for one that is like no other."""

    fingerprint: bytes = b""  # 8
    sketch: bytes = b""  # 2·64

    @property
    def is_good(self) -> bool:
        return bool(self.fingerprint)

    def alike(self, other: Look, common: bytes) -> bool:
        """Return whether two pages show the same.    common: the boilerplate of their site, as `read_common` returns it"""
        if not (self.is_good and other.is_good):
            return False
        return self.fingerprint == other.fingerprint or resemble(self.sketch, other.sketch, common)


def look_at(url: str, words: U64) -> Look:
    """Return what a page shows beside what its URL says: so all forms to log in are one, whatever page each leads back to.

    words: hashes of all its words. Nothing, if hardly any is left. In a long text an echo is less than resemblance forgives: it stays.
    """
    own = without_echo(url, origin(url), words, numbers=False) if MIN_WORDS <= words.size <= _LONG else words
    if own.size < MIN_WORDS:
        return Look()
    return Look(xxhash.xxh3_64_digest(own.data), sketch(own).astype("<u2").tobytes())


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Progress).decode
_decode_origins = msgspec.msgpack.Decoder(dict[str, int]).decode


def read_progress(memory: Memory, site: bytes) -> Progress | None:
    value = memory.get(site + _PROGRESS)
    return None if value is None else _decode(value)


def write_progress(memory: Memory, site: bytes, progress: Progress) -> None:
    memory.put(site + _PROGRESS, _encode(progress), weight=KEPT)


def read_origins(memory: Memory, site: bytes) -> dict[str, int]:
    value = memory.get(site + _ORIGINS)
    return {} if value is None else _decode_origins(value)


def write_origins(memory: Memory, site: bytes, origins: Mapping[str, int]) -> None:
    memory.put(site + _ORIGINS, _encode(origins), weight=KEPT)


def read_common(memory: Memory, site: bytes) -> bytes:
    """Return what is common to the pages of a site (filters/dust/similarity.py: Codes), b"" if that is not known."""
    return memory.get(site + _COMMON) or b""


def write_common(memory: Memory, site: bytes, common: bytes) -> None:
    memory.put(site + _COMMON, common, weight=KEPT)


def note_asked(memory: Memory, site: bytes, url: str) -> bool:
    """Remember that a URL was asked for; return whether it is the first time."""
    key = site + _ASKED + digest_of(url)
    if memory.get(key) is not None:
        return False
    memory.put(key, b"", weight=KEPT)
    return True


def was_asked(memory: Memory, site: bytes, url: str) -> bool:
    return memory.get(site + _ASKED + digest_of(url)) is not None


def write_fetched(memory: Memory, site: bytes, canonical: str, alias: str) -> None:
    """Remember that the page of a canonical URL is known by one of its aliases."""
    memory.put(site + _FETCHED + digest_of(canonical), alias.encode())


def read_fetched(memory: Memory, site: bytes, canonical: str) -> str:
    """Return the alias that a canonical URL's page is known by, "" if there is none."""
    return (memory.get(site + _FETCHED + digest_of(canonical)) or b"").decode()


def read_look(memory: Memory, site: bytes, url: str) -> Look | None:
    """Return what a page of the list shows, None if it is not in it."""
    value = memory.get(_key(site, url))
    if value is None or value[_URL:] != url.encode():
        return None
    return Look(value[1:9], value[9:_PAGE_KEY]) if value[0] & _FORM else Look()


def read_key(memory: Memory, site: bytes, url: str) -> bytes:
    """Return the key of a page of the list, b"" if it is not in it."""
    value = memory.get(_key(site, url))
    return site + value[_PAGE_KEY:_URL] if value is not None and value[_URL:] == url.encode() else b""


def read_url(memory: Memory, site: bytes, digest: bytes) -> str:
    """Return the URL of the list that has this hash, "" if it is forgotten."""
    value = memory.get(site + _PAGE + digest)
    return "" if value is None else value[_URL:].decode()


def write_look(memory: Memory, page: bytes, url: str, look: Look, *, is_met: bool = True) -> bool:
    """Put a page into the list; return whether it is new there.    page: its key; is_met: some page links to it"""
    key = _key(page[:_SITE], url)
    is_new = memory.get(key) is None
    form = (_MET if is_met else _UNMET) | _next_block(memory, page[:_SITE], url) << _BLOCK_AT
    start = bytes([form]) + look.fingerprint + look.sketch if look.is_good else _BAD
    memory.put(key, start + page[_SITE:] + url.encode())
    return is_new


def _next_block(memory: Memory, site: bytes, url: str) -> int:
    """Count one more page of a URL's host; return the block of time that it is of."""
    key = site + _TIME + digest_of(origin(url))
    n = int.from_bytes(memory.get(key) or b"", "big")
    memory.put(key, (n + 1).to_bytes(4, "big"), weight=KEPT)
    return block_of(n)


def forget_look(memory: Memory, page: bytes, url: str) -> bool:
    """Take a page out of the list; return whether it was there.    page: its key"""
    key = _key(page[:_SITE], url)
    is_there = memory.get(key) is not None
    if is_there:
        memory.delete(key)
    return is_there


def list_of(memory: Memory, site: bytes) -> Iterator[list[bytes]]:
    """Yield the pages of a site's list as they are stored, some at a time; what changes between may be missed."""
    some: list[bytes] = []
    for first in range(256):
        some += [value for _, value in memory.scan(site + _PAGE + bytes([first]))]
        if len(some) >= _AT_ONCE:
            yield some
            some = []
    yield some


def sightings(pages: Iterable[bytes]) -> Iterator[Sighting]:
    """Read what `list_of` returned."""
    for value in pages:
        is_good, url = bool(value[0] & _FORM), value[_URL:].decode()
        values = np.frombuffer(value[9:_PAGE_KEY], dtype="<u2") if is_good else None
        status, fingerprint = (200, value[1:9]) if is_good else (404, b"")
        seen_at = xxhash.xxh32_intdigest(origin(url).encode()), value[0] >> _BLOCK_AT
        yield Sighting(url, status, None, fingerprint, values, is_met=value[0] & _FORM != _UNMET, seen_at=seen_at)


def _key(site: bytes, url: str) -> bytes:
    return site + _PAGE + digest_of(url)


def digest_of(url: str) -> bytes:
    """Return 8 bytes that stand for a URL in the records of its site."""
    return xxhash.xxh3_64_digest(url.encode())
