"""A crawl of two machines without an engine (two_machines.py)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest
from analyses import on_one_disk, read, said, without_order
from harness import demo, differences, findings
from judging import crowded_addresses, returning_connections
from returned_disk import answers, copied, nothing_to_merge, returned_is_merged
from tasks_here import ANYWHERE, HEAD
from two_machines import ADDRESS_DELAY_S, TABLE, WEB, Places, n_requests, nothing, reference_of, settings_for, until, until_quiet

from thresher.crawler.machines import back_offs
from thresher.crawler.machines.losing import give_up
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.status import Status
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import shard_path
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS
from thresher.storage.snapshots.marks import Marks
from thresher.storage.verify import verify

pytestmark = pytest.mark.usefixtures("short_leases", "interruptible", "forked_agents")


def test_two_machines_find_what_one_agent_finds_although_one_is_away_and_no_lease_is_granted_for_a_while(tmp_path: Path) -> None:
    """No request begins without a lease, a machine fetches on while the other one is away, and that goes on after a restart.

    Sites of both have the same few addresses, which both together ask no faster than one would. Mutation: agents take no turns.
    """
    with demo("kill", tmp_path, **WEB | {"pages_per_host": [12, 16], "shared_address_share": 1.0}) as server:  # it is interrupted twice
        polite = {"min_delay": 0.05, "max_delay": 0.5, "address_delay": ADDRESS_DELAY_S, "address_connections": 1}
        settings = settings_for(server, politeness=polite)
        places = Places(tmp_path, settings)

        async def meanwhile(supervisor: Supervisor) -> None:
            await until(lambda: n_requests(server) >= 40)
            await places.stop("b")
            n_before = n_requests(server)
            await until(lambda: n_requests(server) >= n_before + 20)  # a goes on, although b acknowledges nothing
            places.start("b")
            await until(lambda: n_requests(server) >= n_before + 40)
            places.is_granting = False
            await until(lambda: "no lease" in supervisor.status.why and not supervisor.status.in_flight)
            await until_quiet(server)
            assert "no lease" in supervisor.status.why, "and not since all is fetched"
            places.is_granting = True

        code, status = asyncio.run(places.crawl(settings, meanwhile))
        assert code == 0, status.why
        _figures_are_those_of(status, places)
        log = server.read_log()
        reference = reference_of(tmp_path / "reference", settings)
    found = findings(places.disks["a"])
    assert differences(reference, found) == ([], [], [])
    assert found.n_queued == 0
    assert verify(places.disks["a"]) == []
    assert crowded_addresses(log, 1, ADDRESS_DELAY_S) + returning_connections(log) == []
    places.questions.clear()
    far, one_disk = said(places.disks["a"]), on_one_disk(places.disks, tmp_path / "one-disk" / "crawl")
    _assert_both_computed(places)
    assert far == said(one_disk)
    assert read(places.disks["a"], server.web.seeds()) == read(one_disk, server.web.seeds())
    one = without_order(said(tmp_path / "reference"))
    assert {name for name in one if not one[name]} <= {"mirrors", "dust"}  # this web has none
    assert without_order(far) == one
    with reading_shard(shard_path(places.disks["b"], 1)) as view:
        assert view.counters.get("pages") > 0


def _figures_are_those_of(status: Status, places: Places) -> None:
    """Check what watchers of the cluster were shown in the end; machine b has had two lives."""
    for name in ("pages", "requests", "status_classes", "skipped", "known", "queued", "in_flight"):
        told = getattr(status, name)
        is_counter = name not in ("known", "queued", "in_flight")
        shown = sum(places.figures[machine].total(name) for machine in TABLE.machines)
        assert shown == ((sum(told.values()) if isinstance(told, dict) else told) if is_counter else 0), name


def _assert_both_computed(places: Places) -> None:
    """Each machine's tasks compute from its own exports, of which the head gets none but hashes of links."""
    tasks = places.tasks_here
    assert not any(b"bodies" in question for question in places.questions), "no body leaves its machine"
    for name in ("rank", "looks", "sketch"):
        assert {machine for what, machine in tasks.ran if what == name} == {"a", "b"}, name
    assert tasks.ran.count(("rank", "b")) > 9
    assert {("groups", ANYWHERE), ("mine", ANYWHERE), ("points", ANYWHERE), ("similar", ANYWHERE), ("lines", ANYWHERE)} <= {*tasks.ran}
    exports = {"LinksExport", "LooksExport", "TargetsExport", "WordsExport"}
    assert {(export, "b") for export in exports} <= {*tasks.ran}
    assert {part for part in tasks.carried if part[0] in exports} == {("TargetsExport", HEAD)}
    assert ("rank", "a") in tasks.carried, "what shards send to each other does not pass the head"


