"""`thresher bench crawl` and `bench webs`: they print a figure only if the whole crawl was made."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import forking
import pytest
from long import shortened

from thresher.crawler.bench import crawl_bench
from thresher.crawler.bench.ablations import names
from thresher.crawler.bench.agent_bench import BenchProgress
from thresher.crawler.bench.webs import WEBS
from thresher.crawler.cli import bench as command
from thresher.crawler.core.errors import UsageError
from thresher.crawler.demo import process
from thresher.crawler.status import Status

ROOT = Path(__file__).parents[2]


def bench(*options: str, on_one_core: bool = False) -> subprocess.CompletedProcess[str]:
    words = ["bench", "crawl", "--hosts", "10", "--runs", "1", *options]
    if not on_one_core:
        return forking.run(words, cwd=ROOT)
    narrow = partial(os.sched_setaffinity, 0, {min(os.sched_getaffinity(0))})
    command = [sys.executable, "-m", "thresher", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, preexec_fn=narrow, check=False)


def test_a_benchmark_counts_its_pages_and_splits_its_time_over_tls_and_on_one_core_too() -> None:
    run = bench("--profile", "tls", "--pages", "200", "--json", on_one_core=True)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["pages"] == 200
    assert report["pages_per_cpu_s"]["median"] > 0
    assert report["peak_rss_bytes"] > 1 << 20
    assert {"parse", "store", "loop", "writer thread"} <= report["stages"].keys()
    assert 0.95 < sum(report["stages"].values()) < 1.05
    assert 0 <= report["loop_lag_ms_p99"] <= report["loop_lag_ms_max"]
    assert "one core: crawler and server share it" in report["machine"]


def test_a_web_of_new_links_is_measured_too_where_a_web_may_have_them() -> None:
    run = bench("--profile", "small", "--pages", "300", "--hosts", "4", "--new-links", "10", "--json")
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["new_links"] == 10
    assert report["known_urls"] > 10 * report["pages"]
    refused = bench("--profile", "sites", "--pages", "300", "--new-links", "10")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--new-links is for the others" in refused.stderr


def test_a_crawl_that_ends_early_gives_no_figure() -> None:
    run = bench("--profile", "small", "--pages", "100", "--set", "limits.max_time=0", "--json")
    assert run.returncode == 2
    assert run.stdout == ""
    assert "limits.max_time reached" in run.stderr


@pytest.mark.parametrize(
    ("agents", "victim", "by", "says"),
    shortened(
        [
            (1, "agent", signal.SIGKILL, r"exit -9 after \d+ pages"),
            (1, "agent", signal.SIGSTOP, r"no page for 1 s after \d+: the crawl or its server has stopped"),
            (1, "server", signal.SIGKILL, r"server ended after \d+ pages: there is no result"),
            (2, "server", signal.SIGKILL, r"server ended after \d+ pages: there is no result"),
        ],
        3,
    ),
)
def test_an_agent_or_a_server_that_is_killed_or_stops_in_the_middle_leaves_no_figure(
    agents: int, victim: str, by: signal.Signals, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a process. Mutation: the display does not check whether the server runs, and the crawl goes on until every host is given up."""
    module = {"agent": b"thresher.crawler.process.agent_process", "server": b"thresher.crawler.demo.server"}[victim]
    if by is signal.SIGSTOP:
        for patience in ("STALLED_S", "START_S"):
            monkeypatch.setattr(crawl_bench, patience, 1.0)
    monkeypatch.setattr(process, "_LONGEST_END_S", 0.1)
    done = threading.Event()

    def strike() -> None:
        while not done.wait(0.05):
            if len(_children(b"thresher.crawler.process.agent_process")) >= agents and (victims := _children(module)):
                os.kill(victims[0], by)
                return

    striker = threading.Thread(target=strike)
    striker.start()
    try:
        with pytest.raises(UsageError, match=says):
            crawl_bench.measure(crawl_bench.BenchPlan("small", 10, 100_000, agents=agents))
    finally:
        done.set()
        striker.join()
    assert not _children(b"thresher.crawler.")


@pytest.mark.parametrize(("per_host", "least"), [(None, 1_000), (50, 990)])
def test_a_crawl_with_too_few_pages_gives_no_figure(per_host: int | None, least: int) -> None:
    plan = crawl_bench.BenchPlan("small", 20, 1_000, per_host)
    assert plan.is_met(least)
    assert not plan.is_met(least - 1)


def test_a_crawl_that_gets_no_more_pages_leaves_no_figure() -> None:
    watch = BenchProgress(lambda: True, stalled_s=0.0)
    watch.update(Status(pages=7))
    with pytest.raises(UsageError, match="no page for 0 s after 7: the crawl or its server has stopped"):
        watch.update(Status(pages=7))


def _children(module: bytes) -> list[int]:
    """Return the child processes that run this module. The list of children may lack some if one of them ends while it is read."""
    found = []
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split():
        with contextlib.suppress(FileNotFoundError):
            if module in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


def test_all_webs_stand_in_one_table_each_filter_left_out_in_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = []

    def measure(plan: crawl_bench.BenchPlan) -> dict[str, object]:
        made.append(plan)
        figures = ("pages_per_cpu_s", "pages_per_s_wall", "server_pages_per_cpu_s", "server_busy_share", "loop_lag_ms_max")
        rest = {"loop_lag_ms_p99": 14.0, "peak_rss_bytes": 1 << 26, "stages": {"parse": 0.25}}
        return dict.fromkeys(figures, 1e3) | rest | {"pages": 100, "known_urls": 200}

    monkeypatch.setattr(crawl_bench, "measure", measure)
    command.webs.main(["--runs", "1", "--ablate", "--out", str(tmp_path)], standalone_mode=False)
    n_rows = 3 + len(names())
    assert [plan.web for plan in made] == [web for web in WEBS for _ in range(n_rows)]
    assert {(plan.per_host, plan.pages) for plan in made if plan.web == "sites"} == {(None, 80_000)}
    assert {(plan.per_host, plan.pages, plan.hosts) for plan in made if plan.web != "sites"} == {(50, 100_000, 2_000)}
    assert len({plan.on for plan in made}) == n_rows
    reports = json.loads((tmp_path / "bench_webs.json").read_bytes())
    assert [(of["profile"], of["filters"]) for of in reports][2:4] == [("median", "all"), ("median", "all but path_trap")]
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 1 + len(made) + 1
    assert "1000-1000" in table[1]
    assert "14, 1000" in table[1]
    assert "parse 250" in table[1]
