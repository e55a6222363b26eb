"""The laws of the frontier, on random crawls of a simulated web. Each was seen to fail with its rule broken: the docstrings say how."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

from frontier_world import (
    NO_CIRCUIT,
    START,
    URLS,
    ServedRequest,
    World,
    configured,
    failure,
    flaky,
    most_at_once,
    page,
    random_world,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import Cause, CrawlURL, Outcome, Purpose
from thresher.crawler.core.ports import Entry, Lane

seeds = st.integers(min_value=0, max_value=2**32)
few = settings(max_examples=15, deadline=None)
fewer = settings(max_examples=5, deadline=None)


@few
@given(seeds)
def test_no_host_is_visited_twice_within_its_delay_and_never_twice_at_once(seed: int) -> None:
    """P20, P21, P23, P26, P31. Mutation: `next_at` from the request's start; the host put back on the bench by `pop`."""
    world = random_world(seed, answer=flaky, politeness={"min_delay": 1.5, "delay_factor": 0.0, **NO_CIRCUIT})
    world.run()
    assert world.least_gap() >= 1.5
    world.check()


@few
@given(seeds)
def test_an_address_and_a_site_are_never_asked_for_more_than_their_share(seed: int) -> None:
    """P24, P25. Mutation: `next_start` not set; the place of the address, of the site not checked.

    After every pop that finds nothing, `check_places` makes sure that no host could have been asked. Mutation: a `take` after which a
    blocked or empty line wakes no other.
    """
    address_delay = random.Random(seed).choice([0.0, 0.1, 0.3])
    politeness = {
        "min_delay": 0.1,
        "delay_factor": 0.0,
        "address_connections": 2,
        "address_delay": address_delay,
        "site_connections": 3,
    }
    world = random_world(seed, politeness=politeness)
    world.run()
    by_address, by_site = defaultdict(list), defaultdict(list)
    for request in world.log:
        by_address[request.address].append(request)
        by_site[request.entry.url.site].append(request)
    for requests in by_address.values():
        assert most_at_once(requests) <= 2
        starts = sorted(request.start for request in requests)
        assert all(b - a >= address_delay - 1e-6 for a, b in itertools.pairwise(starts))
    assert all(most_at_once(requests) <= 3 for requests in by_site.values())
    assert len(world.ended) == len(world.pushed)


@few
@given(seeds)
def test_every_url_is_requested_exactly_once_when_nothing_fails(seed: int) -> None:
    """No URL is lost, and none is requested twice. Mutation: a host's queue is taken for wholly loaded after a full batch."""
    world = random_world(seed)
    world.run()
    assert world.n_requests() == Counter(entry.seq for entry in world.pushed)
    assert not world.store.queued()
    assert not world.store.due_rows
    world.check()


@few
@given(seeds)
def test_a_url_that_fails_is_requested_exactly_as_often_as_its_policy_says(seed: int) -> None:
    """F11, F57. Mutation: the attempt not counted; tries bounded by `len(waits)` instead of one more."""
    failing = {f"/{n}" for n in range(0, 60, 3)}

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        path = "/" + url.text.rpartition("/")[2]
        return failure(url, Cause.CONN_REFUSED) if path in failing else page(url)

    world = World(configured(politeness=NO_CIRCUIT), seed=seed, answer=answer)
    for n in range(60):
        world.push(f"http://h{n % 7}.example/{n}")
    world.run()
    expected = {entry.seq: 4 if "/" + entry.url.text.rpartition("/")[2] in failing else 1 for entry in world.pushed}
    assert world.n_requests() == expected
    assert len(world.ended) == 60
    assert not world.store.queued()
    world.check()


@few
@given(seeds)
def test_a_host_is_crawled_breadth_first_whatever_the_order_of_discovery(seed: int) -> None:
    """Mutation: `insert` appends instead of sorting."""
    rng = random.Random(seed)
    world = World(configured(frontier={"heads": rng.choice([1, 3, 32])}), seed=seed)
    waiting: dict[int, Entry] = {}
    for _ in range(rng.randrange(1, 100)):
        if waiting and rng.random() < 0.3:
            popped = world.pop()
            if isinstance(popped, Lease):
                assert popped.entry.seq == min(waiting, key=lambda seq: (waiting[seq].rank, seq))
                del waiting[popped.entry.seq]
                world.frontier.skip(popped, world.now)
            world.now += 1.0
        else:
            entry = world.push(f"http://h.example/{rng.random()}", depth=rng.randrange(5))
            assert entry is not None
            waiting[entry.seq] = entry


