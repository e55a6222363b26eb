"""The frontier's operations, one by one."""

from __future__ import annotations

import pytest
from fake_queues import Addresses, Queues
from frontier_world import CALM, START, URLS, World, configured, failure, finished, leased, page, queue_of, record_of, waited
from msgspec.structs import replace

from thresher.crawler.core.frontier import Lease, Wait
from thresher.crawler.core.model import Cause, Purpose
from thresher.crawler.core.ports import HostRecord, Lane
from thresher.crawler.core.waiting import WaitingHosts

# -- leases


def test_http_https_www_and_bare_of_a_name_share_one_queue_and_one_clock() -> None:
    """P26."""
    world = World(configured(politeness=CALM))
    for text in ("http://a.example/1", "https://a.example/2", "http://www.a.example/3", "https://www.a.example/4"):
        world.push(text)
    lease = leased(world)
    waited(world)
    assert "in flight" in world.frontier.why(world.now)
    finished(world, lease)
    assert waited(world).until == world.now + 1.0
    assert len(world.store.records) == 1


def test_a_url_pushed_now_can_be_popped_now() -> None:
    world = World()
    for n in range(100):
        world.push(f"http://h{n}.example/")
    assert len([leased(world) for _ in range(100)]) == 100


def test_a_lease_is_settled_once() -> None:
    world = World()
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    lease = leased(world)
    finished(world, lease)
    with pytest.raises(ValueError, match="not in force"):
        finished(world, lease)


def test_a_skipped_url_costs_neither_its_host_nor_its_address_a_delay() -> None:
    world = World()
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    world.frontier.skip(leased(world), world.now)
    assert leased(world).entry.url.text == "http://a.example/2"
    assert record_of(world, "http://a.example/").n_requests == 0


def test_an_empty_frontier_waits_for_nothing() -> None:
    world = World()
    assert waited(world) == Wait(None)
    assert world.frontier.why(world.now) == "nothing is queued"


def test_a_wait_says_in_words_what_is_waited_for() -> None:
    """Design law F."""
    world = World(configured(politeness=CALM), addresses=Addresses(unknown={"b.example"}))
    for text in ("http://a.example/1", "http://a.example/2", "http://b.example/", "http://c.example/"):
        world.push(text)
    finished(world, leased(world))
    leased(world)
    waited(world)
    assert world.frontier.why(world.now) == "1 host: min_delay 1 s, next in 1.0 s; 1 host being looked up; 1 in flight"


def test_probes_and_audits_go_ahead_of_the_queue_under_the_same_delay() -> None:
    world = World(configured(politeness=CALM))
    world.push("http://a.example/page")
    finished(world, leased(world))
    world.push("http://a.example/next")
    world.push("http://a.example/probe", lane=Lane.AHEAD, purpose=Purpose.PROBE)
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    lease = leased(world)
    assert lease.entry.url.purpose is Purpose.PROBE
    finished(world, lease, is_page=False)
    assert record_of(world, "http://a.example/").n_pages == 1


@pytest.mark.parametrize("heads", [1, 32])
def test_filters_requests_that_can_wait_are_a_small_share_while_pages_are_left(heads: int) -> None:
    """Mutations: `insert` without `can_wait`; the requests of filters are not counted; no request waits; a host that has nothing else to
    fetch waits, too.
    """
    world = World(configured(frontier={"heads": heads}, politeness={**CALM, "min_delay": 0.0}))
    world.push("http://a.example/probe", lane=Lane.AHEAD, purpose=Purpose.PROBE, can_wait=True)
    for n in range(2):
        world.push(f"http://a.example/{n}")
    assert [path_of_next(world) for _ in range(3)] == ["0", "1", "probe"], "a host without pages left is asked at once"
    for name, purpose in (("probe2", Purpose.PROBE), ("alias", Purpose.AUDIT), ("canary", Purpose.CANARY), ("late", Purpose.PROBE)):
        world.push(f"http://a.example/{name}", lane=Lane.AHEAD, purpose=purpose, can_wait=True)
    world.push("http://a.example/audit", lane=Lane.AHEAD, purpose=Purpose.AUDIT)
    for n in range(180):
        world.push(f"http://a.example/more{n}")
    order = [path_of_next(world) for _ in range(185)]
    assert order[0] == "audit", "what cannot wait does not"
    at = {name: order.index(name) + 3 for name in ("canary", "probe2", "alias", "late")}
    second = {"canary": 100, "probe2": 150} if heads > 1 else {"probe2": 100, "alias": 150}
    assert at | second == at, f"the second request of filters comes after a hundred of the host, the third after fifty more: {at}"
    assert max(at.values()) == 187, "and what is left after the last page"


