"""The filter's records of a site beside its rules (memory.py): the list that is mined, and the state of mining.

    site 8 ‖ "S"               → Progress
    site 8 ‖ "C"               → the boilerplate of the site's pages, by the last study: it is left out of comparisons
    site 8 ‖ "O"               → origin of the site → number of links to it, on a sample of the site's pages
    site 8 ‖ "A" ‖ hash 8      → (empty): a URL that was requested
    site 8 ‖ "F" ‖ hash 8      → a fetched URL that is an alias of this one, which was not fetched
    site 8 ‖ "T" ‖ hash 8      → u4: pages of an origin that have entered the list
    site 8 ‖ "P" ‖ hash 8      → one page of the list: form 1 (block of time 6 bits; bad, met or unmet 2 bits) ‖
                                  fingerprint 8 ‖ sketch 64 × 2 ‖ last 8 of the page's key ‖ URL

A page takes 180 bytes and its URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
import xxhash

from thresher.crawler.core.echo import without_echo
from thresher.crawler.core.model import U64, Page
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
_FORM: Final = 3  # mask of the bits that say whether a page is bad, met or unmet
_BLOCK_AT: Final = 2  # bit at which its block of time begins
_LONG: Final = 2_000  # words
_MOST_ORIGINS: Final = 64
_LOOK: Final = "dust look"  # key in a page's dict, beside its fields
_AT_ONCE: Final = 500  # pages read in one go: 1 ms


class Progress(msgspec.Struct, array_like=True):
    """The state of a site's mining."""

    site: str = ""
    n_pages: int = 0  # in the list
    next_at: int = 0  # pages of the list at which it is mined next
    outstanding: int = 0  # requested pages that have not come
    asked: int = 0  # pages requested in all
    wasted: int = 0  # requested URLs that were no page or showed what was known, less what valid rules save
    asked_at: int = 0  # pages in the list at the last finding
    is_judging: bool = False  # rules are judged when the requested pages come; else when the list has grown
    copies: int = 0  # pages said to be copies, counted while they are few; or copies that the last study found
    titles: list[int] = []  # hashes of the titles of the last pages of the list, while it is a sample
    repeated: int = 0  # pages whose title was one of these
    pending_at: int = 0  # pages of the list at which copies that no rule explains are studied; 0: there are none
    waits_since: int = 0  # pages in the list when pages were requested last
    n_fruitless: int = 0  # minings since one found a rule that saves anything


class StoredLook(msgspec.Struct, array_like=True, frozen=True):
    """What a page shows, for comparing; empty for a page that is like no other."""

    fingerprint: bytes = b""  # 8
    sketch: bytes = b""  # 64 values of 2 bytes, little-endian

    @property
    def is_good(self) -> bool:
        return bool(self.fingerprint)

    def alike(self, other: StoredLook, common: bytes) -> bool:
        """Return whether two pages show the same.

        Args:
            common: The boilerplate of their site, as `read_common` returns it.
        """
        if not (self.is_good and other.is_good):
            return False
        return self.fingerprint == other.fingerprint or resemble(self.sketch, other.sketch, common)


def look_at(url: str, words: U64) -> StoredLook:
    """Return what a page shows without the words that quote its URL: so all login forms show the same, whichever page each leads back to.

    In a long text such words are too few to matter, and stay.

    Args:
        words: Hashes of all its words. If hardly any is left, the page is like no other.
    """
    own = without_echo(url, origin(url), words, numbers=False) if MIN_WORDS <= words.size <= _LONG else words
    if own.size < MIN_WORDS:
        return StoredLook()
    return StoredLook(xxhash.xxh3_64_digest(own.data), sketch(own).astype("<u2").tobytes())


def look_of(page: Page) -> StoredLook:
    """Return what a page shows, which is computed once; an error or an empty page is like no other."""
    beside = vars(page)
    look: StoredLook | None = beside.get(_LOOK)
    if look is None:
        look = beside[_LOOK] = look_at(page.url.text, page.tokens) if 200 <= page.status < 300 else StoredLook()
    return look


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


def count_origins(memory: Memory, site: bytes, more: Mapping[str, int]) -> None:
    """Add counts of links to origins of a site, of no more than `_MOST_ORIGINS`."""
    counts = read_origins(memory, site)
    for each, n in more.items():
        if each in counts or len(counts) < _MOST_ORIGINS:
            counts[each] = counts.get(each, 0) + n
    memory.put(site + _ORIGINS, _encode(counts), weight=KEPT)


