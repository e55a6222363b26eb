"""A site's list of URLs and what is known of their pages: rules are mined from it, and judged by it.

A URL that was seen several times has the range of its sizes, and its newest answer that was no error. URLs whose page is an error, a soft
error or empty stay in the list: they are like no other, and a rule that leads to one is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import xxhash

from thresher.filters.dust.similarity import PageTexts, Sketches, stacked
from thresher.filters.dust.substrings import Kinds
from thresher.filters.dust.tokens import I64

_UNKNOWN_SIZE: Final = -1


class Sighting(msgspec.Struct, frozen=True):
    """One answer for one URL."""

    url: str
    status: int = 200
    size: tuple[int, int] | None = None  # bytes, smallest and largest
    fingerprint: str | bytes = ""  # of the page's text; "": the text is not known
    sketch: Sketches | None = None
    is_bad: bool = False  # a soft error, or nothing on it
    is_met: bool = True  # some page links to it; if only a rule led to it, it suggests no other rule
    seen_at: tuple[int, int] | None = None  # number of its host, and the host's block of time (filters/evidence/blocks.py)

    @property
    def is_good(self) -> bool:
        """Whether the answer is a page that is not empty."""
        return 200 <= self.status < 300 and not self.is_bad


class _Line(msgspec.Struct):
    url: str
    status: int = 200
    size: int | tuple[int, int] | None = None
    sketch: str | list[int] | None = None
    fingerprint: str = ""
    soft_error: bool = False


_decode: Final = msgspec.json.Decoder(_Line).decode  # its errors are ValueErrors


@dataclass(frozen=True, slots=True)
class UrlList:
    """URLs as columns. `index` finds one by its text."""

    urls: tuple[str, ...]
    index: Mapping[str, int]
    is_good: np.typing.NDArray[np.bool_]
    suggests: np.typing.NDArray[np.bool_]  # good, and met: rules are mined from these
    smallest: I64  # bytes, -1: unknown
    largest: I64
    texts: PageTexts | None  # None: no text is known of any
    popularity: Mapping[str, int]  # origin → links to it
    seen_at: Sequence[tuple[int, int] | None]

    @classmethod
    def of(cls, sightings: Iterable[Sighting], popularity: Mapping[str, int] | None = None) -> UrlList:
        """Collect sightings into a list.

        Args:
            popularity: Origin → links to it; None: the list's own URLs are counted.
        """
        newest: dict[str, Sighting] = {}
        sizes: dict[str, tuple[int, int]] = {}
        for sighting in sightings:
            earlier = newest.get(sighting.url)
            if earlier is None or sighting.is_good or not earlier.is_good:
                newest[sighting.url] = sighting
            if sighting.is_good and sighting.size is not None:
                low, high = sizes.get(sighting.url, sighting.size)
                sizes[sighting.url] = min(low, sighting.size[0]), max(high, sighting.size[1])
        urls = tuple(newest)
        ranges = np.array([sizes.get(url, (_UNKNOWN_SIZE, _UNKNOWN_SIZE)) for url in urls], dtype=np.int64).reshape(-1, 2)
        is_good = np.array([sighting.is_good for sighting in newest.values()], dtype=np.bool_)
        suggests = is_good & np.array([sighting.is_met for sighting in newest.values()], dtype=np.bool_)
        index = {url: i for i, url in enumerate(urls)}
        used = popularity or Counter(origin(url) for url, good in zip(urls, is_good, strict=True) if good)
        seen_at = [sighting.seen_at for sighting in newest.values()]
        return cls(urls, index, is_good, suggests, ranges[:, 0], ranges[:, 1], _texts(list(newest.values())), used, seen_at)

    def __len__(self) -> int:
        return len(self.urls)

    def alike(self, one: int, other: int) -> bool | None:
        """Return whether two pages show the same by their texts, else by their sizes; None if nothing is known of either."""
        if not (self.is_good[one] and self.is_good[other]):
            return False
        if self.texts is not None:
            is_known = self.texts.fingerprints[one] and self.texts.fingerprints[other]
            return self.texts.alike(one, other) if is_known else None
        if min(self.smallest[one], self.smallest[other]) < 0:
            return None
        return bool(self.smallest[one] <= self.largest[other] and self.smallest[other] <= self.largest[one])

    def equal(self, one: int, other: int) -> bool:
        """Return whether two alike pages are equal word for word, as far as that is known."""
        return self.texts is None or self.texts.equal(one, other)

    @property
    def n_copies(self) -> int:
        """How many pages show what another one shows, 0 if no text is known."""
        if self.texts is None:
            return 0
        labels = self.texts.labels[self.texts.labels != 0]
        return int(labels.size - np.unique(labels).size)

    def has_text(self, url: str) -> bool:
        """Return whether it is known what a URL shows, an error included."""
        i = self.index.get(url)
        if i is None or not self.is_good[i]:
            return i is not None
        return self.texts is not None and bool(self.texts.fingerprints[i])

    def good(self) -> tuple[list[str], I64, Kinds]:
        """Return the URLs with pages to compare; their positions in the list, [n]; and what tells which of them are alike."""
        known = self.suggests if self.texts is None else self.suggests & (self.texts.labels != 0)
        places = np.flatnonzero(known)
        urls = [self.urls[i] for i in places]
        if self.texts is not None:
            return urls, places, Kinds(label=self.texts.labels[places])
        if (self.smallest[places] < 0).any():
            return urls, places, Kinds()
        return urls, places, Kinds(smallest=self.smallest[places], largest=self.largest[places])


def origin(url: str) -> str:
    """Return scheme and host of a URL, even if the URL is not canonical."""
    begin = url.find("://") + 3
    end = min((at for mark in "/?#" if (at := url.find(mark, begin)) >= 0), default=len(url))
    return url[:end]


def read_line(text: str) -> Sighting:
    """Decode a JSON line {"url", "status", "size", "sketch"}.

    "size" is bytes, or [smallest, largest]. "sketch" is a list of numbers of one length for all (MinHash, 0 for an empty place), or any
    text that is equal for equal pages. "fingerprint" (a text) and "soft_error" (true) are read too; other keys are ignored.

    Raises:
        ValueError: If the line is no such object.
    """
    line = _decode(text)
    if "://" not in line.url:
        raise ValueError(f"url: expected http://… or https://…, found {line.url[:100]!r}")
    return _sighting(line)


def _sighting(line: _Line) -> Sighting:
    size = (line.size, line.size) if isinstance(line.size, int) else line.size
    name = line.sketch if isinstance(line.sketch, str) else line.fingerprint
    values = np.array([value % 0xFFFF + 1 if value else 0 for value in line.sketch], np.uint16) if isinstance(line.sketch, list) else None
    return Sighting(line.url, line.status, size, name, values, line.soft_error)


def _texts(sightings: list[Sighting]) -> PageTexts | None:
    fingerprints = np.array([_fingerprint(sighting) for sighting in sightings], dtype=np.int64)
    if not fingerprints.any():
        return None
    return PageTexts.of(fingerprints, stacked([sighting.sketch if sighting.is_good else None for sighting in sightings]))


def _fingerprint(sighting: Sighting) -> int:
    """Return a number that is equal for equal texts, 0 where none is known or none counts."""
    if not sighting.is_good:
        return 0
    if name := sighting.fingerprint:
        return xxhash.xxh3_64_intdigest(name.encode() if isinstance(name, str) else name) >> 1 or 1
    return xxhash.xxh3_64_intdigest(sighting.sketch.tobytes()) >> 1 or 1 if sighting.sketch is not None and sighting.sketch.any() else 0
