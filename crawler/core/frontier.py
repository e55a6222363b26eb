"""The frontier: decides which URL may be requested next, and settles its request afterwards.

    push ─► host queue in the store ─► workbench (workbench.py) ─► pop: a Lease on host, site and address ─► finish | skip | give_back

A host queue is http, https, www and bare of one name. Invariants, each a law in tests/simulations/test_core_frontier_laws.py:
- one request in flight per queue, never two: a leased host is nowhere on the workbench;
- no request before `next_at`, which counts from the end of the response; in a new process none before `started_at` + the host's delay;
- a row leaves the store only in the call that settles its URL, so that nothing is lost by a crash;
- within a host the order is lane, rank, seq, with a share for URLs of sitemaps; while new pages are left, requests of filters that can wait
  are made as far as filters have had less than their share; crawler/core/order gives ranks, and the order among hosts that are ready;
- budgets are exact: a host has one request in flight, a site no more than its budget has left.

Nothing here awaits: `pop` reserves what it returns in one step. From Mercator and BUbiNG [HN99, BMSV18]; it differs in that queues are in
one ordered store, not in files, and in that address and site are reserved with the host. Time: O(log n) per call, n hosts on the workbench.
Memory: the workbench.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from thresher.config.settings import Settings
from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.host_queue import UNTIMED, HostQueue
from thresher.crawler.core.intake import Intake
from thresher.crawler.core.lease import Lease, Retry, Wait
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Outcome, Purpose, Reason
from thresher.crawler.core.order.by_name import order_by_name
from thresher.crawler.core.outage import TRIAL_MAX_S, Outage
from thresher.crawler.core.overview import FrontierSnapshot, HostView, snapshot, views, why
from thresher.crawler.core.parking import Parking
from thresher.crawler.core.politeness import RETRIES, Pace, Rulebook
from thresher.crawler.core.ports import AddressBook, AddressUse, Entry, HostRecord, Lane, QueueStore
from thresher.crawler.core.url import URLSpace, hostname_of
from thresher.crawler.core.waiting_rows import WaitingRows
from thresher.crawler.core.workbench import Workbench

__all__ = ["Frontier", "FrontierSnapshot", "HostView", "Lease", "Retry", "Wait"]


class Frontier:
    """The queue of the whole crawl."""

    def __init__(
        self, store: QueueStore, addresses: AddressBook, settings: Settings, *, urls: URLSpace, rng: random.Random, started_at: float
    ) -> None:
        """Create the frontier.

        Args:
            started_at: The start of this process, in seconds; hosts with URLs from an earlier process first wait their whole delay.
        """
        self._store = store
        self._urls = urls
        self._rulebook = Rulebook(settings)
        self.order = order_by_name(settings.frontier.order, store)
        self._pace = Pace(settings, rng)
        self._bench = Workbench(
            store, addresses, settings, order=self.order, pace=self._pace, rulebook=self._rulebook, started_at=started_at
        )
        self._parking = Parking(store, self._bench, self._pace)
        self._outage = Outage()
        self._n_in_flight = 0
        self._intake = Intake(store, self._bench, self.order, self._rulebook.overriding, urls)
        self._waiting = WaitingRows(store, self._bench, self._intake, self.order, urls)
        self._now = started_at

    # -- into the queue

    def push(self, entry: Entry, now: float) -> Reason | None:
        """Queue a URL whose row in `seen` is written. Return a reason if it is refused, since its site has too many hosts."""
        return self._intake.push(entry, now)

    def record(self, queue: bytes) -> HostRecord | None:
        """Return the record of a host queue; None if there is none."""
        host = self._bench.hosts.get(queue)
        return host.record if host is not None else self._store.host(queue)

    def push_requisite(self, entry: Entry, now: float) -> Reason | None:
        """Queue a requisite of a page, even if its host's budget of pages is used up."""
        refusal = self.push(entry, now)
        if refusal is None:
            self._intake.open_budget(self._urls.queue_key(entry.url.host), now, are_pages_closed=self._bench.pages_closed)
        return refusal

    def push_visit(self, entry: Entry, now: float) -> Reason | None:
        """Queue the next visit of a page, even if its host's budget of new pages is used up."""
        refusal = self.push(entry, now)
        if refusal is None:
            self._intake.open_budget(self._urls.queue_key(entry.url.host), now)
        return refusal

    def bring_forward(self, waiting: Entry, rank: int, now: float) -> bool:
        """Give a page's next visit, which waits in the lane DUE, an earlier time; return False if it is under way."""
        return self._waiting.bring_forward(waiting, rank, now)

    def close_pages(self, now: float) -> None:
        """Allow only requisites of pages in the rest of this process."""
        if not self._bench.pages_closed:
            self._bench.close_pages(now)

    def refuses(self, url: CrawlURL) -> Reason | None:
        """Return why `push` would refuse a URL, or None."""
        return self._intake.refuses(url)

    def meet(self, site_of: Mapping[str, str]) -> set[str]:
        """Make queues of new hosts, for links that are pushed next; see `Intake.meet`."""
        return self._intake.meet(site_of)

    def push_links(self, links: LinkBatch, at: range, first: int, worth: int, now: float) -> None:
        """Queue the new links `at` of a batch; their rows in `seen` are written, and their hosts were met (`meet`).

        Args:
            first: Sequence number of the first of them; the others follow in order.
        """
        self._intake.push_links(links, at, first, worth, now)

    def request_ahead(self, url: CrawlURL, now: float) -> bool:
        """Queue a request in memory only, before its host's queue; its lease has `seq` 0. Return False if the host cannot take it."""
        queue = self._urls.queue_key(url.host)
        host = self._bench.hosts.get(queue)
        if host is None:
            record = self._store.host(queue)
            if record is None and (record := self._intake.new_host(queue, url)) is not None:
                self._store.save_host(queue, record)  # its site counts it, even if the request is not made in this process
            host = self._bench.load(queue, record, now) if record is not None else None
        if host is None:
            return False
        host.hops.append(Entry(Lane.AHEAD, 0, 0, 0, url))
        if host.leased is None:
            self._bench.place(host, now)
        return True

    def raise_rank(self, waiting: Entry, rank: int) -> bool | None:
        """Move a queued URL forward; see `WaitingRows.raise_rank`."""
        return self._waiting.raise_rank(waiting, rank, self._now)

    def is_drained(self, queue: bytes, now: float) -> bool:
        """Return whether a host has no URL except second tries that are not due, and is neither parked nor backing off."""
        record = self.record(queue)
        if record is None:
            return True
        if record.parked or record.backoff_until > now:
            return False
        host = self._bench.hosts.get(queue)
        if not record.n_queued or (host is not None and any(host.rows[lane] for lane in UNTIMED)):
            return not record.n_queued
        if any(self._store.head(queue, lane, 1) for lane in UNTIMED):
            return False
        return not any(entry.rank <= now * 1e6 for entry in self._store.head(queue, Lane.DUE, 1))

    def n_pages(self, queue: bytes) -> int:
        """Return how many pages of a host were fetched."""
        record = self.record(queue)
        return record.n_pages if record is not None else 0

    def hurry(self, queue: bytes, purpose: Purpose, now: float) -> None:
        """Let a host's requests of this purpose wait no longer; see `WaitingRows.hurry`."""
        self._waiting.hurry(queue, purpose, now)

    def withdraw(self, url: CrawlURL, seq: int, worth: int = 0, *, due: int = 0) -> bool:
        """Take a URL out of its queue; return False if it is not in it (it may be in flight).

        Args:
            worth: The worth from which its rank in the lane FRESH was made.
            due: Its rank in the lane DUE.
        """
        return self._waiting.withdraw(url, seq, worth, due, self._now)

    def count_imported(self, url: CrawlURL) -> None:
        """Count a page of an archive, which no request brought, as one of its host."""
        queue = self._urls.queue_key(url.host)
        record = self.record(queue) or self._intake.new_host(queue, url)
        if record is not None:  # else its site has too many hosts
            self._intake.count_page(queue, record)
            self._store.save_host(queue, record)

    # -- out of the queue

    def pop(self, now: float) -> Lease | Wait:
        """Reserve the next URL with its host, site and address, in one step; or return until when there is none (`why` gives the
        reason).
        """
        self._now = now
        outage = self._outage
        if outage.is_down and now < outage.next_trial:
            return Wait(outage.next_trial)
        host = self._bench.take(now)
        if host is None:
            return Wait(self._bench.next_at(now))
        if outage.is_down:
            outage.try_again(now)
        entry = host.head
        assert entry is not None
        host.note_turn(entry, now)
        host.remove(entry)
        host.leased, host.head = entry, None
        self._n_in_flight += 1
        return Lease(host.key, entry, host.address)

    def lookups(self) -> list[str]:
        """Return names for which hosts wait; each name is returned once, until `on_resolved` or `unresolvable` is called."""
        return self._bench.lookups()

    def on_resolved(self, hostname: str, now: float) -> None:
        """Handle a resolved name: hosts that waited for it go on; the address book has it."""
        for host in self._bench.looked_up(hostname):
            self._bench.place(host, now)

    def unresolvable(self, hostname: str, failure_cause: Cause, now: float) -> list[Entry]:
        """Treat the URLs that wait for the name as failed; return those without a further try, whose rows are deleted."""
        terminal: list[Entry] = []
        for host in self._bench.looked_up(hostname):
            terminal += self._without_address(host, hostname, failure_cause, now)
        return terminal

    def _without_address(self, host: HostQueue, hostname: str, cause: Cause, now: float) -> list[Entry]:
        """Apply a failed look-up to every entry in memory with this name; if the first has no try left, none has."""
        record, first = host.record, host.head
        assert first is not None
        self._outage.note_failure(host.key, cause, now, answered_before=record.has_answered)
        entries = [entry for entry in host.in_memory(now) if hostname_of(entry.url.host) == hostname]
        if self._outage.is_down or not RETRIES[cause].counts_as_try:
            entries = [entry for entry in entries if entry.seq == 0]
            host.blocked_until, host.why = now + TRIAL_MAX_S, str(cause)
        is_over = first.seq != 0 and self._pace.retry_at(first, cause, record, host.rules, now) is None
        terminal = [entry for entry in entries if is_over or self._try_later(host, entry, cause, now) is None]
        for entry in terminal:
            host.remove(entry)
            self._delete(host, entry)
        if len(terminal) < len(entries) and RETRIES[cause].counts_against_host:
            record.failures += 1
            record.incident_at = now
        self._settle(host, now)
        return terminal

    def _try_later(self, host: HostQueue, entry: Entry, cause: Cause, now: float) -> float | None:
        """Move a row to the lane RETRY and return when it is due; None if its URL has no try left."""
        at = self._pace.retry_at(entry, cause, host.record, host.rules, now) if entry.seq else None
        if at is None:
            return None
        host.defer(self._store, entry, at, entry.attempt + 1, self._bench.heads)
        return at

    # -- after a lease

    def finish(self, lease: Lease, outcome: Outcome, now: float, *, is_page: bool) -> Retry | None:
        """Settle a request: clock and budget of its host, its row, the reservation. Return the retry if the URL stays queued."""
        host, entry = self._land(lease, now)
        excused = self._respond(host, outcome, now)
        retry = self._retry(host, entry, outcome, now, excused=excused) if isinstance(outcome, Failed) and entry.seq else None
        n_pages = int(is_page and retry is None)
        if n_pages:
            self._intake.count_page(host.key, host.record)
        if retry is None:
            self._delete(host, entry)
        self._bench.release(host, now, n_pages=n_pages)
        self._settle(host, now)
        return retry

    def skip(self, lease: Lease, now: float, *, requested: Outcome | None = None) -> None:
        """Delete the URL's row. If no request was made, its host may go on at once; else `requested` is the outcome of its last request."""
        host, entry = self._land(lease, now)
        if requested is not None:
            self._respond(host, requested, now)
        self._delete(host, entry)
        self._bench.release(host, now, was_used=requested is not None)
        self._settle(host, now)

    def defer(
        self, lease: Lease, now: float, *, until: float = 0.0, why: str = "", requested: Outcome | None = None, origin_only: bool = False
    ) -> None:
        """Leave the URL queued, and block its host until `until`; with `origin_only` only the URL, if the host may have URLs of another
        origin.

        Args:
            requested: The outcome of a request that was made instead (robots.txt).
        """
        host, entry = self._land(lease, now)
        if origin_only and until > now and entry.seq and host.may_serve_others(entry):
            host.defer(self._store, entry, until, entry.attempt, self._bench.heads)
        else:
            host.restore(entry)
            host.blocked_until, host.why = until, why
        if requested is not None:
            self._respond(host, requested, now)
        self._bench.release(host, now, was_used=requested is not None)
        self._settle(host, now)

    def _land(self, lease: Lease, now: float) -> tuple[HostQueue, Entry]:
        self._now = now
        host = self._bench.hosts.get(lease.queue)
        if host is None or host.leased is not lease.entry:
            raise ValueError(f"lease of {lease.entry.url.text} is not in force: it was finished, skipped or given back before")
        host.leased = None
        self._n_in_flight -= 1
        return host, lease.entry

    def _respond(self, host: HostQueue, outcome: Outcome, now: float) -> bool:
        """Record a response of the host; return whether a failure is excused, since the network is down."""
        record = host.record
        self._outage.note(host.key, outcome, now, answered_before=record.has_answered)
        self._pace.respond(record, host.rules, outcome, now, excused=self._outage.is_down)
        return self._outage.is_down

    def _retry(self, host: HostQueue, entry: Entry, failure: Failed, now: float, *, excused: bool) -> Retry | None:
        if excused or not RETRIES[failure.cause].counts_as_try:
            host.restore(entry)
            return Retry(host.record.next_at, entry.attempt)
        at = self._try_later(host, entry, failure.cause, now)
        return None if at is None else Retry(at, entry.attempt + 1)

    def _delete(self, host: HostQueue, entry: Entry) -> None:
        if entry.seq:
            self._store.delete(host.key, entry)
            host.record.n_queued -= 1

    def _settle(self, host: HostQueue, now: float) -> None:
        """Save the host's record, and put the host in its place on the workbench."""
        record = host.record
        if self._pace.is_dead(record, host.rules) and record.n_queued and not record.parked:
            self._pace.park_dead(record, host.rules, now)
            self._bench.park(host, record.parked, until=record.parked_until)
            return
        self._store.save_host(host.key, record)
        self._bench.place(host, now, may_leave=True)

    # -- what other parts of the crawl do to hosts

    def wake(self, queue: bytes, now: float) -> None:
        """End the blocking of a host that `defer` began."""
        host = self._bench.hosts.get(queue)
        if host is not None:
            host.blocked_until = 0.0
            if host.leased is None:
                self._bench.place(host, now)
            return
        record = self._store.host(queue)
        if record is not None and record.due > now and not record.parked:
            self._bench.waiting.push_due(queue, record, now)

    def on_link(self, site: bytes) -> None:
        """Update the place of a site's ready hosts, since more sites link to it now."""
        self._bench.stand_anew(site)

    def share(self, addresses: AddressUse) -> None:
        """Share the use of addresses with other agents."""
        self._bench.slots.shared = addresses

    def set_crawl_delay(self, queue: bytes, seconds: float | None) -> None:
        """Set the delay that robots.txt asks for; a delay that is too long parks the host as soon as it is not leased."""
        host = self._bench.hosts.get(queue)
        record = host.record if host is not None else self._store.host(queue)
        delay = -1.0 if seconds is None else seconds
        if record is None or record.crawl_delay == delay:
            return
        record.crawl_delay = delay
        if (
            host is None
            and record.parked == Reason.CRAWL_DELAY_TOO_LONG
            and delay <= self._rulebook.of(record.name).politeness.max_crawl_delay
        ):
            self._bench.unpark(queue, record, self._now)
            return
        self._store.save_host(queue, record)
        if host is not None and host.leased is None:
            self._pace.at_least(record, host.rules, self._now)
            self._bench.place(host, self._now)

    def park_walled(self, queue: bytes, number: int, now: float) -> None:
        """Start no request at a host for a while, since it is behind a wall; see `Parking.park_walled`."""
        self._parking.park_walled(queue, number, now)

    def park(self, queue: bytes, why: str, now: float, *, until: float = 0.0) -> bool:
        """Start no further request at a host; see `Parking.park`."""
        return self._parking.park(queue, why, now, until=until)

    def unpark(self, queue: bytes, now: float) -> bool:
        """Serve a parked host again; see `Parking.unpark`."""
        return self._parking.unpark(queue, now)

    def take_back_offs(self, most: int) -> list[BackOff]:
        """Return at most `most` back-offs that have begun since the last call."""
        return self._pace.take_back_offs(most)

    # -- for people

    def why(self, now: float) -> str:
        """Return what is waited for, by which rules. Time: O(n), n hosts on the workbench."""
        return why(self._bench, self._outage, self._n_in_flight, now)

    def snapshot(self, now: float) -> FrontierSnapshot:
        """Count the hosts by state."""
        return snapshot(self._bench, self._n_in_flight, self._intake.n_known_hosts, self._outage.since, now)

    def hosts(self, now: float) -> Iterator[HostView]:
        """Yield the hosts of the workbench. The frontier must not be changed meanwhile."""
        return views(self._bench, now)