@few
@given(seeds)
def test_of_hosts_that_gave_as_many_pages_those_that_are_ready_go_in_the_order_of_their_heads_discovery(seed: int) -> None:
    """Mutation: lines ordered by their ticket."""
    rng = random.Random(seed)
    world = World(configured(politeness={"jitter": 0.0, "delay_factor": 0.0, "address_delay": 0.0}), seed=seed)
    for n in range(100):
        world.push(f"http://h{rng.randrange(30)}.s{rng.randrange(30)}.example/{n}")
    ready = []
    while isinstance(popped := world.pop(), Lease):
        ready.append(popped)
    assert [lease.entry.seq for lease in ready] == sorted(lease.entry.seq for lease in ready)
    for lease in rng.sample(ready, len(ready)):
        world.frontier.finish(lease, page(lease.entry.url), world.now, is_page=True)
    world.now += 1.0
    gave = {lease.entry.url.host for lease in ready}
    again = []
    while isinstance(popped := world.pop(), Lease):
        again.append((popped.entry.url.host in gave, popped.entry.seq))
    assert again == sorted(again)


@few
@given(seeds)
def test_whatever_is_asked_of_the_frontier_nothing_is_lost_and_no_host_is_hurried(seed: int) -> None:
    """Every operation at random, with crashes.

    Mutation: `withdraw` keeps the row in memory; no place in `due` for a host on the bench.
    """
    rng = random.Random(seed)
    world = random_world(seed, answer=flaky, politeness={"min_delay": 1.0, "delay_factor": 0.0, **NO_CIRCUIT})
    gone = set()
    for _ in range(rng.randrange(200)):
        for _ in range(rng.randrange(5)):
            world.step()
        gone |= disturb(world, rng)
    for entry in world.pushed:
        world.frontier.unpark(URLS.queue_key(entry.url.host), world.now)
    world.run()
    world.check()
    assert {request.entry.seq for request in world.log if request.entry.seq} | gone == {entry.seq for entry in world.pushed}
    assert not world.store.queued()
    assert world.least_gap() >= 1.0


def disturb(world: World, rng: random.Random) -> set[int]:
    """Do one operation that other parts of a crawl may do; return the seqs that it took out of the crawl."""
    frontier, entry = world.frontier, rng.choice(world.pushed)
    queue = URLS.queue_key(entry.url.host)
    match rng.randrange(12):
        case 0:
            world.push(entry.url.text + "/more", depth=rng.randrange(4), lane=rng.choice([Lane.AHEAD, Lane.FRESH]))
        case 11:
            depths = [rng.randrange(4) for _ in range(rng.randrange(1, 40))]
            world.push_links([f"{entry.url.text}/{len(world.pushed)}/{i}" for i in range(len(depths))], depths)
        case 1:
            return {entry.seq} if frontier.withdraw(entry.url, entry.seq) else set()
        case 2:
            is_leased = any(lease.entry.seq == entry.seq for _, _, lease, _ in world.in_flight)
            raised = frontier.raise_rank(entry._replace(url=replace(entry.url, site_depth=0)), frontier.order.rank(0, rng.randrange(3)))
            assert raised is not True or not is_leased
            assert raised is not None or is_leased
        case 3:
            frontier.request_ahead(replace(entry.url, purpose=Purpose.ROBOTS), world.now)
        case 4:
            frontier.set_crawl_delay(queue, rng.choice([None, 3.0]))
        case 5:
            frontier.park(queue, "operator", world.now, until=rng.choice([0.0, world.now + 20.0]))
        case 6:
            frontier.unpark(queue, world.now)
        case 7:
            frontier.wake(queue, world.now)
        case 8 if not world.in_flight:
            world.crash()
        case _:
            return take_and_leave(world, rng)
    return set()


def take_and_leave(world: World, rng: random.Random) -> set[int]:
    """Take a lease and skip it, or defer it as for a robots.txt."""
    popped = world.pop()
    if not isinstance(popped, Lease):
        return set()
    if rng.random() < 0.3:
        world.frontier.skip(popped, world.now)
        return {popped.entry.seq} - {0}
    requested = page(popped.entry.url, 0.0) if rng.random() < 0.5 else None
    if requested is not None:
        world.log.append(ServedRequest(world.now, world.now, popped.queue, popped.address, popped.entry._replace(seq=0), requested))
    until = rng.choice([0.0, world.now + 2.0, world.now + 100.0])
    world.frontier.defer(popped, world.now, until=until, why="robots.txt unreachable", requested=requested)
    return set()


