"""Draws the README's picture of the live block, `.images/live.svg`: `python -m benchmarks.support.live_block [--seconds N] [-o FILE]`.

`thresher demo` crawls its web of several hundred hosts, and what the block shows after so many seconds is drawn by the code that shows it
(crawler/terminal/progress.py). The picture's element `desc` has the status that it was drawn from. tests/terminal/test_live_picture.py
draws that again, and fails when the block has changed, so that this must be run again.
"""

from __future__ import annotations

import argparse
import html
import io
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from benchmarks.support.checkout import ROOT
from benchmarks.support.ending import exit_with, started
from thresher.crawler.children import python
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import block

_WIDTH = 110  # characters
_DESCRIPTION = re.compile("<desc>(.*?)</desc>", re.DOTALL)
_FONTS = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)  # Rich's template loads them from the network


def status_after(seconds: float) -> Status:
    """Crawl the demo's web and return its status after so many seconds, at most one more."""
    with tempfile.TemporaryDirectory(prefix="thresher-picture-") as folder:
        crawl = Path(folder) / "crawl"
        command = python.command("thresher", "demo", "--seconds", str(seconds + 60), "--progress", "none", "-o", str(crawl))
        with started(command, stderr=subprocess.DEVNULL) as process:
            status = Status()
            while status.running_s < seconds:
                time.sleep(0.1)
                file = crawl / "status.json"
                status = msgspec.json.decode(file.read_bytes(), type=Status) if file.exists() else status
            process.send_signal(signal.SIGINT)
            process.wait()
        return status


def picture(status: Status) -> str:
    """Return the live block of a status as SVG, which loads nothing."""
    fields = {name: value for name in Status.__struct_fields__ if (value := getattr(status, name)) != getattr(Status(), name)}
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(block(status), "")
    drawn_from = html.escape(msgspec.json.encode(fields).decode(), quote=False)
    template = _FONTS.sub("", CONSOLE_SVG_FORMAT)
    picture = console.export_svg(title="thresher", theme=MONOKAI, code_format=template, unique_id="live")
    return picture.replace("<style>", f"<desc>{drawn_from}</desc>\n    <style>", 1)


def drawn_from(picture: str) -> Status:
    """Return the status that a picture was drawn from."""
    found = _DESCRIPTION.search(picture)
    assert found is not None
    return msgspec.json.decode(html.unescape(found[1]), type=Status)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.support.live_block", description="Draw the README's live block.")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to crawl before (default: 20)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / ".images/live.svg", help="file to write (default: .images/live.svg)")
    of = parser.parse_args()
    of.output.write_text(picture(status_after(of.seconds)), "utf-8")
    print(f"{of.output} written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    exit_with(main)
