"""A crawl of two machines without an engine: two disks, real agents, directory, couriers and supervisor; calls are function calls."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from analyses import on_one_disk, read, said, without_order
from harness import Findings, demo, differences, findings, options
from judging import crowded_addresses
from returned_disk import answers, copied, nothing_to_merge, returned_is_merged

from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.analysis.jobs import JobServer
from thresher.crawler.core.ownership import divided
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.machines import address_turns as address_turns_module
from thresher.crawler.machines import back_offs
from thresher.crawler.machines import directory as directory_module
from thresher.crawler.machines import losing as losing_module
from thresher.crawler.machines import machine as machine_module
from thresher.crawler.machines import turns as turns_module
from thresher.crawler.machines.back_offs import BackOffBook
from thresher.crawler.machines.directory import Directory, DirectoryAnswer, DirectoryState
from thresher.crawler.machines.far_places import FarPlaces
from thresher.crawler.machines.far_shards import FarShards, NewShard, ShardAnswer
from thresher.crawler.machines.losing import give_up, watch
from thresher.crawler.machines.machine import Machine
from thresher.crawler.machines.supervision import Begin, MachineCall
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall
from thresher.crawler.process.places import Away
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import Silent
from thresher.crawler.version import VERSION
from thresher.storage.export.reading import reading_shard
from thresher.storage.far_server import ShardServer
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS
from thresher.storage.snapshots.marks import Marks
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.ways import connect_by

SECRET = b"t" * 32  # with it both machines have sites to which the other links
WEB: dict[str, Any] = {"n_sites": 4, "pages_per_host": [12, 16]}
ADDRESS_DELAY_S = 0.04
TABLE = Partitions(2, ranges_of(divided(2)), machines=["a", "b"])


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make leases short: the ten seconds are for real networks."""
    for module in (machine_module, directory_module, losing_module):
        monkeypatch.setattr(module, "LEASE_S", 1.0)
    monkeypatch.setattr(machine_module, "RENEW_S", 0.2)
    monkeypatch.setattr(directory_module, "SPARE_S", 0.5)
    monkeypatch.setattr(turns_module, "TURN_S", 0.8)
    monkeypatch.setattr(address_turns_module, "_TALK_S", 0.05)


