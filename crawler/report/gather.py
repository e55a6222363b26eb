"""Reads everything that a report shows from a crawl's store, while the crawl runs or after it; writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from thresher.config.settings import Settings
from thresher.crawler.core.model import State
from thresher.crawler.report.learned import Learned, read_learned
from thresher.crawler.report.order import OrderQuality, read_order
from thresher.crawler.report.pages import PageSums, read_pages
from thresher.crawler.report.sampling import Sample, Timeline
from thresher.crawler.report.sitemaps import SitemapNews, read_sitemaps
from thresher.crawler.report.tables import (
    FailedUrls,
    HeldUrls,
    Hosts,
    RedirectVerdicts,
    SkippedUrl,
    filter_of,
    read_aliases,
    read_discovery,
    read_failures,
    read_held,
    read_hosts,
    read_redirects,
    read_robots,
    read_skips,
)
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import Status
from thresher.storage.export.judged import NewestVerdict, named_keys
from thresher.storage.export.texts import TextLookup
from thresher.storage.view import View


@dataclass(slots=True)
class CrawlFigures:
    """The figures of a crawl from which a report is made."""

    name: str
    settings: Settings
    as_of: float  # time of the last commit, seconds since the epoch
    totals: Status
    states: dict[str, int]
    statuses: dict[int, int]
    audited: int
    pages: PageSums
    hosts: Hosts
    robots: Counter[str]
    discovery: Timeline
    failures: dict[str, FailedUrls]
    redirects: dict[str, RedirectVerdicts]
    skips: dict[tuple[str, str], Sample[SkippedUrl]]
    held: HeldUrls
    aliases: Sample[tuple[bytes, str, str]]
    rules: dict[str, int]  # rule → how often it was applied; only the most frequent rules
    learned: Learned
    order: OrderQuality | None
    sitemaps: SitemapNews | None
    texts: dict[bytes, str]  # texts of URLs by the keys that samples have


def gather(view: View, *, with_order: bool) -> CrawlFigures:
    """Read a store.

    Args:
        with_order: Whether to rank its link graph, too.
    """
    held, aliases, failures, redirects = read_held(view), read_aliases(view), read_failures(view), read_redirects(view)
    return CrawlFigures(
        name=view.path.resolve().name,
        settings=view.settings,
        as_of=view.clock,
        totals=_totals(view),
        states={state.name.lower(): n for state in State if (n := view.counters.get(f"state:{state.name.lower()}"))},
        statuses={int(name.removeprefix("status:")): n for name, n in view.counters.all("status:").items() if n},
        audited=view.counters.get("audited"),
        pages=read_pages(view),
        hosts=read_hosts(view),
        robots=read_robots(view),
        discovery=read_discovery(view),
        failures=failures,
        redirects=redirects,
        skips=read_skips(view),
        held=held,
        aliases=aliases,
        rules=dict(Counter(view.tables.rules.all()).most_common(_MOST_RULES)),
        learned=read_learned(view, held),
        order=read_order(view) if with_order else None,
        sitemaps=read_sitemaps(view),
        texts=TextLookup(view).of_keys(_named(held, aliases, failures, redirects)),
    )


_MOST_RULES = 100


def _totals(view: View) -> Status:
    status = Status()
    Totals(view.counters).fill(status)
    return status


def _named(
    held: HeldUrls, aliases: Sample[tuple[bytes, str, str]], failures: dict[str, FailedUrls], redirects: dict[str, RedirectVerdicts]
) -> Iterator[bytes]:
    """Yield the keys of URLs in samples."""
    for holds in held.samples.values():
        yield from (key for key, _ in holds.items())
    yield from (key for key, _, _ in aliases.items())
    for failed in failures.values():
        yield from (key for key, _ in failed.sample.items())
    for of in redirects.values():
        for key, _, verdict in of.sample.items():
            yield key
            yield from named_keys([NewestVerdict(verdict, 0.0)])


def filter_names(crawl: CrawlFigures) -> list[str]:
    """Return every filter that is configured or has decided something, in the order of the configuration."""
    configured = [name for name in crawl.settings.filters.__struct_fields__ if hasattr(getattr(crawl.settings.filters, name), "mode")]
    heard = {
        *crawl.totals.saved,
        *crawl.totals.would_save,
        *crawl.pages.filters,
        *crawl.held.by_filter,
        *crawl.redirects,
        *map(filter_of, crawl.rules),
    }
    return [*configured, *sorted(heard - set(configured))]
