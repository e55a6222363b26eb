"""Which ready host may start a request now: it needs a free connection of its address and of its site at the same time.

A slot is an address (at most `address_connections` in flight, `address_delay` between starts) or a site (at most `site_connections`, and
no more than its page budget has left). Hosts that share both an address and a site are in one *line*, by their precedence in the crawl's
order. A line is in exactly one place: the heap of ready lines, or the waiting heap of the slot that blocks it. When a slot becomes free, it
moves one waiting line to the ready heap; when a line leaves the ready heap for any reason, both its slots move the next one. This keeps the
invariant:

    if a slot has room and a line waits for it, one of its lines is in the ready heap, or a timer is set.

One name on a busy address costs O(log n) per start, and 1,000 hosts of one site on one address take one line. Outdated items of the heaps
(a host or a line was moved) are recognised by their ticket and dropped when they reach the top.

Memory: ~400 bytes per line and slot in use; an idle slot is forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count

from thresher.config.settings import PolitenessSettings
from thresher.crawler.core.host_queue import HostQueue, LineKey
from thresher.crawler.core.ports import AddressUse

_TYPICAL_REQUEST_S = 0.3  # seconds, to estimate the time of a line; too many would leave an address idle, too few would crowd the workbench
_FEW = 64  # so many items of a heap may be out of date
_Lines = list[tuple[int, int, "SlotQueue"]]  # heap of (precedence of the first host, ticket, line)


class _Slot:
    """An address or a site."""

    __slots__ = ("gap_s", "in_flight", "key", "limit", "lines", "n_hosts", "next_start", "room", "timer_at", "waiting", "waiting_own")

    def __init__(self, key: str | bytes, limit: int, gap_s: float, room: int | None) -> None:
        self.key = key
        self.limit = limit
        self.gap_s = gap_s
        self.room = room  # pages that are left of the budget; None: no budget
        self.in_flight = 0
        self.n_hosts = 0  # in its lines
        self.next_start = 0.0
        self.timer_at = 0.0  # 0: none is set
        self.lines: set[SlotQueue] = set()
        self.waiting: _Lines = []
        self.waiting_own: _Lines = []  # lines of the operator's own site, which only wait for a place

    def has_place(self) -> bool:
        limit = self.limit if self.room is None else min(self.limit, self.room)
        return self.in_flight < limit

    def estimate_s(self) -> float:
        """Return about how many seconds a new line would wait."""
        return self.n_hosts * max(self.gap_s, _TYPICAL_REQUEST_S / self.limit)


class SlotQueue:
    """Hosts that wait for the same address and site."""

    __slots__ = ("address", "heap", "is_own", "key", "n_hosts", "place", "precedence", "site", "ticket")

    def __init__(self, key: LineKey, address: _Slot, site: _Slot) -> None:
        self.key = key
        self.is_own = key[2]  # whether it is the operator's own site: then `address_delay` does not apply
        self.address = address
        self.site = site
        self.heap: list[tuple[int, int, HostQueue]] = []
        self.n_hosts = 0
        self.place: _Lines | None = None
        self.precedence = 0
        self.ticket = 0

    def first(self) -> HostQueue | None:
        """Return the host that goes first; None if none is left."""
        heap = self.heap
        while heap and heap[0][2].ticket != heap[0][1]:
            heappop(heap)
        return heap[0][2] if heap else None

    def count(self, change: int) -> None:
        self.n_hosts += change
        self.address.n_hosts += change
        self.site.n_hosts += change


class Slots:
    """All hosts that only wait for an address and a site, and all reservations."""

    def __init__(self, settings: PolitenessSettings, room: Callable[[bytes], int | None], connections: Callable[[bytes], int]) -> None:
        """Create the slots.

        Args:
            settings: The rules of addresses.
            room: Returns the pages that a site (8-byte key) has left, None without a budget; called when a site comes into use.
            connections: Returns the number of connections that a site may have; called then, too.
        """
        self.shared: AddressUse | None = None  # use of addresses by other agents, if there are any
        self._settings = settings
        self._room = room
        self._connections = connections
        self._addresses: dict[str, _Slot] = {}
        self._sites: dict[bytes, _Slot] = {}
        self._lines: dict[LineKey, SlotQueue] = {}
        self._ready: _Lines = []
        self._timers: list[tuple[float, int, _Slot]] = []  # addresses that lines wait for
        self._gaps: list[tuple[float, int, _Slot]] = []  # idle addresses that will be forgotten
        self._tickets = count(1)
        self.n_hosts = 0

    def estimate_s(self, address: str, site: bytes) -> float:
        """Return about how long a host that joins now would wait for its turn."""
        slots = self._addresses.get(address), self._sites.get(site)
        return max((slot.estimate_s() for slot in slots if slot is not None), default=0.0)

    def is_spent(self, site: bytes) -> bool:
        """Return whether the site's page budget is used up."""
        slot = self._sites.get(site)
        room = self._room(site) if slot is None else slot.room
        return room is not None and room <= 0

    def has_ready(self) -> bool:
        """Return whether a line may be ready to start a request; `take` tells for certain."""
        return bool(self._ready)

    def add(self, host: HostQueue, precedence: int) -> None:
        """Put a host into the line for its `address` and its site; its ticket marks the place."""
        line = self._line(host.address, host.key[:8], host.is_own)
        heappush(line.heap, (precedence, host.ticket, host))
        line.count(1)
        self.n_hosts += 1
        host.line = line.key
        if line.place is None or precedence < line.precedence:
            self._put(line, self._ready if line.place is None else line.place, precedence)

    def drop(self, host: HostQueue) -> None:
        """Take a host out of its line before its turn. The caller changes its ticket."""
        assert host.line is not None
        self._lines[host.line].count(-1)
        host.line = None
        self.n_hosts -= 1

    def take(self, now: float) -> HostQueue | None:
        """Reserve address and site for the first host for which both have a place; return None if there is none now."""
        self._fire(now)
        while (line := self._next(self._ready)) is not None:
            host = line.first()
            if host is None:
                self._forget(line, now)
            elif (precedence := line.heap[0][0]) != line.precedence:
                self._put(line, self._ready, precedence)
            elif (blocking := self._blocking(line, now)) is not None or (blocking := self._elsewhere(line, now)) is not None:
                self._put(line, blocking.waiting_own if line.is_own else blocking.waiting, precedence)
                self._tend(line.address, now)
                self._tend(line.site, now)
            else:
                self._start(line, host, now)
                return host
        return None

    def _elsewhere(self, line: SlotQueue, now: float) -> _Slot | None:
        """Reserve the address among all agents; return its slot if other agents use it up."""
        address = line.address
        wait_s = self.shared.start(str(address.key), is_own=line.is_own) if self.shared is not None else 0.0
        if not wait_s:
            return None
        address.next_start = max(address.next_start, now + wait_s)
        return address

    def release(self, host: HostQueue, now: float, *, n_pages: int, was_used: bool) -> list[HostQueue]:
        """End a reservation; if no request was made, undo its effects.

        Returns:
            The hosts in lines whose site's budget is used up: the caller drops them.
        """
        address_slot, site_slot = self._addresses[host.address], self._sites[host.key[:8]]
        if self.shared is not None:
            self.shared.end(host.address, was_used=was_used)
        before, after = host.address_gap
        if not was_used and address_slot.next_start == after:  # no request has started since
            address_slot.next_start = before
        address_slot.in_flight -= 1
        site_slot.in_flight -= 1
        spent: list[HostQueue] = []
        if site_slot.room is not None:
            site_slot.room -= n_pages
            if site_slot.room <= 0:
                spent = [one for _, one in self.standing(host.key[:8])]
        self._tend(address_slot, now)
        self._tend(site_slot, now)
        return spent

    def standing(self, site: bytes) -> list[tuple[int, HostQueue]]:
        """Return the hosts of a site (8-byte key) that are in lines, each with its precedence."""
        slot = self._sites.get(site)
        lines = slot.lines if slot is not None else ()
        return [(precedence, host) for line in lines for precedence, ticket, host in line.heap if host.ticket == ticket]

    def next_at(self) -> float | None:
        """Return when the next address becomes free for a waiting host; None if no host waits for a time."""
        return self._timers[0][0] if self._timers else None

    def waits(self) -> Counter[str]:
        """Count the hosts in lines by the rule for which they wait. Time: O(lines)."""
        found: Counter[str] = Counter()
        of = self._settings
        for line in self._lines.values():
            if line.place is line.site.waiting or line.place is line.site.waiting_own:
                has_budget = line.site.room is not None and line.site.room < line.site.limit
                found["max_pages_per_site" if has_budget else f"site_connections {line.site.limit}"] += line.n_hosts
            elif line.address.has_place():
                found[f"address_delay {of.address_delay:g} s"] += line.n_hosts
            else:
                found[f"address_connections {of.address_connections}"] += line.n_hosts
        return found

    # -- lines

    def _line(self, address: str, site: bytes, is_own: bool) -> SlotQueue:
        line = self._lines.get((address, site, is_own))
        if line is None:
            line = self._lines[address, site, is_own] = SlotQueue((address, site, is_own), self._address(address), self._site(site))
            line.address.lines.add(line)
            line.site.lines.add(line)
        return line

    def _put(self, line: SlotQueue, place: _Lines, precedence: int) -> None:
        line.place, line.precedence, line.ticket = place, precedence, next(self._tickets)
        heappush(place, (precedence, line.ticket, line))
        if len(place) > 2 * len(self._lines) + _FEW:  # more than half are out of date, some of deleted lines
            place[:] = [item for item in place if item[1] == item[2].ticket]
            heapify(place)

    def _next(self, place: _Lines) -> SlotQueue | None:
        """Take the first line out of its place."""
        while place:
            _, ticket, line = heappop(place)
            if line.ticket == ticket:
                line.place, line.ticket = None, 0
                return line
        return None

    def _start(self, line: SlotQueue, host: HostQueue, now: float) -> None:
        heappop(line.heap)
        line.count(-1)
        self.n_hosts -= 1
        host.line = None
        address, site = line.address, line.site
        address.in_flight += 1
        site.in_flight += 1
        after = address.next_start if line.is_own else now + address.gap_s
        host.address_gap = (address.next_start, after)
        address.next_start = after
        if line.first() is None:
            self._forget(line, now)
        else:
            self._put(line, self._ready, line.heap[0][0])

    def _forget(self, line: SlotQueue, now: float) -> None:
        address, site = line.address, line.site
        del self._lines[line.key]
        address.lines.remove(line)
        site.lines.remove(line)
        self._tend(address, now)
        self._tend(site, now)

    # -- slots

    def _address(self, key: str) -> _Slot:
        slot = self._addresses.get(key)
        if slot is None:
            slot = self._addresses[key] = _Slot(key, self._settings.address_connections, self._settings.address_delay, None)
        return slot

    def _site(self, key: bytes) -> _Slot:
        slot = self._sites.get(key)
        if slot is None:
            slot = self._sites[key] = _Slot(key, self._connections(key), 0.0, self._room(key))
        return slot

    def _blocking(self, line: SlotQueue, now: float) -> _Slot | None:
        if not line.address.has_place() or (now < line.address.next_start and not line.is_own):
            return line.address
        return None if line.site.has_place() else line.site

    def _tend(self, slot: _Slot, now: float) -> None:
        """Make the first line that waits for the slot ready if it may go on, or set a timer for it; forget an idle slot."""
        for waiting in (slot.waiting, slot.waiting_own):
            while waiting and waiting[0][1] != waiting[0][2].ticket:
                heappop(waiting)
        if slot.waiting or slot.waiting_own:
            if not slot.has_place():
                return  # `release` tends it
            if (own := self._next(slot.waiting_own)) is not None:
                self._put(own, self._ready, own.precedence)
            if not slot.waiting:
                return
            if now < slot.next_start:
                self._set_timer(slot)
            elif (line := self._next(slot.waiting)) is not None:
                self._put(line, self._ready, line.precedence)
        elif not slot.in_flight and not slot.lines:
            if now < slot.next_start:
                heappush(self._gaps, (slot.next_start, next(self._tickets), slot))
            elif isinstance(slot.key, str):
                self._addresses.pop(slot.key, None)
            else:
                self._sites.pop(slot.key, None)

    def _set_timer(self, slot: _Slot) -> None:
        if not slot.timer_at:
            slot.timer_at = slot.next_start
            heappush(self._timers, (slot.next_start, next(self._tickets), slot))

    def _fire(self, now: float) -> None:
        timers, gaps = self._timers, self._gaps
        while timers and timers[0][0] <= now:
            slot = heappop(timers)[2]
            slot.timer_at = 0.0
            self._tend(slot, now)
        while gaps and gaps[0][0] <= now:
            slot = heappop(gaps)[2]
            if self._addresses.get(str(slot.key)) is slot:
                self._tend(slot, now)