def test_a_disk_that_is_lost_loses_no_page(tmp_path: Path) -> None:
    """When it has been away for long enough, its shard is restored on the other machine, from a snapshot older than the last messages of
    both.

    If the disk comes back, what only it has is merged, and not fetched again. Mutations: senders delete what the snapshot does not hold;
    the restored shard gives new messages numbers that the other has had; what is merged stays in its queue.
    """
    kept, away = tmp_path / "kept", tmp_path / "away"
    with demo("kill", tmp_path, **WEB) as server:
        settings = settings_for(server, engine="ray", snapshots={"target": str(kept), "every": 3600, "lost_after": 1})
        places = Places(tmp_path, settings)
        places.is_granting = False  # until there are snapshots

        async def lose(_supervisor: Supervisor) -> None:
            await until(lambda: all((kept / name / "snapshots" / "000001").exists() for name in TABLE.machines))
            places.is_granting = True
            await until(lambda: _exchanged(places) > 5 and len(answers(shard_path(places.disks["b"], 1))) > 9, 0.15)
            await places.stop("b")
            places.disks["b"].rename(away)

        code, status = asyncio.run(places.crawl(settings, lose))
        assert (code, status.why) == (3, "machine b is away for 1 s: it is given up")
        nothing_to_merge(places.disks["a"], places.table, places)
        assert give_up(places.disks["a"], places.table, "b", settings, places) == [1]
        assert places.table.machines == ["a", "a"]
        without, places.disks["a"] = places.disks["a"], copied(places.disks["a"], "with-b")
        away.rename(places.disks["b"])
        taken = returned_is_merged(places.disks["a"], shard_path(places.disks["b"], 1), places.table, places, verify)
        n_before = len(server.read_log().requests)
        code, status = asyncio.run(places.crawl(settings, nothing))
        assert code == 0, status.why
        with_b, places.disks["a"] = places.disks["a"], without
        assert {f"http://{one.host}{one.path}" for one in server.read_log().requests[n_before:]} & taken == set()
        code, status = asyncio.run(places.crawl(settings, nothing))
        assert code == 0, status.why
        reference = reference_of(tmp_path / "reference", settings)
    for disk in (places.disks["a"], with_b):
        found = findings(disk)
        assert differences(reference, found) == ([], [], [])
        assert found.n_queued == 0
        assert verify(disk) == []


def test_who_takes_over_a_lost_machines_hosts_lets_them_rest_as_long_as_they_asked(tmp_path: Path) -> None:
    """The snapshot is older than these hosts and their Retry-After. Mutation: agents do not report it."""
    kept = tmp_path / "kept"
    with demo("kill", tmp_path, **WEB | {"error_share": 0.3, "error_statuses": [503], "retry_after_s": 3_600}) as server:
        settings = settings_for(server, engine="ray", snapshots={"target": str(kept), "every": 3600})
        places = Places(tmp_path, settings)
        places.is_granting = False  # until there are snapshots
        asked: dict[str, float] = {}

        def is_told() -> bool:
            with reading_shard(shard_path(places.disks["b"], 1)) as view:
                found = [HOST.decode(value) for _, value in view.scan(HOSTS)]
            asked.update({host.name: host.backoff_until for host in found if host.backoff_until})
            return bool(asked) and {*asked} <= {one.name for one in back_offs.read(places.disks["a"])}

        async def lose(_supervisor: Supervisor) -> None:
            await until(lambda: all((kept / name / "snapshots" / "000001").exists() for name in TABLE.machines))
            places.is_granting = True
            await until(is_told, 0.15)
            await places.stop("b")
            shutil.rmtree(places.disks["b"])
            os.kill(os.getpid(), signal.SIGINT)

        asyncio.run(places.crawl(settings, lose))
    give_up(places.disks["a"], places.table, "b", settings, places)
    assert verify(places.disks["a"]) == []
    with reading_shard(shard_path(places.disks["a"], 1)) as view:
        rests = {host.name: host.next_at for host in (HOST.decode(value) for _, value in view.scan(HOSTS))}
    assert {name: until for name, until in asked.items() if rests.get(name, 0.0) < until} == {}


def _exchanged(places: Places) -> int:
    """Return how many messages of each agent the other one has carried out since its last snapshot."""
    both = [shard_path(places.disks[name], agent) for agent, name in enumerate(TABLE.machines)]
    n = []
    for agent, shard in enumerate(both):
        with reading_shard(shard) as view:
            n.append(view.tables.channels.received(1 - agent) - Marks(shard).kept(1 - agent))
    return min(n)
