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
from thresher.crawler.cli import cluster as cluster_module
from thresher.crawler.cli import thresher
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


def test_ray_shows_no_figures_but_where_that_is_asked_for_and_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: without what is missing Ray starts, says nothing, and shows none."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _program, words, _environ: started.append(words))
    words = ["cluster", "start", "--head", "--metrics", "9100"]
    (tmp_path / "prometheus_client.py").write_text("raise ImportError('as if it were not installed')\n")
    with monkeypatch.context() as without:
        without.syspath_prepend(str(tmp_path))
        without.delitem(sys.modules, "prometheus_client", raising=False)
        refused = CliRunner().invoke(thresher, words)
        assert "needs " in str(refused.exception)
        assert "of the extra `metrics`" in str(refused.exception)
        assert started == []
    monkeypatch.setattr(cluster_module, "require", lambda _option, *, module, extra: None)
    for given in (words, words[:-2]):
        assert CliRunner().invoke(thresher, given).exit_code == 0
    with_figures, plain = started
    assert with_figures[with_figures.index("--include-dashboard") :][:4] == ["--include-dashboard", "true", "--metrics-export-port", "9100"]
    assert plain[plain.index("--include-dashboard") + 1] == "false"
    assert "--metrics-export-port" not in plain


def test_more_agents_than_there_may_be_are_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: each machine is compared with the limit by itself."""
    pytest.importorskip("ray")
    from thresher.crawler.machines import command
    from thresher.crawler.machines.ray_engine import ClusterMachine, shared_out

    found = [ClusterMachine("a", 40, is_here=True), ClusterMachine("b", 25, is_here=False)]
    monkeypatch.setattr(command, "connect", lambda: None)
    monkeypatch.setattr(command, "members", lambda: found)
    monkeypatch.setattr(command, "ShardMakers", lambda *_: pytest.fail("something is made"))
    settings = msgspec.structs.replace(Settings(), engine="ray", agents="auto")
    with pytest.raises(UsageError, match="agents: expected at most 64 on all machines, found 65 on 2"):
        command.create_shards(tmp_path / "crawl", settings, [])
    assert not (tmp_path / "crawl").exists()
    assert len(shared_out([found[0], ClusterMachine("b", 24, is_here=False)], "auto")) == 64
