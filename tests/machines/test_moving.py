"""A crawl moves to other machines: shards and partitions go from disk to disk, and nothing that was known is lost. Without an engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from half_crawled import half_a_crawl, known
from harness import crawl, demo, options, write_config
from hypothesis import given
from hypothesis import strategies as st
from long import shortened
from tasks_here import TasksHere

from thresher.config.settings import SnapshotSettings
from thresher.crawler.analysis.crawl_measures import measure, measure_by_machines
from thresher.crawler.analysis.rank_far import RankChoice
from thresher.crawler.analysis.ranking import Ranking, of_store, rank, rank_by_machines
from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.core.errors import StoreError, UsageError
from thresher.crawler.core.ownership import N_PARTITIONS, divided
from thresher.crawler.core.places import Level
from thresher.crawler.graph.collapse import resolve
from thresher.crawler.machines import far_moves
from thresher.crawler.machines.far_changes import ChangeShard
from thresher.crawler.machines.far_merges import Taken
from thresher.crawler.machines.far_shards import FarShards, NewShard, ShardAnswer
from thresher.crawler.machines.losing import give_up
from thresher.crawler.machines.merging import require_merged
from thresher.crawler.machines.moving import fits, placed, redistribute
from thresher.crawler.machines.own_shards import OwnShards
from thresher.crawler.machines.snapshotting import snapshots
from thresher.crawler.start.opening import reconfigure
from thresher.storage import carrying
from thresher.storage.carrying import FilePiece, files_of, read_piece
from thresher.storage.export.reading import reading_shard
from thresher.storage.export.scans import hosts
from thresher.storage.far import FarAnswer, Get
from thresher.storage.far_server import ShardServer
from thresher.storage.graph import read_known
from thresher.storage.partitions import Partitions, Ranges, ranges_of, read_partitions, shard_path, write_partitions
from thresher.storage.representatives import representatives
from thresher.storage.schema import Meta
from thresher.storage.shards import open_view
from thresher.storage.snapshots.taking import take_shards
from thresher.storage.snapshots.targets import FolderTarget
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.ways import Part, connect_by

NAMES = ("a", "b", "c")


class CutShortError(Exception):
    """Raised where the command shall die."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return half_a_crawl(tmp_path_factory.mktemp("crawled"))


class Disks:
    """The disks of three machines; the crawl is begun on the first. Implements `Asks`, and a way to read the shards."""

    def __init__(self, path: Path, crawled: Path) -> None:
        self.disks = {name: path / name / "crawl" for name in NAMES}
        shutil.copytree(crawled, self.head)
        write_partitions(self.head, Partitions(1, [(0, N_PARTITIONS - 1, 0)], machines=["a"]))
        with reading_shard(self.head) as view:
            self._secret, self._settings = view.secret, msgspec.json.encode(view.settings)
        self.n_left = -1  # steps until the command dies
        self._servers: dict[int, ShardServer] = {}
        self._tasks = TasksHere(lambda agent: self.table.machines[agent], lambda agent: self._servers[agent].view())

    @property
    def head(self) -> Path:
        return self.disks["a"]

    @property
    def table(self) -> Partitions:
        table = read_partitions(self.head)
        assert table is not None
        return table

    def ask(self, machine: str, what: str, argument: object, *, source: str = "") -> msgspec.Raw:
        fetch = (lambda piece: read_piece(self.disks[source], piece)) if source else None
        packed = FarShards(self.disks[machine]).answer(what, msgspec.json.encode(argument), fetch)
        self.n_left -= 1
        if self.n_left == 0:
            raise CutShortError
        answer = msgspec.json.decode(packed, type=ShardAnswer)
        assert not answer.fault, answer.fault
        return answer.said

    def redistribute(self, *wanted: str) -> None:
        redistribute(self.head, wanted, self, lambda agent, planned: NewShard(agent, self._settings, self._secret, [], planned))

    def known(self) -> dict[str, Any]:
        connect_by(lambda _path, _table: self)
        return known(self.head, [shard_path(self.disks[name], agent) for agent, name in enumerate(self.table.machines)])

    def shards_on(self, name: str) -> list[str]:
        return sorted(entry.name for entry in self.disks[name].glob("agent-*"))

    def ask_of(self, agent: int, *, at_once: bool) -> Callable[[bytes], bytes]:
        self._servers[agent] = ShardServer(shard_path(self.disks[self.table.machines[agent]], agent), at_once=at_once)
        return self._servers[agent].answer

    def export(self, agent: int, order: bytes) -> Part:
        return self._tasks.export(agent, order)

    def put(self, packed: bytes) -> Part:
        return self._tasks.put(packed)

    def task(self, name: str, parts: Sequence[Part], n_results: int, agent: int | None) -> list[Part]:
        return self._tasks.task(name, parts, n_results, agent)

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        return self._tasks.fetch(parts)

    def change(self, agent: int, what: str, argument: bytes) -> bytes:
        return bytes(self.ask(self.table.machines[agent], "change", ChangeShard(agent, what, msgspec.Raw(argument))))

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


