"""Pins the operator's own site: names of seeds are resolved once, before the crawl starts, and these addresses may be reached.

    seeds ─ resolve ─ never one's own? (metadata) ─ all private? ─────────────────────────────► own_site.pinned
                                                  └ any public ─ robots.txt ─ token file ─────┘

A name with only private addresses counts as the operator's own. A name with a public address must serve the token file, which has a line
with "AGENT CONTACT": so the owner of the site agrees to be crawled by this crawl. The file is requested at every start, by the crawl's own
client with the ordinary guard; no redirect is followed, robots.txt is obeyed, and the host's delay is kept before, between and after the
two requests. Addresses pinned by an earlier process stay as they are: if the name now resolves elsewhere, the new address is not exempt.
Without a proof the ordinary rules apply, and `notes` say why.

If nothing listens at any pinned address, the server is not running: the operator is told before the crawl begins.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Failed, Fetched, Outcome, Purpose, Redirect
from thresher.crawler.core.own_site import endpoint
from thresher.crawler.core.robots import Rules, judge
from thresher.crawler.core.url import BadURL, URLRules, URLSpace, hostname_of, origin_of, port_of, queue_name
from thresher.crawler.fetch.address_guard import NEVER_OWN, AddressGuard
from thresher.crawler.fetch.dns import LookupFailed, Resolver
from thresher.crawler.fetch.fetcher import Fetcher
from thresher.crawler.gates.robots_cache import MAX_HOPS
from thresher.crawler.version import VERSION
from thresher.storage.tables.bare_seeds import http_form

TOKEN_PATH = "/.well-known/thresher-own-site"  # noqa: S105 - a path that anybody may read
_MOST_BYTES = 4_096  # most bytes of a token file
_MOST_ADDRESSES = 64  # most addresses of a name
_AT_ONCE = 4  # names at the same time: as many as `politeness.address_connections` allows by default, if all names are on one address
_LISTENS_S = 5.0  # seconds until a connection counts as not refused
_HTML = ("text/html", "application/xhtml+xml")
_REST = frozenset((429, 503))


@dataclass(slots=True)
class Pinned:
    """Pinned addresses by `endpoint`, and messages for the operator."""

    addresses: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_public(address: str) -> bool:
    """Return whether an address is public."""
    return not AddressGuard([]).refuses(address)


def token_of(settings: Settings) -> str:
    """Return the line that the token file must contain."""
    return f"{settings.identity.agent} {settings.identity.contact}"


async def pin(settings: Settings, seeds: Sequence[str], bare: Sequence[str] = (), *, public: Callable[[str], bool] = is_public) -> Pinned:
    """Pin the endpoints of canonical seeds.

    Args:
        bare: Seeds that were given without a scheme: their http form is pinned, too.
    """
    origins = dict.fromkeys([*map(origin_of, seeds), *(origin_of(http_form(seed)) for seed in bare)])
    by_host: dict[str, list[str]] = {}
    for origin in origins:
        by_host.setdefault(queue_name(origin).partition("]")[0].partition(":")[0], []).append(origin)
    pinning = _Pinning(settings, public)
    try:
        async with asyncio.TaskGroup() as group:
            for of_host in by_host.values():
                group.create_task(pinning.host(of_host))
    except* UsageError as errors:
        raise errors.exceptions[0] from None
    finally:
        await pinning.close()
    return pinning.pinned


async def require_listener(addresses: Mapping[str, str]) -> None:
    """Check that a pinned address accepts a connection.

    Args:
        addresses: As in `Pinned`.

    Raises:
        UsageError: If every one refuses: the site's server is not running.
    """
    places = [(name, address) for name, of_name in addresses.items() for address in of_name.split()]
    for name, address in places:
        if not await _refuses(address, int(name.rpartition(":")[2])):
            return
    if places:
        name, address = places[0]
        others = f", nor at {len(places) - 1:,} other{'s' if len(places) > 2 else ''}" if len(places) > 1 else ""
        raise UsageError(
            f"{name} ({address}): the connection is refused: no server is running there{others}. Start it, or name the port at which it "
            "runs, and start the crawl again"
        )


async def _refuses(address: str, port: int) -> bool:
    """Return whether a connection is refused; an address that does not answer may be slow. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with AddressGuard(["0.0.0.0/0", "::/0"]).open_socket((family, socket.SOCK_STREAM, 0, "", (address, port))) as opened:
            opened.setblocking(False)
            async with asyncio.timeout(_LISTENS_S):
                await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