def test_a_fast_429_slows_the_host_down() -> None:
    """P27, P29, design law A. Mutation: `_back_off` not called."""

    def answer(url: CrawlURL, rng: random.Random) -> Outcome:
        return failure(url, Cause.HTTP_429, 0.001, status=429)

    world = World(configured(politeness=NO_CIRCUIT), answer=answer)
    for n in range(50):
        world.push(f"http://h.example/{n}")
    world.run(until=START + 3_600.0)
    gaps = [b.start - a.end for a, b in zip(world.log, world.log[1:], strict=False)]
    assert gaps[0] >= 60.0
    assert all(b >= 1.8 * a for a, b in itertools.pairwise(gaps))


@few
@given(seeds)
def test_a_crash_at_any_moment_loses_nothing_and_keeps_every_gap(seed: int) -> None:
    """P55, design law C. Mutation: rows deleted by `pop`; `started_at` ignored; a load that forgets the retry lane."""
    rng = random.Random(seed)
    world = random_world(seed, politeness={"min_delay": 2.0, "delay_factor": 0.0})
    n_crashes = rng.randrange(1, 8)
    for _ in range(n_crashes):
        world.run(until=world.now + rng.uniform(0.0, 15.0))
        world.check()
        world.crash()
    world.run()
    assert {request.entry.seq for request in world.log} == {entry.seq for entry in world.pushed}
    assert not world.store.queued()
    assert world.least_gap() >= 2.0
    assert sum(world.n_requests().values()) - len(world.pushed) <= n_crashes * world.concurrency


@few
@given(seeds)
def test_crashes_do_not_give_a_failing_url_more_or_fewer_tries(seed: int) -> None:
    """Attempts are written with the retry. Mutation: the retry row put with the old attempt."""
    rng = random.Random(seed)
    world = World(configured(politeness=NO_CIRCUIT), seed=seed, answer=lambda url, rng: failure(url, Cause.HTTP_5XX, 0.01), concurrency=4)
    for n in range(20):
        world.push(f"http://h{n % 5}.example/{n}")
    for _ in range(5):
        world.run(until=world.now + rng.uniform(0.0, 200.0))
        while world.in_flight:
            world.end_one()
        world.crash()
    world.run()
    assert set(world.n_requests().values()) == {4}


@few
@given(seeds)
def test_budgets_are_exact_however_many_requests_run_at_once(seed: int) -> None:
    """P42, design law D. Mutation: the site's place without its room; `>` for `>=`."""
    rng = random.Random(seed)
    n_per_host, n_per_site = rng.randrange(1, 6), rng.randrange(1, 12)
    world = random_world(
        seed,
        limits={"max_pages_per_host": n_per_host, "max_pages_per_site": n_per_site},
        politeness={"min_delay": 0.0, "delay_factor": 0.0, "address_delay": 0.0, "address_connections": 100},
    )
    world.run()
    hosts = Counter(entry.url.text.split("/")[2].removeprefix("www.") for entry in world.pushed)
    fetched = Counter(request.entry.url.text.split("/")[2].removeprefix("www.") for request in world.log)
    sites = Counter(request.entry.url.site for request in world.log)
    assert all(n <= n_per_host for n in fetched.values())
    can = Counter(dict.fromkeys(sites, 0))
    for name, n in hosts.items():
        can[name.partition(".")[2]] += min(n, n_per_host)
    assert sites == {site: min(n, n_per_site) for site, n in can.items()}
    assert len(world.store.queued()) == len(world.pushed) - len(world.log)
    world.check()


@few
@given(seeds)
def test_a_retry_waits_for_its_time_and_then_goes_before_fresh_urls(seed: int) -> None:
    """Mutation: the retry lane served before `not_before`."""
    world = random_world(seed, answer=flaky, politeness=NO_CIRCUIT)
    world.run()
    for requests in world.by_queue().values():
        due: dict[int, float] = {}
        for request in requests:
            entry = request.entry
            if entry.lane is Lane.RETRY:
                assert request.start >= entry.rank / 1e6
                assert entry.seq in due
            due[entry.seq] = request.end
