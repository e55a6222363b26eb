"""The progress of a crawl on standard error: one live block on a terminal, a line every 30 s elsewhere, a table at the end."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from thresher.crawler.core.governing import counted
from thresher.crawler.status import Status

_LINE_EVERY_S = 30.0


class LiveBlock:
    """The live block of a terminal."""

    def __init__(self, console: Console) -> None:
        self._live = Live(Text("starting"), console=console, refresh_per_second=4, transient=True)
        self._live.start()

    def update(self, status: Status) -> None:
        self._live.update(block(status))

    def note(self, message: str) -> None:
        self._live.console.print(Text(message, style="yellow"))

    def close(self) -> None:
        self._live.stop()


class ProgressLines:
    """One line every 30 s, for logs and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = time.monotonic() + 1.0

    def update(self, status: Status) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            _say(line(status), self._stream)

    def note(self, message: str) -> None:
        _say(message, self._stream)

    def close(self) -> None:
        """Nothing is held."""


class Silent:
    """No progress; notes are still printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def update(self, status: Status) -> None:
        """Show nothing."""

    def note(self, message: str) -> None:
        _say(message, self._stream)

    def close(self) -> None:
        """Nothing is held."""


def _say(text: str, stream: TextIO) -> None:
    """Print a line. If the stream is closed, nothing happens: this must not end the crawl."""
    with suppress(OSError):
        print(text, file=stream, flush=True)


def line(status: Status) -> str:
    """Return the progress in one line."""
    waits = (
        (f"  failed attempts: {counted(status.causes)}" if status.causes else "")
        + (f"  skipped: {counted(status.skipped)}" if status.skipped else "")
        + (f"  {status.state}: {status.why}" if status.why else "")
    )
    return (
        f"[{clock(status.running_s)}] {status.pages:,} pages ({status.pages_per_s:.1f}/s)  {size(status.wire_bytes)}  "
        f"{_classes(status)}  {_hosts(status)}  queued {status.queued:,}  known {status.known:,}{waits}"
    )


def block(status: Status) -> Group:
    """Return the live block."""
    rows = [
        Text(
            f"[{clock(status.running_s)}] {status.pages:,} pages  {status.pages_per_s:.1f}/s  "
            f"{size(status.wire_bytes)}  {_classes(status)}",
            style="bold",
        ),
        Text(f"{_hosts(status)}  queued {status.queued:,}  known {status.known:,}", overflow="ellipsis", no_wrap=True),
    ]
    if status.causes:
        rows.append(Text("failed attempts: " + counted(status.causes)))
    for what, counts in (("held now by filters", status.held_by), ("links and copies refused by filters", status.saved)):
        if counts:
            rows.append(Text(f"{what}: {_counts(counts)}", overflow="ellipsis", no_wrap=True))
    if status.skipped:
        rows.append(Text("skipped: " + counted(status.skipped)))
    if status.hosts_parked:
        rows.append(Text("hosts parked: " + counted(status.hosts_parked)))
    if status.why:
        rows.append(Text(f"{status.state}: {status.why}", style="yellow", overflow="ellipsis", no_wrap=True))
    return Group(*rows)


def headline(status: Status) -> Text:
    """Return the line that ends a crawl."""
    return Text(f"Crawl {standing(status.state, status.why)}")


def standing(state: str, why: str) -> str:
    """Return a state with its reason: "done: nothing is left to do", "stopped by SIGINT"."""
    if not why or why.startswith(f"{state} "):
        return why or state
    return f"{state}: {why}"


def summary(status: Status) -> Table:
    """Return the table that ends a crawl."""
    table = Table(show_header=False, box=None, padding=(0, 2))
    rate = status.run_pages / status.running_s if status.running_s else 0.0
    rows = [
        (
            "pages",
            f"{status.pages:,}, of which {status.run_pages:,} in this run of {clock(status.running_s)} ({rate:.1f}/s)",
        ),
        ("received", size(status.wire_bytes)),
        ("requests", f"{status.requests:,}, of which robots.txt {status.robots_requests:,}"),
        ("answers", _classes(status) or "none"),
        ("redirects", f"{status.redirects:,}"),
        ("failed", f"{status.failed:,}" + (f"  (by attempt: {counted(status.causes)})" if status.causes else "")),
        ("URLs", f"{status.known:,} known, {status.queued:,} still queued" + (f", {status.held:,} held by filters" if status.held else "")),
        ("hosts", f"{status.hosts:,} known" + (f", parked: {counted(status.hosts_parked)}" if status.hosts_parked else "")),
        ("skipped", counted(status.skipped) or "nothing"),
        ("held now", f"by filters: {_counts(status.held_by)}" if status.held_by else "nothing"),
        ("refused", f"by filters, links and copies: {_counts(status.saved)}" if status.saved else "nothing by filters"),
        *([("dropped later", f"pages and redirects: {_counts(status.dropped_later)}")] if status.dropped_later else []),
        *([("would be saved", _counts(status.would_save))] if status.would_save else []),
        *([("walled", f"{status.walled:,} host{'s' * (status.walled != 1)}")] if status.walled else []),
        *([("fetched again", f"{status.fetched_again:,} URLs that walls had answered for")] if status.fetched_again else []),
        *([("need a browser", _counts(status.needs_browser))] if status.needs_browser else []),
        *([("quarantined", f"{_counts(status.quarantined)}; see `thresher quarantine`")] if status.quarantined else []),
        (
            "cost",
            f"{status.cpu_s:.1f} CPU s, peak memory {size(status.rss_bytes)}"
            + (f", {status.restarts} restarts" if status.restarts else ""),
        ),
    ]
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def clock(seconds: float) -> str:
    """Return a duration as h:mm:ss."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def size(n_bytes: float) -> str:
    """Return a size in a unit that a person reads at a glance."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def _hosts(status: Status) -> str:
    return f"hosts {status.hosts_active:,} active / {status.hosts_waiting:,} waiting / {status.hosts_backing_off:,} backing off"


def _classes(status: Status) -> str:
    return "  ".join(f"{name} {n:,}" for name, n in sorted(status.status_classes.items()))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
