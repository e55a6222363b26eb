"""Work that kills its agent costs a life or two, then it is set aside, told of, and tried again when the operator says so."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, demo, differences, findings, options, write_config

from config.load import load
from crawler.metrics import Status
from crawler.opening import create_store
from crawler.shared_addresses import create
from crawler.supervisor import Supervisor
from storage.partitions import ADDRESSES, lanes_path
from storage.verify import verify

WEB: dict[str, Any] = {"n_sites": 3, "hosts_per_site": [2, 2], "pages_per_host": [10, 10], "n_seeds": 2}
OBSERVE = {name: {"mode": "observe"} for name in ("path_trap", "exact_duplicate", "soft_error")}
NOTHING: tuple[list[str], list[str], list[str]] = ([], [], [])
POISON = """
    import os, signal
    from crawler.settle import Settler
    before, seen = Settler.admit_foreign, []
    def poisoned(self, source, sifted, gift, now, *, is_redirect):
        if not seen:
            seen.append(source.text)
        if source.text == seen[0] and self._store.lanes.heard(1 - self._tools.ownership.me) < 1:
            before(self, source, sifted, gift, now, is_redirect=is_redirect)
            {kills}
        before(self, source, sifted, gift, now, is_redirect=is_redirect)
    Settler.admit_foreign = poisoned
    """
RAISES, DIES = "raise RuntimeError('planted')", "os.kill(os.getpid(), signal.SIGSEGV)"


class Display:
    """Keeps what the supervisor notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def update(self, status: Status) -> None:
        pass

    def note(self, message: str) -> None:
        self.notes.append(message)


def agent(code: str) -> tuple[str, ...]:
    """Return the command of an agent in which `code` runs first."""
    return (sys.executable, "-c", "from crawler.agent_process import main\n" + textwrap.dedent(code) + "\nmain()")


async def run(store: Path, n_agents: int, command: tuple[str, ...] | None = None) -> tuple[int, Supervisor]:
    """Crawl to an end."""
    if n_agents > 1:
        create(lanes_path(store) / ADDRESSES)
    more = {} if command is None else {"agent": command}
    supervisor = Supervisor(store, Display(), n_agents=n_agents, **more)  # type: ignore[arg-type]
    return await supervisor.run(), supervisor


def thresher(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "crawler.cli", *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("kills", "deaths"), [(RAISES, 1), (DIES, 2)])
async def test_a_message_that_kills_its_receiver_is_quarantined_and_done_when_it_is_offered_again(
    tmp_path: Path, kills: str, deaths: int
) -> None:
    """Each agent's first message of links ends it in the middle of its doing. The crawl goes on without it, and with it finds all there is.

    Mutation: the agent was given up after three deaths; half of the message was committed.
    """
    with demo("kill", tmp_path, **WEB) as server:
        store, whole = tmp_path / "store", tmp_path / "whole"
        config = write_config(tmp_path, {**options(server, filters=OBSERVE), "agents": 2}, server.web.seeds())
        for path in (store, whole):
            create_store(path, load([config]).settings)
        assert (await run(whole, 2))[0] == 0
        code, supervisor = await run(store, 2, agent(POISON.format(kills=kills)))
        assert code == 0
        assert supervisor.status.quarantined == {"links": supervisor.status.restarts // deaths}
        assert supervisor.status.restarts in (deaths, 2 * deaths)
        assert "quarantined: " in supervisor.status.why
        assert verify(store) == []
        shown = thresher("quarantine", store, "--json")
        rows = [json.loads(line) for line in shown.stdout.splitlines()]
        assert [row["what"] for row in rows] == ["links"] * len(rows)
        assert all(("planted" if kills is RAISES else "gone 2 times") in row["why"] for row in rows)
        assert "links" in thresher("status", store).stdout
        offered = thresher("quarantine", store, "--again")
        assert "offered again" in offered.stderr
        assert (await run(store, 2))[0] == 0
        assert thresher("quarantine", store, "--json").stdout == ""
        assert differences(findings(whole), findings(store)) == NOTHING
        assert verify(store) == []
