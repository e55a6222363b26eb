"""Commands about several machines that need neither Ray nor these machines."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from harness import free_port

from thresher.config.settings import Settings
from thresher.crawler.cli import thresher
from thresher.crawler.cli.cluster import ray_options
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.governing import NOTHING_QUEUED
from thresher.crawler.core.ownership import divided
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.status import Status, merged
from thresher.storage.partitions import Partitions, ranges_of, write_partitions
from thresher.storage.store import Store


def test_status_needs_no_machine_but_the_head(tmp_path: Path) -> None:
    """`status` is where an operator looks when a machine is away. Mutation: all shards were opened first, and the command refused."""
    Store.create(tmp_path / "store", Settings(), 0.0).close()
    write_partitions(tmp_path / "store", Partitions(2, ranges_of(divided(2)), machines=["a", "b"]))
    write_status(tmp_path / "store", Status(state="stopped", pages=17, away=1))
    said = CliRunner().invoke(thresher, ["status", str(tmp_path / "store"), "--json"])
    assert said.exit_code == 0, said.output
    assert (report := msgspec.json.decode(said.stdout))["pages"] == 17
    assert report["away"] == 1
    table = CliRunner().invoke(thresher, ["status", str(tmp_path / "store")])
    assert "the machine of 1 agent cannot be reached: its hosts wait" in table.stdout


def test_what_agents_wait_for_leaves_out_those_that_have_nothing() -> None:
    """Mutation: "nothing is queued; 3 hosts: …", of which one half is true of one agent only."""
    idle, busy = (Status(state="waiting", why=why) for why in (NOTHING_QUEUED, "3 hosts: own_site.delay 2 s"))
    assert merged([idle, busy]).why == "3 hosts: own_site.delay 2 s"
    assert merged([idle, idle]).why == NOTHING_QUEUED


def test_a_machine_that_finds_no_head_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise Ray tries for minutes, and reports in its own words."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    said = CliRunner().invoke(thresher, ["cluster", "start", "--address", f"127.0.0.1:{free_port()}"])
    assert "expected a head at 127.0.0.1:" in str(said.exception)


def test_the_heads_token_is_made_for_its_user_alone_and_a_machine_without_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has the token may run code on all machines. Mutation: every user of the machine may read it, as Ray leaves it."""
    pytest.importorskip("ray")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _program, words, environ: started.append([*words, environ["RAY_AUTH_MODE"]]))
    refused = CliRunner().invoke(thresher, ["cluster", "start", "--address", "127.0.0.1:1"])
    assert "expected the head's token in" in str(refused.exception)
    said = CliRunner().invoke(thresher, ["cluster", "start", "--head", "--name", "first", "--ip", "127.0.0.1"])
    assert said.exit_code == 0, said.output
    assert (token := tmp_path / ".ray" / "auth_token").read_text()
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    ((*words, mode),) = started
    assert mode == "token"
    assert any("first" in word for word in words), "a resource names this machine's disk"


def test_figures_are_refused_where_what_shows_them_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: without what is missing Ray starts, says nothing, and shows none."""
    pytest.importorskip("ray")
    (tmp_path / "prometheus_client.py").write_text("raise ImportError('as if it were not installed')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "prometheus_client", raising=False)
    refused = CliRunner().invoke(thresher, ["cluster", "start", "--head", "--metrics", "9100"])
    assert isinstance(refused.exception, UsageError)
    assert "of the extra `metrics`" in str(refused.exception)


def test_ray_shows_figures_and_its_dashboard_only_where_they_are_asked_for() -> None:
    """Mutation: the dashboard is always on; a machine that joins asks for one."""
    head, plain, joined = (
        " ".join(ray_options(where, "a", port=6379, ip=None, cores=None, metrics=metrics))
        for where, metrics in ((None, 9100), (None, None), ("10.0.0.1:6379", 9100))
    )
    assert "--include-dashboard true --metrics-export-port 9100" in head
    assert "--include-dashboard false" in plain
    assert "--metrics-export-port" not in plain
    assert joined.endswith("--address 10.0.0.1:6379 --metrics-export-port 9100")


def test_more_agents_than_there_may_be_are_refused() -> None:
    """Mutation: each machine is compared with the limit by itself."""
    pytest.importorskip("ray")
    from thresher.crawler.machines.ray_engine import ClusterMachine, shared_out

    head, other = ClusterMachine("a", 40, is_here=True), ClusterMachine("b", 25, is_here=False)
    assert len(shared_out([head, other._replace(n_cores=24)], "auto")) == 64
    with pytest.raises(UsageError, match="agents: expected at most 64 on all machines, found 65 on 2"):
        shared_out([head, other], "auto")
