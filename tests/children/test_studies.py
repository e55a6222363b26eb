"""The child process in which filters study: its limit is processor time, not wall-clock time."""

from __future__ import annotations

import subprocess

from thresher.crawler.children import python
from thresher.crawler.children.parser_process import LENGTH, OUT_OF_TIME

_CHILD = """
import time
from thresher.crawler.children import study_process

def study(material):
    deadline = time.process_time() + float(material)
    while time.process_time() < deadline:
        pass
    time.sleep(3 * study_process.LONGEST_S)
    return b"found"

study_process.LONGEST_S = 0.2
study_process.main()
"""


def studied(*seconds: str) -> tuple[int, bytes]:
    """Return the exit code and the answers of a child after studies that compute for some seconds and wait for longer."""
    asked = b"".join(LENGTH.pack(len(part)) + part for one in seconds for part in (b"__main__:study", one.encode()))
    ran = subprocess.run(python.code(_CHILD), env=python.environment(), input=asked, capture_output=True, timeout=600, check=False)
    return ran.returncode, ran.stdout


def test_a_study_dies_of_processor_time_alone() -> None:
    """Three studies that wait longer than they may compute are answered; one that computes for ever is not. Mutations: no limit; a limit of
    wall-clock time.
    """
    code, answers = studied("0.01", "0.01", "0.01")
    assert (code, answers) == (0, 3 * (LENGTH.pack(5) + b"found"))
    code, answers = studied("0.01", "1e9")
    assert code in OUT_OF_TIME
    assert answers == LENGTH.pack(5) + b"found"
