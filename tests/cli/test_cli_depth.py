"""`thresher depth fit` as a user meets it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command

ROOT = Path(__file__).parents[2]
DATA = ROOT / "../shared/data"
AGENT = '"Mozilla/5.0"'


def line(client: int, minute: int, path: str, referer: str = "-") -> str:
    return f'10.0.0.{client} - - [01/May/2024:10:{minute:02}:00 +0000] "GET {path} HTTP/1.1" 200 5 "{referer}" {AGENT}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Four sessions of one view, two of two, one of three."""
    path = tmp_path / "access.log"
    lines = [line(client, 0, "/") for client in range(7)]
    lines += [line(client, 1, "/a", "http://a.example/") for client in range(3)]
    lines += [line(0, 2, "/b", "http://a.example/a")]
    path.write_text("".join(lines))
    return path


def test_fit_tells_sessions_and_models_as_json(thresher: Command, log: Path) -> None:
    ran = thresher("depth", "fit", log, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert (found["sessions"], found["views"], found["session_depth"]) == (7, 11, [4, 2, 1])
    mean = (3 + 2) / 11
    assert found["models"]["B"]["q_likely"] == pytest.approx(mean / (1 + mean))
    assert set(found["models"]) == {"A", "B", "C"}
    assert all({"q", "error", "levels"} <= set(model) for model in found["models"].values())
    assert found["actions"][0]["next"] == 3
    assert found["levels"] == {"50%": 0, "80%": 1, "90%": 1, "95%": 2}


def test_fit_prints_a_table_and_what_to_write_into_the_configuration(thresher: Command, log: Path) -> None:
    ran = thresher("depth", "fit", log)
    assert "7 sessions, 11 page views" in ran.out
    assert [row.split()[0] for row in ran.out.splitlines()[3:8]] == ["A", "B", "C", "actions", "measured"]
    assert "no advice" in ran.err
    assert "4 steps deeper in 7 sessions; 50 steps are wanted" in ran.err
    assert "filters.depth_cutoff.q:" not in ran.err


def test_a_log_that_says_enough_gives_a_q_with_its_interval(thresher: Command, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    lines = [line(client, 0, "/") for client in range(250)] + [line(client, 1, "/a", "http://a.example/") for client in range(0, 250, 3)]
    path.write_text("".join(lines))
    ran = thresher("depth", "fit", path, "--json")
    found = json.loads(ran.out)
    assert f"filters.depth_cutoff.q: {found['suggested_q']:.3f} (95 % " in ran.err
    assert "by 84 steps deeper in 250 sessions" in ran.err
    assert found["suggested_q"] == found["models"]["B"]["q"]
    for model in found["models"].values():
        assert model["q_interval"][0] < model["q"] < model["q_interval"][1]
        assert model["q_likely_interval"][0] < model["q_likely"] < model["q_likely_interval"][1]
    for name in ("mean_length", "single_page_share"):
        assert found[f"{name}_interval"][0] < found[name] < found[f"{name}_interval"][1]


def test_connections_on_which_no_request_came_are_log_lines(thresher: Command, log: Path) -> None:
    with log.open("a") as file:
        file.write('10.0.0.1 - - [01/May/2024:10:03:00 +0000] "-" 408 0 "-" "-"\n' * 9)
    ran = thresher("depth", "fit", log, "--json")
    assert (json.loads(ran.out)["torn"], json.loads(ran.out)["sessions"]) == (0, 7)
    assert "no log lines" not in ran.err


def test_a_packed_log_and_standard_input_are_read_too(thresher: Command, log: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    from_file = json.loads(thresher("depth", "fit", packed, "--json").out)
    run = subprocess.run(
        [sys.executable, "-m", "thresher", "depth", "fit", "-", "--json"],
        cwd=ROOT,
        input=packed.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert from_file | {"logs": []} == json.loads(run.stdout) | {"logs": []}


def test_torn_and_undecodable_lines_are_counted_and_left_out(thresher: Command, log: Path) -> None:
    log.write_bytes(b"torn [01/May\n" + log.read_bytes() + b"\xff\xfe\n" + b"x" * 200_000 + b"\n" + line(0, 3, "/c")[:60].encode())
    ran = thresher("depth", "fit", log, "--json")
    found = json.loads(ran.out)
    assert (found["sessions"], found["torn"], found["lines"]) == (7, 4, 15)
    assert f"first: {log}:1" in ran.err


def test_each_log_may_be_a_site_of_its_own(thresher: Command, log: Path) -> None:
    both = thresher("depth", "fit", log, log, "--each", "--json").out.splitlines()
    assert [json.loads(each)["sessions"] for each in both] == [7, 7]


def test_click_paths_are_read(thresher: Command, tmp_path: Path) -> None:
    path = tmp_path / "paths.tsv"
    path.write_text("# comment\n\nid\t1\t9\tA;B;<;C\tX\n" + "id\t1\t9\tA\tX\n" + "torn\n")
    found = json.loads(thresher("depth", "fit", path, "--json").out)
    assert (found["sessions"], found["views"], found["torn"], found["actions"][1]["back"]) == (2, 5, 1, 1)


@pytest.mark.parametrize("content", [b"", b"nothing of the kind\n", b"\x1f\x8b\x08broken"])
def test_what_is_no_log_is_one_message(thresher: Command, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    ran = thresher("depth", "fit", path)
    assert ran.code == 2
    assert ran.err.startswith(f"thresher: {path}: ")
    assert "xpected" in ran.err


def test_a_missing_file_and_a_bad_pattern_are_named(thresher: Command, log: Path) -> None:
    assert thresher("depth", "fit", "/nonexistent").code == 2
    ran = thresher("depth", "fit", log, "--exclude", "(")
    assert (ran.code, ran.err.startswith("thresher: --exclude: expected a regular expression")) == (2, True)


def test_the_figure_is_a_png(thresher: Command, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    out = tmp_path / "depth.png"
    assert thresher("depth", "fit", log, "--plot", out).code == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_missing_matplotlib_is_one_message(thresher: Command, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    ran = thresher("depth", "fit", log, "--plot", "x.png")
    assert (ran.code, "needs matplotlib, of the extra `report`" in ran.err) == (2, True)


@pytest.mark.skipif(not DATA.is_dir(), reason="shared/data is not here")
@pytest.mark.parametrize(
    ("file", "sessions", "q", "level"),
    [("logs/nasa-1995-07-first-4000.log.gz", 397, 0.678, 6), ("logs/semicomplete-2015.log.gz", 1165, 0.180, 1)],
)
def test_real_logs_stay_within_few_levels(thresher: Command, file: str, sessions: int, q: float, level: int) -> None:
    found = json.loads(thresher("depth", "fit", DATA / file, "--json").out)
    assert found["sessions"] == sessions
    assert found["models"]["B"]["q"] == pytest.approx(q, abs=5e-4)
    assert found["models"]["B"]["error"] < 0.02
    assert found["suggested_q"] == (None if "nasa" in file else found["models"]["B"]["q"])  # the one has no Referers
    assert found["levels"]["90%"] == level


# -- advise


def test_advise_says_of_each_site_how_deep_and_why(thresher: Command, crawl: Path) -> None:
    ran = thresher("depth", "advise", crawl, "--json")
    rows = [json.loads(row) for row in ran.out.splitlines()]
    assert ran.code == 0
    assert {"site", "pages", "depth", "why", "levels", "pagerank", "entries", "cut"} == set(rows[0])
    for row in rows:
        assert row["pages"] == sum(level["fetched"] for level in row["levels"])
        assert all(level["new"] + level["dropped"] <= level["fetched"] for level in row["levels"])
        assert row["pagerank"] == sorted(row["pagerank"])
        assert row["pagerank"][-1] == pytest.approx(1.0)
        assert all(level["dropped"] == sum(level["drops"].values()) for level in row["levels"])
    kinds = {kind for row in rows for level in row["levels"] for kind in level["drops"]}
    assert kinds >= {"error"}


def test_advise_prints_a_table(thresher: Command, crawl: Path) -> None:
    ran = thresher("depth", "advise", crawl)
    assert ran.out.splitlines()[0].split()[:3] == ["site", "pages", "depth"]
    assert "PageRank of all sites" in ran.out
    assert "\x1b" not in ran.out


def test_advise_follows_another_configuration(thresher: Command, crawl: Path) -> None:
    def depths(*sets: str) -> list[int | None]:
        rows = thresher("depth", "advise", crawl, "--json", *sets).out.splitlines()
        return [json.loads(row)["depth"] for row in rows]

    assert depths() != depths("--set", "filters.depth_cutoff.ceiling=1", "--set", "filters.depth_cutoff.floor=0")


def test_advise_of_what_is_no_crawl_is_one_message(thresher: Command, tmp_path: Path) -> None:
    ran = thresher("depth", "advise", tmp_path)
    assert (ran.code, "no crawl here" in ran.err) == (2, True)
