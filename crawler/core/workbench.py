"""The workbench: the few hosts in memory, each in one place. All others wait in the store, ordered by the time when they are due.

A host on the workbench is in exactly one place: leased · a delay (until a time) · a look-up (until its name has an address) · a line (until
address and site have room: slots.py). `place` decides which, and is the only way from one to another. [BMSV18: workbench and virtualizer]

A host leaves the workbench when its queue is empty; when it is parked; or when hosts wait in the store for its place (waiting.py) and its
turn is far off or its rows in memory are used up. So each waiting host gets its turn, and memory is bounded by the workbench, not by the
crawl.
"""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from thresher.config.settings import Settings
from thresher.crawler.core.governing import NOTHING_QUEUED
from thresher.crawler.core.host_queue import HostQueue
from thresher.crawler.core.model import FILTERS_OWN, Reason
from thresher.crawler.core.order.base import Order
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.politeness import Pace, Rulebook, rule_of
from thresher.crawler.core.ports import AddressBook, HostRecord, Lane, QueueStore, SiteRecord
from thresher.crawler.core.slots import Slots
from thresher.crawler.core.url import hostname_of
from thresher.crawler.core.waiting import WaitingHosts

FAR_S = 30.0  # seconds: a host that waits longer gives its place to one that waits less
HOSTS_PER_FETCHER = 11
_ROUND = 64  # most hosts that are read from the store, and heads that are examined, in one `pop`
_FILL_EVERY_S = 0.02  # seconds between two readings of a quarter of them while other hosts are ready: one takes 2 ms
_ROUNDS = 4
_RULES_SHOWN = 4


