"""The store's promises to the crawl: reads see writes, groups are whole, maps grow, one process at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import lmdb
import pytest
from forking_agents import forked_code
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.errors import DiskError, ThresherError
from thresher.storage.packing import pack_u64
from thresher.storage.schema import COUNTERS, DUE, HELD, PAGES, QUEUE, SEEN
from thresher.storage.seal import sealed
from thresher.storage.store import Store

SMALL = Settings(store=StoreSettings(map_size=1 << 20))
ROOT = Path(__file__).parents[2]


def test_what_was_flushed_is_there_after_reopening(tmp_path: Path) -> None:
    with Store.create(tmp_path, Settings(), 1000.0) as store:
        secret = store.secret
        store.put(SEEN, b"k", b"v")
        store.flush(2000.0).result()
        assert store.get(SEEN, b"k") == b"v"
    with Store.open(tmp_path, None, 1500.0) as store:
        assert (store.get(SEEN, b"k"), store.secret, store.clock) == (b"v", secret, 2000.0)
        assert len(secret) == 32


def test_the_directory_is_nobody_elses_business(tmp_path: Path) -> None:
    with Store.create(tmp_path / "crawl", Settings(), 0.0):
        for folder, _, files in os.walk(tmp_path / "crawl"):
            assert Path(folder).stat().st_mode & 0o077 == 0
            assert all((Path(folder) / file).stat().st_mode & 0o077 == 0 for file in files)


def test_numbers_go_on_where_they_stopped(tmp_path: Path) -> None:
    with Store.create(tmp_path, Settings(), 0.0) as store:
        assert [store.take_seq() for _ in range(3)] == [1, 2, 3]
        assert store.visit == 1
        store.end_visit()
        store.counters.add("pages", 7)
    with Store.open(tmp_path, None, 0.0) as store:
        assert (store.take_seq(), store.visit, store.counters.get("pages")) == (4, 2, 7)


def test_a_group_holds_whole_visits(store: Store) -> None:
    store.put(PAGES, pack_u64(store.visit), b"page")
    with pytest.raises(AssertionError, match="middle of a visit"):
        store.flush()
    store.end_visit()
    assert (store.pending_visits, store.committing) == (1, False)
    store.flush().result()
    assert (store.pending_visits, store.committing) == (0, False)


def test_results_past_the_watermark_are_cut_on_opening(tmp_path: Path) -> None:
    with Store.create(tmp_path, Settings(), 0.0) as store:
        for _ in range(3):
            store.put(PAGES, pack_u64(store.visit), b"page")
            store.end_visit()
    with lmdb.open(str(tmp_path / "results"), max_dbs=40, lib_version=0) as env, env.begin(write=True) as txn:
        for key, value in sealed(PAGES, [(pack_u64(visit), b"orphan") for visit in (4, 5)]):
            txn.put(key, value, db=env.open_db(b"pages", txn=txn))
    with Store.open(tmp_path, None, 0.0) as store:
        assert [key for key, _ in store.scan(PAGES)] == [pack_u64(1), pack_u64(2), pack_u64(3)]


KEYS = st.tuples(st.sampled_from([b"a" * 17, b"b" * 17]), st.sampled_from([b"", b"\x00", b"k", b"k\xff"])).map(b"".join)
ACTIONS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from([QUEUE, SEEN, DUE, HELD]), KEYS, st.binary(max_size=3)),
    st.tuples(st.just("delete"), st.sampled_from([QUEUE, SEEN, DUE, HELD]), KEYS),
    st.tuples(st.just("flush")),
    st.tuples(st.just("land")),
    st.tuples(st.just("scan"), st.sampled_from([QUEUE, SEEN, DUE, HELD]), KEYS, st.integers(0, 19), st.integers(1, 5) | st.none()),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_reads_see_every_write_made_before(tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[Any, ...]]) -> None:
    """Law: a store answers as a dict does, wherever its rows are.

    The disk is slow here, so that a group of rows is often on its way to it. Mutations: a deleted row is read from the disk; layers are
    merged in the wrong order; the snapshot is not renewed.
    """
    model: dict[str, dict[bytes, bytes]] = {table: {} for table in (QUEUE, SEEN, DUE, HELD)}
    disk = Event()
    with Store.create(tmp_path_factory.mktemp("model"), SMALL, 0.0) as store:
        commit = store._disk.commit
        store._disk.commit = lambda *args: (disk.wait(), commit(*args))[1]  # type: ignore[method-assign]  # the disk takes its time
        try:
            for action in actions:
                match action:
                    case ("put", table, key, value):
                        store.put(table, key, value)
                        model[table][key] = value
                    case ("delete", table, key):
                        store.delete(table, key)
                        model[table].pop(key, None)
                    case ("scan", table, key, n, limit):
                        wanted = [row for row in sorted(model[table].items()) if row[0].startswith(key[:n])]
                        assert store.scan(table, key[:n], limit=limit) == wanted[:limit]
                        assert store.scan(table, key[:n], start=key, limit=limit) == [row for row in wanted if row[0] >= key][:limit]
                    case ("flush",) if not store.committing:
                        disk.clear()
                        store.flush()
                    case ("land",) if store.committing:
                        disk.set()
                        assert store._commit is not None
                        store._commit.result()
                for table, rows in model.items():
                    keys = sorted({action[2], *rows}) if len(action) > 2 else sorted(rows)
                    assert store.get_many(table, keys) == [rows.get(key) for key in keys]
                    assert [store.get(table, key) for key in keys] == [rows.get(key) for key in keys]
                    assert store.scan(table) == sorted(rows.items())
        finally:
            disk.set()


def test_a_scan_reads_past_many_deleted_rows(store: Store) -> None:
    for n in range(300):
        store.put(QUEUE, b"q" * 17 + pack_u64(n), b"")
    store.flush().result()
    for n in range(290):
        store.delete(QUEUE, b"q" * 17 + pack_u64(n))
    assert [key[17:] for key, _ in store.scan(QUEUE, b"q" * 17, limit=3)] == [pack_u64(290), pack_u64(291), pack_u64(292)]


def test_a_map_that_is_full_grows_and_nothing_is_lost(tmp_path: Path) -> None:
    """F85: a map of 1 MiB, 4 MB of rows in groups larger than the map."""
    with Store.create(tmp_path, SMALL, 0.0) as store:
        for group in range(4):
            for n in range(5_000):
                store.put(SEEN, pack_u64(n * 4 + group), b"x" * 200)
            future = store.flush()
            while not future.done():
                assert store.get(SEEN, pack_u64(group)) is not None
                assert store.get(SEEN, b"absent") is None
                time.sleep(0.001)
            future.result()
        assert len(store.scan(SEEN)) == 20_000
    with Store.open(tmp_path, None, 0.0) as store:
        assert len(store.scan(SEEN)) == 20_000


def test_when_the_writer_dies_every_later_call_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """F84: the crawl never runs on without persistence."""

    def dies(*_: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(store._disk, "commit", dies)
    store.put(SEEN, b"k", b"v")
    with pytest.raises(ThresherError, match="RuntimeError") as caught:
        store.flush().result(timeout=600)
    assert caught.value.exit_code == 1
    for call in (lambda: store.get(SEEN, b"other"), lambda: store.scan(SEEN), lambda: store.get_many(SEEN, [b"k"])):
        with pytest.raises(ThresherError, match="the store broke"):
            call()


def test_a_failing_disk_is_tried_again_with_the_same_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """F86: pause, say why, go on when there is room."""
    commit, refusals = (
        store._disk.commit,
        [lmdb.Error("mdb_txn_commit: Input/output error"), lmdb.DiskError("mdb_put"), OSError(28, "No space left")],
    )
    seen_trouble = []

    def refuses(*args: Any) -> None:
        seen_trouble.append(store.trouble)
        if refusals:
            raise refusals.pop()
        commit(*args)

    monkeypatch.setattr(store._disk, "commit", refuses)
    store.put(SEEN, b"k", b"v")
    store.put(PAGES, pack_u64(store.visit), b"page")
    store.end_visit()
    store.flush().result(timeout=600)
    assert (store.get(SEEN, b"k"), store.get(PAGES, pack_u64(1)), store.trouble) == (b"v", b"page", "")
    assert any("No space left" in text for text in seen_trouble)


def test_a_disk_that_stays_broken_ends_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F87: exit 74; the state opens afterwards with all that was acknowledged."""
    store = Store.create(tmp_path, Settings(), 0.0, patience_s=0.2)
    store.put(SEEN, b"k", b"v")
    store.flush().result()

    def refuses(*_: object) -> None:
        raise lmdb.Error("mdb_txn_commit: Input/output error")

    monkeypatch.setattr(store._disk, "commit", refuses)
    store.put(SEEN, b"lost", b"v")
    with pytest.raises(DiskError, match="resume") as caught:
        store.flush().result(timeout=600)
    assert caught.value.exit_code == 74
    store.close()
    with Store.open(tmp_path, None, 0.0) as store:
        assert (store.get(SEEN, b"k"), store.get(SEEN, b"lost")) == (b"v", None)