def test_machines_come_and_go_and_nothing_that_was_known_is_lost(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resume gives the head's shard its configuration, even if the other machines cannot be reached.

    Mutations: a shard's results stay on the machine that leaves; copies made for a move stay on the disk.
    """
    monkeypatch.setattr(carrying, "PIECE_BYTES", 1 << 16)
    disks = Disks(tmp_path, crawled)
    before = disks.known()
    for wanted, there in ((("a", "b", "c"), [[], ["agent-1"], ["agent-2"]]), (("a", "c"), [[], [], ["agent-1", "agent-2"]])):
        assert not fits(disks.table, wanted)
        disks.redistribute(*wanted)
        assert fits(disks.table, wanted)
        assert [disks.shards_on(name) for name in NAMES] == there
        assert disks.known() == before
        assert verify(disks.head) == []
    ranks_are_equal(disks)
    assert len(set(disks.table.table())) == 2
    assert reconfigure(disks.head, (), (), (), ("limits.max_pages=99",)) == ""
    with reading_shard(disks.head) as view:
        assert view.settings.limits.max_pages == 99


LEVELS: tuple[Level, ...] = ("host", "site")
CHOICES = (
    RankChoice(with_hits=True),
    RankChoice(with_redirects=False, self_links=True, only_linked=True),
    RankChoice(collapsed=True, with_hits=True),
    RankChoice(collapsed=True, only_linked=True, variant="weighted"),
    RankChoice(variant="remote"),
    *(RankChoice(level, with_hits=True) for level in LEVELS),
    *(RankChoice(level, collapsed=True, only_linked=True) for level in LEVELS),
)


def test_machines_rank_together_as_one_does(tmp_path: Path) -> None:
    """To the last bit, of a crawl with redirects, copies, errors and a URL without links; sites have moved since their links were found.

    Mutations: groups in the order of shards; a link to another group of the same shard left out; URLs counted as pages; a URL that another
    one represents stays, or its links keep their source; fetches are not those of the page; URLs without links stay; hubs of own nodes
    alone; links to the same host count in full; all links are early ones.
    """
    with demo("kill", tmp_path, n_sites=6, pages_per_host=[8, 12]) as server:
        filters = {name: {"mode": "observe"} for name in ("exact_duplicate", "soft_error", "near_replica")}
        seeds = server.web.seeds()
        config = write_config(tmp_path, options(server, filters=filters), [*seeds, f"{seeds[0]}no-page-links-here"])
        with crawl(tmp_path / "store", config) as life:
            assert life.end() == 0, life.said
    disks = Disks(tmp_path, tmp_path / "store")
    disks.redistribute(*NAMES)
    disks.redistribute("a", "c", "c", "b")
    ranks_are_equal(disks)
    with open_view(disks.head) as view:
        ends = resolve(representatives(view, read_known(view)))
        assert (ends[ends >= 0] != np.flatnonzero(ends >= 0)).any()
        pages = [of_store(view, collapsed=False), of_store(view, collapsed=True), of_store(view, collapsed=False).linked()]
    assert len({subject.graph.n_nodes for subject in pages}) == 3


def ranks_are_equal(disks: Disks) -> None:
    """Check that the machines together rank as one does, whatever is ranked."""
    connect_by(lambda _path, _table: disks)
    with open_view(disks.head, at_once=True) as view:
        for choice in CHOICES:
            subject = of_store(view, collapsed=choice.collapsed, with_redirects=choice.with_redirects, self_links=choice.self_links)
            subject = subject.linked() if choice.only_linked else subject
            one = rank(subject, level=choice.level, variant=choice.variant, with_hits=choice.with_hits)
            far = rank_by_machines(view, choice)
            assert far is not None
            assert _bits(far) == _bits(one), choice
            if choice.level == "page":
                measured = measure_by_machines(view, replace(choice, with_hits=False))
                assert measured is not None
                assert measured == measure(subject, variant=choice.variant), choice


def _bits(found: Ranking) -> dict[str, object]:
    """Return all that is known of a ranking, to be compared to the last bit."""
    hits, members = found.hits, found.members
    return {
        "names": [*found.names(range(len(found.found.ranks)))],
        "ranks": (found.found.ranks.tobytes(), found.found.n_iterations, found.found.error),
        "degrees": (found.degrees.into.tolist(), found.degrees.out.tolist()),
        "counts": (found.n_redirects, found.n_self_links),
        "fetched": None if found.fetched is None else found.fetched.tolist(),
        "hits": None if hits is None else (hits.hubs.tobytes(), hits.authorities.tobytes(), hits.n_iterations, hits.converged),
        "members": None if members is None else [column.tolist() for column in members if column is not None],
    }


@pytest.mark.parametrize("n_steps", shortened((3, 7, 1, 5, 9, 11), 2))
def test_whenever_the_command_dies_the_next_one_goes_on(crawled: Path, tmp_path: Path, n_steps: int) -> None:
    """Each command dies after another step: with half of the shards made, between copy and deletion, with a shard on two disks."""
    disks = Disks(tmp_path, crawled)
    before = disks.known()
    disks.redistribute("a", "b")
    disks.n_left = n_steps
    with pytest.raises(CutShortError):
        disks.redistribute("a", "c", "c")
    disks.n_left = -1
    disks.redistribute("a", "c", "c")
    assert disks.known() == before
    assert verify(disks.head) == []
    assert [disks.shards_on(name) for name in NAMES] == [[], [], ["agent-1", "agent-2"]]


def test_a_shard_that_a_killed_move_has_left_behind_does_not_wait_to_be_merged(crawled: Path, tmp_path: Path) -> None:
    """But one that has gone on since does. Mutation: the copied shard is not recorded as taken."""
    disks = Disks(tmp_path, crawled)
    disks.redistribute("a", "b")
    left, kept = shard_path(disks.disks["b"], 1), tmp_path / "kept"
    shutil.copytree(left, kept)
    disks.redistribute("a", "c")
    shutil.copytree(kept, left)
    require_merged(disks.head, disks.table, NAMES, disks)
    with Store.open(left, None, time.time()) as store:
        store.end_visit()
        store.flush(time.time()).result()
    with pytest.raises(UsageError, match="the disk of machine b is back"):
        require_merged(disks.head, disks.table, NAMES, disks)
    require_merged(disks.head, msgspec.structs.replace(disks.table, moving=disks.table.owners), NAMES, disks)  # resume ends that first


def test_a_shard_is_read_between_steps_in_one_process(crawled: Path, tmp_path: Path) -> None:
    """As by the actor of a machine while a returned disk is merged. Mutation: readers stay open, and a step cannot open the shard."""
    disks = Disks(tmp_path, crawled)
    disks.redistribute("a", "b")
    there = OwnShards(disks.disks["b"])
    question = msgspec.msgpack.encode(Get("meta", [Meta.VERSION]))
    for at_once in (False, True):
        read = there.read(1, question, at_once=at_once)
        assert msgspec.msgpack.decode(read, type=FarAnswer).values != [None]
        done = msgspec.json.decode(there.step("taken", msgspec.json.encode(Taken([1]))), type=ShardAnswer)
        assert not done.fault
    there.close()


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_each_machine_has_the_agents_that_it_is_to_have_and_shards_stay_where_they_can(before: list[str], wanted: list[str]) -> None:
    """The first of all is the head's."""
    machines, wanted = ["a", *before], ["a", *wanted]
    after = placed(machines, wanted)
    assert sorted(after[: len(wanted)]) == sorted(wanted)
    assert after[0] == "a"
    assert set(after) == set(wanted)
    assert placed(after, wanted) == after
    if all(wanted.count(name) >= machines.count(name) for name in machines):
        assert after[: len(machines)] == machines


def test_a_machine_can_be_given_up_only_where_something_of_it_is_left(crawled: Path, tmp_path: Path) -> None:
    """Each refusal says why. A snapshot from before a move of partitions does not fit the lost shard."""
    disks = Disks(tmp_path, crawled)
    disks.redistribute("a", "b")
    with reading_shard(disks.head) as view:
        plain = view.settings
    kept = msgspec.structs.replace(plain, snapshots=SnapshotSettings(target=str(tmp_path / "kept")))
    shard, place = shard_path(disks.disks["b"], 1), FolderTarget(tmp_path / "kept" / "b")
    for machine, settings, why in (
        ("z", kept, "expected a machine with shards of"),
        ("a", kept, "is the head of"),
        ("b", plain, "snapshots.target was not configured"),
    ):
        with pytest.raises(UsageError, match=why):
            give_up(disks.head, disks.table, machine, settings, disks)
    write_partitions(disks.disks["b"], disks.table)
    take_shards(disks.disks["b"], [shard], place, keep=1, marks=True)
    before = disks.known()
    with reading_shard(shard) as view:
        n_hosts = len(dict(hosts(view)))  # in one of 64 crawls the secret gives all six sites to the other shard
    shutil.rmtree(shard)
    moved = msgspec.structs.replace(disks.table, owners=ranges_of(divided(2)[::-1]))
    write_partitions(disks.head, moved)
    with pytest.raises(AssertionError, match="from before they were moved"):
        give_up(disks.head, disks.table, "b", kept, disks)
    moving = msgspec.structs.replace(moved, moving=moved.owners)
    with pytest.raises(UsageError, match="partitions were being moved"):
        give_up(disks.head, moving, "b", kept, disks)
    write_partitions(disks.head, msgspec.structs.replace(moved, owners=read_owners(disks.disks["b"])))
    now = time.time()
    assert give_up(disks.head, disks.table, "b", kept, disks) == [1]
    with reading_shard(shard_path(disks.head, 1)) as view:
        asked_at = [at for host in dict(hosts(view)).values() for at in (host.next_at, host.due) if at]
    assert len(asked_at) >= n_hosts
    assert all(at > now + LEASE_S for at in asked_at), "the lost machine may have a lease so long"
    assert disks.table.machines == ["a", "a"]
    assert rested(disks.known()) == rested(before)


def test_a_snapshot_that_is_taken_by_hand_takes_the_place_of_a_lost_disk(crawled: Path, tmp_path: Path) -> None:
    """Mutations: shards of other machines are left out; the snapshot does not count for senders; a target that nothing reads is taken."""
    disks, kept = Disks(tmp_path, crawled), tmp_path / "kept"
    disks.redistribute("a", "b", "b")
    for name in "ab":
        write_partitions(disks.disks[name], disks.table)
    before, own = disks.known(), SnapshotSettings(target=str(kept))
    for configured, why in ((SnapshotSettings(), "which is not set"), (own, f"which is {kept}")):
        with pytest.raises(UsageError, match=why):
            [*snapshots(disks.head, disks.table, configured, str(tmp_path / "other"), 2, disks)]
    for number in (1, 2):
        taken = dict(snapshots(disks.head, disks.table, own, f"{kept}/", 1, disks))
        assert {machine: one.number for machine, one in taken.items()} == {"a": number, "b": number}
    with open_view(disks.head) as view:
        assert sum(one.pages for one in taken.values()) == view.counters.get("pages") > 0
    shards = [shard_path(disks.disks["b"], agent) for agent in (1, 2)]
    assert all((shard / "kept.json").exists() for shard in shards)
    for shard in shards:
        shutil.rmtree(shard)
    with reading_shard(disks.head) as view:
        settings = msgspec.structs.replace(view.settings, snapshots=own)
    assert give_up(disks.head, disks.table, "b", settings, disks) == [1, 2]
    assert rested(disks.known()) == rested(before)


def read_owners(directory: Path) -> Ranges:
    table = read_partitions(directory)
    assert table is not None
    return table.owners


def rested(what: dict[str, Any]) -> dict[str, Any]:
    """Return rows without the times at which hosts may be asked next."""
    hosts = {queue: msgspec.structs.replace(host, due=0.0, next_at=0.0) for queue, host in what["hosts"].items()}
    return {**what, "hosts": hosts}


def test_only_files_of_a_shard_can_be_asked_for(crawled: Path, tmp_path: Path) -> None:
    """Names are checked when files are read and when they are written."""
    disks = Disks(tmp_path, crawled)
    assert {"state/data.mdb", "results/data.mdb"} <= {file.name for file in files_of(disks.head)}
    for name in ("../secret", "/etc/passwd", "state/../../x", ""):
        with pytest.raises(StoreError, match="expected the name of a file below it"):
            read_piece(disks.head, FilePiece(0, name, 0))
    with pytest.raises(StoreError, match="does not know"):
        far_moves.do(disks.head, "sing", b"0", None)
