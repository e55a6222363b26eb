"""How an agent's tools are put together from settings and store: the one place that knows every constructor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from config.settings import Settings
from crawler.bare_seeds import BareSeeds
from crawler.clock import Clock
from crawler.core.own_site import OwnSite
from crawler.core.url import URLSpace
from crawler.core.url_rules import url_rules
from crawler.desk import Desk
from crawler.dns import Resolver
from crawler.fetch import Fetcher
from crawler.guard import AddressGuard
from crawler.links import LinkGate
from crawler.member import Team
from crawler.parse import Parser
from crawler.robots_book import RobotsBook
from crawler.studies import Studies
from crawler.suspects import Suspects
from crawler.version import VERSION
from crawler.visit import Tools
from filters.base import Plug
from filters.panel import Panel
from filters.registry import plugs
from storage.env import Store


def assemble(
    directory: Path,
    store: Store,
    settings: Settings,
    clock: Clock,
    *,
    team: Team | None = None,
    filters: Sequence[Plug] | None = None,
) -> Tools:
    """Make what journeys need; inside a running loop. team: the other agents, if there are any.    filters: in place of the registry's."""
    identity = settings.identity
    rules = url_rules(settings)
    urls = URLSpace(store.secret, rules)
    guard = AddressGuard(settings.fetch.allow_addresses, OwnSite.of(settings), rules.ports)
    resolver = Resolver(settings.dns, guard=guard, clock=clock)
    fetcher = Fetcher(
        settings.fetch,
        user_agent=identity.user_agent(VERSION),
        from_header=identity.from_header,
        resolver=resolver,
        guard=guard,
        address_connections=settings.politeness.address_connections,
        elsewhere=team.addresses if team else None,
    )
    ownership = team.ownership if team else None
    bare = BareSeeds.of(store)
    chosen = plugs(settings, [*settings.seeds, *bare.http_forms()], ownership) if filters is None else filters
    panel = Panel(chosen, store.memory, audit_share=settings.filters.audit_share)
    parser = Parser(settings.parse, identity.agent, settings.limits.max_links_per_page)
    suspects = Suspects(directory, store, shard=ownership.me if ownership is not None else 0)
    links = LinkGate(urls, store.seen, panel, settings, ownership)
    return Tools(
        settings=settings,
        urls=urls,
        resolver=resolver,
        fetcher=fetcher,
        parser=parser,
        desk=Desk(parser, suspects, links, panel, urls=urls, settings=settings, clock=clock),
        robots=RobotsBook(store.robots, urls, settings, agent=identity.agent),
        panel=panel,
        links=links,
        suspects=suspects,
        studies=Studies(panel, suspects, store.quarantine),
        clock=clock,
        bare=bare,
        ownership=ownership,
    )
