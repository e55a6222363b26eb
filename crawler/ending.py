"""How a crawl ends: its exit code, and why in words."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.crawler.core.governing import governed, options_of
from thresher.crawler.status import Status


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended, and its exit code."""

    code: int
    why: str


def finished(why: str, status: Status, *, answered_before: int, max_error_rate: float) -> Ending:
    """Return how a crawl ended that has nothing to do any more: what is left undone, and the most frequent cause of failures.

    Args:
        status: The status of the whole crawl, as of now.
        answered_before: Pages and redirects of earlier lives.
    """
    parts = [why]
    parts += [f"{state}: {_count(n, 'host')}" for state, n in status.hosts_held_up.items()]
    parts += [f"{governed(reason)}: {_count(n, 'host')}" for reason, n in status.hosts_parked.items()]
    if status.held:
        alone = f", {status.left_alone:,} of them left alone, see `stats --by class`" if status.left_alone else ""
        parts.append(f"held by filters: {_count(status.held, 'URL')}{alone}")
    if status.walled:
        parts.append(f"walled: {_count(status.walled, 'host')}, see `stats --by wall`; resume asks again")
    if status.needs_browser:
        parts.append(f"need a browser: {', '.join(f'{n:,} {what}' for what, n in status.needs_browser.items())}")
    if status.quarantined:
        parts.append(f"quarantined: {', '.join(f'{n:,} {what}' for what, n in status.quarantined.items())}")
    answered = status.pages + status.redirects
    error_rate = status.failed / (status.failed + answered) if status.failed else 0.0
    cause, n = max(status.causes.items(), key=lambda item: item[1], default=("", 0))
    everything_is_done = status.queued == 0 and answered > 0
    if error_rate > max_error_rate:
        parts.append(f"{error_rate:.0%} of the URLs failed, most by {_named(cause, n)}")
    elif n and answered == answered_before and not everything_is_done:
        parts.append(f"nothing was fetched: {_named(cause, n)}")
    elif status.redirects and not status.pages and not status.queued:
        parts.append("no page was fetched: no redirect led to one, `thresher explain DIR URL` says why")
    else:
        return Ending(0, "; ".join(parts))
    return Ending(4, "; ".join(parts))


def to_go_on(status: Status, directory: object) -> str:
    """Return how to go on after a limit that counts all lives of the crawl (a plain `resume` would end at once); "" if no such limit ended
    it.
    """
    for option, flag, used in (("max_pages", "--max-pages N", status.pages), ("max_bytes", "--set limits.max_bytes=N", status.wire_bytes)):
        if status.why == f"limits.{option} reached":
            return f"limits.{option} counts from the crawl's first start; with N above {used}, `thresher resume {directory} {flag}` goes on"
    return ""


def _named(cause: str, n: int) -> str:
    options = options_of(cause)
    return f"{cause} ({_count(n, 'attempt')}{'; ' + options if options else ''})"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
