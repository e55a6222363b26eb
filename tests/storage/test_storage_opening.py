"""Which directories are a store, who may open it, and what is refused."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from types import SimpleNamespace

import lmdb
import pytest
from forking_agents import forked_code
from long import shortened

from thresher.config.settings import Settings
from thresher.crawler.core.errors import StoreError, StoreLockedError
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.status import Status
from thresher.storage.check import check_data_file
from thresher.storage.packing import pack_u64
from thresher.storage.schema import META, PAGES, SEEN, VERSION, Meta
from thresher.storage.store import Store

ROOT = Path(__file__).parents[2]


def test_a_second_crawl_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    """F90: exit code 5, and the message names the process that has the store open.

    That process lives on, so waiting for it does not help.
    """
    with Store.create(tmp_path, Settings(), 0.0):
        with pytest.raises(StoreLockedError, match=str(os.getpid())) as caught:
            Store.open(tmp_path, None, 0.0)
        assert caught.value.exit_code == 5
    Store.open(tmp_path, None, 0.0).close()


def test_a_holder_that_ends_within_moments_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that has the store open may be about to end, for example because it was just killed: opening is tried again for a moment.

    Mutation: it is not tried again, and refused.
    """
    first = Store.create(tmp_path, Settings(), 0.0)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            first.close()

    monkeypatch.setattr("thresher.storage.lock.time", SimpleNamespace(monotonic=lambda: 0.0, sleep=wait))
    Store.open(tmp_path, None, 0.0).close()
    assert len(waits) == 2


def test_a_store_is_not_made_where_something_lies(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match="not empty"):
        Store.create(tmp_path, Settings(), 0.0)
    Store.create(tmp_path / "crawl", Settings(), 0.0).close()
    with pytest.raises(StoreError, match="resume"):
        Store.create(tmp_path / "crawl", Settings(), 0.0)


def test_a_creation_that_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    for folder in ("state", "results", "skipped"):
        (tmp_path / folder).mkdir()
    (tmp_path / "state" / "data.mdb").touch()
    with Store.create(tmp_path, Settings(), 0.0) as store:
        assert store.visit == 1


def test_a_directory_without_a_crawl_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no crawl here") as caught:
        Store.open(tmp_path, None, 0.0)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("lost", [("results/data.mdb",), ("state/data.mdb", "results/data.mdb")])
def test_a_store_that_lost_its_data_is_damaged_and_no_mistake_of_the_operators(tmp_path: Path, lost: tuple[str, ...]) -> None:
    with Store.create(tmp_path, Settings(), 0.0):
        pass
    write_status(tmp_path, Status())
    for name in lost:
        (tmp_path / name).unlink()
    with pytest.raises(StoreError, match=r"is gone\. Restore") as caught:
        Store.open(tmp_path, None, 0.0)
    assert caught.value.exit_code == 6


@pytest.mark.parametrize("version", [99, None])
def test_a_store_of_another_version_is_refused_and_one_that_has_none_may_be_damaged(tmp_path: Path, version: int | None) -> None:
    """F88: exit 6, nothing written."""
    with Store.create(tmp_path, Settings(), 0.0) as store:
        store.put(META, Meta.VERSION, pack_u64(version)) if version else store.delete(META, Meta.VERSION)
    with pytest.raises(StoreError, match=f"{version}, expected {VERSION}" if version else "found none: .* or it is damaged"):
        Store.open(tmp_path, None, 0.0)


@pytest.mark.parametrize("env", shortened(["state", "results"], 1))
@pytest.mark.parametrize("damage", ["empty", "one page", "half", "zeroed metas", "not lmdb"])
def test_damaged_files_are_refused_without_mapping_them(tmp_path: Path, env: str, damage: str) -> None:
    """F88: exit 6 with advice; opened in a child, so that a SIGBUS would be seen."""
    with Store.create(tmp_path, Settings(), 0.0) as store:
        for n in range(5000):
            store.put(SEEN, pack_u64(n), b"x" * 50)
            store.put(PAGES, pack_u64(n), b"x" * 50)
        store.visit = 5000
    data = tmp_path / env / "data.mdb"
    size = data.stat().st_size
    match damage:
        case "empty":
            os.truncate(data, 0)
        case "one page":
            os.truncate(data, 4096)
        case "half":
            os.truncate(data, size // 2)
        case "zeroed metas":
            with data.open("r+b") as file:
                file.write(bytes(8192))
        case "not lmdb":
            data.write_bytes(b"hello world" * 10_000)
    imports = "import sys; from pathlib import Path; from thresher.storage.store import Store"
    code = f"{imports}; Store.open(Path(sys.argv[1]), None, 0.0).scan('seen')"
    done = subprocess.run([*forked_code(code), str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "StoreError" in done.stderr, "Restore" in done.stderr) == (1, True, True), done.stderr


def test_a_file_whose_free_tail_was_never_written_is_sound(tmp_path: Path) -> None:
    """F88: LMDB may end a file before its last page; that is no damage."""
    rng, data = random.Random(1), tmp_path / "t" / "data.mdb"
    with lmdb.open(str(tmp_path / "t"), map_size=1 << 28, max_dbs=4, lib_version=0, sync=False) as env:
        table = env.open_db(b"t")
        for _ in range(500):
            with env.begin(write=True, db=table) as txn:
                for _ in range(50):
                    if rng.random() < 0.5:
                        txn.put(pack_u64(rng.randrange(1000)), bytes(rng.choice([10, 3000, 20_000])))
                    else:
                        txn.delete(pack_u64(rng.randrange(1000)))
                for act in (txn.put, txn.delete) if rng.random() < 0.1 else ():
                    for n in range(2000, 2300):
                        act(pack_u64(n), bytes(20_000) if act == txn.put else b"")
            if data.stat().st_size < (env.info()["last_pgno"] + 1) * 4096:
                break
        else:
            pytest.fail("LMDB wrote every tail: this test proves nothing any more")
        check_data_file(data)
