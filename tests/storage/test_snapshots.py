"""A snapshot is the crawl as of one moment, taken while it goes on; what is restored of it is that crawl, or nothing."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from archive_oracle import archive_faults
from click.testing import CliRunner
from half_crawled import half_a_crawl, known
from harness import crawl, demo, differences, findings, options, resume, write_config

from thresher.config.settings import Settings, SnapshotSettings
from thresher.crawler.children import python
from thresher.crawler.cli import thresher
from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.errors import StoreError, UsageError
from thresher.crawler.process.snapshots import SnapshotTimer
from thresher.storage.check import page_problems
from thresher.storage.partitions import shard_paths
from thresher.storage.schema import HOSTS
from thresher.storage.snapshots import manifest as manifests
from thresher.storage.snapshots import taking
from thresher.storage.snapshots.cut import Frozen, frozen
from thresher.storage.snapshots.manifest import ChunkPlace, FileChunks
from thresher.storage.snapshots.restoring import restore, snapshots
from thresher.storage.snapshots.taking import take
from thresher.storage.snapshots.targets import FolderTarget, target
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return half_a_crawl(tmp_path_factory.mktemp("crawled"))


def test_what_is_restored_is_the_crawl_of_each_snapshot_and_only_changes_are_new(crawled: Path, tmp_path: Path) -> None:
    """One agent, then three: shards, their table and their results are in it."""
    store, kept = shutil.copytree(crawled, tmp_path / "store"), FolderTarget(tmp_path / "kept")
    first = take(store, kept, keep=9)
    before = known(store)
    again = take(store, kept, keep=9)
    assert again.new_bytes < first.new_bytes / 20
    reshard(store, 3)
    third = take(store, kept, keep=9)
    for number in (1, 2, 3):
        assert restore(kept, tmp_path / str(number), number).number == number
        assert known(tmp_path / str(number)) == before
        assert verify(tmp_path / str(number)) == []
    assert [found.number for found in snapshots(kept)] == [1, 2, 3]
    assert third.pages == first.pages


def test_a_crawl_of_several_agents_is_cut_at_one_moment_and_goes_on_where_it_was(tmp_path: Path) -> None:
    """Taken again and again while agents send each other messages; the last one is restored, resumed, and finds what there is. Its archive
    has the records of each visit once.

    Mutations: each shard cut at a moment of its own loses messages, or has some that were never sent; archives are not copied.
    """
    kept = FolderTarget(tmp_path / "kept")
    with demo("kill", tmp_path, n_sites=4, pages_per_host=[6, 10]) as server:
        config = write_config(tmp_path, {**options(server), "archive": {"format": "warc"}}, server.web.seeds())
        with crawl(tmp_path / "reference", config) as life:
            assert life.end() == 0, life.said
        with crawl(tmp_path / "store", config, "--set", "agents=3") as life:
            while life.process.poll() is None:
                if (tmp_path / "store" / "state").exists() and (tmp_path / "store" / "status.json").exists():
                    take(tmp_path / "store", kept, keep=4)
            assert life.end() == 0, life.said
        if not kept.names("snapshots"):  # this process stood still all the while
            take(tmp_path / "store", kept, keep=4)
        chosen = snapshots(kept)[0]
        restore(kept, tmp_path / "restored", chosen.number)
        assert verify(tmp_path / "restored") == []
        with resume(tmp_path / "restored") as life:
            assert life.end() == 0, life.said
    assert differences(findings(tmp_path / "reference"), findings(tmp_path / "restored")) == ([], [], [])
    assert verify(tmp_path / "restored") == []
    assert archive_faults(tmp_path / "restored") == []


_COMMITTING = """
import sys, time
from pathlib import Path
from thresher.config.settings import Settings, SnapshotSettings
from thresher.storage.schema import HOSTS
from thresher.storage.store import Store

def fill(value):
    for n in range(2000):
        store.put(HOSTS, n.to_bytes(8, "big") * 2, value)
    store.end_visit()
    store.flush(store.clock).result()

store = Store.create(Path(sys.argv[1]), Settings(), time.time())
fill(b"before")
print("ready", flush=True)
for _ in sys.stdin:
    fill(b"after")
    print("done", flush=True)
