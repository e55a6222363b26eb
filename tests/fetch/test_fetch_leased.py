"""When several machines crawl, no request begins without a lease, and one that is under way is broken off when it ends."""

from __future__ import annotations

import asyncio

from edge import fetching, url
from hostile import Talk, always, response, serve

from thresher.config.settings import DnsSettings
from thresher.crawler.core.model import Cause, Failed, Fetched
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.dns import LookupFailed, Resolver


class _Slow(Resolver):
    """The lease ends while the first name is looked up."""

    has_lease = True
    n_lookups = 0

    async def resolve(self, hostname: str) -> tuple[str, ...] | LookupFailed:
        found = await super().resolve(hostname)
        self.n_lookups += 1
        self.has_lease = self.n_lookups > 1
        return found


async def test_no_byte_of_a_request_goes_out_once_the_lease_has_ended() -> None:
    """Neither on a connection begun under it, nor on one that was kept. Mutation: it is looked at before the connection is made."""
    guard = AddressGuard(["127.0.0.0/8"])
    names = _Slow(DnsSettings(static={".test": "127.0.0.1"}), guard=guard)
    async with serve(always(response(b"x"))) as site, fetching(guard=guard, resolver=names, may_request=lambda: names.has_lease) as fetcher:
        begun = await fetcher.fetch(url(site.url()))
        assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
        names.has_lease = False
        kept = await fetcher.fetch(url(site.url()))
    assert [outcome.cause for outcome in (begun, kept) if isinstance(outcome, Failed)] == [Cause.NO_LEASE] * 2
    assert len(site.requests) == 1


async def test_a_request_under_way_is_broken_off_and_is_no_fault_of_its_host() -> None:
    """Mutation: its connection is not closed."""
    arrived = asyncio.Event()

    async def silent(talk: Talk) -> None:
        await talk.request()
        arrived.set()
        await asyncio.sleep(3_600)

    async with serve(silent) as site, fetching(may_request=lambda: True) as fetcher:
        asked = asyncio.ensure_future(fetcher.fetch(url(site.url())))
        await arrived.wait()
        fetcher.hang_up()
        async with asyncio.timeout(600):  # it would wait longer for the server
            outcome = await asked
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.NO_LEASE
