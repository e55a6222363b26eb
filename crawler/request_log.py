"""One line per request, on request (`log.requests`): what was asked, what came, how long it took. Control characters cannot forge a line.

    2026-11-21T09:30:00.123Z  200  26112  0.104  page  127.0.0.5  https://a.example/

Columns, separated by tabs: end of the request in UTC, status or cause of failure, wire bytes, seconds, purpose, address, URL (ASCII).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from crawler.core.model import Failed, Outcome


class RequestLog:
    """An append-only file, or nothing if no file is configured."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", encoding="ascii", errors="backslashreplace") if path else None  # noqa: SIM115 - closed by `close`

    def write(self, outcome: Outcome, now: float) -> None:
        """Write the line of a request that ended at `now`."""
        if self._file is None:
            return
        result = outcome.cause if isinstance(outcome, Failed) else str(outcome.head.status)
        address = outcome.head.address if outcome.head else "-"
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        purpose = outcome.url.purpose.name.lower()
        print(
            at, result, outcome.wire_bytes, f"{outcome.elapsed_s:.3f}", purpose, address or "-", outcome.url.text, sep="\t", file=self._file
        )

    def flush(self) -> None:
        """Hand what is written to the system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
