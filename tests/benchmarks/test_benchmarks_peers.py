"""The benchmark against other crawlers: what gives a figure, and what does not. The short form of `python -m benchmarks.peers`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers import install
from benchmarks.peers.contestants import CONTESTANTS, Contestant, Job
from benchmarks.peers.run import Budget, Run

_LONG = 10_000_000 + os.getpid()  # seconds, by which this process's own are found


def shell(name: str, script: str) -> Contestant:
    """A crawler that is a shell script; {pid} in it is the server's, {log} its log, {url} a page."""

    def command(_: Path, job: Job) -> list[str]:
        return ["sh", "-c", script.format(pid=job.server.pid, log=job.server.log_path, url=job.server.web.seeds()[0])]

    return Contestant(name, "a script", command, lambda _: None)


def measured(*chosen: Contestant, budget: Budget) -> dict[str, list[Run]]:
    return peers.measure(chosen, "small", 4, 1, Path("nowhere"), budget)[0]


def test_a_crawler_is_judged_by_the_servers_log_on_one_core_too_and_a_missing_one_is_skipped_with_a_word(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "benchmarks.peers", "floor: links", "colly", "--peers", str(tmp_path), "--profile", "small"]
    done = subprocess.run(
        [*command, "--hosts", "4", "--runs", "1", "--out", str(tmp_path / "out")],
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "one core" in done.stderr
    assert f"colly: skipped, not installed: python -m benchmarks.peers.install {tmp_path} colly" in done.stdout
    result = json.loads((tmp_path / "out/peers_small.json").read_bytes())
    (row,) = result["rows"]
    assert (row["crawler"], row["pages"], row["again"], row["hosts"], row["no robots"], row["ended"]) == (
        *("floor: links", 200, 0, 4, 4),
        "finished",
    )
    assert row["pages/CPU s"] > 0
    assert result["machine"]["cores"] == 1
    assert result["versions"]["thresher"]


@pytest.mark.long
def test_on_a_web_of_new_links_a_crawler_is_stopped_by_its_budget_with_far_more_pages_than_the_finite_web_has() -> None:
    (links,) = [of for of in CONTESTANTS if of.name == "thresher"]
    found = peers.measure([links], "small", 4, 1, Path("nowhere"), Budget(cpu_s=2.0), new_links=10)[0]["thresher"][0]
    assert found.ended == "budget"
    assert found.pages > 4 * peers.PAGES_OF_A_HOST


def test_a_crawler_that_hangs_dies_or_fetches_nothing_has_no_figure_and_is_gone() -> None:
    hangs, dies = shell("hangs", f"sleep {_LONG}"), shell("dies", "echo out of luck; echo ' at line 1'; kill -9 $$")
    asks = f"{sys.executable} -c 'import urllib.request as u; u.urlopen(\"{{url}}\").read()'"
    idle = shell("idle", asks + "; until [ -s {log} ]; do sleep 0.05; done")  # what the server has not written is not judged
    found = measured(hangs, budget=Budget(stalled_s=0.3)) | measured(dies, idle, budget=Budget())
    ended = {name: runs[0].ended for name, runs in found.items()}
    assert ended == {
        "hangs": "stalled: no request for 0 s",
        "dies": "failed with exit -9: out of luck",
        "idle": "finished, but with 1 pages",
    }
    assert all(runs[0].rate is None and peers.row(name, runs)["pages/CPU s"] is None for name, runs in found.items())
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(_LONG).encode() in _read(p)]


def test_what_a_crawler_starts_into_a_session_of_its_own_is_counted_and_gone_too() -> None:
    """Mutation: only the processes of the crawler's own session are looked at."""
    starts = shell("starts", f"setsid sh -c 'while [ {_LONG} ]; do :; done' & sleep {_LONG}")
    (found,) = measured(starts, budget=Budget(cpu_s=0.5))["starts"]
    assert (found.ended, found.cpu_s >= 0.5) == ("budget, but with 0 pages", True)
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(_LONG).encode() in _read(p)]


@pytest.mark.long
def test_on_all_cores_thresher_has_an_agent_on_each() -> None:
    """Seen in its peak memory: an agent has 50 MiB. Mutation: one agent."""
    (ours,) = [of for of in CONTESTANTS if of.name == "thresher"]
    found = [
        peers.measure([ours], "small", 8, 1, Path("nowhere"), Budget(cpu_s=6.0), new_links=10, all_cores=every)[0]["thresher"][0]
        for every in (False, True)
    ]
    assert [run.ended for run in found] == ["budget", "budget"]
    assert found[1].peak_bytes > 1.3 * found[0].peak_bytes


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_server_that_stops_ends_the_benchmark_without_a_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "CONTESTANTS", (shell("killer", f"kill -9 {{pid}}; sleep {_LONG}"), shell("next", "true")))
    monkeypatch.setattr(sys, "argv", ["peers", "--profile", "small", "--hosts", "4", "--out", str(tmp_path / "out")])
    assert peers.main() == 1
    captured = capsys.readouterr()
    assert "the server stopped" in captured.err
    assert not captured.out
    assert not any((tmp_path / "out").iterdir())


def test_a_peer_that_cannot_be_installed_is_named_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refuses = ["sh", "-c", "echo no such package; exit 7"]
    monkeypatch.setattr(
        install, "_INSTALLERS", {"a": lambda at: install._do(at, *refuses), "b": lambda at: install._do(at, "nobody"), "c": lambda _: None}
    )
    assert install.install(tmp_path, ["a", "b", "c"]) == 2
    captured = capsys.readouterr()
    assert "a: not installed. sh -c echo no such package; exit 7: exit 7: no such package" in captured.err
    assert "b: not installed. nobody: no such program" in captured.err
    assert captured.out == "c: installed\n"
