"""The head's side of Ray: finds the machines, starts actors on them, and manages a run of a crawl from its beginning to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import ray
from ray.exceptions import RayError

from thresher.config.settings import Settings
from thresher.crawler.cluster.lease import LEASE_S, RENEW_S
from thresher.crawler.core.errors import StoreError, StoreLockedError, ThresherError, UsageError
from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.crawler.machines.back_offs import BackOffBook
from thresher.crawler.machines.far_changes import ChangeShard
from thresher.crawler.machines.far_places import FarPlaces, ask_shard
from thresher.crawler.machines.far_shards import ShardAnswer
from thresher.crawler.machines.names import DIRECTORY, RESOURCE, directory_namespace, namespace, resource
from thresher.crawler.machines.ray_actors import DirectoryActor, MachineActor, ShardActor, run_task
from thresher.crawler.machines.supervision import Begin
from thresher.crawler.process.places import Away, Note
from thresher.crawler.version import VERSION
from thresher.storage.lock import CrawlLock
from thresher.storage.partitions import COMMAND_LOCK, Partitions
from thresher.storage.ways import Ask, Part

_START_S: Final = 60.0  # most seconds until an actor answers for the first time
_LEAVE_S: Final = 20.0
_DEATH_S: Final = 60.0  # seconds until Ray has certainly noticed that a machine is gone
_READ_S: Final = 600.0
_LONGEST_S: Final = 86_400.0  # most seconds of a step that reads a whole shard; if the machine dies, Ray notices it before
_LOOK_S: Final = 0.1
_SHARE: Final = 0.001  # share of a machine's resource that each actor takes
_SHARE_OF_TASKS: Final = 0.9  # and all tasks that run there at a time
_encode = msgspec.json.encode


class ClusterMachine(NamedTuple):
    """A machine of the cluster. n_cores: cores for agents; 0: it shall have no agent"""

    name: str
    n_cores: int
    is_here: bool


def connect() -> None:
    """Connect to the cluster whose head runs on this machine, or that RAY_ADDRESS names.

    Raises:
        UsageError: If that fails.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if ray.is_initialized():
        return
    try:
        ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        first = str(error).partition("\n")[0]
        raise UsageError(f"engine: ray: no cluster can be reached ({first}). Start one: `thresher cluster start --head`") from None


def members() -> list[ClusterMachine]:
    """Return the machines of the cluster, this one first.

    A machine that was started again just now is there twice, until Ray notices the end of its first start.

    Raises:
        UsageError: If this machine is not in the cluster.
    """
    until = time.monotonic() + _DEATH_S
    while True:
        found = _alive()
        if len({member.name for member in found}) == len(found):
            break
        if time.monotonic() > until:
            raise UsageError(f"engine: ray: two machines have one name, found {', '.join(m.name for m in found)}. Give each another --name")
        time.sleep(1.0)
    if not found or not found[0].is_here:
        raise UsageError("engine: ray: this machine takes no part in the cluster. Start it here: `thresher cluster start --head`")
    return found


def is_gone(machine: str) -> bool:
    """Return whether a machine is not in the cluster; if it has died just now, wait until Ray notices."""
    until = time.monotonic() + _DEATH_S
    while any(member.name == machine for member in _alive()):
        if time.monotonic() > until:
            return False
        time.sleep(1.0)
    return True


def has_left(machine: str) -> bool:
    """Return whether Ray has noticed that a machine is no longer in the cluster."""
    return all(member.name != machine for member in _alive())


def _alive() -> list[ClusterMachine]:
    """Return the machines that Ray knows, this one first."""
    found = []
    here = ray.get_runtime_context().get_node_id()
    for node in ray.nodes():
        names = [name.removeprefix(RESOURCE) for name in node["Resources"] if name.startswith(RESOURCE)]
        if node["Alive"] and names:
            found.append(ClusterMachine(names[0], int(node["Resources"].get("CPU", 0)), node["NodeID"] == here))
    return sorted(found, key=lambda member: (not member.is_here, member.name))


def shared_out(found: Sequence[ClusterMachine], agents: int | str) -> list[str]:
    """Return the machine of each agent: `agents` on each machine with cores, or one agent per core for "auto"; the head has at least
    one.
    """
    shares = [member.n_cores if agents == "auto" else min(1, member.n_cores) * int(agents) for member in found]
    machines = [member.name for member, share in zip(found, [max(1, shares[0]), *shares[1:]], strict=True) for _ in range(share)]
    if len(machines) > MOST_AGENTS:
        raise UsageError(f"agents: expected at most {MOST_AGENTS} on all machines, found {len(machines)} on {len(found)}")
    return machines