class Places:
    """Two machines, each with a disk of its own, and the calls that an engine would carry between them and the head."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.disks = {name: path / name / "crawl" for name in TABLE.machines}
        self.settings = settings
        self.machines: dict[str, Machine] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.directory = Directory(DirectoryState(), lambda _: None, time.monotonic())
        self.is_granting = True
        self.servers: list[ShardServer] = []
        self.questions: list[bytes] = []  # that were asked about shards
        self.steps: list[bytes] = []  # of jobs
        self._create(settings)
        self.begun = ""  # the run
        connect_by(lambda _path, _table: self)

    def _create(self, settings: Settings) -> None:
        far = NewShard(1, msgspec.json.encode(settings), SECRET, [], TABLE)
        answer = msgspec.json.decode(FarShards(self.disks["b"]).answer("create", msgspec.json.encode(far)))
        assert not answer["fault"]
        self.disks["a"].mkdir(parents=True)
        write_partitions(self.disks["a"], TABLE)
        Store.create(self.disks["a"], settings, time.time(), secret=SECRET).close()

    @property
    def table(self) -> Partitions:
        table = read_partitions(self.disks["a"])
        assert table is not None
        return table

    def start(self, name: str) -> None:
        """Start a life of a machine."""
        run, packed = self.begun, msgspec.json.encode(self.table)
        snapshots = self.settings.snapshots
        begin = Begin(name, str(self.disks[name]), packed, SECRET, run, settle=False, version=VERSION, snapshots=snapshots)

        async def ask(what: str, life: str) -> DirectoryAnswer:
            if what == "renew" and not self.is_granting:
                raise ConnectionError
            match what:
                case "join":
                    return self.directory.join(name, life, run)
                case "renew":
                    return self.directory.renew(name, life, run, time.monotonic())
                case _:
                    self.directory.leave(name, life)
                    return DirectoryAnswer()

        async def ask_turns(life: str, call: TurnsCall) -> TurnsAnswer:
            return self.directory.turns(name, life, run, call, time.monotonic())

        async def send(to: str, parcel: bytes) -> bytes:
            await asyncio.sleep(0)
            return self.machines[to].receive(name, parcel)

        machine = self.machines[name] = Machine(begin, ask=ask, ask_turns=ask_turns, send=send)
        self.tasks[name] = asyncio.ensure_future(machine.run())

    async def stop(self, name: str) -> None:
        """End a life of a machine, with everything that runs there."""
        del self.machines[name]
        self.tasks[name].cancel()
        await asyncio.gather(self.tasks[name], return_exceptions=True)

    async def call(self, name: str, what: str, argument: bytes, _within_s: float) -> bytes:
        if name not in self.machines:
            await asyncio.sleep(0.05)
            raise Away(f"machine {name} is gone")
        if what == "exchange":
            return msgspec.json.encode(await self.machines[name].exchange(msgspec.json.decode(argument, type=MachineCall)))
        return await asyncio.to_thread(FarShards(self.disks[name]).answer, what.removeprefix("shard:"), argument)

    # a way to the shards, for readers

    def ask_of(self, agent: int, *, at_once: bool) -> Callable[[bytes], bytes]:
        server = ShardServer(shard_path(self.disks[self.table.machines[agent]], agent), at_once=at_once)
        self.servers.append(server)

        def ask(question: bytes) -> bytes:
            self.questions.append(question)
            return server.answer(question)

        return ask

    def job_of(self, agent: int) -> Callable[[bytes], bytes]:
        job = JobServer(self.servers[-1].view)

        def answer(step: bytes) -> bytes:
            self.steps.append(step)
            return job.answer(step)

        return answer

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def ask(self, machine: str, what: str, argument: object, *, source: str = "") -> msgspec.Raw:
        """Ask a machine about its shards, as commands on the head do."""
        servers: list[ShardServer] = []

        def ask_of(agent: int) -> Callable[[bytes], bytes]:
            servers.append(ShardServer(shard_path(self.disks[source], agent), at_once=False))
            return servers[-1].answer

        packed = FarShards(self.disks[machine]).answer(what, msgspec.json.encode(argument), None, ask_of)
        for server in servers:
            server.close()
        answer = msgspec.json.decode(packed, type=ShardAnswer)
        assert not answer.fault, answer.fault
        return answer.said

    async def crawl(self, settings: Settings, meanwhile: Callable[[Supervisor], Any]) -> tuple[int, Status]:
        """Crawl to the end.

        meanwhile: returns a coroutine that runs beside it.
        """
        self.begun += "run "
        self.directory.begin(self.begun, time.monotonic())
        for name in dict.fromkeys(self.table.machines):
            self.start(name)
        places = FarPlaces(self.table, self.call, lambda _: None, BackOffBook(self.disks["a"]))
        supervisor = Supervisor(self.disks["a"], Silent(sys.stderr), n_agents=2, settings=settings, places=places)
        tasks = [asyncio.ensure_future(what) for what in (places.run(), self._keep(), meanwhile(supervisor))]
        tasks += [asyncio.ensure_future(watch(places, supervisor, settings, lambda name: name not in self.machines))]
        tasks[2].add_done_callback(_end_if_failed)
        try:
            code = await supervisor.run()
            await tasks[2]
            for machine in self.machines.values():
                await machine.leave()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for name in [*self.machines]:
                await self.stop(name)
        return code, supervisor.status

    async def _keep(self) -> None:
        while True:
            self.directory.keep(self.begun, time.monotonic())
            await asyncio.sleep(0.1)


def _end_if_failed(task: asyncio.Future[None]) -> None:
    """End the crawl if the coroutine beside it has failed, since otherwise it would go on for ever."""
    if not task.cancelled() and task.exception() is not None:
        os.kill(os.getpid(), signal.SIGTERM)


def _settings(server: ServerProcess, **more: object) -> Settings:
    filters = {name: {"mode": "observe"} for name in ("exact_duplicate", "soft_error", "pattern_yield", "near_replica")}
    tree = {
        "seeds": server.web.seeds(),
        "agents": 1,
        **options(server, **{"filters": filters, "politeness": {"min_delay": 0.25, "max_delay": 0.5}, **more}),
    }
    return load(["-"], stdin=lambda: msgspec.json.encode(tree).decode()).settings


def _reference(path: Path, settings: Settings) -> Findings:
    """Crawl the same with one agent."""
    Store.create(path, settings, time.time()).close()
    assert asyncio.run(Supervisor(path, Silent(sys.stderr), settings=settings).run()) == 0
    return findings(path)


async def _until(what: Callable[[], object]) -> None:
    async with asyncio.timeout(100):
        while not what():  # noqa: ASYNC110 - no event comes from another process
            await asyncio.sleep(0.02)


def _n_requests(server: ServerProcess) -> int:
    assert server.log_path is not None
    return server.log_path.read_bytes().count(b"\n") if server.log_path.exists() else 0


def test_two_machines_find_what_one_agent_finds_although_one_is_away_and_no_lease_is_granted_for_a_while(tmp_path: Path) -> None:
    """No request begins without a lease, and a restarted machine goes on.

    Sites of both have the same few addresses, which both together ask no faster than one would. Mutation: agents take no turns.
    """
    with demo("kill", tmp_path, **WEB, shared_address_share=1.0) as server:
        polite = {"min_delay": 0.05, "max_delay": 0.5, "address_delay": ADDRESS_DELAY_S, "address_connections": 1}
        settings = _settings(server, politeness=polite)
        places = Places(tmp_path, settings)

        async def meanwhile(supervisor: Supervisor) -> None:
            await _until(lambda: _n_requests(server) >= 60)
            places.is_granting = False
            await _until(lambda: "no lease" in supervisor.status.why and not supervisor.status.in_flight)
            before = _n_requests(server)
            await asyncio.sleep(1.0)  # the test is that nothing happens meanwhile
            assert _n_requests(server) == before
            places.is_granting = True
            await _until(lambda: _n_requests(server) >= before + 60)
            await places.stop("b")
            await asyncio.sleep(0.5)
            places.start("b")

        code, status = asyncio.run(places.crawl(settings, meanwhile))
        assert code == 0, status.why
        log = server.read_log()
        reference = _reference(tmp_path / "reference", settings)
    found = findings(places.disks["a"])
    assert differences(reference, found) == ([], [], [])
    assert found.n_queued == 0
    assert verify(places.disks["a"]) == []
    assert crowded_addresses(log, 1, ADDRESS_DELAY_S) == []
    places.questions.clear()
    far, one_disk = said(places.disks["a"]), on_one_disk(places.disks, tmp_path / "one-disk" / "crawl")
    _assert_both_computed(places)
    assert far == said(one_disk)
    seeds = server.web.seeds()
    assert read(places.disks["a"], seeds) == read(one_disk, seeds)
    one = without_order(said(tmp_path / "reference"))
    assert {name for name in one if not one[name]} <= {"mirrors", "dust"}  # this web has none
    assert without_order(far) == one
    with reading_shard(shard_path(places.disks["b"], 1)) as view:
        assert view.counters.get("pages") > 0


def _assert_both_computed(places: Places) -> None:
    assert not any(b"bodies" in question or b"Words" in question for question in places.questions), "no body or word leaves its machine"
    assert sum(b"rank" in step for step in places.steps) > 9, "both machines compute ranks"
    for job, what in ((b"LooksJob", "DUST"), (b"SketchJob", "replicas")):
        assert any(job in step for step in places.steps), f"both machines sketch pages for {what}"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT stop this process, even if a shell has started the tests in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_disk_that_is_lost_loses_no_page(tmp_path: Path) -> None:
    """When it has been away for long enough, its shard is restored on the other machine, from a snapshot older than the last messages of
    both.

    If the disk comes back, what only it has is merged, and not fetched again. Mutations: senders delete what the snapshot does not hold;
    the restored shard gives new messages numbers that the other has had; what is merged stays in its queue.
    """
    kept, away = tmp_path / "kept", tmp_path / "away"
    with demo("kill", tmp_path, **WEB) as server:
        settings = _settings(server, engine="ray", snapshots={"target": str(kept), "every": 3600, "lost_after": 1})
        places = Places(tmp_path, settings)
        places.is_granting = False  # until there are snapshots

        async def lose(_supervisor: Supervisor) -> None:
            await _until(lambda: all((kept / name / "snapshots" / "000001").exists() for name in TABLE.machines))
            places.is_granting = True
            await _until(lambda: _exchanged(places) > 5 and len(answers(shard_path(places.disks["b"], 1))) > 9)
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
        code, status = asyncio.run(places.crawl(settings, _nothing))
        assert code == 0, status.why
        with_b, places.disks["a"] = places.disks["a"], without
        assert {f"http://{one.host}{one.path}" for one in server.read_log().requests[n_before:]} & taken == set()
        code, status = asyncio.run(places.crawl(settings, _nothing))
        assert code == 0, status.why
        reference = _reference(tmp_path / "reference", settings)
    for disk in (places.disks["a"], with_b):
        found = findings(disk)
        assert differences(reference, found) == ([], [], [])
        assert found.n_queued == 0
        assert verify(disk) == []


@pytest.mark.usefixtures("interruptible")
def test_who_takes_over_a_lost_machines_hosts_lets_them_rest_as_long_as_they_asked(tmp_path: Path) -> None:
    """The snapshot is older than these hosts and their Retry-After. Mutation: agents do not report it."""
    kept = tmp_path / "kept"
    with demo("kill", tmp_path, **WEB | {"error_share": 0.3, "error_statuses": [503], "retry_after_s": 3_600}) as server:
        settings = _settings(server, engine="ray", snapshots={"target": str(kept), "every": 3600})
        places = Places(tmp_path, settings)
        places.is_granting = False  # until there are snapshots
        asked: dict[str, float] = {}

        def is_told() -> bool:
            with reading_shard(shard_path(places.disks["b"], 1)) as view:
                found = [HOST.decode(value) for _, value in view.scan(HOSTS)]
            asked.update({host.name: host.backoff_until for host in found if host.backoff_until})
            return bool(asked) and {*asked} <= {one.name for one in back_offs.read(places.disks["a"])}

        async def lose(_supervisor: Supervisor) -> None:
            await _until(lambda: all((kept / name / "snapshots" / "000001").exists() for name in TABLE.machines))
            places.is_granting = True
            await _until(is_told)
            await places.stop("b")
            shutil.rmtree(places.disks["b"])
            os.kill(os.getpid(), signal.SIGINT)

        asyncio.run(places.crawl(settings, lose))
    give_up(places.disks["a"], places.table, "b", settings, places)
    assert verify(places.disks["a"]) == []
    with reading_shard(shard_path(places.disks["a"], 1)) as view:
        rests = {host.name: host.next_at for host in (HOST.decode(value) for _, value in view.scan(HOSTS))}
    assert {name: until for name, until in asked.items() if rests.get(name, 0.0) < until} == {}


async def _nothing(_supervisor: Supervisor) -> None:
    """Do nothing beside the crawl."""


def _exchanged(places: Places) -> int:
    """Return how many messages of each agent the other one has carried out since its last snapshot."""
    both = [shard_path(places.disks[name], agent) for agent, name in enumerate(TABLE.machines)]
    n = []
    for agent, shard in enumerate(both):
        with reading_shard(shard) as view:
            n.append(view.tables.channels.received(1 - agent) - Marks(shard).kept(1 - agent))
    return min(n)
