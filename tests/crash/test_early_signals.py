"""Signals that come early: before an agent's process has an agent to stop, or even before it has imported its modules."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from harness import ROOT

from thresher.config.load import load
from thresher.crawler.process.agent_life import AgentLife
from thresher.crawler.start.opening import create_store
from thresher.storage.verify import verify


@pytest.mark.parametrize("step", ["open_store", "Agent"])
def test_it_ends_the_process_at_once(tmp_path: Path, step: str) -> None:
    """F82: no exception while a store is being opened, which could leave a thread for which the process waits."""
    store = tmp_path / "store"
    create_store(store, load([], sets=["identity.contact=me@example.org"]).settings)
    code = f"""
        import os, signal
        from thresher.crawler.process import agent_process
        begin = agent_process.{step}
        def interrupted(*args, **options):
            begun = begin(*args, **options)
            os.kill(os.getpid(), signal.SIGINT)
            return begun
        agent_process.{step} = interrupted
        agent_process.main()
        """
    command = (sys.executable, "-c", textwrap.dedent(code), str(store))
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(600) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert verify(store) == []


def test_one_that_comes_while_modules_are_imported_waits_and_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """F82. Mutation: the process started with SIGINT unblocked, and showed a KeyboardInterrupt in an import."""
    store = tmp_path / "store"
    create_store(store, load([], sets=["identity.contact=me@example.org"]).settings)
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT); from thresher.crawler.process.agent_process import main; main()"
    life = AgentLife((sys.executable, "-c", code, str(store)), silence_s=30, note=print)
    assert asyncio.run(life.run([], lambda report: None)) == -signal.SIGINT
    assert capfd.readouterr() == ("", "")
    assert not _is_blocked(), "only its start was to be spared"


def test_several_that_start_together_spare_their_parent_nothing() -> None:
    """Mutation: each start restored the signal mask that it had found; the second one found the mask of the first: no crawl of several
    agents received a Ctrl-C.
    """
    code = "import signal, sys; sys.exit(signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, []))"

    async def start_all() -> list[int]:
        lives = [AgentLife((sys.executable, "-S", "-c", code), silence_s=30, note=print) for _ in range(4)]
        return await asyncio.gather(*(life.run([], lambda report: None) for life in lives))

    assert asyncio.run(start_all()) == [0] * 4, "one of them was not spared"
    assert not _is_blocked()


def test_a_terminal_s_does_not_reach_the_demo_server(tmp_path: Path) -> None:
    """The server still answers the crawl's requests in flight. Mutation: the server was in its parent's process group."""
    code = """
        import os, signal, time, urllib.request
        from thresher.crawler.demo.process import ServerProcess
        signal.signal(signal.SIGINT, lambda *_: None)
        with ServerProcess("story", changes={"pages_per_host": (5, 5)}) as server:
            os.killpg(0, signal.SIGINT)
            time.sleep(0.5)
            host = server.web.seeds()[0].split("/")[2]
            asked = urllib.request.Request(f"http://127.0.0.1:{server.port}/robots.txt", headers={"Host": host})
            print(urllib.request.urlopen(asked, timeout=600).status)
        """
    command = (sys.executable, "-c", textwrap.dedent(code))
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, start_new_session=True, check=False)
    assert (ended.stdout, ended.stderr) == ("200\n", "")


def _is_blocked() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
