"""The fetcher as tests use it: it may reach loopback; and canonical URLs."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

from hostile import Script, Site, serve

from thresher.config.settings import DnsSettings, FetchSettings
from thresher.crawler.core.model import CrawlURL, Failed, Fetched, Outcome
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.fetch.address_connections import ConnectionUse
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.dns import Names, Resolver
from thresher.crawler.fetch.fetcher import Fetcher

USER_AGENT = "thresher/test (+https://contact.test/)"
CLIENTS = ("lean", "aiohttp")
_spoken_by = {"client": "lean"}
_URLS = URLSpace(bytes(16), URLRules(ports=None))


def speak_by(client: str) -> None:
    """Let fetchers that are made from now on use this client of `CLIENTS`."""
    _spoken_by["client"] = client


def url(text: str) -> CrawlURL:
    """Return a `CrawlURL` in canonical form."""
    return _URLS.url(_URLS.canonical(text))


def bare(text: str) -> CrawlURL:
    """Return a URL that is not in canonical form, which no URL of a crawl is."""
    return CrawlURL(text, "a.test", "http://a.test", bytes(16))


def as_sent(request: bytes) -> str:
    """Return the request target of a raw request."""
    return request.split(b" ")[1].decode()


@contextlib.asynccontextmanager
async def fetching(
    *,
    guard: AddressGuard | None = None,
    dns: DnsSettings | None = None,
    resolver: Names | None = None,
    from_header: str = "",
    rate_grace_s: float = 10.0,
    address_connections: int = 1_000,
    elsewhere: ConnectionUse | None = None,
    records: bool = False,
    may_request: Callable[[], bool] | None = None,
    **settings: Any,
) -> AsyncIterator[Fetcher]:
    """Open a fetcher for which every name below .test is 127.0.0.1. Further keywords are those of `FetchSettings`."""
    guard = guard or AddressGuard(["127.0.0.0/8"])
    resolver = resolver or Resolver(dns or DnsSettings(static={".test": "127.0.0.1"}), guard=guard)
    fetcher = Fetcher(
        FetchSettings(**_spoken_by | settings),
        user_agent=USER_AGENT,
        from_header=from_header,
        resolver=resolver,
        guard=guard,
        address_connections=address_connections,
        elsewhere=elsewhere,
        rate_grace_s=rate_grace_s,
        records=records,
        may_request=may_request,
    )
    try:
        yield fetcher
    finally:
        await fetcher.close()
        await resolver.close()


async def fetch(script: Script, *, tls: ssl.SSLContext | None = None, **settings: Any) -> tuple[Outcome, Site]:
    """Fetch one page from a server that plays `script`."""
    async with serve(script, tls=tls) as site, fetching(**settings) as fetcher:
        return await fetcher.fetch(url(site.url(scheme="https" if tls else "http"))), site


async def failure(script: Script, **settings: Any) -> Failed:
    """Fetch one page, which fails."""
    outcome, _ = await fetch(script, **settings)
    assert isinstance(outcome, Failed), outcome
    return outcome


async def page(script: Script, **settings: Any) -> Fetched:
    """Fetch one page, which succeeds."""
    outcome, _ = await fetch(script, **settings)
    assert isinstance(outcome, Fetched), outcome
    return outcome
