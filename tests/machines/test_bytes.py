"""What crosses between machines is bytes, read by msgspec as one type: whatever came from the web in them, nothing of it is run."""

from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from thresher.config.settings import Settings
from thresher.crawler.analysis import jobs
from thresher.crawler.analysis.columns import unpack
from thresher.crawler.core.ownership import divided
from thresher.crawler.machines.courier import Courier
from thresher.crawler.machines.far_shards import FarShards
from thresher.crawler.machines.parcels import Seal, Word
from thresher.crawler.machines.supervision import Begin, Events, MachineCall
from thresher.crawler.machines.turns import TurnsCall
from thresher.storage.far import FarView
from thresher.storage.far_server import ShardServer
from thresher.storage.partitions import Partitions, ranges_of, write_partitions
from thresher.storage.store import Store

ROOT = Path(__file__).parents[2]
SECRET = b"t" * 32
RAN: list[str] = []
STEPS = ("create", "configure", "counted", "change", "merge", "bring", "succeed", "restore")
LOADERS = {"pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib"}  # what reads them may run code


def run(what: str) -> None:
    RAN.append(what)


class Evil:
    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return run, ("loaded",)


@pytest.fixture
def evil() -> Iterator[bytes]:
    """A pickle that says so when it is loaded."""
    packed = pickle.dumps(Evil())
    pickle.loads(packed)
    assert RAN == ["loaded"]
    RAN.clear()
    yield packed
    assert RAN == []


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    Store.create(tmp_path / "crawl", Settings(), 0.0, secret=SECRET).close()
    write_partitions(tmp_path / "crawl", Partitions(1, ranges_of(divided(1)), machines=["a"]))
    return tmp_path / "crawl"


async def test_a_parcel_that_is_a_pickle_is_refused(tmp_path: Path, evil: bytes) -> None:
    async def send(_to: str, _parcel: bytes) -> bytes:
        return evil

    notes: list[str] = []
    courier = Courier(tmp_path, "a", {0: "a", 1: "b"}, secret=SECRET, send=send, note=notes.append)
    seal = Seal(SECRET, "b", "a")
    assert seal.read_answer(evil, courier.receive("b", evil)) is Word.REFUSED
    assert "not signed with this crawl's secret" in notes[0]
    assert seal.read_answer(b"a parcel", evil) is Word.REFUSED


def test_a_question_a_step_and_an_answer_that_are_pickles_are_refused(shard: Path, evil: bytes) -> None:
    """Mutation: what msgspec cannot read is tried as a pickle."""
    server = ShardServer(shard, at_once=False)
    readers: list[Callable[[bytes], object]] = [server.answer, partial(jobs.export, server.view()), unpack]
    readers += [partial(FarShards(shard).answer, what) for what in STEPS]
    readers += [partial(msgspec.json.decode, type=kind) for kind in (Begin, MachineCall, Events, TurnsCall)]
    readers += map(_task, jobs.TASKS)
    readers.append(lambda packed: FarView(shard, lambda _question: packed))
    for read in readers:
        with pytest.raises(msgspec.DecodeError):
            read(evil)
    server.close()


def _task(name: str) -> Callable[[bytes], object]:
    """Return a function that gives a task the same bytes for each of its parts."""
    n_parts = len(inspect.signature(jobs.TASKS[name]).parameters)
    return lambda packed: jobs.run(name, [packed] * n_parts)


def test_no_file_that_takes_part_reads_pickles() -> None:
    places = ("crawler/machines", "crawler/cluster", "crawler/analysis", "crawler/process", "storage")
    for file in (file for place in places for file in sorted((ROOT / place).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not LOADERS & {name.partition(".")[0] for name in names}, file


def test_what_ray_carries_is_bytes_and_names() -> None:
    """Ray itself pickles arguments that are objects: there are none, but for the handle of an actor."""
    pytest.importorskip("ray")
    from thresher.crawler.machines import ray_actors

    n_methods = 0
    for actor in (ray_actors.DirectoryActor, ray_actors.ShardActor, ray_actors.MachineActor):
        for name, method in inspect.getmembers(actor, inspect.isfunction):
            if name.startswith("_") and name != "__init__":
                continue
            n_methods += 1
            signature = inspect.signature(method)
            kinds = {parameter.name: parameter.annotation for parameter in signature.parameters.values() if parameter.name != "self"}
            assert kinds.pop("source", "Any") == "Any"
            assert {*kinds.values()} <= {"str", "bytes", "int", "bool"}, (actor, name)
            assert signature.return_annotation in ("bytes", "bool", "None"), (actor, name)
    assert n_methods > 12
    of_tasks = inspect.signature(ray_actors.run_task).parameters.values()
    assert {parameter.annotation for parameter in of_tasks} == {"str", "bytes"}, "of tasks"
