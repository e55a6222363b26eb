"""The truth of a labelled web: what each URL is and which document it shows, found by a walk over `PageTruth`, not over HTML.

    label      of any URL, linked or not: for judging a filter
    Labels     all URLs that links and redirects lead to from the seeds; of endless parts, one URL per document

A document is what a reader would call one page: its aliases, copies and replicas have its id. A URL that is not worth keeping (error, soft
error, redirect, trap) has no document. So in every part the useful fetches are counted in distinct documents, and so are the losses of a
filter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from thresher.crawler.demo.page_truth import PageTruth
from thresher.crawler.demo.truth import split


@dataclass(frozen=True, slots=True)
class Label:
    """What one URL is in truth."""

    url: str
    part: str  # soft, aliases, patterns, depth, replicas or rank
    kind: str  # one of the kinds that the part's module lists
    variant: str
    document: str  # "" if nothing is worth keeping
    canonical: str  # the document's own URL; "" without document
    status: int
    target: str  # target of a redirect
    is_endless: bool
    depth: int  # clicks from the nearest seed, redirects not counted; -1 for a single URL that was looked up


@dataclass(frozen=True, slots=True)
class LabelledTrap:
    """An endless part of a labelled web."""

    kind: str
    host: str
    marker: str  # text that every URL of the trap contains

    def holds(self, url: str) -> bool:
        host, path = split(url)
        return host == self.host and self.marker in path


def label_of(url: str, part: str, truth: PageTruth, depth: int = -1) -> Label:
    return Label(
        url,
        part,
        truth.kind,
        truth.variant,
        truth.document,
        truth.canonical,
        truth.status,
        truth.target,
        truth.is_endless,
        depth,
    )


@dataclass(frozen=True, slots=True)
class Labels:
    """The truth about all URLs that can be reached."""

    urls: dict[str, Label]
    traps: tuple[LabelledTrap, ...]

    def of_kind(self, *kinds: str) -> list[Label]:
        return [label for label in self.urls.values() if label.kind in kinds]

    def documents(self) -> dict[str, list[str]]:
        """Return {document: URLs that show it}; its own URL is first, if it is linked."""
        shown: dict[str, list[str]] = {}
        for label in self.urls.values():
            if label.document:
                shown.setdefault(label.document, []).insert(0 if label.url == label.canonical else len(self.urls), label.url)
        return shown

    def aliases(self) -> dict[str, str]:
        """Return {alias: canonical URL} for every URL that is not its document's own."""
        return {label.url: label.canonical for label in self.urls.values() if label.document and label.url != label.canonical}


def walk(seeds: Iterable[str], locate: Callable[[str], tuple[str, PageTruth]], traps: tuple[LabelledTrap, ...]) -> Labels:
    """Walk from the seeds, breadth first.

    Args:
        locate: Returns the part and the `PageTruth` of a URL.
    """
    urls: dict[str, Label] = {}
    met: set[str] = set()
    endless: set[str] = set()  # documents of endless spaces
    queue = deque((url, 0) for url in seeds)
    while queue:
        url, depth = queue.popleft()
        if url in met:
            continue
        met.add(url)
        part, truth = locate(url)
        if truth.is_endless and (not truth.document or truth.document in endless):
            continue
        if truth.is_endless:
            endless.add(truth.document)
        urls[url] = label_of(url, part, truth, depth)
        if truth.target:
            queue.appendleft((truth.target, depth))
        else:
            queue.extend((anchor.url, depth + 1) for anchor in truth.anchors() if anchor.url not in met)
    return Labels(urls, traps)