class FarReading:
    """Reads the shards of a crawl on other machines, for a command: implements Connection of storage/far.py."""

    def __init__(self, directory: Path, table: Partitions) -> None:
        """Start an actor on each machine.

        Raises:
            UsageError: If a machine is not in the cluster.
        """
        require_machines(directory, table)
        self._machines = table.machines
        self._n_cores = {member.name: member.n_cores for member in members()}
        elsewhere = [name for name in dict.fromkeys(table.machines) if name != table.machines[0]]
        self._actors = {name: _placed(ShardActor, name).remote(str(directory.resolve())) for name in elsewhere}

    def ask_of(self, agent: int, *, at_once: bool) -> Ask:
        read = self._actors[self._machines[agent]].read
        return self._asking(agent, lambda question: read.remote(agent, at_once, question), _READ_S)

    def export(self, agent: int, order: bytes) -> Part:
        return self._actors[self._machines[agent]].export.remote(agent, order)

    def put(self, packed: bytes) -> Part:
        return ray.put(packed)

    def task(self, name: str, parts: Sequence[Part], n_results: int, agent: int | None) -> list[Part]:
        """Start a task; on a machine as many run at a time as it has cores. One that a dead machine has not ended runs again."""
        placed: dict[str, Any] = {"scheduling_strategy": "SPREAD"}
        if agent is not None:
            machine = self._machines[agent]
            placed = {"resources": {resource(machine): round(_SHARE_OF_TASKS / max(1, self._n_cores[machine]), 4)}}
        refs = ray.remote(run_task).options(num_cpus=0, num_returns=n_results, **placed).remote(name, *parts)
        return [refs] if n_results == 1 else refs

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        try:
            return [bytes(found) for found in ray.get([*parts], timeout=_LONGEST_S)]
        except (RayError, TimeoutError) as error:
            if isinstance(cause := getattr(error, "cause", None), ThresherError):
                raise cause from None
            raise StoreError(f"a machine does not answer ({type(error).__name__}): its shards cannot be read now") from None

    def change(self, agent: int, what: str, argument: bytes) -> bytes:
        order = _encode(ChangeShard(agent, what, msgspec.Raw(argument)))
        shard = self._actors[self._machines[agent]].shard
        answer = msgspec.json.decode(
            self._asking(agent, lambda packed: shard.remote("change", packed), _LONGEST_S)(order), type=ShardAnswer
        )
        if answer.fault:
            raise StoreError(f"machine {self._machines[agent]}: {answer.fault}")
        return bytes(answer.said)

    def _asking(self, agent: int, call: Callable[[bytes], Any], within_s: float) -> Ask:
        """Return a function that calls the machine of an agent, and waits for the answer."""
        machine = self._machines[agent]

        def ask(question: bytes) -> bytes:
            try:
                return bytes(ray.get(call(question), timeout=within_s))
            except (RayError, TimeoutError) as error:
                raise StoreError(f"machine {machine} does not answer ({type(error).__name__}): its shards cannot be read now") from None

        return ask

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors.values():
            ray.kill(actor)


def require_machines(directory: Path, table: Partitions, *, but: str = "") -> None:
    """Check that all machines of a crawl (except `but`) are in the cluster, and that this one is its head.

    Raises:
        UsageError: If not.
    """
    found = [member.name for member in members()]
    if found[0] != table.machines[0]:
        raise UsageError(f"{directory}: machine {table.machines[0]} is this crawl's head, found that this is {found[0]}. Go there")
    if missing := sorted(set(table.machines) - {*found, but}):
        raise UsageError(
            f"{directory}: machines {', '.join(missing)} have shards of this crawl and are not in the cluster. Start them there: "
            f"`thresher cluster start --address HEAD`. If a disk is lost: `thresher cluster lost {directory} {missing[0]}`"
        )


class ShardMakers:
    """One short-lived actor on each machine, which does steps with the shards there."""

    def __init__(self, directory: Path, machines: Sequence[str]) -> None:
        self._actors = {name: _placed(ShardActor, name).remote(str(directory)) for name in dict.fromkeys(machines)}

    def ask(self, machine: str, what: str, argument: object, *, source: str = "") -> msgspec.Raw:
        """Let a machine do a step with a shard; return the answer.

        Args:
            source: The machine from whose disk data are needed; "" for none.

        Raises:
            StoreError: If the shard cannot be used.
            UsageError: If the machine does not answer.
        """

        async def call(_machine: str, _what: str, packed: bytes, _within_s: float) -> bytes:
            actor = self._actors[machine]
            ref = actor.bring.remote(what, packed, self._actors[source]) if source else actor.shard.remote(what, packed)
            return bytes(await _within(machine, ref, _LONGEST_S))

        try:
            return asyncio.run(ask_shard(call, machine, what, _encode(argument)))
        except Away as away:
            raise UsageError(f"{away}. Start it again, or wait until it is there") from None

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors.values():
            ray.kill(actor)


