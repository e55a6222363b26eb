"""A crawl of a simulated web on a simulated clock: the frontier under test, a log of every request as the servers would have written it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, pairwise

import msgspec
from fake_queues import Addresses, Queues

from thresher.config.settings import Settings
from thresher.crawler.core.frontier import Frontier, Lease, Retry, Wait
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Head, Outcome, Purpose
from thresher.crawler.core.ports import CAN_WAIT, Entry, HostRecord, Lane
from thresher.crawler.core.url import URLRules, URLSpace

URLS = URLSpace(b"a secret of bytes", URLRules(ports=None))
START = 1_700_000_000.0
_FAILURES = (Cause.CONN_REFUSED, Cause.HTTP_5XX, Cause.TIMEOUT_TOTAL, Cause.INCOMPLETE, Cause.TLS_CERT, Cause.HTTP_429)
NO_CIRCUIT = {"dead_after": 1_000_000}
CALM = {"jitter": 0.0, "delay_factor": 0.0}

ServerModel = Callable[[CrawlURL, random.Random], Outcome]


@dataclass(frozen=True)
class ServedRequest:
    """One line of the servers' log."""

    start: float
    end: float
    queue: bytes
    address: str
    entry: Entry
    outcome: Outcome


def configured(**sections: object) -> Settings:
    """Return settings with some values changed: configured(politeness={"min_delay": 2.0})."""
    tree = msgspec.to_builtins(Settings())
    for name, changes in sections.items():
        if isinstance(changes, dict):
            tree[name] = {**tree[name], **changes}
        else:
            tree[name] = changes
    return msgspec.convert(tree, Settings)


def page(url: CrawlURL, elapsed_s: float = 0.05, *, status: int = 200, n_bytes: int = 1000) -> Fetched:
    return Fetched(url, Head(url, status, (), "", elapsed_s), b"", n_bytes, elapsed_s)


def failure(url: CrawlURL, cause: Cause, elapsed_s: float = 0.05, *, status: int = 0, retry_after: str = "") -> Failed:
    headers = ((b"Retry-After", retry_after.encode()),) if retry_after else ()
    return Failed(url, cause, "as told", elapsed_s, head=Head(url, status, headers, "", elapsed_s) if status else None)


def steady(url: CrawlURL, rng: random.Random) -> Outcome:
    """Answer everything with a page after 20 to 500 ms."""
    return page(url, rng.uniform(0.02, 0.5))


def flaky(url: CrawlURL, rng: random.Random) -> Outcome:
    """Fail a third of all requests, in every way."""
    if rng.random() > 0.33:
        return steady(url, rng)
    cause = rng.choice(_FAILURES)
    return failure(url, cause, rng.uniform(0.001, 2.0), status=429 if cause is Cause.HTTP_429 else 0)


