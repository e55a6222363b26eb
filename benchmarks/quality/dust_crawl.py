"""DUST on the demo web's planted aliases: a crawl with and without the filter, judged by the web's own labels.

    python -m benchmarks.quality.dust_crawl [--pages 5000] [--delay 0.01]

--pages is the number of documents of each of the three sites, --delay the seconds between two requests to a host.

Bars: ≥ 90 % of the planted redundancy saved, ≤ 0.5 % of documents lost, requests for validation ≤ 5 % of those saved (without audits).

The share saved depends on the size of a site: its twelve rules are known after 20 to 35 pairs of pages each, so some hundred documents
are fetched under two of their URLs, however many there are.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from thresher.config.settings import (
    DnsSettings,
    DustSettings,
    FetchSettings,
    FilterSettings,
    FrontierSettings,
    IdentitySettings,
    LimitSettings,
    PolitenessSettings,
    ScopeSettings,
    Settings,
)
from thresher.crawler.agent.agent import Agent
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.url import is_home
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.server import Server
from thresher.filters.dust import filter as dust
from thresher.filters.dust.memory import NAME, all_books
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store
from thresher.storage.view import View

_AUDITS = 0.01  # share


class Crawled(msgspec.Struct):
    """The results of a crawl."""

    pages: list[str]  # URLs fetched as pages, in order
    audits: int
    cpu_s: float
    rules: list[str]


def settings_for(web: LabelledWeb, port: int, filters: FilterSettings, delay_s: float) -> Settings:
    """Return a configuration with short waits, but not so short that rules are learnt only when the crawl is over."""
    return Settings(
        seeds=list(web.seeds()),
        identity=IdentitySettings(contact="https://crawler.example/bot"),
        scope=ScopeSettings(type="any"),
        limits=LimitSettings(max_pages_per_host=None, max_wait=5.0, min_free_disk=1),
        frontier=FrontierSettings(),
        politeness=PolitenessSettings(
            min_delay=delay_s, delay_factor=0.0, jitter=0.0, address_delay=0.0, address_connections=64, site_connections=64
        ),
        fetch=FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[port], concurrency=16),
        dns=DnsSettings(static=web.static_dns()),
        filters=filters,
    )


async def crawl(server: Server, web: LabelledWeb, directory: Path, plugged: tuple[FilterSpec, ...], delay_s: float) -> Crawled:
    """Crawl the web of a server to its end."""
    settings = settings_for(web, server.port, FilterSettings(audit_share=_AUDITS), delay_s)
    started = _cpu_s()
    with Store.create(directory, settings, time.time()) as store:
        agent = Agent(directory, store, settings, report=lambda _: None, filters=plugged)
        try:
            await agent.run()
        finally:
            await agent.close()
    with View(directory) as view:
        records = [page for _, page in view.all_pages()]
        rules = [f"{learned.standing} {learned.rule.readable}" for _, book in all_books(view.tables.memory(NAME)) for learned in book.rules]
    audits = sum(page.purpose == Purpose.AUDIT for page in records)
    return Crawled([page.url for page in records], audits, _cpu_s() - started, rules)


def _cpu_s() -> float:
    """CPU seconds of this process and of children that have ended. These include the demo's server, which does the same in both crawls."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


async def compare(n_pages: int, delay_s: float) -> None:
    """Print what the filter saves and loses."""
    demo_settings = profile("aliases", part_pages=n_pages)
    async with Server(demo_settings) as server:
        web = server.web
        assert isinstance(web, LabelledWeb)
        with tempfile.TemporaryDirectory(prefix="thresher-dust-") as path:
            without = await crawl(server, web, Path(path) / "without", (), 0.0)
            found = await crawl(server, web, Path(path) / "with", (dust.spec(DustSettings(mode="enforce")),), delay_s)
    report(web, without, found)


def report(web: LabelledWeb, without: Crawled, found: Crawled) -> None:
    label = {url: web.label(url) for url in {*without.pages, *found.pages}}
    documents = {label[url].document for url in without.pages} - {""}
    kept = {label[url].document for url in found.pages} - {""}
    redundant = len(without.pages) - len(documents)
    saved = redundant - (len(found.pages) - len(kept))
    in_vain = sum(not label[url].document for url in found.pages) - sum(not label[url].document for url in without.pages)
    print(f"without: {len(without.pages):,} pages, {len(documents):,} documents, {redundant:,} redundant; CPU {without.cpu_s:.1f} s")
    print(f"with:    {len(found.pages):,} pages, {len(kept):,} documents, {found.audits:,} asked for or audited; CPU {found.cpu_s:.1f} s")
    print(f"saved {saved:,} of {redundant:,} redundant fetches: {saved / redundant:.1%}")
    print(f"lost {len(documents - kept):,} documents: {len(documents - kept) / len(documents):.2%}")
    print(f"asked for in vain, to validate: {in_vain:,}, {in_vain / max(1, saved):.1%} of those saved")
    kinds = Counter(label[url].kind for url in found.pages if label[url].kind != "page" and not is_home(url))
    print("aliases still fetched, by kind:", dict(kinds.most_common(8)))
    for rule in found.rules:
        print("  ", rule)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5000, help="documents of a site")
    parser.add_argument("--delay", type=float, default=0.01, metavar="S", help="seconds between two requests to a host")
    args = parser.parse_args()
    asyncio.run(compare(args.pages, args.delay))


if __name__ == "__main__":
    main()
