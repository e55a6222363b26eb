"""The optional log of requests (`log.requests`), one line each: request, answer, duration. Control characters cannot forge a line.

    2026-11-21T09:30:00.123Z  200  26112  0.104  page  127.0.0.5  https://a.example/

Columns, separated by tabs: end of the request in UTC, status or cause of failure, wire bytes, seconds, purpose, address, URL (ASCII).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from thresher.crawler.core.model import Failed, Outcome
from thresher.storage.private import MODE


class RequestLog:
    """An append-only file that several agents may share; without a configured file nothing is written. Only the owner may read a new file.

    Complete lines are written, twice a second.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE) if path else -1
        self._lines: list[str] = []

    def write(self, outcome: Outcome, now: float) -> None:
        """Write the line of a request that ended at `now`."""
        if self._file < 0:
            return
        result = outcome.cause if isinstance(outcome, Failed) else str(outcome.head.status)
        address = outcome.head.address if outcome.head else "-"
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        purpose = outcome.url.purpose.name.lower()
        fields = (at, result, str(outcome.wire_bytes), f"{outcome.elapsed_s:.3f}", purpose, address or "-", outcome.url.text)
        self._lines.append("\t".join(fields) + "\n")

    def flush(self) -> None:
        """Write the buffered lines to the file."""
        if self._lines:
            packed, self._lines = "".join(self._lines).encode("ascii", "backslashreplace"), []
            while packed:
                packed = packed[os.write(self._file, packed) :]

    def close(self) -> None:
        if self._file >= 0:
            self.flush()
            os.close(self._file)