class Run:
    """One run of a crawl: its actors, from `begun` on."""

    def __init__(self, directory: Path, table: Partitions, secret: bytes, settings: Settings, *, settle: bool) -> None:
        """Start the actors.

        Raises:
            StoreLockedError: If another command runs this crawl.
            UsageError: If what an earlier command has left does not end.
        """
        self._path = directory
        self._name = secrets.token_hex(6)
        self._head = table.machines[0]
        self._place = directory_namespace(secret)
        self._command = CrawlLock(directory / COMMAND_LOCK)
        names = dict.fromkeys(table.machines)
        try:
            self._end_earlier()
            self._directory_actor = self._directory_there()
        except BaseException:
            self._command.release()
            raise
        begin = Begin(
            "",
            str(directory),
            _encode(table),
            secret,
            self._name,
            settle=settle,
            version=VERSION,
            address_delay=settings.politeness.address_delay,
            snapshots=settings.snapshots,
        )
        begins = {name: msgspec.structs.replace(begin, machine=name) for name in names}
        self._actors = {name: self._actor(MachineActor, name, name).remote(_encode(begins[name])) for name in names}

    def _end_earlier(self) -> None:
        """End the directory that an earlier command has left. This one holds the lock of commands, so that one is gone."""
        until = time.monotonic() + _LEAVE_S
        while True:
            try:
                ray.kill(ray.get_actor(DIRECTORY, self._place))
            except ValueError:  # there is none
                return
            if time.monotonic() > until:
                raise UsageError(f"{self._path}: the directory of an earlier run does not end. Start the cluster again")
            time.sleep(_LOOK_S)

    def _directory_there(self) -> Any:
        """Return the directory's actor, which begins if there is none. No process owns it (directory_life.py)."""
        options = {"name": DIRECTORY, "namespace": self._place, "lifetime": "detached", "get_if_exists": True, "max_restarts": -1}
        return _placed(DirectoryActor, self._head, **options, max_task_retries=0).remote(str(self._path))

    def _actor(self, kind: Any, name: str, machine: str) -> Any:
        options = {"name": name, "namespace": namespace(self._name), "max_restarts": -1, "max_task_retries": 0}
        return _placed(kind, machine, **options)

    @asynccontextmanager
    async def begun(self, table: Partitions, note: Note, give_up: Callable[[], None]) -> AsyncIterator[FarPlaces]:
        """Make this run the one that counts, with a directory that grants leases until the block ends.

        Args:
            note: Shows a message to the operator.
            give_up: Called when another run has begun.
        """
        try:
            await self._order("begin", _START_S)
        except Away as away:
            self._end()
            raise UsageError(f"the crawl cannot go on: {away}. If an earlier run of it has not ended yet, wait for that") from None
        places = FarPlaces(table, self.call, note, BackOffBook(self._path))
        tasks = [asyncio.ensure_future(places.run()), asyncio.ensure_future(self._keep(give_up))]
        try:
            yield places
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(self.call(name, "leave", b"", _LEAVE_S) for name in self._actors), return_exceptions=True)
            with suppress(Away):
                await self._order("stop", LEASE_S)
            self._end()

    def _end(self) -> None:
        """End the actors."""
        for actor in (self._directory_actor, *self._actors.values()):
            ray.kill(actor)
        self._command.release()

    async def call(self, machine: str, what: str, argument: bytes, within_s: float) -> bytes:
        """Call a machine.

        Raises:
            Away: If it does not answer within `within_s` seconds.
        """
        actor, (kind, _, about) = self._actors[machine], what.partition(":")
        ref = actor.shard.remote(about, argument) if kind == "shard" else getattr(actor, kind).remote(argument)
        return bytes(await _within(machine, ref, within_s))

    async def _order(self, what: str, within_s: float) -> bool:
        ref = self._directory_actor.order.remote(what, self._name, _encode([*self._actors]))
        return bool(await _within("the directory on the head", ref, within_s))

    async def _keep(self, give_up: Callable[[], None]) -> None:
        """Send the directory signs of life of the supervisor, until cancelled."""
        while True:
            try:
                if not await self._order("keep", LEASE_S):
                    give_up()
            except Away:  # it has ended, if this process was stopped for long
                self._directory_actor = await asyncio.to_thread(self._directory_there)
            await asyncio.sleep(RENEW_S)


def _placed(kind: Any, machine: str, **options: Any) -> Any:
    """Return an actor's class that starts on this machine only: no other has the resource."""
    return ray.remote(kind).options(num_cpus=0, resources={resource(machine): _SHARE}, **options)


async def _within(machine: str, ref: Any, within_s: float) -> Any:
    """Wait for an answer.

    Raises:
        Away: If there is none within `within_s` seconds.
    """
    try:
        async with asyncio.timeout(within_s):
            return await ref
    except TimeoutError:
        raise Away(f"machine {machine} has not answered for {within_s:.0f} s") from None
    except RayError as error:
        if (cause := getattr(error, "cause", None)) is not None and isinstance(cause, (UsageError, StoreLockedError)):
            raise cause from None
        raise Away(f"machine {machine} does not answer ({type(error).__name__})") from None
