"""The sketch of each page, by which replicas are found: a few hundred bytes, computed once from its words and links.

All pages are collected before they are sketched, since the boilerplate of a host (boilerplate.py) is known only then: the first pages
of a manual are its prefaces, and most of its pages have another template. If the collected pages take too much memory, the host with the
most of them is sketched with what is known; later pages of that host are sketched as they come. A store's pages come host by host, so that
a page's sketch depends neither on other hosts nor on the machine that makes it (crawler/analysis/replica_sketches.py).

Memory: 8·K + 4·slots + 8·(number of links) + 2,100 bytes a page, and at most 256 MB of collected words.
Time: 0.2 ms for 2,000 words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np
import xxhash

from thresher.crawler.core.minhash import shingles, slots
from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import fingerprint
from thresher.filters.near_replica.boilerplate import learn, strip
from thresher.filters.near_replica.hyperlink_map import I64, Children
from thresher.filters.near_replica.random_projection import F64, Counting, project
from thresher.filters.near_replica.resemblance import LEAST, SHINGLE, U32, least

_MIN_SAMPLE: Final = 8  # pages of a host needed to find what they share
_SAMPLE: Final = 1024  # pages of a host, evenly chosen, by which it is found
_SHARE: Final = 0.5
_MOST_HELD: Final = 32 << 20  # words
MOST_LEARNED: Final = 10_000  # pages of a host whose words are in memory together
_NO_SHINGLES: Final = np.empty(0, dtype=np.uint64)
_LOW: Final = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How pages are sketched."""

    k: int = 5  # components of the projection
    counting: Counting = Counting.LOG_L2
    slots: int = 64  # slots of the sketch by which candidates are found
    shingle: int = SHINGLE  # words
    strip: bool = True  # remove boilerplate first


@dataclass(frozen=True, slots=True)
class Sketches:
    """All pages, numbered in the order in which they came."""

    urls: list[str]
    hosts: list[str]
    texts: list[bytes]  # 16: hash of the words that were compared, b"" if there are none
    projections: F64  # R̂, (n, K)
    minima: U32  # (n, slots)
    least: U32  # (n, LEAST), by which texts are compared
    links: U64  # hashes of the URLs linked to, page after page
    link_starts: I64  # (n + 1,), where each page's links begin; then their number

    def children(self) -> Children:
        """Return the links between these pages, those of menus left out."""
        names = url_hashes(self.urls)
        links, starts = without_menus(self)
        sources = np.repeat(np.arange(len(names)), np.diff(starts))
        if not len(names):
            return Children.of(sources, sources, 0)
        order = np.argsort(names)
        at = np.minimum(np.searchsorted(names[order], links), len(names) - 1)
        is_known = names[order][at] == links
        return Children.of(sources[is_known], order[at][is_known], len(names))


def without_menus(sketches: Sketches) -> tuple[U64, I64]:
    """Return the links, page after page, without those that most pages of a host have, and the position where each page's begin."""
    degrees = np.diff(sketches.link_starts)
    number: dict[str, int] = {}
    host_of = np.array([number.setdefault(host, len(number)) for host in sketches.hosts], dtype=np.int64)
    n_pages = np.bincount(host_of, minlength=len(number))
    hosts = np.repeat(host_of, degrees)
    cells = sketches.links * np.uint64(0x9E3779B97F4A7C15) + hosts.astype(np.uint64)
    _, cell, counts = np.unique(cells, return_inverse=True, return_counts=True)
    is_menu = (counts[cell] >= _SHARE * n_pages[hosts]) & (n_pages[hosts] >= _MIN_SAMPLE)
    left = np.bincount(np.repeat(np.arange(degrees.size), degrees)[~is_menu], minlength=degrees.size)
    return sketches.links[~is_menu], np.concatenate(([0], np.cumsum(left)))


def url_hashes(urls: Sequence[str]) -> U64:
    """Return 8 bytes of hash per URL."""
    return np.array([xxhash.xxh3_64_intdigest(url.encode()) for url in urls], dtype=np.uint64)


class PageSketch(NamedTuple):
    """The sketch of one page; the fields are those of `Sketches`."""

    text: bytes
    projection: F64
    minima: U32
    least: U32