@pytest.mark.parametrize("heads", [1, 32])
def test_requests_that_wait_are_hurried_by_purpose(heads: int) -> None:
    """Mutations: the requests of other filters are hurried, too; the row in memory keeps its place."""
    world = World(configured(frontier={"heads": heads}, politeness={**CALM, "min_delay": 0.0}))
    for n in range(9):
        world.push(f"http://a.example/{n}")
    for name, purpose in (("canary", Purpose.CANARY), ("probe", Purpose.PROBE), ("probe2", Purpose.PROBE)):
        world.push(f"http://a.example/{name}", lane=Lane.AHEAD, purpose=purpose, can_wait=True)
    assert path_of_next(world) == "0"
    world.frontier.hurry(queue_of("http://a.example/"), Purpose.PROBE, world.now)
    assert [path_of_next(world) for _ in range(3)] == ["probe", "probe2", "1"]
    world.frontier.hurry(queue_of("http://b.example/"), Purpose.PROBE, world.now)
    world.now += 1.0
    lease = leased(world)
    world.frontier.hurry(queue_of("http://a.example/"), Purpose.CANARY, world.now)
    finished(world, lease)
    assert path_of_next(world) == "canary"


def path_of_next(world: World) -> str:
    """Finish the next request; return the last segment of its URL."""
    while not isinstance(lease := world.frontier.pop(world.now), Lease):
        assert lease.until is not None
        world.now = lease.until
    finished(world, lease)
    return lease.entry.url.text.rpartition("/")[2]


# -- given back, blocked, woken


def test_a_host_that_is_given_back_waits_and_wakes() -> None:
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    world.frontier.defer(leased(world), world.now, until=world.now + 600.0, why="robots.txt redirected")
    assert waited(world).until == world.now + 600.0
    assert next(world.frontier.hosts(world.now)).state == "robots.txt redirected"
    world.frontier.wake(queue_of("http://a.example/"), world.now)
    assert leased(world).entry.url.text == "http://a.example/"


