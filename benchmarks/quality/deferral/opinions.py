"""What a host's filters believe in the simulator: shapes of URLs that have yielded nothing lately, and alias families.

The shapes are those of pattern_yield (filters/pattern_yield/patterns.py), the families those of filters/dust/families.py; the value of a
fetch is judged by its text alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import xxhash

from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.filters.dust import families
from thresher.filters.dust.families import Alias
from thresher.filters.dust.pools import CLASS
from thresher.filters.dust.shown import ShownPage
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import expected
from thresher.filters.pattern_yield.patterns import forms, parse


class Notes(dict[bytes, bytes]):
    """A filter's memory without limits."""

    def put(self, key: bytes, value: bytes, weight: float = 0.0) -> None:
        """Write a record."""
        self[key] = value

    def delete(self, key: bytes) -> None:
        """Drop a record."""
        self.pop(key, None)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the records of a prefix in the order of their keys."""
        return iter(sorted((key, value) for key, value in self.items() if key.startswith(prefix)))

    def get_many(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return several records."""
        return [self.get(key) for key in keys]


@dataclass(frozen=True)
class Beliefs:
    """How much evidence is enough to hold a class."""

    barren: int = 8  # fetches in a row of a shape that gave nothing
    window: float = 60.0
    belief: float = families.BELIEF  # lower bound of the share of equal pages in an alias family
    enough: int = families.ENOUGH  # answers of a family that are enough to judge it
    has_shapes: bool = True
    has_families: bool = True
    has_lineage: bool = True
    splits_lineage: bool = True
    copies: int = 1


class Opinions:
    """The opinions of one host's filters; families are those of the whole crawl, since hosts mirror each other."""

    def __init__(self, beliefs: Beliefs, memory: Notes) -> None:
        self._beliefs = beliefs
        self.has_lineage = beliefs.has_lineage
        self._recent: dict[str, Recent] = defaultdict(Recent)
        self._words: Counter[int] = Counter()
        self._memory = memory

    def shapes(self, url: str) -> list[str]:
        """Return the URL's shapes, the most specific first."""
        parts = urlsplit(url)
        return forms(parse(url, f"{parts.scheme}://{parts.netloc}"), self._words.__getitem__)

    def on_url(self, url: str) -> None:
        """Count the words of a URL that is seen for the first time."""
        parts = urlsplit(url)
        self._words.update(parse(url, f"{parts.scheme}://{parts.netloc}").words())

    def learn(self, url: str, text: str, *, is_good: bool) -> None:
        """Take a fetch into account."""
        for shape in self.shapes(url):
            self._recent[shape].learn(is_good, window=self._beliefs.window)
        if text and self._beliefs.has_families:
            families.learn(self._memory, _site(url), url, origin_of(url), _shown(url, text))

    def holder(self, url: str) -> str:
        """Return the class that holds a URL, "" if none does."""
        if self._beliefs.has_families and (alias := self._alias(url)):
            return alias.holder
        if self._beliefs.has_shapes:
            for shape in self.shapes(url):
                if self._recent[shape].streak >= self._beliefs.barren:
                    return f"shape {shape}"
        return ""

    def _alias(self, url: str) -> Alias | None:
        beliefs = self._beliefs
        return families.alias(self._memory, _site(url), url, origin_of(url), belief=beliefs.belief, enough=beliefs.enough)

    def copies(self, url: str) -> str:
        return {0: "", 1: f" {self.shapes(url)[-1]}", 2: f" {self.shapes(url)[0]}"}[self._beliefs.copies]

    def lineage(self, holder: str, url: str) -> str:
        """Return the class of a URL that inherits one: by its own coarsest shape."""
        root = holder.partition(" > ")[0]
        return f"{root} > {self.shapes(url)[-1]}" if self._beliefs.splits_lineage else root

    def recent(self, holder: str) -> Recent:
        """Return what a class had yielded before a URL of it was held."""
        if holder.startswith(CLASS):
            return families.recent(holder, self._memory)
        known = self._recent.get(holder.removeprefix("shape "))
        return Recent(known.n, known.s, known.streak) if known is not None else Recent()

    def expects(self, holder: str) -> float:
        """Return the expected yield of a shape."""
        return expected(self.recent(holder), 0.1)


def _site(url: str) -> bytes:
    return xxhash.xxh3_64_digest(site_of(hostname_of(origin_of(url))).encode())


def _shown(url: str, text: str) -> ShownPage:
    return ShownPage.of(xxhash.xxh3_64_digest(text.encode()), xxhash.xxh3_64_digest(url.encode()))