class Sketcher:
    """Takes one page after the other."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._urls: list[str] = []
        self._hosts: list[str] = []
        self._sketches: list[PageSketch | None] = []
        self._links: list[U64] = []
        self._same_text: list[tuple[int, int]] = []
        self._held: dict[str, list[tuple[int, U64]]] = {}
        self._n_kept: Counter[str] = Counter()  # words, by host
        self._n_all_held = 0
        self._boilerplate: dict[str, U64] = {}

    def add(self, url: str, host: str, tokens: U64, links: Sequence[str]) -> None:
        """Add a page.

        Args:
            tokens: Hashes of its words, in order.
            links: Distinct canonical URLs.
        """
        number = self.expect(url, host, url_hashes(links))
        if not self._recipe.strip or host in self._boilerplate:
            self.put(number, sketch(tokens, self._boilerplate.get(host, _NO_SHINGLES), self._recipe))
            return
        self._held.setdefault(host, []).append((number, tokens))
        self._n_kept[host] += tokens.size
        self._n_all_held += tokens.size
        if self._n_all_held > _MOST_HELD:
            self._sketch_host(max(self._n_kept, key=self._n_kept.__getitem__))

    def expect(self, url: str, host: str, links: U64) -> int:
        """Add a page whose sketch is made elsewhere, and `put` later; return its number.

        Args:
            links: The hashes of distinct canonical URLs.
        """
        self._urls.append(url)
        self._hosts.append(host)
        self._links.append(links)
        self._sketches.append(None)
        return len(self._urls) - 1

    def put(self, number: int, found: PageSketch) -> None:
        """Give a page its sketch."""
        self._sketches[number] = found

    def same_text(self, number: int, original: int) -> None:
        """Give page `number`, which was added without words, the words of page `original`."""
        self._same_text.append((number, original))

    def url(self, number: int) -> str:
        """Return the URL of a page."""
        return self._urls[number]

    def close(self) -> Sketches:
        """Return the sketches of all pages."""
        for host in list(self._held):
            self._sketch_host(host)
        for number, original in self._same_text:
            self._sketches[number] = self._sketches[original]
        starts = np.zeros(len(self._urls) + 1, dtype=np.int64)
        np.cumsum([links.size for links in self._links], out=starts[1:])
        found = [one for one in self._sketches if one is not None]
        assert len(found) == len(self._urls), "a page that was expected has no sketch"
        recipe = self._recipe
        return Sketches(
            self._urls,
            self._hosts,
            [one.text for one in found],
            np.array([one.projection for one in found], dtype=np.float64).reshape(-1, recipe.k),
            np.array([one.minima for one in found], dtype=np.uint32).reshape(-1, recipe.slots),
            np.array([one.least for one in found], dtype=np.uint32).reshape(-1, LEAST),
            np.concatenate((np.empty(0, dtype=np.uint64), *self._links)),
            starts,
        )

    def _sketch_host(self, host: str) -> None:
        """Learn a host's boilerplate from its collected pages, and sketch them."""
        held = self._held.pop(host)
        self._n_all_held -= self._n_kept.pop(host)
        self._boilerplate[host] = shared_by([tokens for _, tokens in held], self._recipe)
        for number, tokens in held:
            self.put(number, sketch(tokens, self._boilerplate[host], self._recipe))


def sketch_host(pages: Iterable[U64], recipe: Recipe) -> Iterator[PageSketch]:
    """Yield the sketches of a host's pages.

    Args:
        pages: Hashes of the words of each, in order.
    """
    coming = iter(pages)
    held = first_pages(coming)
    shared = shared_by(held, recipe)
    for tokens in chain(held, coming):
        yield sketch(tokens, shared, recipe)


def first_pages(pages: Iterable[U64]) -> list[U64]:
    """Return the first pages of a host, from which it is learned what they share: 10,000, or fewer with 256 MB of words."""
    held, n_held = list[U64](), 0
    for tokens in islice(pages, MOST_LEARNED):
        held.append(tokens)
        n_held += tokens.size
        if n_held > _MOST_HELD:
            break
    return held


def sketch(tokens: U64, shared: U64, recipe: Recipe) -> PageSketch:
    """Return the sketch of a page.

    Args:
        tokens: Hashes of its words, in order.
        shared: What most pages of its host share, as from `learn`.
    """
    content = strip(tokens, shared, width=recipe.shingle) if recipe.strip else tokens
    hashes = shingles(content, recipe.shingle)
    minima = (slots(hashes, recipe.slots) & _LOW).astype(np.uint32)
    return PageSketch(fingerprint(content), project(content, recipe.k, recipe.counting), minima, least(hashes))


def shared_by(pages: Sequence[U64], recipe: Recipe) -> U64:
    """Return what most of a host's pages share; nothing if too few have words, or if nothing is to be removed."""
    if not recipe.strip:
        return _NO_SHINGLES
    distinct = list({fingerprint(tokens): tokens for tokens in pages if tokens.size}.values())
    sample = distinct[:: -(-len(distinct) // _SAMPLE)] if len(distinct) >= _MIN_SAMPLE else []
    return learn(sample, width=recipe.shingle, share=_SHARE)
