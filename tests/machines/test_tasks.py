"""What tasks compute of a list or of sketches is what one process computes; without machines or an engine."""

from __future__ import annotations

from typing import cast

import msgspec
import numpy as np
import pytest
from tasks_here import ANYWHERE, TasksHere

from thresher.crawler.analysis.columns import Value, pack, unpack
from thresher.crawler.analysis.dust_mining import _by_site, _by_tasks
from thresher.crawler.analysis.replica_comparing import Wanted, compared
from thresher.crawler.analysis.tasks import Tasks
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.graph.csr import Graph
from thresher.filters.dust.records import look_at
from thresher.filters.dust.urllist import Sighting
from thresher.filters.near_replica.batch import Candidates, Tolerance
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches, sketch, url_hashes
from thresher.storage.shards import ShardsView
from thresher.storage.ways import FarConnection

_WANTED: tuple[Wanted, ...] = ("clusters", "pairs", "mirrors", "indexes")
N = 12


def tasks_and_engine() -> tuple[Tasks, TasksHere]:
    engine = TasksHere(lambda _agent: "b", lambda _agent: pytest.fail("a shard is read"))
    return Tasks(cast("ShardsView", None), cast("FarConnection", engine)), engine


def words(host: int, page: int) -> str:
    """Return the text of a page: mirrors differ in a word here and there."""
    return " ".join(f"w{page * 1000 + n}" if n or page % 3 else f"of{host}" for n in range(200))


def sketches() -> Sketches:
    """Three hosts with the same pages, of which some link to the same ones."""
    sketcher = Sketcher(Recipe())
    for host in range(3):
        name = f"http://h{host}.test"
        for page in range(N):
            links = url_hashes([f"{name}/{n}" for n in range(N) if n != page and (n + page) % 3 == 0])
            number = sketcher.expect(f"{name}/{page}", name, links)
            sketcher.put(number, sketch(token_hashes(words(host, page)), np.empty(0, dtype=np.uint64), Recipe()))
    return sketcher.close()


@pytest.mark.parametrize("candidates", Candidates)
def test_sketches_are_compared_by_tasks_as_by_one_process(candidates: Candidates) -> None:
    """Mutations: a band is left out; a pair that two bands find counts twice; pairs of a class with itself are lost."""
    tolerance = Tolerance(candidates=candidates, resemblance=0.5)
    for wanted in _WANTED:
        tasks, engine = tasks_and_engine()
        one_said, far_said = list[str](), list[str]()
        one = [*compared(sketches(), tolerance, wanted, None, one_said.append)]
        assert [*compared(sketches(), tolerance, wanted, tasks, far_said.append)] == one
        assert far_said == one_said
        assert one, wanted
        n_similar = 0 if wanted == "indexes" else 4 if candidates is Candidates.BANDS else 1
        assert engine.ran.count(("similar", ANYWHERE)) == n_similar


def test_sites_are_mined_by_tasks_as_by_one_process() -> None:
    """In the order of their names, with their rules. Mutation: sketches are lost on the way."""
    lists = {}
    for site in ("b.test", "a.test"):
        seen = lists[site] = list[Sighting]()
        for page in range(40):
            for more, said in (("", ""), ("?sid=7", ""), ("?view=print", " printed")):
                look = look_at(f"http://{site}/{page}{more}", token_hashes(words(0, 3 * page + 1) + said))
                places = np.frombuffer(look.sketch, dtype="<u2")
                seen.append(Sighting(f"http://{site}/{page}{more}", 200, (900, 900), look.fingerprint, places))
    tasks, engine = tasks_and_engine()
    one = [*_by_site(lists, 300)]
    assert [*_by_tasks(lists, 300, tasks)] == one
    assert [site.site for site in one] == ["a.test", "b.test"]
    assert all(site.rules for site in one)
    assert engine.ran == [("mine", ANYWHERE)] * 2


def test_columns_are_read_as_they_were_packed_and_objects_never() -> None:
    arrays = {
        "bools": np.array([True, False]),
        "keys": np.array([b"a" * 16, b"b" * 15 + b"\0"], dtype="S16"),
        "one": np.array(7),
        "none": np.zeros((0, 2)),
    }
    others: dict[str, Value] = {
        "links": Graph(np.array([0, 1, 1]), np.array([1], dtype=np.int32)),
        "by shard": {3: np.arange(4, dtype=np.uint16)},
        "texts": ["a", "ß"],
    }
    found = unpack(pack({**arrays, **others}))
    assert found.keys() == arrays.keys() | others.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape, found[name].tolist()) == (array.dtype, array.shape, array.tolist())
    assert (found["links"].offsets.tolist(), found["links"].targets.tolist()) == ([0, 1, 1], [1])
    assert found["by shard"][3].tolist() == [0, 1, 2, 3]
    assert found["texts"] == ["a", "ß"]
    assert unpack(b"") == {}
    with pytest.raises(AssertionError, match="a column of object"):
        pack({"objects": np.array([print], dtype=object)})
    forged = msgspec.msgpack.encode({"objects": ["_Array", "|O", [1], bytes(8)]})
    with pytest.raises(msgspec.DecodeError, match="a column of object"):
        unpack(forged)