def test_a_robots_txt_fetched_in_a_urls_place_starts_the_hosts_clock_and_costs_the_url_no_try() -> None:
    """P1, P23: the URL is leased again after the host's delay."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    lease = leased(world)
    world.frontier.defer(lease, world.now, requested=page(replace(lease.entry.url, purpose=Purpose.ROBOTS)))
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    assert leased(world).entry == lease.entry
    assert record_of(world, "http://a.example/").n_pages == 0


def test_a_robots_redirect_hop_goes_through_though_its_host_is_blocked() -> None:
    """P11, P32: the hop waits for the target host's delay and for nothing else."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/page")
    lease = leased(world)
    redirected = page(replace(lease.entry.url, purpose=Purpose.ROBOTS))
    world.frontier.defer(lease, world.now, until=world.now + 600.0, why="robots.txt redirected", requested=redirected)
    assert world.frontier.request_ahead(URLS.url("http://www.a.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    assert waited(world).until == world.now + 1.0
    world.now += 1.0
    hop = leased(world)
    assert (hop.entry.seq, hop.entry.lane, hop.entry.url.purpose) == (0, Lane.AHEAD, Purpose.ROBOTS)
    assert finished(world, hop, failure(hop.entry.url, Cause.CONN_REFUSED), is_page=False) is None
    world.frontier.wake(hop.queue, world.now)
    world.now += 10.0
    assert leased(world).entry.url.text == "http://a.example/page"
    world.check()


def test_a_hop_to_a_host_with_nothing_queued_leaves_no_trace_in_due() -> None:
    world = World()
    world.frontier.request_ahead(URLS.url("http://new.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    finished(world, leased(world), is_page=False)
    world.check()
    assert not world.store.due_rows
    assert record_of(world, "http://new.example/").n_requests == 1


def test_a_url_queued_at_a_host_that_is_there_for_a_hop_only_survives_a_crash() -> None:
    world = World()
    world.frontier.request_ahead(URLS.url("http://new.example/robots.txt", purpose=Purpose.ROBOTS), world.now)
    leased(world)
    world.push("http://new.example/page")
    world.check()
    world.crash()
    world.run()
    assert [request.entry.url.text for request in world.log] == ["http://new.example/page"]


# -- the order of the queue


def test_a_url_found_again_nearer_moves_forward() -> None:
    world = World()
    far = world.push("http://a.example/far", depth=5)
    world.push("http://a.example/near", depth=2)
    assert far is not None
    rank, nearer = world.frontier.order.rank, replace(far.url, site_depth=1)
    assert world.frontier.raise_rank(far._replace(url=nearer), rank(1, 0))
    lease = leased(world)
    assert (lease.entry.url.text, lease.entry.url.site_depth) == ("http://a.example/far", 1)
    again = far._replace(rank=rank(1, 0), url=replace(far.url, site_depth=0))
    assert world.frontier.raise_rank(again, rank(0, 0)) is None, "it is leased"
    world.frontier.defer(lease, world.now, requested=page(lease.entry.url))  # its host's robots.txt was requested in its place
    assert world.frontier.raise_rank(again, rank(0, 0))
    world.now += 2.0
    lease = leased(world)
    assert (lease.entry.url.text, lease.entry.url.site_depth) == ("http://a.example/far", 0)
    finished(world, lease)
    assert world.frontier.raise_rank(again, rank(0, 0)) is False, "it waits no more"
    assert len(world.store.queued()) == 1


@pytest.mark.parametrize(("lane", "can_wait"), [(Lane.FRESH, False), (Lane.RETRY, False), (Lane.AHEAD, False), (Lane.AHEAD, True)])
def test_a_waiting_url_can_be_withdrawn_from_any_lane(lane: Lane, *, can_wait: bool) -> None:
    world = World()
    entry = world.push("http://a.example/", depth=3, lane=Lane.AHEAD if lane is Lane.AHEAD else Lane.FRESH, can_wait=can_wait)
    assert entry is not None
    if lane is Lane.RETRY:
        finished(world, leased(world), failure(entry.url, Cause.CONN_REFUSED))
    assert world.frontier.withdraw(entry.url, entry.seq)
    assert not world.frontier.withdraw(entry.url, entry.seq)
    assert waited(world).until is None
    world.check()


def test_a_url_in_flight_cannot_be_withdrawn() -> None:
    world = World()
    entry = world.push("http://a.example/")
    leased(world)
    assert entry is not None
    assert not world.frontier.withdraw(entry.url, entry.seq)


# -- lives


def test_in_a_new_life_every_host_first_waits_its_whole_delay() -> None:
    """P55: a new process waits the whole delay of each host, with its Crawl-delay, since the last process may have died before it could
    record a request.
    """
    world = World(configured(politeness={**CALM, "min_delay": 5.0}))
    world.push("http://a.example/")
    world.push("http://b.example/")
    lease = leased(world)
    world.frontier.set_crawl_delay(lease.queue, 50.0)
    world.frontier.defer(lease, world.now)
    world.crash()
    world.now += 0.001
    assert waited(world).until == world.started_at + 5.0
    world.now += 5.0
    leased(world)
    assert waited(world).until == world.started_at + 50.0


def test_a_first_life_starts_at_once() -> None:
    world = World(configured(politeness={"min_delay": 60.0}))
    world.push("http://a.example/")
    leased(world)


def test_a_row_of_due_without_a_record_is_struck() -> None:
    world = World()
    world.store.file(b"0123456789abcdef", 0.0, START)
    world.begin()
    assert waited(world).until is None
    assert not world.store.due_rows


def test_a_record_from_a_wrong_clock_is_clamped() -> None:
    """F93."""
    world = World(configured(politeness=CALM))
    world.push("http://a.example/")
    record = record_of(world, "http://a.example/")
    record.next_at = START + 10**9
    world.store.save_host(queue_of("http://a.example/"), record)
    until = waited(world).until
    assert until is not None
    assert until < START + 3 * 86_400.0


def test_a_host_that_joins_comes_after_the_cursor_even_at_the_same_microsecond() -> None:
    store = Queues()
    hosts = WaitingHosts(store, START)
    late, early = HostRecord(name="late", site=""), HostRecord(name="early", site="")
    hosts.push(b"z" * 16, late, START + 5.0)
    assert [queue for _, queue in hosts.read(START + 5.0, 10)] == [b"z" * 16]
    hosts.push_due(b"a" * 16, early, START + 5.0)
    assert [queue for _, queue in hosts.read(START + 5.0, 10)] == [b"a" * 16]


def test_the_overview_counts_every_host_once() -> None:
    world = World(configured(frontier={"workbench": 10}, limits={"max_pages_per_host": 1}))
    for n in range(40):
        world.push(f"http://h{n % 20}.example/{n}")
    finished(world, leased(world))
    lease = leased(world)
    snapshot = world.frontier.snapshot(world.now)
    assert (snapshot.n_known_hosts, snapshot.in_flight, snapshot.parked) == (20, 1, {"host_budget": 1})
    assert snapshot.active + snapshot.backing_off + snapshot.waiting + 1 == 20
    finished(world, lease, failure(lease.entry.url, Cause.CONN_RESET))
    assert world.frontier.snapshot(world.now).backing_off == 1
    assert {view.state for view in world.frontier.hosts(world.now)} == {"waiting for its address or site", "in delay"}


def test_visits_that_are_due_and_new_urls_share_a_host_and_none_goes_before_its_time() -> None:
    """Visits get a quarter while both wait, and sitemaps keep their share of the rest. Mutation: visits come first."""
    world = World(configured(recrawl={"refresh_share": 0.25}, frontier={"announced_share": 0.2}, politeness=CALM))
    for n in range(40):
        world.push(f"http://a.example/new/{n}")
        world.push(f"http://a.example/announced/{n}", lane=Lane.ANNOUNCED)
        world.push(f"http://a.example/again/{n}", lane=Lane.DUE, due=world.now - n)
    world.push("http://a.example/later", lane=Lane.DUE, due=world.now + 3_600)
    served = []
    for _ in range(40):
        lease = leased(world)
        served.append(lease.entry.url.text.split("/")[3])
        finished(world, lease)
        world.now += 10.0
    assert (served.count("again"), served.count("announced")) == (10, 6)
    assert all(served[at : at + 8].count("again") == 2 for at in range(32))


def test_a_visit_whose_deadline_would_be_in_danger_goes_before_new_urls_whatever_their_share() -> None:
    """The deadline is in danger when a twentieth of the longest interval has passed since the visit was due: 50 s here.

    The first visit is made by its host's credit.
    """
    world = World(configured(recrawl={"refresh_share": 0.0, "max_interval": 1_000.0}, politeness=CALM))
    for n in range(4):
        world.push(f"http://a.example/new/{n}")
        world.push(f"http://a.example/again/{n}", lane=Lane.DUE, due=world.now - 35 + 100 * (n > 1))
    served = []
    for _ in range(4):
        lease = leased(world)
        served.append(lease.entry.url.text.split("/")[3])
        finished(world, lease)
        world.now += 10.0
    assert served == ["again", "new", "again", "new"]


def test_a_host_whose_visits_are_all_in_the_future_waits_for_the_first_and_no_longer() -> None:
    """It comes sooner if a sitemap says so, and at once if a new URL is found. Mutation: the host keeps its old place in `due`."""
    world = World(configured(politeness=CALM))
    one = world.push("http://a.example/1", lane=Lane.DUE, due=world.now + 500)
    two = world.push("http://a.example/2", lane=Lane.DUE, due=world.now + 900)
    assert one is not None
    assert two is not None
    assert waited(world).until == pytest.approx(world.now + 500)
    assert world.frontier.is_drained(queue_of("http://a.example/"), world.now)
    world.frontier.bring_forward(two, int((world.now + 100) * 1e6), world.now)
    assert waited(world).until == pytest.approx(world.now + 100)
    world.push("http://a.example/new")
    assert leased(world).entry.url.text == "http://a.example/new"
    assert world.frontier.withdraw(one.url, one.seq, due=one.rank)
    world.crash()
    world.now += 50.0
    assert [leased(world).entry.url.text] == ["http://a.example/new"]


def test_a_used_up_budget_of_new_pages_keeps_no_page_from_being_visited_again() -> None:
    world = World(configured(limits={"max_pages_per_host": 1}, politeness=CALM))
    world.push("http://a.example/1")
    world.push("http://a.example/2")
    finished(world, leased(world))
    waited(world)
    url = URLS.url("http://a.example/1", purpose=Purpose.REVISIT)
    entry = world.push("http://a.example/0", lane=Lane.AHEAD)
    assert entry is not None
    world.frontier.push_visit(entry._replace(lane=Lane.DUE, rank=int((world.now + 50) * 1e6), seq=next(world.seqs), url=url), world.now)
    assert waited(world).until == pytest.approx(world.now + 50)
    world.now += 51.0
    assert leased(world).entry.lane is Lane.DUE