class _Pinning:
    """The pinning of one crawl's seeds."""

    def __init__(self, settings: Settings, public: Callable[[str], bool]) -> None:
        self._settings = settings
        self._public = public
        self.pinned = Pinned()
        self._space = URLSpace(bytes(16), URLRules(ports=None))
        dns = msgspec.structs.replace(settings.dns, max_addresses=_MOST_ADDRESSES)
        self._all = Resolver(dns, guard=AddressGuard(["0.0.0.0/0", "::/0"]))
        guard, identity = AddressGuard(settings.fetch.allow_addresses), settings.identity
        self._resolver = Resolver(settings.dns, guard=guard)
        self._fetcher = Fetcher(
            settings.fetch,
            user_agent=identity.user_agent(VERSION),
            from_header=identity.from_header,
            resolver=self._resolver,
            guard=guard,
            address_connections=settings.politeness.address_connections,
        )
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._start = asyncio.Lock()

    async def close(self) -> None:
        await self._fetcher.close()
        await self._resolver.close()
        await self._all.close()

    async def host(self, origins: Sequence[str]) -> None:
        """Pin the origins of one name, one after the other."""
        for origin in origins:
            await self._origin(origin)

    async def _origin(self, origin: str) -> None:
        name = endpoint(hostname_of(origin), port_of(origin))
        kept = self._settings.own_site.pinned.get(name, "").split()
        addresses = kept or await self._addresses(origin)
        if not addresses or name in self.pinned.addresses:
            return
        on_the_web = [address for address in addresses if self._public(address)]
        if on_the_web:  # private addresses among public ones do not belong to the site
            async with self._places:
                why = await self._refusal(origin, on_the_web)
            if why:
                self.pinned.notes.append(
                    f"{origin}: {on_the_web[0]} is a public address, and {why}. The ordinary politeness holds there. If the site is "
                    f'yours, let {origin}{TOKEN_PATH} be a file with the line "{token_of(self._settings)}"'
                )
                return
        self.pinned.addresses[name] = " ".join(on_the_web or addresses)

    async def _addresses(self, origin: str) -> list[str]:
        """Return all addresses of a name that may be the operator's own."""
        answer = await self._all.resolve(hostname_of(origin))
        found = [] if isinstance(answer, LookupFailed) else [address for address in answer if self._never(address) == ""]
        if not found:
            why = answer.detail if isinstance(answer, LookupFailed) else f"{answer[0]} ({self._never(answer[0])}) is never one's own"
            self.pinned.notes.append(f"{origin}: not pinned as your own site: {why}. The ordinary rules hold there")
        return found

    def _never(self, address: str) -> str:
        why = AddressGuard([]).refuses(address)
        return why if why in NEVER_OWN else ""

    async def _refusal(self, origin: str, addresses: Sequence[str]) -> str:
        """Return why the site does not count as the operator's; "" if its token proves that it does."""
        gap_s = self._settings.politeness.min_delay
        if self._settings.robots.obey:
            outcome = await self._robots(origin)
            record, body = judge(origin, outcome, None, self._settings.robots, time.time())
            rules = Rules(body if record.kind == "rules" else b"", self._settings.identity.agent)
            gap_s = await self._gap(origin, outcome, rules.crawl_delay)
            if record.kind == "unreachable":
                return f"its robots.txt cannot be read ({record.detail or outcome_text(outcome)})"
            if not rules.allows(origin + TOKEN_PATH):
                return f"its robots.txt denies {TOKEN_PATH}"
            if gap_s > self._settings.politeness.max_delay:
                return f"its robots.txt asks for {gap_s:g} s between requests"
        outcome = await self._ask(origin + TOKEN_PATH, Purpose.VALIDATION, _MOST_BYTES)
        await self._gap(origin, outcome, gap_s)
        return self._fault(outcome, addresses)

    async def _robots(self, origin: str) -> Outcome:
        """Fetch robots.txt, following a few redirects."""
        size, outcome = self._settings.robots.max_bytes, None
        text = f"{origin}/robots.txt"
        for _ in range(MAX_HOPS + 1):
            outcome = await self._ask(text, Purpose.ROBOTS, size)
            if not isinstance(outcome, Redirect):
                break
            await self._gap(origin, outcome, None)
            try:
                text = self._space.canonical(outcome.target, text)
            except BadURL:
                break
        assert outcome is not None
        return outcome

    async def _ask(self, text: str, purpose: Purpose, max_bytes: int) -> Outcome:
        async with self._start:
            await _pause(self._settings.politeness.address_delay)
        timeout = self._settings.robots.timeout
        return await self._fetcher.fetch(self._space.url(text, purpose=purpose), max_body=max_bytes, total_timeout=timeout)

    async def _gap(self, origin: str, outcome: Outcome, crawl_delay: float | None) -> float:
        """Wait for the host's delay after a response; return the delay in seconds.

        Raises:
            UsageError: If it asks for a longer delay than is waited for here.
        """
        polite = self._settings.politeness
        asked = crawl_delay if crawl_delay is not None and polite.respect_crawl_delay else 0.0
        gap_s = max(polite.min_delay, min(polite.delay_factor * outcome.elapsed_s, polite.max_delay), asked)
        rest_s = min(gap_s, polite.max_delay)
        if isinstance(outcome, Failed) and outcome.head is not None and outcome.head.status in _REST:
            rest_s = outcome.retry_after_s if outcome.retry_after_s is not None else polite.backoff_initial
            if rest_s > polite.max_delay:
                raise UsageError(f"{origin}: answered {outcome.head.status} and asks for a pause of {rest_s:.0f} s. Start again after it")
        await _pause(rest_s)
        return gap_s

    def _fault(self, outcome: Outcome, addresses: Sequence[str]) -> str:
        """Return what is wrong with the answer to the request of the token file; "" if nothing is."""
        if not isinstance(outcome, Fetched) or outcome.head.status != 200:
            return f"it has no token file ({outcome_text(outcome)})"
        if outcome.head.address not in addresses:
            return f"its token file came from {outcome.head.address or 'an unknown address'}, not from what its name resolved to"
        text = outcome.body.decode("utf-8-sig", "replace")
        if outcome.head.mime_type in _HTML or outcome.flags or text.lstrip().startswith("<"):  # perhaps a visitor wrote it into a page
            return f"what it serves as token file is none ({', '.join([outcome.head.mime_type, *map(str, outcome.flags)])})"
        if token_of(self._settings) not in (line.strip() for line in text.splitlines()):
            return "its token file names another crawl"
        return ""


def outcome_text(outcome: Outcome) -> str:
    """Return a short text about the outcome of a request."""
    match outcome:
        case Failed(cause=cause, detail=detail):
            return f"{cause}: {detail}"
        case Redirect(target=target):
            return f"redirect to {target[:100]}"
        case Fetched(head=head):
            return f"status {head.status}"


async def _pause(seconds: float) -> None:
    """Wait at least so long: a timer counts from the start of the loop's round, which may be some time ago on a loaded machine."""
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0:  # noqa: ASYNC110 - a clock sets no event
        await asyncio.sleep(left_s)
