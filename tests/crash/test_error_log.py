"""A process of a crawl that dies leaves its traceback in DIR/errors.log, and one line on the operator's terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from forking_agents import planted
from rotting import ROOT, build

from thresher.crawler.error_log import NAME, forget_empty
from thresher.crawler.process.supervisor import Supervisor

_AGENT = """
import asyncio, logging, subprocess, sys, threading
from thresher.crawler.agent.agent import Agent
async def run(self):
    {body}
Agent.run = run
"""
DEATHS = {
    "an exception": "raise RuntimeError('planted')",
    "one in a group": "raise ExceptionGroup('tasks', [ValueError('other'), RuntimeError('planted')])",
    "a child": "subprocess.run([sys.executable, '-c', 'raise RuntimeError(\\\"planted\\\")']); sys.exit(1)",
    "a thread": "t = threading.Thread(target=lambda: [][0] + 'planted'); t.start(); t.join(); sys.exit(1)",
    "the machine": "import ctypes; ctypes.string_at(8) # planted",
}


def agent(body: str) -> tuple[str, ...]:
    """Return the command of an agent that runs this code in place of crawling."""
    return planted(_AGENT.format(body=body) + "main()")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    build(tmp_path / "store", 9)
    return tmp_path / "store"


def died(store: Path, body: str) -> tuple[int, str]:
    """Run an agent until it dies; return its exit code and what it wrote on the terminal."""
    with subprocess.Popen(
        [*agent(body), str(store)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as life:
        assert life.stderr is not None
        return (life.wait(600), life.stderr.read().decode())


@pytest.mark.parametrize("how", DEATHS)
def test_a_traceback_goes_to_the_log_and_not_to_the_terminal(how: str, store: Path) -> None:
    """Seen to fail for all five: the tracebacks were on standard error."""
    code, said = died(store, DEATHS[how])
    assert (code == 1 or code < 0, said) == (True, "")
    log = (store / NAME).read_text()
    assert ("Segmentation fault" if how == "the machine" else "Traceback (most recent call last)") in log
    assert (store / NAME).stat().st_mode & 0o777 == 0o600


def test_what_the_operator_is_to_know_is_still_a_line_on_the_terminal(store: Path) -> None:
    code, said = died(store, "logging.getLogger('crawler.x').error('no parser', exc_info=ValueError('planted')); sys.exit(0)")
    assert (code, said.count("\n")) == (0, 1)
    assert "ERROR crawler.x: no parser (more in errors.log)" in said
    assert "planted" in (store / NAME).read_text()
    code, said = died(
        store, "from thresher.crawler.core.errors import StoreError; raise ExceptionGroup('x', [StoreError('store: rotten')])"
    )
    assert (code, said) == (6, "thresher: store: rotten\n")


MEMORY = {
    "a step of the loop": "asyncio.get_running_loop().call_soon(lambda: bytes(1 << 60)); await asyncio.sleep(60)",
    "a task": "raise ExceptionGroup('tasks', [MemoryError()])",
}


@pytest.mark.parametrize("how", MEMORY)
def test_an_agent_without_memory_dies_and_says_so_once(how: str, store: Path) -> None:
    """Seen to fail: an event loop that could not read from its wake-up pipe reported that 7,000 times a second, on the terminal and in the
    log.
    """
    code, said = died(store, MEMORY[how])
    assert (code, said.count("\n")) == (1, 1)
    assert "is out of memory: " in said
    assert "Raise the limit" in said
    assert (store / NAME).read_text().count("MemoryError") <= 3


class Notes:
    """A display that keeps all notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def update(self, status: object) -> None: ...

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_the_supervisor_says_in_a_line_that_an_agent_died_and_where_it_says_why(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    notes = Notes()
    assert asyncio.run(Supervisor(store, notes, agent=agent(DEATHS["an exception"])).run()) == 1
    assert len(notes.notes) == 3
    assert notes.notes[0].startswith(f"the agent died (exit 1, {store / NAME} says more); it is restarted on its own disk in ")
    assert notes.notes[2].startswith(f"the agent died 3 times without progress (last exit 1, {store / NAME} says more)")
    assert capfd.readouterr().err == ""


async def test_an_agent_that_its_store_kills_ends_the_crawl_as_damaged(store: Path) -> None:
    """Seen to fail: the agent was started three times, and the crawl ended with exit 1, as if the state were safe."""
    with (store / "state" / "data.mdb").open("r+b") as file:
        file.seek(4 * 4096)
        file.write(os.urandom(4096))
    notes = Notes()
    killed = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    supervisor = Supervisor(store, notes, agent=killed)
    assert await supervisor.run() == 6
    assert len(notes.notes) == 1
    assert "state/data.mdb: damaged: " in notes.notes[0]
    assert (supervisor.status.state, "damaged" in supervisor.status.why) == ("failed", True)


def test_a_log_without_a_word_is_no_file(tmp_path: Path) -> None:
    (tmp_path / NAME).touch()
    forget_empty(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / NAME).write_text("x")
    forget_empty(tmp_path)
    assert (tmp_path / NAME).exists()
