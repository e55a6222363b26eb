"""`thresher status`: what a crawl is doing, or how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table
from thresher.crawler.core.governing import counted
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import clock, size, standing
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import read_partitions

if TYPE_CHECKING:
    from thresher.storage.view import View

_ENDED = ("done", "stopped", "failed")


class StatusReport(Status, kw_only=True):
    """The last status of a crawl, and whether a process still works on it."""

    pid: int = 0  # process id of the supervisor that wrote the status; 0: the status is read from the store
    alive: bool = False  # whether a process holds the store's lock
    holder: int = 0  # id of that process; 0: none
    round: str = ""  # message about the round of revisits; "": there was none


@click.command(epilog="Example: thresher status example --json")
@directory_argument
@json_option
def status(directory: str, as_json: bool) -> int:
    """Show what the crawl in DIR is doing, or how it ended.

    While it runs, the figures are at most a second old. If no status was written, they are those of the store's last commit. Of a
    machine that is away they are the last that it sent.
    """
    from thresher.crawler.terminal.rounds import round_rows
    from thresher.storage.export.reading import reading

    path = Path(directory)
    report = _of_head(path)
    rounds: list[str] = []
    if report is None:
        with reading(path) as view:
            report = _report(path, view)
            rounds = round_rows(view, path)
            report.round = rounds[0] if rounds else ""
    if as_json:
        print_json(report)
    else:
        print_table(("", ""), [*_rows(report), *(("round", words) for words in rounds)])
    return 0


def _of_head(path: Path) -> StatusReport | None:
    """Return the status of a crawl of several machines by the head's disk alone, since a machine may be away; None if that does not tell
    it, or if this is no such crawl.
    """
    table = read_partitions(path)
    report = _written(path) if table is not None and table.machines else None
    if report is None:
        return None
    report.holder = lock_holder(path)
    report.alive = report.holder != 0
    return report if report.alive or report.state in _ENDED else None


def _report(path: Path, view: View) -> StatusReport:
    """Return the last status that was written. If no process works on the crawl any more, its figures are of the last commit."""
    from thresher.crawler.settlement.totals import Totals

    report = _written(path) or _counted(view)
    report.holder = lock_holder(path)
    report.alive = report.holder != 0
    if not report.alive and report.state not in _ENDED:
        Totals(view.counters).fill(report)
    return report


def _written(path: Path) -> StatusReport | None:
    """Return the status that a supervisor wrote; None if there is none that can be read."""
    try:
        return msgspec.json.decode((path / "status.json").read_bytes(), type=StatusReport)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _counted(view: View) -> StatusReport:
    """Return a status made from the store's counters."""
    from thresher.crawler.settlement.totals import Totals

    report = StatusReport(state="stopped", why="no status was written, these are the figures of the last commit", at=view.clock)
    Totals(view.counters).fill(report)
    return report


def crawl_state(path: Path, view: View) -> str:
    """Return a message about what the crawl is doing, or how it ended."""
    report = _written(path) or _counted(view)
    said = standing(report.state, report.why)
    return f"{said} (process {holder})" if (holder := lock_holder(path)) else f"{said}; no process is at work"


def _rows(report: StatusReport) -> list[tuple[str, object]]:
    from thresher.storage.export.fields import iso

    ended = not report.alive
    state = standing(report.state, report.why)
    if ended and report.state not in _ENDED:
        state = f"ended without a word (its last state was {state})"
    idle = "none" if report.why == "nothing is left to do" else "none; `thresher resume` goes on"
    classes = {name: report.status_classes[name] for name in sorted(report.status_classes)}
    return [
        ("state", state),
        ("process", f"{report.holder} is at work" if report.alive else idle),
        ("as of", iso(report.at)),
        ("ran for" if ended else "running for", clock(report.running_s)),
        ("pages", f"{report.pages:,}" + ("" if ended else f"  ({report.pages_per_s:.1f}/s)")),
        ("received", size(report.wire_bytes)),
        ("requests", f"{report.requests:,}, of which robots.txt {report.robots_requests:,}"),
        ("answers", _counts(classes)),
        ("redirects", report.redirects),
        ("failed", f"{report.failed:,}" + (f"  (by attempt: {counted(report.causes)})" if report.causes else "")),
        ("URLs", f"{report.known:,} known, {report.queued:,} queued, {report.held:,} held by filters, {report.in_flight:,} in flight"),
        ("hosts", f"{report.hosts:,} known" + ("" if ended else _at_work(report))),
        ("away", _away(report.away)),
        ("parked", counted(report.hosts_parked)),
        ("skipped", counted(report.skipped)),
        ("held now", f"by filters: {_counts(report.held_by)}" if report.held_by else ""),
        ("refused", f"by filters, links and copies: {_counts(report.saved)}" if report.saved else ""),
        ("dropped later", f"pages and redirects: {_counts(report.dropped_later)}" if report.dropped_later else ""),
        ("walled", f"{report.walled:,} host{'s' * (report.walled != 1)}" if report.walled else ""),
        ("fetched again", f"{report.fetched_again:,} URLs that walls had answered for" if report.fetched_again else ""),
        ("need a browser", _counts(report.needs_browser) + ("; see `thresher export --what browser`" if report.needs_browser else "")),
        ("quarantined", _counts(report.quarantined) + ("; see `thresher quarantine`" if report.quarantined else "")),
        ("cost", f"{report.cpu_s:.1f} CPU s, peak memory {size(report.rss_bytes)}, {report.restarts:,} restarts"),
    ]


def _at_work(report: StatusReport) -> str:
    return f", {report.hosts_active:,} active, {report.hosts_waiting:,} waiting, {report.hosts_backing_off:,} backing off"


def _away(n: int) -> str:
    return f"the machine of {n:,} agent{'s' * (n > 1)} cannot be reached: {'their' if n > 1 else 'its'} hosts wait" if n else ""


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())
