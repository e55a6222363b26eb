"""`schedule: continuous` from outside: a web that changes while it is crawled, kills, a schedule that ends; judged by the server's log."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from changing_web import HOST, ChangingWeb, changes, kinds, settings
from click.testing import CliRunner
from harness import crawl, resume, until, wait_until, write_config
from little_web import SECRET
from test_story_recrawl_aliases import Rule, two_addresses
from witness import ReceivedRequest

from thresher.config.settings import FrontierSettings, LimitSettings, RecrawlSettings, Settings
from thresher.crawler.cli import thresher
from thresher.crawler.core.co_change import CoChange, Trials
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import State
from thresher.crawler.core.ports import Lane
from thresher.crawler.core.revisit_plans import FamilyPlan
from thresher.crawler.start.rounds import begin_round
from thresher.filters.spec import FilterSpec
from thresher.running import Crawl
from thresher.storage.export.changes import Row
from thresher.storage.schema import PLANS, REVISITS
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

WORDS = " ".join(f"word{i}" for i in range(300))
N = 6
OFTEN = RecrawlSettings(audit_share=0.0, min_interval=1.0, max_interval=2.0)


def plant(web: ChangingWeb) -> None:
    web.put("/", WORDS, *(f"/{i}" for i in range(N)))
    for i in range(N):
        web.put(f"/{i}", f"page {i} " + WORDS[i:])


def asked(web: ChangingWeb) -> Counter[str]:
    return Counter(request.path for request in web.requests)


def said(*arguments: str) -> str:
    """Return the output of a command in one line."""
    result = CliRunner().invoke(thresher, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


async def run(
    path: Path, configuration: Settings, web: ChangingWeb, times: dict[str, int], plugged: list[FilterSpec] | None = None
) -> None:
    """Crawl until the server was asked for some paths so often."""
    life = Crawl(path, settings=configuration, specs=plugged)
    running = asyncio.create_task(life.run())
    await until(lambda: running.done() or all(asked(web)[name] >= n for name, n in times.items()))
    life.stop()
    assert (await running).code == 3
    assert verify(path) == []


async def test_each_page_is_visited_again_when_its_time_has_come_and_what_changes_meanwhile_is_told(tmp_path: Path) -> None:
    """A new page is found, one is gone (410), one is missing (404); `explain` tells when each is due. Mutation: no visit is planned."""
    with ChangingWeb() as web:
        plant(web)
        conf, store = settings(web, schedule="continuous", recrawl=OFTEN), tmp_path / "c"
        Store.create(store, conf, 0.0, secret=SECRET).close()
        await run(store, conf, web, {f"/{i}": 2 for i in range(N)})
        web.put("/2", "something else altogether " + WORDS[1000:], "/new")
        web.put("/new", "a page that only the second one names " + WORDS[50:])
        web.take("/3")
        web.say("/4", "410 Gone")
        await run(store, conf, web, {"/2": asked(web)["/2"] + 2, "/new": 2, "/4": asked(web)["/4"] + 1, "/0": asked(web)["/0"] + 3})
        assert {path: kind for path, kind in kinds(store).items() if kind != "new"} == {"/2": "changed", "/4": "gone"}
        assert kinds(store)["/new"] == "new"
        assert all(web.last(f"/{i}").header("if-none-match") for i in (0, 1, 2, 5))
        times = [request.start for request in web.requests if request.path == "/0"]
        assert all(after - before >= OFTEN.min_interval for before, after in pairwise(times))
        again = json.loads(said("explain", str(store), web.url(HOST, "/0"), "--json"))["visited_again"]
        assert again["due_at"] is not None
        assert "changes about every" in again["why_then"]
        assert "another one on another day makes it gone" in said("explain", str(store), web.url(HOST, "/3"))
        assert "6 pages have a time for their next visit" in said("status", str(store))  # two of eight are missing and gone
        bounded = settings(web, schedule="continuous", recrawl=OFTEN, limits=LimitSettings(min_free_disk=0, max_time=0.3))
        assert (await Crawl(store, settings=bounded).run()).why == "limits.max_time reached"
        with pytest.raises(UsageError, match="schedule=once"):
            begin_round(store, older_than_s=0.0, where=())
        assert "too large" not in said("status", str(store))
        _ask_seldom(store, every_s=10.0)
        assert "its 6 pages takes 0.000694 days, at one in 10 s" in said("status", str(store))  # longer than two seconds
        said("forget", str(store), web.url(HOST, "/0"))
        assert verify(store) == []
        await _once(store, settings(web))


def _ask_seldom(path: Path, *, every_s: float) -> None:
    """Write into the store that the hosts can be asked so few times."""
    with Store.open(path, None, time.time()) as store:
        for queue, host in store.tables.plans.hosts():
            host.gap_s = every_s
            store.tables.plans.save_host(queue, host)
        store.end_visit()


async def _once(store: Path, configuration: Settings) -> None:
    """Without the schedule the crawl has an end, and nothing waits for a time."""
    assert (await Crawl(store, settings=configuration).run()).code == 0
    assert verify(store) == []
    with View(store) as view:
        assert [*view.rows(PLANS)] == [*view.rows(REVISITS)] == []
        last = view.tables.rounds.last()
        assert last is not None
        assert (last.is_continuous, last.stage) == (True, "done")
        assert view.counters.get(f"state:{State.QUEUED.name.lower()}") == 0
    begin_round(store, older_than_s=0.0, where=())


async def test_when_one_page_of_a_group_has_changed_its_siblings_are_asked_at_once(tmp_path: Path) -> None:
    """Otherwise they would be due in half an hour. Mutation: a sibling whose visit is brought forward keeps its place in the queue."""
    with ChangingWeb() as web:
        plant(web)
        seldom = RecrawlSettings(audit_share=0.0, min_interval=1.0, max_interval=3_600.0)
        conf, store = settings(web, schedule="continuous", recrawl=seldom), tmp_path / "c"
        Store.create(store, conf, 0.0, secret=SECRET).close()
        await run(store, conf, web, {f"/{i}": 1 for i in range(N)})
        _let_them_change_together(store, first=web.url(HOST, "/0"))
        web.put("/0", "something else altogether " + WORDS[1000:])
        before = asked(web)
        await run(store, conf, web, {f"/{i}": before[f"/{i}"] + 1 for i in range(N)})
        assert next(request.path for request in web.requests[sum(before.values()) :] if request.path != "/robots.txt") == "/0"
        _each_page_waits_for_its_time(store)


def _each_page_waits_for_its_time(path: Path) -> None:
    with View(path) as view:
        waiting = sorted(place.rank for place, _ in view.tables.queues.waiting(b"") if place.lane == Lane.DUE)
        assert waiting == sorted(int(plan.due * 1e6) for _, plan in view.tables.plans.pages(b"", 99))


def test_kills_within_a_burst_cost_no_page_its_visit_and_tell_each_change_once(tmp_path: Path) -> None:
    """The agent is killed while its second page is answered, and again at its last. Mutation: the earlier time was in memory only."""
    with ChangingWeb() as web:
        plant(web)
        store, often = tmp_path / "c", options_of(web)
        config = write_config(tmp_path, often | {"recrawl": {"min_interval": 1, "max_interval": 3_600, "audit_share": 0}}, [web.url(HOST)])
        with crawl(store, config) as life:
            wait_until(lambda: not life.running or all(asked(web)[f"/{i}"] for i in range(N)))
            life.signal(signal.SIGINT)
            assert life.end() == 3, life.said
        _let_them_change_together(store, first=web.url(HOST, "/0"))
        for i in range(N):
            web.put(f"/{i}", f"another text {i} " + WORDS[1000 + 9 * i :])
        before, kills = asked(web), {2, N}

        with resume(store) as life:

            def dies(request: ReceivedRequest) -> bytes:
                n = sum(asked(web)[f"/{i}"] > before[f"/{i}"] for i in range(N))
                if n in kills:
                    kills.remove(n)
                    life.signal_agent(signal.SIGKILL)
                return web.honest(request, web.bodies[request.path])

            web.answers |= {f"/{i}": dies for i in range(N)}
            wait_until(lambda: not life.running or (not kills and len(_told_changed(store)) >= N))
            life.signal(signal.SIGINT)
            assert life.end() == 3, life.said
        assert verify(store) == []
        assert sorted(_told_changed(store)) == [f"/{i}" for i in range(N)]
        assert all(asked(web)[f"/{i}"] > before[f"/{i}"] for i in range(N))  # changed pages are due again each second: no bound from above
        _each_page_waits_for_its_time(store)


def _told_changed(path: Path) -> list[str]:
    return ["/" + row.url.rpartition("/")[2] for row in changes(path, "0") if row.kind == "changed"]


def _let_them_change_together(path: Path, *, first: str) -> None:
    """Write into the store that the pages have always changed together, and that the first is due now, the others in half an hour."""
    now = time.time()
    with Store.open(path, None, now) as store:
        ((queue, host),) = store.tables.plans.hosts()
        store.tables.plans.save_family(queue, "/#", FamilyPlan(now, together=CoChange(Trials(8.0, 8.0, 0.0))))
        for place, waiting in [*store.tables.queues.waiting(queue)]:
            key = next(key for key, plan in store.tables.plans.pages(b"", 99) if plan.seq == place.seq)
            plan, row = store.tables.plans.page(key), store.tables.seen.row(key)
            assert plan is not None
            assert row is not None
            plan.visited_at, plan.interval_s, plan.rate = now - 60.0, 1_860.0, 1e-4
            due = now - 1.0 if store.tables.seen.record(row.seq).text == first else now + 1_800.0
            host.load.move(plan.due, due)
            plan.due = due
            store.tables.plans.save_page(key, plan)
            store.tables.queues.take(place)
            store.tables.queues.put_waiting(place._replace(rank=int(plan.due * 1e6)), waiting)
        store.tables.plans.save_host(queue, host)
        store.end_visit()


async def test_a_crawl_that_was_done_goes_on_by_a_schedule_and_new_urls_share_the_host_with_due_visits(tmp_path: Path) -> None:
    """Twenty new pages appear at once while visits of the old ones are due: both are fetched. All deadlines are far away, also on a busy
    machine; otherwise new pages would get only a tenth of the requests.
    """
    with ChangingWeb() as web:
        plant(web)
        store = tmp_path / "c"
        Store.create(store, settings(web), 0.0, secret=SECRET).close()
        assert (await Crawl(store, settings=settings(web)).run()).code == 0
        with View(store) as view:
            rounds = view.tables.rounds.all()
        assert rounds == []
        web.put("/", "now with many links " + WORDS[500:], *(f"/n{i}" for i in range(20)))
        for i in range(20):
            web.put(f"/n{i}", f"new {i} " + WORDS[i:])
        due_at_once = msgspec.structs.replace(OFTEN, min_interval=1.0, max_interval=64.0)
        conf = settings(web, schedule="continuous", recrawl=due_at_once, frontier=FrontierSettings(heads=4))
        mark = len(web.requests)
        await run(store, conf, web, {f"/n{i}": 1 for i in range(20)} | {f"/{i}": 2 for i in range(N)})
        served = [request.path for request in web.requests[mark:] if request.path != "/robots.txt"]
        assert {"/", *(f"/n{i}" for i in range(20)), *(f"/{i}" for i in range(N))} <= {*served}
        assert [row.kind for row in changes(store, "2")].count("new") == 20


def test_kills_cost_no_page_its_next_visit(tmp_path: Path) -> None:
    """The agent is killed, then the supervisor with it; pages change meanwhile, and `thresher changes` tells each."""
    with ChangingWeb() as web:
        plant(web)
        store = tmp_path / "c"
        config = write_config(tmp_path, options_of(web), [web.url(HOST)])
        with crawl(store, config) as life:
            wait_until(lambda: not life.running or all(asked(web)[f"/{i}"] >= 2 for i in range(N)))
            agent = life.agent()
            life.signal_agent(signal.SIGKILL)
            web.put("/1", "another text " + WORDS[700:])
            assert life.wait_for_agent(other_than=agent)
            before = asked(web)
            wait_until(lambda: not life.running or all(asked(web)[f"/{i}"] > before[f"/{i}"] + 1 for i in range(N)))
            life.signal(signal.SIGKILL)
        web.put("/5", "quite another text " + WORDS[900:])
        before = asked(web)
        with resume(store, "--set", "agents=2") as life:
            wait_until(lambda: not life.running or all(asked(web)[f"/{i}"] > before[f"/{i}"] for i in range(N)))
            life.signal(signal.SIGINT)
            assert life.end() == 3, life.said
        assert verify(store) == []
        told: list[Row] = [row for row in changes(store, "0") if row.kind != "new"]
        assert sorted(row.url.rpartition("/")[2] for row in told) == ["1", "5"]
        assert {row.kind for row in told} == {"changed"}


def options_of(web: ChangingWeb) -> dict[str, Any]:
    return {
        "schedule": "continuous",
        "identity": {"agent": "thresher-test", "contact": "https://example.org/bot"},
        "limits": msgspec.to_builtins(LimitSettings(min_free_disk=0, max_wait=5.0)),
        "recrawl": {"min_interval": 1, "max_interval": 2, "audit_share": 0},
        "politeness": {"min_delay": 0, "delay_factor": 0, "jitter": 0, "address_delay": 0, "address_connections": 100},
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [web.port]},
        "dns": {"static": {".test": "127.0.0.1"}},
        "filters": {"soft_error": {"mode": "off"}},
        "sitemaps": "off",
    }


async def test_a_page_that_a_rule_makes_an_alias_has_no_next_visit_until_its_page_is_gone(tmp_path: Path) -> None:
    """Mutations: its time is not deleted; no visit of it is queued when it is an alias no more."""
    rule, oftener = Rule(), RecrawlSettings(audit_share=0.0, min_interval=1.0, max_interval=1.0)
    with ChangingWeb() as web:
        two_addresses(web)
        conf, store = settings(web, schedule="continuous", recrawl=oftener), tmp_path / "c"
        Store.create(store, conf, 0.0, secret=SECRET).close()
        await run(store, conf, web, {"/1": 1, "/1?ref=x": 1}, [rule.spec])
        rule.is_on, n_before = True, asked(web)["/1?ref=x"]
        await run(store, conf, web, {"/1": asked(web)["/1"] + 3}, [rule.spec])  # else the alias would be due earlier
        assert asked(web)["/1?ref=x"] <= n_before + 1  # one visit that had begun
        with View(store) as view:
            assert len([*view.rows(PLANS)]) == len([*view.rows(REVISITS)]) == 2
        web.say("/1", "410 Gone")
        await run(store, conf, web, {"/1?ref=x": asked(web)["/1?ref=x"] + 1}, [rule.spec])
        told = [(row.url.rpartition("/")[2], row.kind) for row in changes(store, "0") if "1" in row.url.rpartition("/")[2]]
        assert told[-3:] == [("1?ref=x", "moved"), ("1", "gone"), ("1?ref=x", "new")]
