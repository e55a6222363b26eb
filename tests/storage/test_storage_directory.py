"""What is read of a store's directory before the store itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import forking
import pytest
from stored_crawl import unpacked

from thresher.crawler.children import python
from thresher.crawler.core.errors import StoreError
from thresher.storage.directory import check_version
from thresher.storage.packing import pack_u64
from thresher.storage.schema import CARRIED_OVER, VERSION

_THREADS = """
import sys, threading
from pathlib import Path
import msgspec
from thresher.config.settings import Settings
from thresher.storage.directory import decode_config

sys.setswitchinterval(1e-6)
text, begin = msgspec.json.encode(Settings()), threading.Barrier(3)

def read():
    begin.wait()
    decode_config(Path("x"), text)

threads = [threading.Thread(target=read) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_stores_are_opened_by_several_threads_at_once() -> None:
    """As on a machine with two agents, whose shards are asked about together.

    Mutation: without the lock ten of twelve processes ended with SIGSEGV, in msgspec.
    """
    started = [subprocess.Popen(python.code(_THREADS), env=python.environment()) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        *[(schema, "Carry the crawl over with `thresher migrate DIR`, or start a new crawl") for schema in CARRIED_OVER],
        (min(CARRIED_OVER) - 1, "Use the thresher that wrote it, or start a new crawl"),
        (VERSION + 1, "Use the thresher that wrote it, or start a new crawl"),
    ],
)
def test_a_store_of_another_schema_is_refused_with_what_to_do(found: int, advice: str) -> None:
    with pytest.raises(StoreError) as caught:
        check_version(Path("DIR"), pack_u64(found))
    assert str(caught.value) == f"DIR: schema version {found}, expected {VERSION}. {advice}"
    check_version(Path("DIR"), pack_u64(VERSION))


def test_every_command_says_at_once_that_a_store_is_of_another_schema(tmp_path: Path) -> None:
    """Mutation: none but `resume` looks at the schema; or `resume` starts an agent, which dies three times."""
    store = unpacked(VERSION - 1, tmp_path)
    before = (store / "state/data.mdb").read_bytes()
    for words in (
        ("resume", store, "--progress", "none"),
        ("verify", store),
        ("stats", store),
        ("explain", store, "http://many.test:17389/"),
        ("export", store, "--what", "urls", "-o", tmp_path / "urls.jsonl"),
        ("filters", store),
    ):
        said = forking.run([*words], cwd=tmp_path, env=forking.clean_environment())
        expected = f"schema version {VERSION - 1}, expected {VERSION}. Carry the crawl over with `thresher migrate {store}`"
        assert (said.returncode, expected in said.stderr + said.stdout) == (6, True), (words, said.stderr, said.stdout)
        assert "agent" not in said.stderr
    assert (store / "state/data.mdb").read_bytes() == before
