"""The orders of a crawl: what each takes first; and the levels of cash are those of exact sums."""

from __future__ import annotations

from itertools import count
from typing import get_args, get_type_hints

import pytest
from fake_queues import Queues
from frontier_world import URLS, World, configured, finished, leased
from hypothesis import given
from hypothesis import strategies as st

from thresher.config.settings import FrontierSettings
from thresher.crawler.core.order import cash as module
from thresher.crawler.core.order.by_name import NAMES, order_by_name
from thresher.crawler.core.order.cash import HIGHEST, Cash
from thresher.crawler.core.ports import Entry, Lane, SiteRecord

SEQS = count(1_000)


def world(order: str) -> World:
    return World(configured(frontier={"order": order}, politeness={"jitter": 0.0, "delay_factor": 0.0}), concurrency=1)


def push(made: World, text: str, depth: int = 0, worth: int = 0) -> None:
    url = URLS.url(text, site_depth=depth)
    assert made.frontier.push(Entry(Lane.FRESH, made.frontier.order.rank(depth, worth), next(SEQS), 0, url), made.now) is None


def taken(made: World, n: int) -> list[str]:
    """Return the URLs in the order in which they are fetched, one request at a time."""
    texts = []
    for _ in range(n):
        made.now += 10.0
        lease = leased(made)
        texts.append(lease.entry.url.text.removeprefix("http://"))
        finished(made, lease)
    return texts


def test_every_order_that_can_be_configured_is_there_under_its_name() -> None:
    assert get_args(get_type_hints(FrontierSettings)["order"]) == NAMES
    assert [order_by_name(name, Queues()).name for name in NAMES] == list(NAMES)


OF_ONE_HOST = {
    "breadth_first": ["a/near-rich", "a/near", "a/far-richest", "a/far"],
    "opic": ["a/far-richest", "a/near-rich", "a/far", "a/near"],
    "host_rank": ["a/far-richest", "a/near-rich", "a/far", "a/near"],
    "larger_sites_first": ["a/near", "a/near-rich", "a/far", "a/far-richest"],
    "fifo": ["a/far", "a/near", "a/far-richest", "a/near-rich"],
}


@pytest.mark.parametrize("order", NAMES)
def test_within_a_host_each_order_takes_its_own_first(order: str) -> None:
    made = world(order)
    for name, depth, worth in (("far", 2, 0), ("near", 1, 0), ("far-richest", 2, 5), ("near-rich", 1, 3)):
        push(made, f"http://a/{name}", depth, worth)
    assert taken(made, 4) == OF_ONE_HOST[order]


AMONG_HOSTS = {
    "breadth_first": ["linked.example", "first.example", "large.example", "rich.example"],
    "fifo": ["first.example", "large.example", "rich.example", "linked.example"],
    "opic": ["rich.example", "first.example", "large.example", "linked.example"],
    "larger_sites_first": ["large.example", "first.example", "rich.example", "linked.example"],
    "host_rank": ["linked.example", "first.example", "large.example", "rich.example"],
}


@pytest.mark.parametrize("order", NAMES)
def test_among_hosts_that_are_ready_each_order_takes_its_own_first(order: str) -> None:
    made = world(order)
    push(made, "http://first.example/")
    for n in range(3):
        push(made, f"http://large.example/{n}")
    push(made, "http://rich.example/", worth=4)
    linked = URLS.queue_key("http://linked.example")[:8]
    push(made, "http://linked.example/")
    made.store.save_site(linked, SiteRecord(name="linked.example", n_hosts=1, n_linking=7))
    hosts = []
    for _ in range(4):
        lease = leased(made)
        hosts.append(lease.entry.url.site)
        finished(made, lease)
    assert hosts == AMONG_HOSTS[order]


def test_a_url_that_comes_to_be_worth_more_moves_forward() -> None:
    made = world("breadth_first")
    url = URLS.url("http://a.example/later", site_depth=1)
    push(made, "http://a.example/first", 1)
    entry = Entry(Lane.FRESH, made.frontier.order.rank(1, 0), next(SEQS), 0, url)
    made.frontier.push(entry, made.now)
    assert made.frontier.raise_rank(entry, made.frontier.order.rank(1, 2))
    assert not made.frontier.raise_rank(entry, made.frontier.order.rank(1, 2)), "it waits elsewhere by now"
    assert made.frontier.withdraw(url, entry.seq, 2)
    made.frontier.push(entry._replace(rank=made.frontier.order.rank(1, 2)), made.now)
    assert taken(made, 2) == ["a.example/later", "a.example/first"]


