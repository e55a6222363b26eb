"""All measurements of speed in one table: `python -m benchmarks [PART…] [--short] [--peers DIR] [--directory DIR] [--out DIR]`.

    webs      `thresher bench webs --ablate`: pages per CPU second on five webs, with each filter left out in turn
    peers     `benchmarks.peers`: other crawlers and two floors on the same web
    growth    `benchmarks.speed.growth`: seen set and frontier up to 50 million URLs in three regimes
    agents    `benchmarks.speed.agents`: one agent and one for each core

Each part runs in a separate process, one after the other, on the whole machine. If it succeeds, its files are put into the folder of
--out, with the table as speed.json. If it fails, nothing is kept except a line in the table that says why. All parts together take most of
a day. --short takes minutes and only shows that everything runs: its figures mean nothing, and are kept only if --out is given.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.versions import machine
from benchmarks.speed.growth import HOSTS
from benchmarks.speed.growth import read as growth_rows
from benchmarks.support.checkout import environment
from benchmarks.support.ending import exit_with, started
from thresher.crawler.children import python
from thresher.crawler.cli.common import folder, print_table
from thresher.crawler.version import VERSION


class Line(NamedTuple):
    """One line of the table."""

    part: str
    case: str
    size: str = ""
    figure: float | None = None  # None: there is no result
    unit: str = ""
    peak_mib: int | None = None
    note: str = ""


class Part(NamedTuple):
    """One of the benchmarks."""

    command: tuple[str, ...]  # the command line; a folder for its files is added at the end
    short: tuple[str, ...]  # more arguments with --short
    lines: Callable[[Path], list[Line]]  # reads the files in a folder and returns lines of the table


def _webs(out: Path) -> list[Line]:
    lines = []
    for of in json.loads((out / "bench_webs.json").read_bytes()):
        note = f"loop lag p99 {of['loop_lag_ms_p99']:.0f} ms; server's limit {of['server_pages_per_cpu_s']:,.0f}; {of['machine']}"
        rate, mib = round(of["pages_per_cpu_s"]["median"]), round(of["peak_rss_bytes"] / 2**20)
        lines.append(Line("webs", f"{of['profile']}, {of['filters']}", f"{of['pages']:,} pages", rate, "pages/CPU s", mib, note))
    return lines


def _peers(out: Path) -> list[Line]:
    lines = []
    for profile in ("median", "small"):
        of = json.loads((out / f"peers_{profile}.json").read_bytes())
        for row in of["rows"]:
            case, size = f"{profile}, {row['crawler']}", f"{row['pages']:,} pages"
            note = f"{row['ended']}; server's limit {of['server_limit']:,}"
            lines.append(Line("peers", case, size, row["pages/CPU s"], "pages/CPU s", row["peak MiB"], note))
        lines += [Line("peers", f"{profile}, {name}", note=f"skipped, {word}") for name, word in of["skipped"].items()]
    return lines


def _growth(out: Path) -> list[Line]:
    lines = []
    for regime in HOSTS:
        rows = growth_rows(out, regime)
        for row in rows:
            note = f"{row.known_us / rows[0].known_us:.2f} times the first size; {row.hosts:,} hosts"
            lines.append(
                Line("growth", regime, f"{row.known:,} URLs", round(row.known_us, 1), "µs a known link", round(row.anon_mib), note)
            )
    return lines


def _agents(out: Path) -> list[Line]:
    of: dict[str, Any] = json.loads((out / "agents.json").read_bytes())
    lines = []
    for row in of["rows"]:
        times = "more agents than cores" if row["of the first"] is None else f"{row['of the first']:.2f} times the first"
        note = f"{times}; {row['CPU ms a page']:.2f} CPU ms a page; loop lag p99 {row['lag ms p99']} ms"
        lines.append(Line("agents", f"{row['agents']} agents", f"{row['pages']:,} pages", row["pages/s"], "pages/s", None, note))
    return lines


def _parts(peers: Path, directory: Path | None) -> dict[str, Part]:
    start = tuple(python.command("")[:-1])
    n_cores = len(os.sched_getaffinity(0))
    place = () if directory is None else ("--directory", str(directory))
    return {
        "webs": Part(
            (*start, "thresher", "bench", "webs", "--ablate", "--out"),
            ("--pages", "200", "--hosts", "20", "--runs", "1"),
            _webs,
        ),
        "peers": Part(
            (*start, "benchmarks.peers", "--peers", str(peers), "--out"), ("--hosts", "20", "--runs", "1", "--cpu-seconds", "2"), _peers
        ),
        "growth": Part((*start, "benchmarks.speed.growth", *place, "--out"), ("--millions", "0.1,0.2"), _growth),
        "agents": Part(
            (*start, "benchmarks.speed.agents", "--agents", *map(str, sorted({1, max(2, n_cores)})), "--out"),
            ("--sites", "2", "--runs", "1"),
            _agents,
        ),
    }


def run(parts: Mapping[str, Part], out: Path | None, *, short: bool) -> list[Line]:
    """Run parts one after the other; return the table.

    Args:
        parts: Name → part.
        out: Folder for their files; None: keep none.
        short: Whether they only show that they run.
    """
    lines = []
    for name, part in parts.items():
        with tempfile.TemporaryDirectory(prefix="thresher-bench-") as temporary:
            made = Path(temporary)
            why = _why_failed((*part.command, temporary, *(part.short if short else ())))
            if why:
                lines.append(Line(name, "no result", note=why))
                continue
            lines += part.lines(made)
            if out is not None:
                shutil.copytree(made, out, dirs_exist_ok=True)
    return lines


def _why_failed(command: tuple[str, ...]) -> str:
    """Run a benchmark and show its progress; return why it has no result, "" if it has one."""
    last = "it said nothing"
    with started(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            print(line, end="", file=sys.stderr, flush=True)
            last = line.strip() or last
    return f"exit {process.returncode}: {last[:200]}" if process.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="All of the speed in one table.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="webs, peers, growth or agents; all without")
    parser.add_argument("--short", action="store_true", help="small sizes: shows that everything runs")
    parser.add_argument("--peers", type=Path, default=Path("peers"), help="where the other crawlers are installed")
    parser.add_argument("--directory", type=Path, help="where the stores of `growth` are made, and removed")
    parser.add_argument("--out", type=Path, help="folder for the results as JSON  [default: benchmarks/results]")
    of = parser.parse_args()
    every = _parts(of.peers, of.directory)
    if unknown := [name for name in of.parts if name not in every]:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(every)}")
    out = of.out if of.short or of.out is not None else Path(__file__).parent / "results"
    folder(out)
    lines = run({name: every[name] for name in of.parts or every}, out, short=of.short)
    about = {"machine": machine(), "thresher": VERSION, "is_short": of.short, "rows": [line._asdict() for line in lines]}
    if out is not None:
        (out / "speed.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    print_table(Line._fields, lines)
    print(f"{about['machine']}{', short: figures mean nothing' if of.short else ''}")
    return int(any(line.case == "no result" for line in lines))


if __name__ == "__main__":
    exit_with(main)
