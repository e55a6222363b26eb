"""What is read of a store's directory before the store itself."""

from __future__ import annotations

import subprocess

from thresher.crawler.children import python

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
