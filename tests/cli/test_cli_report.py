"""`thresher report`: one file, whole or absent, of a crawl that runs or has ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Thresher = Callable[..., Any]
ROOT = Path(__file__).parents[2]
RUNNING = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/cli"]
from small_store import NOW, SmallStore
from thresher.crawler.core.model import State
small = SmallStore(Path(sys.argv[2]))
for number in range(3):
    url = small.url(f"/{number}")
    small.known(url, State.DONE)
    small.page(url)
small.store.flush(NOW + 9).result()
print("committed", flush=True)
sys.stdin.read()
small.store.close(commit=False)
"""


def test_a_report_is_written_and_not_twice_unless_forced(thresher: Thresher, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    first = thresher("report", crawl, "-o", out)
    assert (first.code, first.out) == (0, "")
    assert out.read_text().startswith("<!doctype html>\n<html")
    assert f"{out.stat().st_size:,} bytes" in first.err
    again = thresher("report", crawl, "-o", out)
    assert (again.code, "--force" in again.err) == (2, True)
    before = out.read_bytes()
    assert thresher("report", crawl, "-o", out, "--force").code == 0
    assert out.read_bytes() == before


def test_without_a_place_the_page_goes_to_standard_output(crawl: Path) -> None:
    words = [sys.executable, "-m", "thresher", "report", str(crawl), "--no-order"]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, timeout=600)
    assert run.stdout.startswith(b"<!doctype html>")
    assert b'<section id="order"' not in run.stdout
    assert b'<section id="filters"' in run.stdout


def test_it_tells_what_the_small_crawl_has(thresher: Thresher, crawl: Path, tmp_path: Path) -> None:
    assert thresher("report", crawl, "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    for said in ("Crawl report: ", "duplicate_content", "robots_denied", "conn_refused", "drop session ids", "parked.example", "host_dead"):
        assert said in page, said
    assert "\x1b" not in page


def test_a_running_crawl_is_told_of_as_far_as_it_is_committed(thresher: Thresher, tmp_path: Path) -> None:
    store = tmp_path / "running"
    words = [sys.executable, "-c", RUNNING, str(ROOT), str(store)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crawling:
        assert crawling.stdout
        assert crawling.stdout.readline() == "committed\n"
        ran = thresher("report", store, "-o", tmp_path / "r.html")
        assert ran.code == 0, ran.err
        page = (tmp_path / "r.html").read_text()
        assert f"(process {crawling.pid})" in page
        assert "3 pages as of" in page
        crawling.communicate("")


def test_what_is_no_store_is_named(thresher: Thresher, tmp_path: Path) -> None:
    ran = thresher("report", tmp_path, "-o", tmp_path / "r.html")
    assert ran.code in (2, 6)
    assert str(tmp_path) in ran.err
    assert not (tmp_path / "r.html").exists()