def test_a_sites_links_count_for_less_the_more_pages_it_has_given() -> None:
    """Ten sites link to one host that has given nine pages, two to another that has given none."""
    made = world("host_rank")
    for name, n_linking, n_pages in (("given", 10, 9), ("fresh", 2, 0)):
        push(made, f"http://{name}.example/")
        queue = URLS.queue_key(f"http://{name}.example")
        made.store.save_site(queue[:8], SiteRecord(name=name, n_hosts=1, n_linking=n_linking))
        record = made.store.host(queue)
        assert record is not None
        record.n_pages = n_pages
        made.store.save_host(queue, record)
    first, second = leased(made), leased(made)
    assert [first.entry.url.host, second.entry.url.host] == ["http://fresh.example", "http://given.example"]


@pytest.mark.parametrize("order", ["breadth_first", "host_rank"])
def test_a_host_that_stands_in_line_gets_ahead_when_more_sites_come_to_link_to_it(order: str) -> None:
    """Mutation: `linked` does nothing."""
    made = world(order)
    for name in ("busy", "first", "later"):
        push(made, f"http://{name}.example/")
    busy = leased(made)  # the only fetcher has it: the others wait in line
    later = URLS.queue_key("http://later.example")[:8]
    for n_linking in (0, 3):
        made.store.save_site(later, SiteRecord(name="later.example", n_hosts=1, n_linking=n_linking))
        made.frontier.on_link(later)
    made.frontier.on_link(b"nobody s")
    finished(made, busy)
    assert taken(made, 2) == ["later.example/", "first.example/"]


def test_by_default_a_host_stays_ahead_until_its_pages_have_doubled() -> None:
    """Seven sites link to each of two hosts; a third that none links to waits until they have given eight pages each."""
    made = world("breadth_first")
    for name in ("one", "two"):
        for n in range(12):
            push(made, f"http://{name}.example/{n}")
    push(made, "http://none.example/")
    for name in ("one", "two"):
        made.store.save_site(URLS.queue_key(f"http://{name}.example")[:8], SiteRecord(name=name, n_hosts=1, n_linking=7))
    hosts = "".join(text[0] for text in taken(made, 17))
    assert hosts.endswith("oott" + "oooo" + "tttt" + "n")


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0.001, 40)), max_size=60), st.integers(1, 3))
def test_levels_are_those_of_the_exact_sums(gifts: list[tuple[int, float]], steps: int) -> None:
    """Mutation: the sum is lost when it reaches the next level."""
    cash, sums, levels = Cash(steps), dict.fromkeys(range(1, 6), 1.0), dict.fromkeys(range(1, 6), 0)
    for seq, amount in gifts:
        sums[seq] += amount
        levels[seq] = cash.gain(seq, levels[seq], amount)
    assert levels == {seq: cash.level_of(total) for seq, total in sums.items()}


@pytest.mark.parametrize(("steps", "levels"), [(1, [0, 0, 0, 1, 1, 2, 9, HIGHEST]), (2, [0, 0, 1, 2, 3, 4, 19, HIGHEST])])
def test_so_many_levels_are_a_doubling_of_the_cash(steps: int, levels: list[int]) -> None:
    level_of = Cash(steps).level_of
    assert [level_of(cash) for cash in (1.0, 1.41, 1.42, 2.0, 3.9, 4.0, 1000.0, 2.0**40)] == levels


def test_a_page_gives_what_it_has_in_equal_parts_and_keeps_nothing() -> None:
    cash = Cash()
    cash.begin(7, 2.5)
    assert cash.gain(7, 1, 1.0) == cash.level_of(3.5)
    assert cash.gift(7, cash.level_of(3.5), 7) == 0.5
    assert cash.gift(7, 1, 4) == 0.5  # only its level, which begins at 2: the rest is given
    assert cash.gift(7, 1, 0) == 0.0


def test_what_was_not_linked_to_for_two_generations_begins_anew_at_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GENERATION", 10)
    cash = Cash()
    cash.begin(1, 1.9)
    for seq in range(2, 15):
        cash.begin(seq, 1.25)
    assert cash.gain(1, 0, 0.2) == cash.level_of(2.1)  # of the generation before: 1.9 + 0.2
    for seq in range(100, 125):
        cash.begin(seq, 1.25)
    assert cash.gain(1, 1, 1.95) == cash.level_of(3.95)  # 2.0 + 1.95
    assert len(cash._young) <= 10


@given(st.lists(st.integers(1, 25), max_size=12))
def test_cash_begun_for_a_pages_links_is_as_begun_for_one_after_the_other(runs: list[int]) -> None:
    """Generations begin at the same URL. Mutation: all links of a page go into the generation of the first one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GENERATION", 10)
        together, singly, first = Cash(), Cash(), 1
        for i, n in enumerate(runs):
            together.begin_all(range(first, first + n), 1.0 + i)
            for seq in range(first, first + n):
                singly.begin(seq, 1.0 + i)
            first += n
        assert (together._young, together._old) == (singly._young, singly._old)


def test_no_level_is_above_the_highest() -> None:
    assert Cash().gain(1, HIGHEST, 2.0**40) == HIGHEST