def test_a_directory_that_cannot_be_written_is_the_disks_fault(tmp_path: Path) -> None:
    """F87: exit 74, in words."""
    (tmp_path / "file").touch()
    for path in (Path("/proc/thresher"), tmp_path / "file" / "crawl"):
        with pytest.raises(DiskError, match="the disk refuses") as caught:
            Store.create(path, Settings(), 0.0)
        assert caught.value.exit_code == 74


def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """F86: a real ENOSPC-like refusal, by a limit on the size of files, lifted in time; then one that stays."""
    code = """
import resource, signal, sys, time
from pathlib import Path
from thresher.config.settings import Settings
from thresher.storage.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.create(Path(sys.argv[1]), Settings(), 0.0, patience_s=float(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, resource.RLIM_INFINITY))
def group(first):
    for n in range(first, first + 2000):
        store.put("seen", n.to_bytes(8, "big"), b"x" * 200)
    return store.flush()
n = 0
while True:
    future = group(n)
    while not future.done():
        if store.trouble and sys.argv[3] == "lift":
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        time.sleep(0.002)
    future.result()
    n += 2000
    print(n, flush=True)
    if n == 30000:
        break
store.close()
"""
    for name, patience, lift in (("lifted", "20", "lift"), ("stays", "0.2", "stay")):
        command = [*forked_code(code), str(tmp_path / name), patience, lift]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
        acknowledged = int((done.stdout.split() or ["0"])[-1])
        assert ("DiskError" in done.stderr) is (lift == "stay"), done.stderr
        assert acknowledged == 30_000 if lift == "lift" else 0 < acknowledged < 30_000
        with Store.open(tmp_path / name, None, 0.0) as store:
            assert len(store.scan(SEEN)) >= acknowledged


def test_a_reader_that_died_does_not_keep_pages_for_ever(tmp_path: Path) -> None:
    """F89: a reader killed in a transaction; its slot is cleared and the file grows by less than twice."""
    with Store.create(tmp_path, Settings(), 0.0) as store:
        code = (
            "import lmdb, os, signal, sys; env = lmdb.open(sys.argv[1], readonly=True, lib_version=0, map_size=1 << 30);"
            "txn = env.begin(); os.kill(os.getpid(), signal.SIGKILL)"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "state")], check=False)
        sizes = []
        for n in range(120):
            if n == 20:
                assert store._disk.check_readers() == 1
            for m in range(50):
                store.put(SEEN, pack_u64(m), bytes([n]) * 200)
            store.flush().result()
            sizes.append((tmp_path / "state" / "data.mdb").stat().st_size)
        assert sizes[-1] < 2 * sizes[20]


def test_counters_reach_the_disk_with_what_they_count(store: Store) -> None:
    store.counters.add("hosts")
    store.counters.add("hosts", 2)
    assert store.get(COUNTERS, b"hosts") is None
    store.flush().result()
    assert store.get(COUNTERS, b"hosts") == (3).to_bytes(8, "big")
    assert store.counters.all("ho") == {"hosts": 3}