def read_common(memory: Memory, site: bytes) -> bytes:
    """Return the boilerplate of the pages of a site (filters/dust/similarity.py: Codes), b"" if that is not known."""
    return memory.get(site + _COMMON) or b""


def write_common(memory: Memory, site: bytes, common: bytes) -> None:
    memory.put(site + _COMMON, common, weight=KEPT)


def note_asked(memory: Memory, site: bytes, url: str) -> bool:
    """Record that a URL is requested; return whether it is the first time."""
    key = site + _ASKED + digest_of(url)
    if memory.get(key) is not None:
        return False
    memory.put(key, b"", weight=KEPT)
    return True


def was_asked(memory: Memory, site: bytes, url: str) -> bool:
    return memory.get(site + _ASKED + digest_of(url)) is not None


def write_fetched(memory: Memory, site: bytes, canonical: str, alias: str) -> None:
    """Record the alias under which the page of a canonical URL is known."""
    memory.put(site + _FETCHED + digest_of(canonical), alias.encode())


def read_fetched(memory: Memory, site: bytes, canonical: str) -> str:
    """Return the alias under which the page of a canonical URL is known, "" if there is none."""
    return (memory.get(site + _FETCHED + digest_of(canonical)) or b"").decode()


def read_look(memory: Memory, site: bytes, url: str) -> StoredLook | None:
    """Return what a page of the list shows, None if it is not in it."""
    value = memory.get(_key(site, url))
    if value is None or value[_URL:] != url.encode():
        return None
    return StoredLook(value[1:9], value[9:_PAGE_KEY]) if value[0] & _FORM else StoredLook()


def read_key(memory: Memory, site: bytes, url: str) -> bytes:
    """Return the key of a page of the list, b"" if it is not in it."""
    value = memory.get(_key(site, url))
    return site + value[_PAGE_KEY:_URL] if value is not None and value[_URL:] == url.encode() else b""


def read_url(memory: Memory, site: bytes, digest: bytes) -> str:
    """Return the URL of the list that has this hash, "" if it was dropped."""
    value = memory.get(site + _PAGE + digest)
    return "" if value is None else value[_URL:].decode()


def write_look(memory: Memory, page: bytes, url: str, look: StoredLook, *, is_met: bool = True) -> bool:
    """Enter a page into the list; return whether it is new there.

    Args:
        page: Its key.
        is_met: Whether some page links to it.
    """
    key = _key(page[:_SITE], url)
    is_new = memory.get(key) is None
    form = (_MET if is_met else _UNMET) | _next_block(memory, page[:_SITE], url) << _BLOCK_AT
    start = bytes([form]) + look.fingerprint + look.sketch if look.is_good else _BAD
    memory.put(key, start + page[_SITE:] + url.encode())
    return is_new


def _next_block(memory: Memory, site: bytes, url: str) -> int:
    """Count one more page of a URL's host; return the page's block of time."""
    key = site + _TIME + digest_of(origin(url))
    n = int.from_bytes(memory.get(key) or b"", "big")
    memory.put(key, (n + 1).to_bytes(4, "big"), weight=KEPT)
    return block_of(n)


def list_of(memory: Memory, site: bytes) -> Iterator[list[bytes]]:
    """Yield the pages of a site's list as they are stored, some at a time; changes made between two yields may be missed."""
    some: list[bytes] = []
    for first in range(256):
        some += [value for _, value in memory.scan(site + _PAGE + bytes([first]))]
        if len(some) >= _AT_ONCE:
            yield some
            some = []
    yield some


def sightings(pages: Iterable[bytes]) -> Iterator[Sighting]:
    """Decode what `list_of` returned."""
    for value in pages:
        is_good, url = bool(value[0] & _FORM), value[_URL:].decode()
        values = np.frombuffer(value[9:_PAGE_KEY], dtype="<u2") if is_good else None
        status, fingerprint = (200, value[1:9]) if is_good else (404, b"")
        seen_at = xxhash.xxh32_intdigest(origin(url).encode()), value[0] >> _BLOCK_AT
        yield Sighting(url, status, None, fingerprint, values, is_met=value[0] & _FORM != _UNMET, seen_at=seen_at)


def _key(site: bytes, url: str) -> bytes:
    return site + _PAGE + digest_of(url)


def digest_of(url: str) -> bytes:
    """Return 8 bytes that identify a URL in the records of its site."""
    return xxhash.xxh3_64_digest(url.encode())
