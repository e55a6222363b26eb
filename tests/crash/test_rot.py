"""A store with overwritten pages: the short form of `benchmarks.proofs.rot_test`, and each way in which damage is detected."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import forking
import lmdb
import pytest
from long import shortened
from rotting import PAGE, READS, ROOT, Rot, build

from thresher.crawler.core.errors import StoreError
from thresher.storage.rot import damage
from thresher.storage.schema import SEEN, URLS
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View


@pytest.fixture(scope="module")
def rot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rot]:
    with Rot(tmp_path_factory.mktemp("rot")) as made:
        yield made


@pytest.mark.parametrize("seed", shortened([9, 5], 1))
def test_no_command_tells_what_is_not_true_of_a_damaged_store(rot: Rot, seed: int) -> None:
    """Each seed was seen to fail without the seals, the counts of rows, and the walk over the pages."""
    assert rot.case(seed, resumes=False) == []


def test_a_resume_of_a_damaged_store_is_exit_6(rot: Rot) -> None:
    assert rot.case(2, reads=False) == []
    assert rot.codes["resume"] == 6


@pytest.fixture
def store(tmp_path: Path) -> Path:
    build(tmp_path / "store", 60)
    return tmp_path / "store"


def overwrite(store: Path, table: str, key: bytes, value: bytes) -> None:
    """Write a row without a seal."""
    with lmdb.open(str(store / "state"), max_dbs=60, lib_version=0) as env, env.begin(write=True) as txn:
        txn.put(key, value, db=env.open_db(table.encode(), txn=txn))


def test_a_row_that_was_not_written_by_us_is_named_by_whoever_reads_it(store: Path) -> None:
    with View(store) as view:
        (key, value), (other, another) = view.scan(SEEN, limit=2)
    overwrite(store, SEEN, key, value + b"\0\0\0\0")
    with View(store) as view:
        for read in (lambda: view.get(SEEN, key), lambda: view.get_many(SEEN, [other, key]), lambda: view.scan(SEEN)):
            with pytest.raises(StoreError, match=f"`seen` the row {key.hex()} is not what was written"):
                read()
        assert view.get(SEEN, other) == another
    with Store.open(store, None, 0.0) as opened, pytest.raises(StoreError, match="is not what was written"):
        opened.get(SEEN, key)
    assert any(f"`seen` the row {key.hex()}" in problem for problem in verify(store))
    assert len(damage(store)) == 1


def test_a_row_of_another_table_or_key_is_not_taken_for_one_of_this(store: Path) -> None:
    """A page that was written to the wrong place has rows with valid seals."""
    with lmdb.open(str(store / "state"), max_dbs=60, lib_version=0) as env, env.begin() as txn:
        stored = txn.get(b"\0" * 7 + b"\1", db=env.open_db(URLS.encode(), txn=txn))
    assert stored is not None
    overwrite(store, URLS, b"\0" * 7 + b"\2", stored)
    with View(store) as view, pytest.raises(StoreError, match="is not what was written"):
        view.scan(URLS)


def thresher(*words: str | Path, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own.    limit: of address space, bytes"""
    environ = forking.clean_environment()
    if limit is None:
        return forking.run(words, cwd=ROOT, env=environ)
    bound = partial(resource.setrlimit, resource.RLIMIT_AS, (limit, limit))
    command = [sys.executable, "-m", "thresher", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, preexec_fn=bound)


def test_little_address_space_is_told_as_that_and_the_option_helps(store: Path) -> None:
    """Seen to fail: `status` and `verify` called the store damaged, `resume` said that it broke, and no option was read in time; 256 MiB
    were advised whatever the limit was, under which agents then died.
    """
    limit = 600 << 20
    assert thresher("status", store, limit=limit).returncode == 0
    refused = thresher("resume", store, "--progress", "none", limit=limit)
    assert refused.returncode == 2
    assert "may have 600 MiB of address space in all (ulimit -v)" in refused.stderr
    assert "--set 'store.map_size=32 MiB'" in refused.stderr
    assert "Nothing is damaged" in refused.stderr
    hopeless = thresher("resume", store, "--progress", "none", limit=500 << 20)
    assert (hopeless.returncode, "store.map_size=" in hopeless.stderr, "wants 1,024 MiB" in hopeless.stderr) == (2, False, True)
    helped = thresher("resume", store, "--progress", "none", "--set", "store.map_size=32 MiB", limit=limit)
    assert helped.returncode in (0, 4), helped.stderr
    with (store / "state" / "data.mdb").open("r+b") as file:
        file.truncate(2 << 30)  # free space, which is mapped too
    for command in ("status", "verify"):
        reader = thresher(command, store, limit=limit)
        said = reader.stdout + reader.stderr
        assert (reader.returncode, "ulimit -v" in said) in ((2, True), (6, True)), said
        assert "restore" not in said.lower()


def test_a_reader_that_a_page_kills_says_what_killed_it(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test itself sends the signal, since it depends on LMDB which page kills a reader. Without damage the fault is ours: exit 1."""
    code = "import os, sys; from thresher.crawler.cli.reader_guard import guarded\n"
    code += "guarded(lambda: os.kill(os.getpid(), int(sys.argv[2])), sys.argv[1:2])"

    def killed(number: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, store, str(number)], cwd=ROOT, capture_output=True, text=True, check=False)

    ours = killed(signal.SIGBUS)
    assert (ours.returncode, ours.stderr.count("\n")) == (1, 1)
    assert "a fault of ours" in ours.stderr
    assert killed(signal.SIGTERM).returncode == -signal.SIGTERM
    with (store / "state" / "data.mdb").open("r+b") as file:
        file.seek(4 * PAGE)
        file.write(b"\xff" * PAGE)
    rotten = killed(signal.SIGSEGV)
    assert (rotten.returncode, rotten.stderr.count("\n")) == (6, 1)
    assert "state/data.mdb: damaged: " in rotten.stderr
    assert "SIGSEGV" in rotten.stderr


def test_every_reader_is_guarded() -> None:
    from thresher.crawler.cli import READERS

    assert {words[0] for words in READS.values()} <= set(READERS)
