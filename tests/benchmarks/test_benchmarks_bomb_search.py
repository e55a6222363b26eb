"""The search for pages that hold the loop, in short: it runs, and it would find one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks.proofs import bomb_search
from benchmarks.speed import bomb_scan


@pytest.mark.long
def test_a_search_of_a_moment_reads_pages_and_finds_nothing(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["bomb_search", "--seconds", "0.5", "--limit-ms", "100000"])
    assert bomb_search.main() == 0
    assert "0 pages above" in capfd.readouterr().out


def test_a_search_finds_what_a_blind_scan_lets_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever a page takes is above a limit of nothing."""
    for scan in ("benchmarks.proofs.bomb_search.bomb", "thresher.crawler.core.bomb.bomb"):
        monkeypatch.setattr(scan, lambda body: "")
    for name, value in (("_LARGEST", 20_000), ("_TRIES", 1), ("_LAST_LIVES", 1)):
        monkeypatch.setattr(bomb_search, name, value)
    monkeypatch.setattr(sys, "argv", ["bomb_search", "--seconds", "0.5", "--limit-ms", "0", "--keep", str(tmp_path)])
    assert bomb_search.main() == 1
    assert next(tmp_path.glob("find-*.html")).read_bytes() != b""


def test_a_page_that_kills_its_reader_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def die(*_: object) -> None:
        os.kill(os.getpid(), 9)

    monkeypatch.setattr(bomb_search, "measured", die)
    monkeypatch.setattr(sys, "argv", ["bomb_search", "--seconds", "0.3", "--keep", str(tmp_path)])
    assert bomb_search.main() == 1
    assert (tmp_path / "death-0.html").exists()


def test_the_scan_is_measured_on_pages_of_a_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.html").write_bytes(b"<p>a page")
    (tmp_path / "b.html").write_bytes(b"<div>" * 20_000)
    monkeypatch.setattr(sys, "argv", ["bomb_scan", str(tmp_path)])
    assert bomb_scan.main() == 0
    assert "2 pages, 1 sent apart (50.00%): {'depth': 1}" in capfd.readouterr().out
