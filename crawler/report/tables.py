"""Sums over the other tables of a store: hosts, failures, refused, held and rewritten URLs. Each table is read once.

Memory: the samples. Time: 1 to 5 µs a row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Final

from thresher.crawler.core.ports import HostRecord
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.report.pages import SAMPLES
from thresher.crawler.report.sampling import Largest, Sample, Timeline
from thresher.storage.export.scans import hosts, revisions
from thresher.storage.records import ALIAS, EDGE, FAILURE, Codec, FailureRecord, VerdictRecord
from thresher.storage.schema import ALIASES, EDGES, FAILURES, HELD, ROBOTS
from thresher.storage.view import View

TOP_HOSTS: Final = 20
SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)  # bounds of bins for pages per host
_MOST_HOLDERS: Final = 5_000
_CHUNK: Final = 1000
_ROBOTS: Final = Codec(RobotsRecord)


@dataclass(slots=True)
class Hosts:
    """Sums over host queues, and the queues with most pages and most failed requests."""

    n: int = 0
    n_pages: int = 0
    largest: list[HostRecord] = field(default_factory=list)
    failing: list[HostRecord] = field(default_factory=list)
    sizes: list[int] = field(default_factory=lambda: [0] * (len(SIZES) + 1))
    parked: Counter[str] = field(default_factory=Counter)
    n_crawl_delay: int = 0
    n_backing_off: int = 0


def read_hosts(view: View) -> Hosts:
    """Read every host's record once."""
    found = Hosts()
    largest, failing = Largest[HostRecord](TOP_HOSTS), Largest[HostRecord](10)
    now = view.clock
    for _, record in hosts(view):
        found.n += 1
        found.n_pages += record.n_pages
        found.sizes[next((i for i, bound in enumerate(SIZES) if record.n_pages < bound), len(SIZES))] += 1
        found.n_crawl_delay += record.crawl_delay >= 0
        found.n_backing_off += record.backoff_until > now
        if record.parked:
            found.parked[record.parked] += 1
        largest.offer((record.n_pages, record.n_queued), record)
        if record.n_failed:
            failing.offer((record.n_failed, record.n_requests), record)
    found.largest, found.failing = largest.items(), failing.items()
    return found


def read_robots(view: View) -> Counter[str]:
    """Count origins by the state of their robots.txt."""
    return Counter(_ROBOTS.decode(value).kind for _, value in view.rows(ROBOTS))


def read_discovery(view: View) -> Timeline:
    """Count known URLs by the time at which they were found."""
    found = Timeline(1)
    for _, url in view.numbered_urls():
        if url.found_at > 0:
            found.add(url.found_at, 1)
    return found


@dataclass(slots=True)
class FailedUrls:
    """URLs whose last request gave no page, for one reason. n_final: number of them that failed for good."""

    n: int = 0
    n_final: int = 0
    sample: Sample[tuple[bytes, FailureRecord]] = field(default_factory=lambda: Sample(3))


def read_failures(view: View) -> dict[str, FailedUrls]:
    """Return failures by reason."""
    found: dict[str, FailedUrls] = {}
    for key, value in view.rows(FAILURES):
        record = FAILURE.decode(value)
        of = found.setdefault(record.reason, FailedUrls())
        of.n += 1
        of.n_final += record.final
        of.sample.offer(key.hex(), (key, record))
    return found


@dataclass(slots=True)
class RedirectVerdicts:
    """One filter's newest verdicts on URLs that redirected.

    `sample`: (key, target, verdict).
    """

    refused: int = 0
    let_off: int = 0
    sample: Sample[tuple[bytes, str, VerdictRecord]] = field(default_factory=lambda: Sample(SAMPLES))


def read_redirects(view: View) -> dict[str, RedirectVerdicts]:
    """Return the newest verdicts on redirects, by filter; verdicts on pages are read with the pages."""
    found: dict[str, RedirectVerdicts] = {}
    rows = revisions(view)
    while chunk := list(islice(rows, _CHUNK)):
        edges = view.get_many(EDGES, [key for key, _ in chunk])
        for (key, revised), edge in zip(chunk, edges, strict=True):
            if edge is None:
                continue
            target = EDGE.decode(edge).to_text
            for verdict in {revision.verdict.filter: revision.verdict for revision in revised}.values():
                of = found.setdefault(verdict.filter, RedirectVerdicts())
                is_refused = not (verdict.keep and verdict.follow)
                of.refused += is_refused
                of.let_off += not is_refused
                of.sample.offer(key.hex(), (key, target, verdict))
    return found


@dataclass(frozen=True, slots=True)
class SkippedUrl:
    """A URL that was skipped, as it is shown."""

    url: str
    detail: str


def read_skips(view: View) -> dict[tuple[str, str], Sample[SkippedUrl]]:
    """Return samples of skipped URLs by (filter or rule, reason). `n` counts the lines of the log, which leaves out many URLs."""
    found: dict[tuple[str, str], Sample[SkippedUrl]] = {}
    for line in view.all_skipped():
        sample = found.setdefault((line.by, line.reason), Sample(SAMPLES))
        sample.offer(line.url, SkippedUrl(line.url, line.detail))
    return found


@dataclass(slots=True)
class HeldUrls:
    """Held URLs. largest: the largest holders, each with the number of URLs it holds."""

    by_filter: Counter[str] = field(default_factory=Counter)
    samples: dict[str, Sample[tuple[bytes, str]]] = field(default_factory=dict)  # (key, holder)
    largest: dict[str, int] = field(default_factory=dict)
    is_whole: bool = True  # whether `largest` has every holder


def read_held(view: View) -> HeldUrls:
    """Read the held URLs; those of one holder are adjacent."""
    found = HeldUrls()
    largest = Largest[tuple[str, int]](_MOST_HOLDERS)
    n_holders = 0
    for _, group in groupby(view.rows(HELD), key=lambda row: row[0][:8]):
        n = 0
        for row, value in group:
            holder = value.decode()
            name = filter_of(holder)
            n += 1
            found.by_filter[name] += 1
            found.samples.setdefault(name, Sample(SAMPLES)).offer(row.hex(), (row[8:], holder))
        n_holders += 1
        largest.offer((n,), (holder, n))
    found.largest, found.is_whole = dict(largest.items()), n_holders <= _MOST_HOLDERS
    return found


def filter_of(holder: str) -> str:
    """Return the filter in the name of a holder or a rule."""
    return holder.partition(" ")[0].partition(":")[0]


def read_aliases(view: View) -> Sample[tuple[bytes, str, str]]:
    """Return a sample of the rewritten URLs: (key, target, rule)."""
    found: Sample[tuple[bytes, str, str]] = Sample(SAMPLES)
    for key, value in view.rows(ALIASES):
        alias = ALIAS.decode(value)
        found.offer(key.hex(), (key, alias.to_text, alias.rule))
    return found
