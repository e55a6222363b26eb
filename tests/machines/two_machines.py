"""Two machines without an engine: two disks, real agents, directory, couriers and supervisor; calls are function calls."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from harness import Findings, findings, options
from recorded_figures import Recorded
from tasks_here import TasksHere

from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.core.ownership import divided
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.machines.back_offs import BackOffBook
from thresher.crawler.machines.directory import Directory, DirectoryAnswer, DirectoryState
from thresher.crawler.machines.far_changes import ChangeShard
from thresher.crawler.machines.far_places import FarPlaces
from thresher.crawler.machines.far_shards import FarShards, NewShard, ShardAnswer
from thresher.crawler.machines.losing import watch
from thresher.crawler.machines.machine import Machine
from thresher.crawler.machines.supervision import Begin, MachineCall
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall
from thresher.crawler.process.places import Away
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import Silent
from thresher.crawler.version import VERSION
from thresher.storage.far_server import ShardServer
from thresher.storage.partitions import Partitions, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.store import Store
from thresher.storage.ways import Part, connect_by

SECRET = b"t" * 32  # with it both machines have sites to which the other links
WEB: dict[str, Any] = {"n_sites": 4, "pages_per_host": [8, 10]}
ADDRESS_DELAY_S = 0.04
SHORT_LEASE_S = 1.0  # the ten seconds are for real networks
TABLE = Partitions(2, ranges_of(divided(2)), machines=["a", "b"])


class Places:
    """Two machines, each with a disk of its own, and the calls that an engine would carry between them and the head."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.disks = {name: path / name / "crawl" for name in TABLE.machines}
        self.settings = settings
        self.machines: dict[str, Machine] = {}
        self.figures: dict[str, Recorded] = {}  # of the last life of each machine
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.directory = Directory(DirectoryState(), lambda _: None, time.monotonic())
        self.is_granting = True
        self.servers: list[ShardServer] = []
        self.questions: list[bytes] = []  # that were asked about shards
        self.tasks_here = TasksHere(lambda agent: self.table.machines[agent], lambda _agent: self.servers[-1].view())
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
        told = self.settings
        begin = Begin(
            name,
            str(self.disks[name]),
            packed,
            SECRET,
            run,
            settle=False,
            version=VERSION,
            address_delay=told.politeness.address_delay,
            snapshots=told.snapshots,
        )

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

        async def ask_turns(owner: str, life: str, call: TurnsCall) -> TurnsAnswer:
            await asyncio.sleep(0)
            return self.machines[owner].turns(life, call)

        async def send(to: str, parcel: bytes) -> bytes:
            await asyncio.sleep(0)
            return self.machines[to].receive(name, parcel)

        self.figures[name] = Recorded(name)
        figures = self.figures[name].figures
        machine = self.machines[name] = Machine(begin, ask=ask, ask_turns=ask_turns, send=send, figures=figures)
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

    def export(self, agent: int, order: bytes) -> Part:
        return self.tasks_here.export(agent, order)

    def put(self, packed: bytes) -> Part:
        return self.tasks_here.put(packed)

    def task(self, name: str, parts: Sequence[Part], n_results: int, agent: int | None) -> list[Part]:
        return self.tasks_here.task(name, parts, n_results, agent)

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        return self.tasks_here.fetch(parts)

    def change(self, agent: int, what: str, argument: bytes) -> bytes:
        return bytes(self.ask(self.table.machines[agent], "change", ChangeShard(agent, what, msgspec.Raw(argument))))

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
        self.directory.begin(self.begun, self.table.machines, time.monotonic())
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


def settings_for(server: ServerProcess, **more: object) -> Settings:
    filters = {name: {"mode": "observe"} for name in ("exact_duplicate", "soft_error", "pattern_yield", "near_replica")}
    tree = {
        "seeds": server.web.seeds(),
        "agents": 1,
        **options(server, **{"filters": filters, "politeness": {"min_delay": 0.25, "max_delay": 0.5}, **more}),
    }
    return load(["-"], stdin=lambda: msgspec.json.encode(tree).decode()).settings


def reference_of(path: Path, settings: Settings) -> Findings:
    """Crawl the same with one agent, without delays: they change nothing of what is found, and a crawl that waits costs, too."""
    fast = msgspec.structs.replace(settings.politeness, min_delay=0.0, address_delay=0.0, address_connections=100)
    settings = msgspec.structs.replace(settings, politeness=fast)
    Store.create(path, settings, time.time()).close()
    assert asyncio.run(Supervisor(path, Silent(sys.stderr), settings=settings).run()) == 0
    return findings(path)


async def until(what: Callable[[], object], every_s: float = 0.02) -> None:
    """Wait for what another process does. A condition that reads shards is looked at less often: each look costs as much as a page."""
    async with asyncio.timeout(600):
        while not what():  # noqa: ASYNC110 - no event comes from another process
            await asyncio.sleep(every_s)


def n_requests(server: ServerProcess) -> int:
    assert server.log_path is not None
    return server.log_path.read_bytes().count(b"\n") if server.log_path.exists() else 0


async def until_quiet(server: ServerProcess) -> None:
    """Wait for two seconds without a request. A lease may last for one second more, and a request may be written down late."""
    async with asyncio.timeout(600):
        before = -1
        while before != (now := n_requests(server)):
            before = now
            await asyncio.sleep(2.0)


async def nothing(_supervisor: Supervisor) -> None:
    """Do nothing beside the crawl."""
