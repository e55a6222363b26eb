"""What the filters are worth together and one by one: one labelled web is crawled again and again, and judged by its labels.

The same crawl is made with every filter off (plain breadth-first), with all of them, and with all but one. Each crawl may make the same
number of requests. Requests of filters count, requests of robots.txt do not; what happens after the last request is left out. A page is
useful if it is the first page of its document that the crawl kept. A document is lost if the crawl did not keep it and never will. A
document that still waits, or was not found before the requests were used up, is not lost.

The filter `media` is on in all crawls, so that none of them fetches images and the like.
"""

from __future__ import annotations

import asyncio
import resource
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.bench.ablations import with_filters
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import State
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.running import Crawl
from thresher.storage.records import PageRecord
from thresher.storage.view import View

_LATE = ("queued", "not met")
_FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class CrawlOutcome:
    """The result of one crawl."""

    name: str
    fetches: int
    useful_at: list[int]  # number of the fetch that gave each useful page, from 1
    wasted: Counter[str]  # fetches that gave no useful page, by part and kind of their answer
    lost: Counter[str]  # lost documents, by part, kind and what became of their URLs
    cpu_s: float  # of the requests that count
    is_cut: bool  # whether it ended because the requests were used up (else nothing was left to do)

    def useful(self, fetches: int) -> int:
        """Return the useful pages of the first so many fetches."""
        return bisect_right(self.useful_at, fetches)

    def rate(self, fetches: int) -> float:
        """Return useful pages per fetch after so many fetches, or after all of them if the crawl made fewer."""
        return self.useful(fetches) / min(fetches, self.fetches)


def crawls(
    web: LabelledWeb, settings: Settings, rows: Mapping[str, Sequence[str]], fetches: int, directory: Path
) -> Iterator[CrawlOutcome]:
    """Make one crawl after another, each in a store of its own in the directory; raises UsageError for one that ends early."""
    for name, on in rows.items():
        yield _crawl(web, with_filters(settings, on), name, fetches, directory / name.replace(" ", "-"))


def _crawl(web: LabelledWeb, settings: Settings, name: str, fetches: int, path: Path) -> CrawlOutcome:
    log = path.with_suffix(".log")
    limits = msgspec.structs.replace(settings.limits, max_pages=min(fetches, settings.limits.max_pages or fetches))
    settings = msgspec.structs.replace(settings, limits=limits, log=msgspec.structs.replace(settings.log, requests=str(log)))
    before = _cpu_s()
    why = asyncio.run(Crawl(path, settings=settings).run()).why
    cpu_s = _cpu_s() - before
    made = [fields[6] for line in log.read_text("ascii").splitlines() if (fields := line.split("\t"))[4] != "robots"]
    is_cut = len(made) >= fetches
    if not made or not (is_cut or why.startswith("nothing is")):
        raise UsageError(f"{name}: the crawl ended after {len(made):,} of {fetches:,} requests: {why}. A figure of it would mean nothing")
    requested = made[:fetches]
    fates = _fates(path, set(requested))
    useful_at, wasted = _judge(web, requested, fates)
    lost = _lost(web, fates, is_cut=is_cut)
    return CrawlOutcome(name, len(requested), useful_at, wasted, lost, cpu_s * len(requested) / len(made), is_cut)


def _cpu_s() -> float:
    """CPU seconds of this process and of children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _fates(path: Path, in_time: set[str]) -> dict[str, str]:
    """Return what became of each known URL. A URL that was fetched after the last request that counts is returned as waiting."""
    with View(path) as view:
        space = URLSpace(view.secret, url_rules(view.settings))
        pages = {page.url: page for _, page in view.all_pages()}
        fates = {}
        for url, row in view.all_urls():
            if url.text in pages:
                fates[url.text] = _of_page(pages[url.text]) if url.text in in_time else "queued"
            elif row.state == State.HELD:
                holders = {holder.split()[0] for holder in view.tables.held.holders(space.key(url.text))}
                fates[url.text] = f"held by {' and '.join(sorted(holders))}"
            else:
                fates[url.text] = row.state.name.lower()
    return fates


def _of_page(page: PageRecord) -> str:
    if page.keep:
        return _FETCHED
    return f"dropped by {' and '.join(sorted({verdict.filter for verdict in page.verdicts if not verdict.keep}))}"


def _judge(web: LabelledWeb, requested: Sequence[str], fates: Mapping[str, str]) -> tuple[list[int], Counter[str]]:
    """Return which fetches gave a useful page, and the kinds of those that did not."""
    met, useful_at, wasted = set[str](), list[int](), Counter[str]()
    for number, url in enumerate(requested, 1):
        label = web.label(url)
        if label.document and label.document not in met and fates.get(url) == _FETCHED:
            met.add(label.document)
            useful_at.append(number)
        else:
            wasted[f"{label.part or 'elsewhere'} {label.kind}"] += 1
    return useful_at, wasted


def _lost(web: LabelledWeb, fates: Mapping[str, str], *, is_cut: bool) -> Counter[str]:
    """Count the documents that the crawl has not kept and never will."""
    lost = Counter[str]()
    for urls in web.truth().documents().values():
        found = {fates.get(url, "not met") for url in urls}
        if _FETCHED in found or (is_cut and (found == {"not met"} or "queued" in found)):
            continue
        label = web.label(urls[0])
        causes = sorted(found - set(_LATE)) or sorted(found)
        lost[f"{label.part} {label.kind} {label.variant}".strip() + f": {'; '.join(causes)}"] += 1
    return lost
