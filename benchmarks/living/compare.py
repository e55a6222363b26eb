"""Compares a crawl with filters with the crawl without: what was saved, what was lost, and by which filters.

A document is a distinct text of the crawl without filters, among its answers of status 200 that do not show a missing page. It is lost
if no page that the other crawl kept has that text. A lost one may have a near copy among what was kept: resemblance of at least 0.9 between
their four-word shingles, without those that a fifth of the site's documents share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

from benchmarks.living.crawls import Crawl, CrawledPage, holders, refusals
from benchmarks.living.site import Judge

_NEAR = 0.9
_SHARED = 0.2  # a shingle on this share of the documents is boilerplate
_WIDTH = 4


@dataclass(frozen=True)
class Loss:
    """A document that the filtered crawl did not keep."""

    document: str
    urls: list[str]  # its URLs in the crawl without filters
    fates: list[str]  # what became of each URL in the filtered crawl
    resemblance: float  # resemblance with the most similar document that was kept


@dataclass(frozen=True)
class Comparison:
    """Two crawls of one site."""

    base: Crawl
    other: Crawl
    is_empty: Judge

    @cached_property
    def by_url(self) -> dict[str, str]:
        """URL → document of the crawl without filters."""
        return {answer.url: answer.document for answer in self._good(self.base)}

    @cached_property
    def documents(self) -> set[str]:
        return set(self.by_url.values())

    @property
    def reduction(self) -> float:
        """Share of all requests that was saved; requests of the filters themselves count as requests."""
        return 1 - self.other.requests.total() / self.base.requests.total()

    @property
    def n_base_duplicates(self) -> int:
        return len(self.by_url) - len(self.documents)

    @property
    def n_duplicates(self) -> int:
        """Number of fetched answers of the filtered crawl that show the same as another one."""
        by_print = {answer.fingerprint: answer.document for answer in self.base.answers}
        shown = [
            answer.document or self.by_url.get(answer.url) or by_print.get(answer.fingerprint, answer.fingerprint)
            for answer in self._good(self.other)
        ]
        return len(shown) - len(set(shown))

    @property
    def coverage(self) -> float:
        """Share of the duplicate fetches that were avoided."""
        return 1 - self.n_duplicates / self.n_base_duplicates if self.n_base_duplicates else 0.0

    @cached_property
    def lost(self) -> list[Loss]:
        kept = {answer.document: answer for answer in self._good(self.other) if answer.is_kept}
        urls: defaultdict[str, list[str]] = defaultdict(list)
        for url, document in self.by_url.items():
            if document not in kept:
                urls[document].append(url)
        texts = {answer.document: answer.text for answer in self.base.answers if answer.document in urls}
        near = _nearest(texts, {document: answer.text for document, answer in kept.items()}) if texts else {}
        return [Loss(document, found, [self._fate(url) for url in found], near[document]) for document, found in urls.items()]

    def is_lost(self, loss: Loss) -> bool:
        """Return whether the document itself is lost: no near copy was kept, and `limits.max_pages` was not the reason."""
        return loss.resemblance < _NEAR and not (self.other.is_cut and all(fate in ("queued", "not met") for fate in loss.fates))

    def _good(self, crawl: Crawl) -> list[CrawledPage]:
        return [answer for answer in crawl.answers if answer.status == 200 and not self.is_empty(answer.url)]

    @cached_property
    def _dropped(self) -> dict[str, str]:
        return {answer.url: ", ".join(answer.dropped_by()) for answer in self.other.answers if not answer.is_kept}

    @cached_property
    def _refused(self) -> dict[str, list[str]]:
        return refusals(self.other.directory)

    @cached_property
    def _held(self) -> dict[str, list[str]]:
        return holders(self.other.directory, [url for url, (state, _) in self.other.states.items() if state == "held"])

    def _fate(self, url: str) -> str:
        if url in self._held:
            return f"held by {', '.join(sorted({holder.split()[0] for holder in self._held[url]}))}"
        if url in self._dropped:
            return f"fetched, dropped by {self._dropped[url] or 'nobody'}"
        if url in self._refused:
            return f"refused by {self._refused[url][-1]}"
        state, reason = self.other.states.get(url, ("not met", ""))
        return f"{state} {reason}".strip()


def causes(losses: list[Loss]) -> Counter[str]:
    """Count lost documents by what became of their URLs."""
    return Counter(" + ".join(sorted(set(loss.fates))) for loss in losses)


def _nearest(lost: dict[str, str], kept: dict[str, str]) -> dict[str, float]:
    """Return lost document → its greatest resemblance with a kept document."""
    shingles = {document: _shingles(text) for document, text in {**kept, **lost}.items()}
    n_in = Counter(shingle for found in shingles.values() for shingle in found)
    common = {shingle for shingle, n in n_in.items() if n > max(2, _SHARED * len(shingles))}
    own = {document: found - common or found for document, found in shingles.items()}
    places: defaultdict[int, list[str]] = defaultdict(list)
    for document in kept:
        for shingle in own[document]:
            places[shingle].append(document)
    best = {}
    for document in lost:
        met = Counter(other for shingle in own[document] for other in places.get(shingle, ()))
        best[document] = max((n / (len(own[document]) + len(own[other]) - n) for other, n in met.items()), default=0.0)
    return best


def _shingles(text: str) -> set[int]:
    words = text.lower().split()
    return {hash(tuple(words[i : i + _WIDTH])) for i in range(max(1, len(words) - _WIDTH + 1))}
