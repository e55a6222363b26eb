"""How an agent's parts are put together from settings and store: the one place that knows every constructor."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from thresher.config.settings import Settings
from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.children.studies import Studies
from thresher.crawler.clock import Clock
from thresher.crawler.cluster.member import Team
from thresher.crawler.core.cookies import ChainCookies
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.fault_log import FaultLog
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.dns import Names
from thresher.crawler.fetch.fetcher import Fetcher
from thresher.crawler.fetch.proxy import names
from thresher.crawler.gates.ai_preferences import AiPreferences
from thresher.crawler.gates.link_gate import LinkGate
from thresher.crawler.gates.robots_cache import RobotsCache
from thresher.crawler.page.batch_reader import BatchReader
from thresher.crawler.page.parser import Parser
from thresher.crawler.page.requisite_reader import RequisiteReader
from thresher.crawler.page.sitemap_reader import SitemapReader
from thresher.crawler.settlement.canonical import Canonicals
from thresher.crawler.version import VERSION
from thresher.crawler.visit import VisitContext
from thresher.filters.panel import Panel
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds


def assemble(
    directory: Path,
    store: Store,
    settings: Settings,
    clock: Clock,
    *,
    team: Team | None = None,
    ownership: Ownership | None = None,
    filters: Sequence[FilterSpec] | None = None,
) -> VisitContext:
    """Make the context of journeys; inside a running event loop.

    Args:
        team: The other agents, if there are any.
        ownership: Which sites this agent has, if there are others and none of them runs.
        filters: Used in place of the registry's.
    """
    urls = URLSpace(store.secret, url_rules(settings))
    resolver, fetcher = _network(settings, clock, team)
    ownership = team.ownership if team else ownership
    suspects = Suspects(directory, store.tables, shard=ownership.me if ownership is not None else 0)
    faults, bare = FaultLog(), BareSeeds.of(store)
    if filters is None:
        filters = specs(settings, [*settings.seeds, *bare.http_forms()], ownership, faults.on_plugin)
    gates = _gates(store, settings, urls, ownership, filters, bare)
    overriding = Overriding(settings)
    return VisitContext(
        settings=settings,
        urls=urls,
        resolver=resolver,
        fetcher=fetcher,
        suspects=suspects,
        studies=Studies(gates.panel.reports, suspects, store.tables.quarantine),
        clock=clock,
        overriding=overriding,
        faults=faults,
        first_seq=store.next_seq,
        cookies=ChainCookies() if overriding.anywhere(lambda of: of.fetch.cookies == "chain") else None,
        rounds=store.tables.rounds,
        pages=store.tables.pages,
        bodies=store.tables.bodies,
        ownership=ownership,
        **gates._asdict(),
        **_readers(store, settings, urls, suspects, gates, clock)._asdict(),
    )


class _Readers(NamedTuple):
    """The parts that read answers, each under its name in the context."""

    parser: Parser
    batch_reader: BatchReader
    sitemaps: SitemapReader
    requisites: RequisiteReader | None


def _readers(store: Store, settings: Settings, urls: URLSpace, suspects: Suspects, gates: _Gates, clock: Clock) -> _Readers:
    parser = Parser(settings.parse, settings.identity.agent)
    has_requisites = Overriding(settings).anywhere(lambda of: of.archive.requisites)
    return _Readers(
        parser,
        BatchReader(parser, suspects, gates.links, gates.panel, urls=urls, settings=settings, clock=clock),
        SitemapReader(settings),
        RequisiteReader(parser, urls, store.tables.requisites, settings) if has_requisites else None,
    )


class _Gates(NamedTuple):
    """The parts that decide about pages, links and requests, each under its name in the context."""

    panel: Panel
    links: LinkGate
    robots: RobotsCache
    ai: AiPreferences
    bare: BareSeeds
    is_kept: Callable[[str], bool]


def _gates(
    store: Store, settings: Settings, urls: URLSpace, ownership: Ownership | None, filters: Sequence[FilterSpec], bare: BareSeeds
) -> _Gates:
    """Make the gates. Each round of the crawl requests the robots.txt files anew."""
    tables, canonicals = store.tables, Canonicals(store.tables, urls)
    overriding = Overriding(settings)
    panel = Panel(
        filters,
        tables.memory,
        audit_share=settings.filters.audit_share,
        audit_share_of=lambda text: overriding.of(text).filters.audit_share,
        stands=canonicals.stands,
    )
    links = LinkGate(urls, tables.seen, panel, settings, ownership, [record for _, record in tables.forgotten.all()])
    round_ = tables.rounds.last()
    not_before = round_.began_at if round_ is not None else 0.0
    robots = RobotsCache(tables.robots, urls, settings, agent=settings.identity.agent, not_before=not_before)
    ai = AiPreferences(tables.policies, tables.robots, robots, urls, settings)
    return _Gates(panel, links, robots, ai, bare, canonicals.is_kept)


def _network(settings: Settings, clock: Clock, team: Team | None) -> tuple[Names, Fetcher]:
    """Make the resolver of names and the fetcher of URLs; one guard of addresses protects both."""
    guard = AddressGuard(settings.fetch.allow_addresses, OwnSite.of(settings), url_rules(settings).ports)
    resolver = names(settings, guard, clock)
    fetcher = Fetcher(
        settings.fetch,
        overriding=Overriding(settings),
        user_agent=settings.identity.user_agent(VERSION),
        from_header=settings.identity.from_header,
        resolver=resolver,
        guard=guard,
        address_connections=settings.politeness.address_connections,
        elsewhere=team.addresses if team else None,
        records=settings.archive.format == "warc",
        may_request=(lambda: lease.is_held) if (lease := team.lease if team else None) is not None else None,
    )
    return resolver, fetcher


def frontier_of(store: Store, context: VisitContext, started_at: float) -> Frontier:
    """Make the frontier of a store."""
    rng = random.Random()  # noqa: S311 - jitter is no secret
    return Frontier(store.tables.queues, context.resolver, context.settings, urls=context.urls, rng=rng, started_at=started_at)