class Delays:
    """A heap of hosts by time; an item whose ticket is not its host's is out of date."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._limit = 1024

    def push(self, at: float, host: HostQueue) -> None:
        heappush(self._heap, (at, host.ticket, host))
        if len(self._heap) > self._limit:
            self._heap = [item for item in self._heap if item[1] == item[2].ticket]
            heapify(self._heap)
            self._limit = max(1024, 2 * len(self._heap))

    def next_at(self) -> float | None:
        heap = self._heap
        while heap and heap[0][1] != heap[0][2].ticket:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop(self, until: float) -> HostQueue | None:
        """Take the first host whose time is not after `until`."""
        at = self.next_at()
        return heappop(self._heap)[2] if at is not None and at <= until else None


class Workbench:
    """The hosts in memory and their places."""

    def __init__(
        self,
        store: QueueStore,
        addresses: AddressBook,
        settings: Settings,
        *,
        order: Order,
        pace: Pace,
        rulebook: Rulebook,
        started_at: float,
    ) -> None:
        self._store = store
        self._addresses = addresses
        self._order = order
        self._pace = pace
        self._rulebook = rulebook
        self._has_site_budgets = rulebook.overriding.anywhere(lambda of: of.limits.max_pages_per_site is not None)
        self._own = OwnSite.of(settings)
        self._started_at = started_at
        self.heads = settings.frontier.heads
        self.limit = settings.frontier.workbench or HOSTS_PER_FETCHER * settings.fetch.concurrency
        self.hosts: dict[bytes, HostQueue] = {}
        self.parked: Counter[str] = Counter()
        self.waiting = WaitingHosts(store, started_at)
        self._resumed = self.waiting.n_due > 0
        self._delays = Delays()
        self._far = Delays()  # by -time: the latest first
        self.slots = Slots(settings.politeness, self._site_room, self._site_connections)
        self._asked: dict[str, list[tuple[int, HostQueue]]] = {}
        self._to_ask: list[str] = []
        self.n_looking_up = 0
        self.pages_closed = False  # the crawl has all its pages: only their requisites are fetched
        self._tickets = count(1)
        self._fill_at = 0.0  # before this time no host is loaded while others are ready

    # -- from and to the store

    def load(self, queue: bytes, record: HostRecord, now: float) -> HostQueue | None:
        """Put a host of the store on the workbench, and return it; None if it is still parked. The caller places it."""
        is_own = self._own.has_queue(record.name)
        rules = self._rulebook.of(record.name, is_own=is_own)
        if record.parked:
            was, record.parked = record.parked, self._pace.why_parked(record, rules, now)
            if record.parked:
                return None
            self._count_unparked(was)
            record.parked_until = 0.0
        record.next_at = min(record.next_at, self._pace.latest(now))
        if self._resumed:
            self._pace.at_least(record, rules, self._started_at)
        host = self.hosts[queue] = HostQueue(queue, record, rules)
        host.is_own = is_own  # unless its name resolves elsewhere
        return host

    def _fill(self, now: float) -> bool:
        """Load due hosts from the store while there is room, now and then; return whether there may be more."""
        if not self.waiting.has_due(now):
            return False
        if (are_others_ready := self.slots.has_ready()) and now < self._fill_at:
            return True
        self._fill_at = now + _FILL_EVERY_S
        room = min(_ROUND // 4 if are_others_ready else _ROUND, self.limit - len(self.hosts))
        if room <= 0 and (room := self._make_room(now)) <= 0:
            return False
        for due, queue in self.waiting.read(now, room):
            if queue not in self.hosts:
                self._admit(queue, due, now)
        return self.waiting.has_due(now)

    def _admit(self, queue: bytes, due: float, now: float) -> None:
        record = self._store.host(queue)
        if record is None:
            self.waiting.strike(queue, due)
            return
        if (host := self.load(queue, record, now)) is not None:
            self.place(host, now)
            return
        self.parked[record.parked] += 1
        if record.parked_until:
            self.waiting.push(queue, record, record.parked_until)

    def _make_room(self, now: float) -> int:
        """Move hosts whose turn is far off back to the store; return how many."""
        n = 0
        while n < _ROUND and (host := self._far.pop(-(now + FAR_S))) is not None:
            if not host.hops:
                self._file_back(host, host.ready_at)
                n += 1
        return n

    def is_crowded(self, now: float) -> bool:
        """Return whether due hosts wait in the store for a place on the workbench."""
        return len(self.hosts) >= self.limit and self.waiting.has_due(now)

    def _file_back(self, host: HostQueue, at: float) -> None:
        self._leave(host)
        del self.hosts[host.key]
        self.waiting.push(host.key, host.record, at)

    def park(self, host: HostQueue, why: str, *, until: float = 0.0) -> None:
        """Fetch nothing more of the host until `until` (0: until another process judges it anew, or the operator unparks it)."""
        self._leave(host)
        del self.hosts[host.key]
        record = host.record
        record.parked, record.parked_until = why, until
        self.parked[why] += 1
        if until and record.n_queued:
            self.waiting.push(host.key, record, until)
        else:
            self._store.save_host(host.key, record)

    def unpark(self, queue: bytes, record: HostRecord, now: float) -> None:
        """Unpark a host in the store: it waits for its turn again."""
        self._count_unparked(record.parked)
        record.parked, record.parked_until, record.failures = "", 0.0, 0
        if record.n_queued:
            self.waiting.push_due(queue, record, now)
        else:
            self._store.save_host(queue, record)

    def _count_unparked(self, why: str) -> None:
        self.parked[why] -= self.parked[why] > 0  # a host that an earlier process parked may not have been counted by this one

    # -- places

    def place(self, host: HostQueue, now: float, *, may_leave: bool = False) -> None:
        """Put the host in the place where it belongs now. Not to be called while leased.

        Args:
            may_leave: Whether it has had a turn, so that others may have its place.
        """
        self._leave(host)
        if host.needs_rows():
            if may_leave and self.is_crowded(now) and host.is_out_of_rows():
                self._file_back(host, max(now, host.record.next_at))
                return
            host.load(self._store, self.heads)
        at = host.choose(now)
        if at is None:
            del self.hosts[host.key]
            self.waiting.leave(host.key, host.record)
            return
        why = self._pace.why_parked(host.record, host.rules, now) or (Reason.SITE_BUDGET if self._is_spent(host) else "")
        if self._has_its_pages(host, why):
            needed = host.choose_beside(now, visits_again=bool(why))
            if needed is not None:
                at, why = needed, ""
            elif not why:  # its row in the store stays, for the next process
                del self.hosts[host.key]
                return
        if why:
            self.park(host, why, until=host.record.parked_until if why == host.record.parked else 0.0)
            return
        at = max(at, host.record.next_at)
        if at > now:
            if not self._is_far(host, at, now):
                self._delays.push(at, host)
        else:
            self._line_up(host, now)

    def _has_its_pages(self, host: HostQueue, why: str) -> bool:
        """Return whether only a budget of pages stops the host: the crawl's, or its own (by the reason `why` for which it would be
        parked).
        """
        if why == Reason.HOST_BUDGET:
            return host.rules.max_bytes is None or host.record.n_bytes < host.rules.max_bytes
        return self.pages_closed and not why

    def close_pages(self, now: float) -> None:
        """Fetch no further page in this process, only requisites of fetched pages."""
        self.pages_closed = True
        for host in [host for host in self.hosts.values() if host.leased is None]:
            self.place(host, now)

    def stand_anew(self, site: bytes) -> None:
        """Sort the hosts of a site that are in line by their present precedence."""
        for before, host in self.slots.standing(site):
            if (precedence := self._order.precedence(host)) != before:
                self._leave(host)
                self.slots.add(host, precedence)

    def _leave(self, host: HostQueue) -> None:
        if host.line is not None:
            self.slots.drop(host)
        if host.looks_up:
            host.looks_up = ""
            self.n_looking_up -= 1
        host.ticket = next(self._tickets)

    def _is_far(self, host: HostQueue, at: float, now: float) -> bool:
        """Move a host whose turn is far off back to the store if others wait for its place; else remember that this is possible."""
        host.ready_at = at
        if at <= now + FAR_S or host.hops:
            return False
        if self.is_crowded(now):
            self._file_back(host, at)
            return True
        self._far.push(-at, host)
        return False

    def _line_up(self, host: HostQueue, now: float) -> None:
        assert host.head is not None
        hostname = hostname_of(host.head.url.host)
        address = self._addresses.address(hostname, now)
        if address is None:
            self._look_up(host, hostname)
            return
        host.address = address
        if self._own and (is_own := self._own.holds(host.head.url.host, address)) != host.is_own:
            host.is_own, host.rules = is_own, self._rulebook.of(host.record.name, is_own=is_own)
            if self._resumed and not is_own:
                self._pace.at_least(host.record, host.rules, self._started_at)
                if host.record.next_at > now:
                    self.place(host, now)
                    return
        if not self._is_far(host, now + self.slots.estimate_s(address, host.key[:8]), now):
            self.slots.add(host, self._order.precedence(host))

    def _look_up(self, host: HostQueue, hostname: str) -> None:
        host.looks_up = hostname
        self.n_looking_up += 1
        waiting = self._asked.get(hostname)
        if waiting is None:
            waiting = self._asked[hostname] = []
            self._to_ask.append(hostname)
        waiting.append((host.ticket, host))

    def lookups(self) -> list[str]:
        """Return the names that must be looked up, each once."""
        names, self._to_ask = self._to_ask, []
        return names

    def looked_up(self, hostname: str) -> list[HostQueue]:
        """Return the hosts that waited for the name."""
        return [host for ticket, host in self._asked.pop(hostname, ()) if host.ticket == ticket]

    def take(self, now: float) -> HostQueue | None:
        """Reserve the host that goes next, with its address and site; return None if none can go now."""
        for _ in range(_ROUNDS):
            more = self._advance(now)
            while (host := self.slots.take(now)) is not None:
                host.ticket = next(self._tickets)
                assert host.head is not None
                if self._addresses.address(hostname_of(host.head.url.host), now) is not None:
                    return host
                self.release(host, now, was_used=False)
                self.place(host, now)
            if not more:
                break
        return None

    def _advance(self, now: float) -> bool:
        """Place the hosts whose time has come; return whether there may be more."""
        n = 0
        while n < 8 * _ROUND and (host := self._delays.pop(now)) is not None:
            self.place(host, now)
            n += 1
        return self._fill(now) or n == 8 * _ROUND

    def release(self, host: HostQueue, now: float, *, n_pages: int = 0, was_used: bool = True) -> None:
        """Free the reservation of address and site.

        Args:
            was_used: Whether a request was made.
        """
        for spent in self.slots.release(host, now, n_pages=n_pages, was_used=was_used):
            self.park(spent, Reason.SITE_BUDGET)

    def _is_spent(self, host: HostQueue) -> bool:
        return self._has_site_budgets and self.slots.is_spent(host.key[:8])

    def _site_room(self, site: bytes) -> int | None:
        if not self._has_site_budgets:
            return None
        record = self._store.site(site)
        most = self._of_site(record).limits.max_pages_per_site
        return None if most is None else most - (record.n_pages - record.n_pages_before if record else 0)

    def _site_connections(self, site: bytes) -> int:
        overriding = self._rulebook.overriding
        return self._of_site(self._store.site(site) if overriding.varies else None).politeness.site_connections

    def _of_site(self, record: SiteRecord | None) -> Settings:
        return self._rulebook.overriding.of_host(record.name if record else "")

    # -- what is waited for

    def next_at(self, now: float) -> float | None:
        """Return when to call `take` again; None if only requests in flight are waited for."""
        times = [at for at in (self._delays.next_at(), self.slots.next_at()) if at is not None]
        if self.waiting.next_at < inf and len(self.hosts) < self.limit:
            times.append(self.waiting.next_at)
        if self.n_looking_up or self.slots.n_hosts:
            times.append(now + 1.0)
        return max(now, min(times)) if times else None

    def n_delayed(self, n_in_flight: int) -> int:
        """Return how many hosts wait only for their own delay."""
        return len(self.hosts) - n_in_flight - self.n_looking_up - self.slots.n_hosts

    def why(self, now: float, n_in_flight: int) -> str:
        """Return a text about what is waited for, and by which rules. Time: O(n), n hosts on the workbench."""
        words = []
        rules = self.slots.waits()
        rules.update(self._delay_of(host, now) for host in self.hosts.values() if not (host.leased or host.line or host.looks_up))
        if rules:
            times = [at for at in (self._delays.next_at(), self.slots.next_at()) if at is not None]
            groups = [f"{n:,} {_hosts(n)}: {rule}" for rule, n in rules.most_common(_RULES_SHOWN)]
            more = [f"{len(rules) - _RULES_SHOWN} more rules"] if len(rules) > _RULES_SHOWN else []
            words.append(", ".join([*groups, *more, *([f"next in {max(0.0, min(times) - now):.1f} s"] if times else [])]))
        if n := self.n_looking_up:
            words.append(f"{n} {_hosts(n)} being looked up")
        if n_in_flight:
            words.append(f"{n_in_flight} in flight")
        if now < self.waiting.next_at < inf:
            words.append(f"next waiting host due in {self.waiting.next_at - now:.1f} s")
        if n := self.parked.total():
            words.append(f"{n} {_hosts(n)} parked")
        return "; ".join(words) or NOTHING_QUEUED

    def _delay_of(self, host: HostQueue, now: float) -> str:
        """Return the rule for which a host waits that only waits for its own delay."""
        if host.blocked_until > max(now, host.record.next_at):
            return host.why
        head = host.head
        if head is not None and head.lane in (Lane.RETRY, Lane.DUE) and head.rank / 1e6 > max(now, host.record.next_at):
            if head.lane is Lane.DUE:
                return "next visit of a page"
            return "retry of a filter's request that failed" if head.url.purpose in FILTERS_OWN else "retry of what failed"
        return rule_of(host.record, host.rules)


def _hosts(n: int) -> str:
    return "host" if n == 1 else "hosts"
