"""When several machines crawl, no request begins without a lease and a turn at its address, and one under way is broken off when one of
them ends.
"""

from __future__ import annotations

import asyncio

from edge import fetching, url
from hostile import Talk, always, response, serve, until

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


async def test_an_answer_that_would_end_with_its_connection_is_not_taken_for_whole() -> None:
    """Mutation: the connection is just closed."""
    got: list[bytes] = []

    async def endless(talk: Talk) -> None:
        await talk.request()
        await talk.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        await talk.drip(b"x" * 3_000)

    async with serve(endless) as site, fetching(may_request=lambda: True) as fetcher:
        asked = asyncio.ensure_future(fetcher.fetch(url(site.url()), sink=got.append))
        await until(lambda: bool(got))
        fetcher.hang_up()
        async with asyncio.timeout(10):
            outcome = await asked
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.NO_LEASE


async def test_where_a_turn_is_over_all_is_broken_off_and_nothing_elsewhere() -> None:
    """A request, one whose connection is still being made, and an idle connection. Mutations: everything is closed; only requests are; what
    is being connected goes on.
    """
    names = DnsSettings(static={"over.test": "127.0.0.1", "idle.test": "127.0.0.1", "elsewhere.test": "127.0.0.2"})
    goes_on = asyncio.Event()

    async def patient(talk: Talk) -> None:
        while head := await talk.request():
            if b"idle.test" not in head:
                await goes_on.wait()
            await talk.send(response(b"x"))

    async def no_tls(talk: Talk) -> None:
        await talk.gone()

    async with (
        serve(patient) as site,
        serve(patient, host="127.0.0.2") as there,
        serve(no_tls) as deaf,
        serve(no_tls, host="127.0.0.2") as deaf_there,
        fetching(dns=names, may_request=lambda: True) as fetcher,
    ):
        assert isinstance(await fetcher.fetch(url(f"http://idle.test:{site.port}/")), Fetched)
        addresses = (f"http://over.test:{site.port}/", f"https://over.test:{deaf.port}/", f"http://elsewhere.test:{there.port}/")
        over, connecting, elsewhere = (asyncio.ensure_future(fetcher.fetch(url(address))) for address in addresses)
        goes_on_too = asyncio.ensure_future(fetcher.fetch(url(f"https://elsewhere.test:{deaf_there.port}/")))
        await until(lambda: (len(site.requests), deaf.n_connections, len(there.requests), deaf_there.n_connections) == (2, 1, 1, 1))
        fetcher.hang_up({"127.0.0.1"})
        async with asyncio.timeout(10):
            broken_off = [await over, await connecting]
        goes_on.set()
        assert isinstance(await elsewhere, Fetched)
        assert isinstance(await fetcher.fetch(url(f"http://idle.test:{site.port}/")), Fetched)
        assert site.n_connections == 3, "the idle one was closed"
        assert not goes_on_too.done()
        goes_on_too.cancel()
    assert [outcome.cause for outcome in broken_off if isinstance(outcome, Failed)] == [Cause.NO_LEASE] * 2


class _Turns:
    """Turns at addresses, as `AddressConnections` asks for them."""

    def __init__(self) -> None:
        self.over: set[str] = set()

    def connect(self, _address: str) -> bool:
        return True

    def disconnect(self, _address: str) -> None:
        pass

    def may_use(self, address: str) -> bool:
        return address not in self.over

    def has_calls(self) -> bool:
        return False

    def is_called_for(self, _address: str) -> bool:
        return False


async def test_no_byte_goes_to_an_address_whose_turn_is_over_on_a_connection_that_was_kept() -> None:
    """Mutation: only the lease is looked at."""
    turns = _Turns()
    async with serve(always(response(b"x"))) as site, fetching(may_request=lambda: True, elsewhere=turns) as fetcher:
        assert isinstance(await fetcher.fetch(url(site.url())), Fetched)
        turns.over = {"127.0.0.1"}
        outcome = await fetcher.fetch(url(site.url()))
    assert isinstance(outcome, Failed)
    assert outcome.cause is Cause.NO_LEASE
    assert len(site.requests) == 1