class World:
    """Does the agent's work in a loop: at most `concurrency` requests are in flight, and time moves from event to event."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        seed: int = 0,
        answer: ServerModel = steady,
        addresses: Addresses | None = None,
        concurrency: int = 32,
        now: float = START,
    ) -> None:
        self.settings = settings or Settings()
        self.rng = random.Random(seed)
        self.answer = answer
        self.addresses = addresses or Addresses()
        self.concurrency = concurrency
        self.now = now
        self.validates = True  # check every place after each pop that found nothing: slow with many hosts
        self.store = Queues()
        self.log: list[ServedRequest] = []
        self.ended: list[Entry] = []  # entries that are done, in order
        self.terminal_lookups: list[Entry] = []
        self.unresolvable: dict[str, Cause] = {}
        self.retries: list[Retry] = []
        self.seqs = count(1)
        self.pushed: list[Entry] = []
        self.most_on_bench = 0
        self.begin()

    def begin(self) -> None:
        """Start a life with the rows of the store."""
        self.started_at = self.now
        self.in_flight: list[tuple[float, int, Lease, Outcome]] = []
        self.frontier = Frontier(
            self.store, self.addresses, self.settings, urls=URLS, rng=random.Random(self.rng.random()), started_at=self.now
        )

    def crash(self) -> None:
        """Lose everything but the store's rows."""
        self.log += [
            ServedRequest(end - outcome.elapsed_s, self.now, lease.queue, lease.address, lease.entry, outcome)
            for end, _, lease, outcome in self.in_flight
        ]
        self.store = self.store.reborn()
        self.begin()

    def push(
        self,
        text: str,
        *,
        depth: int = 0,
        lane: Lane = Lane.FRESH,
        purpose: Purpose = Purpose.PAGE,
        due: float = 0.0,
        can_wait: bool = False,
    ) -> Entry | None:
        """Queue a URL; None if it was refused.    due: when, in the lane DUE"""
        url = URLS.url(text, site_depth=depth, purpose=purpose)
        rank = self.frontier.order.rank(depth, 0) if lane is Lane.FRESH else CAN_WAIT if can_wait else int(due * 1e6)
        entry = Entry(lane, rank, next(self.seqs), 0, url)
        if self.frontier.push(entry, self.now) is not None:
            return None
        self.pushed.append(entry)
        return entry

    def push_links(self, texts: Sequence[str], depths: Sequence[int], *, worth: int = 0, one_by_one: bool = False) -> None:
        """Queue the new links of a page as columns, or one by one."""
        source = URLS.url("http://source.example/")
        urls = [URLS.url(text, seed_distance=1, site_depth=depth, via=source.key) for text, depth in zip(texts, depths, strict=True)]
        links = LinkBatch.from_urls(source, urls)
        if not one_by_one:
            assert not self.frontier.meet(dict(zip(links.hosts, links.sites, strict=True)))
        for at in (range(i, i + 1) for i in range(len(urls))) if one_by_one else (range(len(urls)),):
            entries = [Entry(Lane.FRESH, self.frontier.order.rank(urls[i].site_depth, worth), next(self.seqs), 0, urls[i]) for i in at]
            self.store.urls.update((entry.seq, entry.url) for entry in entries)
            if one_by_one:
                assert self.frontier.push(entries[0], self.now) is None
            else:
                self.frontier.push_links(links, at, entries[0].seq, worth, self.now)
            self.pushed += entries

    def fill(self, n_hosts: int, n_urls: int, *, name: str = "h{}.site{}.example") -> None:
        """Queue `n_urls` at each of `n_hosts`, hosts taking turns."""
        for i in range(n_urls):
            for h in range(n_hosts):
                self.push(f"http://{name.format(h, h)}/{i}", depth=self.rng.randrange(3))

    def pop(self) -> Lease | Wait:
        popped = self.frontier.pop(self.now)
        self.most_on_bench = max(self.most_on_bench, len(self.frontier._bench.hosts))
        if isinstance(popped, Wait) and self.validates and "network down" not in self.frontier.why(self.now):
            check_places(self.frontier, popped, self.now)
        return popped

    def start_all(self) -> Wait | None:
        """Start every request that may start now."""
        while len(self.in_flight) < self.concurrency:
            popped = self.pop()
            if isinstance(popped, Wait):
                if self.look_up():
                    continue
                return popped
            outcome = self.answer(popped.entry.url, self.rng)
            heappush(self.in_flight, (self.now + outcome.elapsed_s, popped.entry.seq, popped, outcome))
        return None

    def look_up(self) -> bool:
        """Answer every look-up at once; return whether there was one."""
        names = self.frontier.lookups()
        for name in names:
            cause = self.unresolvable.get(name)
            if cause is None:
                self.addresses.unknown.discard(name)
                self.frontier.on_resolved(name, self.now)
            else:
                gone = self.frontier.unresolvable(name, cause, self.now)
                self.terminal_lookups += gone
                self.ended += gone
        return bool(names)

    def end_one(self) -> None:
        """Let the first request end."""
        end, _, lease, outcome = heappop(self.in_flight)
        self.now = end
        self.log.append(ServedRequest(end - outcome.elapsed_s, end, lease.queue, lease.address, lease.entry, outcome))
        retry = self.frontier.finish(lease, outcome, self.now, is_page=isinstance(outcome, Fetched))
        if retry is None:
            self.ended.append(lease.entry)
        else:
            self.retries.append(retry)

    def step(self, limit: float = float("inf")) -> bool:
        """Go to the next event; return whether there was one before `limit`."""
        wait = self.start_all()
        end = self.in_flight[0][0] if self.in_flight else None
        until = wait.until if wait is not None else None
        if min(at for at in (end, until, float("inf")) if at is not None) > limit:
            self.now = limit
            return False
        if end is not None and (until is None or end <= until):
            self.end_one()
        elif until is not None:
            self.now = max(until, self.now + 1e-6)
        return end is not None or until is not None

    def run(self, *, until: float | None = None, max_steps: int = 1_000_000) -> None:
        """Crawl until nothing is left, or the clock passes `until`."""
        for _ in range(max_steps):
            if not self.step(float("inf") if until is None else until):
                return
        raise AssertionError(f"no end in {max_steps} steps: {self.frontier.pop(self.now)}")

    # -- facts about the log

    def by_queue(self) -> dict[bytes, list[ServedRequest]]:
        queues: dict[bytes, list[ServedRequest]] = defaultdict(list)
        for request in sorted(self.log, key=lambda request: request.start):
            queues[request.queue].append(request)
        return queues

    def least_gap(self) -> float:
        """Return the shortest time from the end of a response to the next request at the same host; negative if two overlap."""
        gaps = [b.start - a.end for requests in self.by_queue().values() for a, b in pairwise(requests)]
        return min(gaps, default=float("inf"))

    def n_requests(self) -> Counter[int]:
        """Count the requests of each seq."""
        return Counter(request.entry.seq for request in self.log)

    def check(self) -> None:
        """Compare what the store counts with what it holds."""
        self.store.check()