store.close()
"""


def test_what_is_committed_after_the_cut_is_not_in_the_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits between the cut and the copy: each frees the pages of the one before.

    Mutations: without the transactions that hold the pages the copy is damaged; the file's own head pages tell of a later commit.
    """
    command = python.code(_COMMITTING, str(tmp_path / "store"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=python.environment()) as crawling:
        assert crawling.stdin is not None
        assert crawling.stdout is not None
        assert crawling.stdout.readline() == b"ready\n"

        @contextmanager
        def cut_and_commit(shards: Sequence[Path]) -> Iterator[list[Frozen]]:
            assert crawling.stdin is not None
            assert crawling.stdout is not None
            with frozen(shards) as files:
                for _ in range(6):
                    crawling.stdin.write(b"commit\n")
                    crawling.stdin.flush()
                    assert crawling.stdout.readline() == b"done\n"
                yield files

        monkeypatch.setattr(taking, "frozen", cut_and_commit)
        take(tmp_path / "store", FolderTarget(tmp_path / "kept"), keep=1)
        crawling.communicate()
    restore(FolderTarget(tmp_path / "kept"), tmp_path / "restored")
    assert [page_problems(tmp_path / "restored" / name / "data.mdb") for name in ("state", "results")] == [[], []]
    with View(tmp_path / "restored") as view:
        assert {value for _, value in view.rows(HOSTS)} == {b"before"}


def test_only_the_last_snapshots_are_kept_and_what_they_need(crawled: Path, tmp_path: Path) -> None:
    """What a snapshot that was cut short has left goes with the next. A worn pack is written again, and goes."""
    store, kept = shutil.copytree(crawled, tmp_path / "store"), FolderTarget(tmp_path / "kept")
    kept.put("packs/000000-0000", b"of a snapshot that was cut short")
    take(store, kept, keep=2)
    first = set(kept.names("packs"))
    assert "packs/000000-0000" not in first
    for _ in range(2):
        reshard(store, 2 if len(shard_paths(store)) == 1 else 1)
        take(store, kept, keep=2)
    assert kept.names("snapshots") == ["snapshots/000002", "snapshots/000003"]
    needed = {place.name for found in snapshots(kept) for file in found.files for place in file.places()}
    assert set(kept.names("packs")) == needed


def test_a_pack_of_which_little_is_needed_is_given_up() -> None:
    """A quarter or less: its chunks are written again."""

    def file(*places: ChunkPlace) -> FileChunks:
        return FileChunks("x", 0, b"".join(map(manifests.packed, places)))

    digest = bytes(20)
    worn, sound = [ChunkPlace(digest, 1, 0, 300, 100)], [ChunkPlace(digest, 1, 1, 300, 100), ChunkPlace(digest, 1, 1, 0, 100)]
    assert taking.worn([file(*worn), file(*sound)]) == {"packs/000001-0000"}


def test_damage_and_mistakes_are_told_and_leave_nothing_behind(crawled: Path, tmp_path: Path) -> None:
    store, place = shutil.copytree(crawled, tmp_path / "store"), tmp_path / "kept"
    kept = FolderTarget(place)
    with pytest.raises(UsageError, match="expected a target with snapshots, found none"):
        restore(kept, tmp_path / "new")
    take(store, kept, keep=1)
    with pytest.raises(UsageError, match="snapshot 7: expected one of 1"):
        restore(kept, tmp_path / "new", 7)
    with pytest.raises(UsageError, match="expected a new or empty directory"):
        restore(kept, store)
    with Store.create(tmp_path / "other", Settings(), time.time()):
        pass
    (found,) = snapshots(kept)
    kept.put("snapshots/000001", manifests.encode(msgspec.structs.replace(found, format=9)))
    with pytest.raises(StoreError, match="snapshot of format 9, expected 1"):
        snapshots(kept)
    kept.put("snapshots/000001", manifests.encode(found))
    with pytest.raises(UsageError, match="the snapshots of another crawl"):
        take(tmp_path / "other", kept, keep=1)
    pack = place / kept.names("packs")[0]
    pack.write_bytes(pack.read_bytes()[:1000] + b"x" * 50 + pack.read_bytes()[1050:])
    with pytest.raises(StoreError, match="damaged at byte"):
        restore(kept, tmp_path / "new")
    pack.unlink()
    with pytest.raises(StoreError, match="expected an object of a snapshot, found none"):
        restore(kept, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    (place / "snapshots" / "000001").write_bytes(b"no snapshot")
    with pytest.raises(StoreError, match="expected a snapshot, found something else"):
        snapshots(kept)


def test_a_target_of_fsspec_holds_the_same(crawled: Path, tmp_path: Path) -> None:
    """One that is no folder: fsspec's own in memory; and an address that nothing serves is told."""
    pytest.importorskip("fsspec", reason="the extra `snapshots` is not installed")
    kept = target("memory://kept/crawl")
    take(crawled, kept, keep=1)
    take(crawled, kept, keep=1)
    restore(kept, tmp_path / "restored")
    assert known(tmp_path / "restored") == known(crawled)
    assert kept.names("snapshots") == ["snapshots/000002"]
    with pytest.raises(StoreError, match="found none"):
        kept.get("snapshots/000009")
    with pytest.raises(UsageError, match="cannot be used as a target"):
        target("nowhere://kept")


async def test_a_timer_takes_them_and_says_when_it_cannot(crawled: Path, tmp_path: Path) -> None:
    """Mutation: a child that failed was taken for one that had not."""
    notes: list[str] = []
    (tmp_path / "file").touch()
    for where in (tmp_path / "kept", tmp_path / "file"):
        async with SnapshotTimer(crawled, SnapshotSettings(target=str(where)), notes.append).running(), asyncio.timeout(600):
            while not (notes or (where / "snapshots" / "000001").exists()):  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.05)
    (said,) = notes
    assert said.startswith("no snapshot was taken: ")
    assert str(tmp_path / "file") in said
    restore(FolderTarget(tmp_path / "kept"), tmp_path / "restored")
    assert known(tmp_path / "restored") == known(crawled)


def test_the_commands_take_list_and_restore(crawled: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    runner = CliRunner()
    for _ in range(2):
        assert runner.invoke(thresher, ["snapshot", str(crawled), kept]).exit_code == 0
    listed = runner.invoke(thresher, ["restore", kept, "--list", "--json"])
    assert [msgspec.json.decode(line)["number"] for line in listed.stdout.splitlines()] == [1, 2]
    said = runner.invoke(thresher, ["restore", kept, str(tmp_path / "restored"), "--number", "1"])
    assert said.stdout.startswith("snapshot 1 of 2")
    assert known(tmp_path / "restored") == known(crawled)
    assert isinstance(runner.invoke(thresher, ["restore", kept]).exception, UsageError)
