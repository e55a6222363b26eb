"""Anytime curves: how many documents a crawl has after a share of a plain crawl's requests or bytes. Pure arithmetic.

A document is a page's text, times of day left out. `Run` has the requests of a crawl in order, each with the document that its answer
shows if it was kept, or "". The oracle fetches only new documents from the first request on. Near copies (by the clusters that the caller
gives) count once, since a filter may keep only one of them. Lost documents are counted by text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import log

POINTS = (0.1, 0.25, 0.5, 0.75, 1.0)
HALF = POINTS.index(0.5)
GAIN, GAIN_EACH, WORTH = 0.75, 0.5, 1.1
LOST, LOST_EACH = 0.001, 0.005
BELOW, BELOW_DOCUMENTS = 0.02, 5


@dataclass(frozen=True)
class CurveRequest:
    """One request of a crawl."""

    url: str
    purpose: str
    n_bytes: int  # bytes as transferred
    ended_at: float  # seconds since the epoch
    document: str = ""


@dataclass(frozen=True)
class Run:
    """A crawl: its requests in the order in which they ended."""

    requests: Sequence[CurveRequest]

    @property
    def documents(self) -> set[str]:
        return {request.document for request in self.requests} - {""}

    def near_as_one(self, clusters: Mapping[str, int]) -> Run:
        """Return the run with near copies as one document.

        Args:
            clusters: Document → its cluster; a document without one is alone.
        """
        one = {document: f"cluster {number}" for document, number in clusters.items()}
        return Run([replace(request, document=one.get(request.document, request.document)) for request in self.requests])

    @property
    def n_bytes(self) -> int:
        return sum(request.n_bytes for request in self.requests)

    def by_requests(self, n_requests: int) -> list[int]:
        """Return how many documents it had at each of `POINTS`, as shares of so many requests."""
        return [self._found(int(n_requests * point)) for point in POINTS]

    def by_bytes(self, n_bytes: int) -> list[int]:
        """Return how many documents it had at each of `POINTS`, as shares of so many bytes."""
        ends = list(accumulate(request.n_bytes for request in self.requests))
        return [self._found(sum(end <= n_bytes * point for end in ends)) for point in POINTS]

    def after(self, index: int) -> tuple[int, float, int]:
        """Return the requests from this one on, their seconds of wall clock, and how many new documents they brought."""
        late, early = self.requests[index:], self.requests[:index]
        seconds = late[-1].ended_at - early[-1].ended_at if late and early else 0.0
        return len(late), seconds, len(self.documents) - len({request.document for request in early} - {""})

    def _found(self, n: int) -> int:
        return len({request.document for request in self.requests[: max(1, n)]} - {""})


@dataclass(frozen=True)
class Curve:
    """One crawl with filters against the plain one of the same site and seed."""

    site: str
    plain: list[int]  # documents at each point of the plain crawl's requests
    found: list[int]
    plain_by_bytes: list[int]
    found_by_bytes: list[int]
    oracle: list[int]
    n_plain: int  # requests
    n_requests: int
    documents: int  # documents of the plain crawl, by text
    lost: int  # lost documents without a near copy that was kept
    near: int  # lost documents with a near copy that was kept
    tail: tuple[int, float, int]  # of the tail at the end: requests, seconds, new documents

    @property
    def gains(self) -> tuple[float, float]:
        """Logarithmic gain over plain at half of its requests: (this crawl's, the oracle's)."""
        return log(max(1, self.found[HALF]) / max(1, self.plain[HALF])), log(max(1, self.oracle[HALF]) / max(1, self.plain[HALF]))

    @property
    def below(self) -> list[str]:
        """Return the points at which plain has more documents than the goal allows, in words."""
        pairs = {"requests": (self.plain, self.found), "bytes": (self.plain_by_bytes, self.found_by_bytes)}
        return [
            f"{f} documents for plain's {p} at {point:.0%} of its {unit}"
            for unit, (plain, found) in pairs.items()
            for point, p, f in zip(POINTS, plain, found, strict=True)
            if p - f > max(BELOW * p, BELOW_DOCUMENTS)
        ]

    def line(self) -> str:
        """Return the figures as a line."""
        curve = " ".join(f"{f / max(1, p):.2f}/{o / max(1, p):.2f}" for f, p, o in zip(self.found, self.plain, self.oracle, strict=True))
        in_bytes = " ".join(f"{f / max(1, p):.2f}" for f, p in zip(self.found_by_bytes, self.plain_by_bytes, strict=True))
        ours, oracles = self.gains
        gain = f"{ours / oracles:5.0%}" if oracles > log(1.005) else "    -"
        n, seconds, new = self.tail
        tail = f"tail {n} requests, {seconds:.0f} s, {new} documents"
        fetched = f"{self.n_requests:5,} of {self.n_plain:5,} requests"
        lost = f"lost {self.lost} (+{self.near} near) of {self.documents}"
        return f"{self.site:12} {curve}  gain {gain}  bytes {in_bytes}  {fetched}  {lost}  {tail}"


def compared(site: str, plain: Run, other: Run, clusters: Mapping[str, int], *, capped: Run | None = None) -> Curve:
    """Return the curve of `other`.

    Args:
        site: Name of the site.
        plain: The plain crawl.
        other: The crawl with filters.
        clusters: Document → number of its cluster of near copies.
        capped: A crawl with filters whose budget is plain's number of requests.
    """
    n, base, budget = len(plain.requests), plain.near_as_one(clusters), (capped or other).near_as_one(clusters)
    lost = near_lost(plain.documents - other.documents, other.documents, clusters)
    return Curve(
        site=site,
        plain=base.by_requests(n),
        found=budget.by_requests(n),
        plain_by_bytes=base.by_bytes(plain.n_bytes),
        found_by_bytes=budget.by_bytes(plain.n_bytes),
        oracle=[min(len(base.documents), int(n * point)) for point in POINTS],
        n_plain=n,
        n_requests=len(other.requests),
        documents=len(plain.documents),
        lost=lost[0],
        near=lost[1],
        tail=other.after(tail_start(other)),
    )


def tail_start(run: Run) -> int:
    """Return the index at which a crawl's tail starts.

    From there on, audits exceed other requests by the largest number. A URL drawn from a tail is an audit; the pages that it names are
    ordinary ones again.
    """
    best, start, ahead = 0, len(run.requests), 0
    for index in range(len(run.requests) - 1, -1, -1):
        ahead += 1 if run.requests[index].purpose == "audit" else -1
        if ahead > best:
            best, start = ahead, index
    return start


def near_lost(lost: set[str], kept: set[str], clusters: Mapping[str, int]) -> tuple[int, int]:
    """Return how many lost documents have no near copy among the kept ones, and how many have one.

    Args:
        lost: Documents that are lost.
        kept: Documents that were kept.
        clusters: Document → its cluster.
    """
    there = {clusters[document] for document in kept if document in clusters}
    near = sum(clusters.get(document, -1) in there for document in lost)
    return len(lost) - near, near


def missed(curves: Sequence[Curve]) -> list[str]:
    """Return the goals that are missed, in words; the runs of a site are taken together."""
    found, sites = [], {curve.site: [other for other in curves if other.site == curve.site] for curve in curves}
    ours, oracles = (sum(curve.gains[i] for curve in curves) for i in (0, 1))
    if oracles > 0 and ours < GAIN * oracles:
        found.append(f"{ours / oracles:.0%} of the oracle's gain over all sites, goal {GAIN:.0%}")
    for site, runs in sites.items():
        own, best = (sum(run.gains[i] for run in runs) for i in (0, 1))
        if best >= log(WORTH) * len(runs) and own < GAIN_EACH * best:
            found.append(f"{site}: {own / best:.0%} of the oracle's gain, goal {GAIN_EACH:.0%}")
        found += [f"{site}: {words}" for run in runs for words in run.below]
        lost, documents = sum(run.lost for run in runs), sum(run.documents for run in runs)
        if lost > LOST_EACH * documents:
            found.append(f"{site}: lost {lost} of {documents}, goal {LOST_EACH:.1%}")
    lost, documents = sum(curve.lost for curve in curves), sum(curve.documents for curve in curves)
    if lost > LOST * documents:
        found.append(f"lost {lost} of {documents} over all sites, goal {LOST:.1%}")
    return found