def check_places(frontier: Frontier, wait: Wait, now: float) -> None:
    """Check that no host could have been asked now, and that there is a timer for every host that only waits for a time."""
    bench, slots = frontier._bench, frontier._bench.slots
    until = float("inf") if wait.until is None else wait.until
    n_hosts = 0
    for line in slots._lines.values():
        waiting = {host.key for _, ticket, host in line.heap if host.ticket == ticket}
        n_hosts += len(waiting)
        assert line.n_hosts == len(waiting)
        if waiting and line.address.has_place() and line.site.has_place():
            assert not line.is_own, "a host of one's own site could have gone"
            assert line.address.next_start > now, "a host could have gone"
            assert until <= line.address.next_start, "nobody wakes a host in time"
    assert slots.n_hosts == n_hosts
    for slot in (*slots._addresses.values(), *slots._sites.values()):
        assert slot.lines or slot.in_flight or slot.next_start > now, "a slot at rest is kept"
    in_place = Counter(
        "leased" if host.leased else "looks up" if host.looks_up else "line" if host.line else "delay" for host in bench.hosts.values()
    )
    assert in_place["leased"] == frontier._n_in_flight
    assert in_place["looks up"] == bench.n_looking_up
    assert in_place["line"] == n_hosts
    delayed = {host.key for _, ticket, host in bench._delays._heap if host.ticket == ticket}
    assert in_place["delay"] == len(delayed) == bench.n_delayed(frontier._n_in_flight)
    assert all(until <= host.ready_at for host in bench.hosts.values() if host.key in delayed)


def most_at_once(requests: Iterable[ServedRequest]) -> int:
    """Return the largest number of requests in flight at one time."""
    events = sorted(event for request in requests for event in ((request.start, 1), (request.end, -1)))
    n = most = 0
    for _, change in events:
        n += change
        most = max(most, n)
    return most


def leased(world: World) -> Lease:
    popped = world.pop()
    assert isinstance(popped, Lease), popped
    return popped


def waited(world: World) -> Wait:
    popped = world.pop()
    assert isinstance(popped, Wait), popped
    return popped


def finished(world: World, lease: Lease, outcome: Outcome | None = None, *, is_page: bool = True) -> Retry | None:
    return world.frontier.finish(lease, outcome or page(lease.entry.url), world.now, is_page=is_page)


def queue_of(text: str) -> bytes:
    return URLS.queue_key(URLS.url(text).host)


def record_of(world: World, text: str) -> HostRecord:
    record = world.store.host(queue_of(text))
    assert record is not None
    return record


def random_world(seed: int, *, answer: ServerModel = steady, **sections: object) -> World:
    """Return a world of up to 40 hosts that share up to 10 addresses and 10 sites, some on the same site and address."""
    rng = random.Random(seed)
    n_hosts = rng.randrange(1, 40)
    names = [f"h{h}.site{rng.randrange(10)}.example" for h in range(n_hosts)]
    addresses = Addresses({name: f"10.0.0.{rng.randrange(10)}" for name in names}, unknown=set(rng.sample(names, n_hosts // 3)))
    sections.setdefault("frontier", {"workbench": rng.choice([0, 3, 10]), "heads": rng.choice([1, 2, 32])})
    world = World(configured(**sections), seed=seed, answer=answer, addresses=addresses, concurrency=rng.choice([1, 4, 32]))
    for _ in range(rng.randrange(1, 200)):
        name = rng.choice(names)
        world.push(f"{rng.choice(['http', 'https'])}://{rng.choice(['', 'www.'])}{name}/{rng.randrange(10**9)}", depth=rng.randrange(4))
    return world
