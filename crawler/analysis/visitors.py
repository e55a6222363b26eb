"""Sessions of a site's visitors from files: access logs, or recorded click paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from thresher.crawler.analysis.access_log import LinesRead, read, read_lines, tear
from thresher.crawler.core.errors import UsageError
from thresher.filters.depth_cutoff.sessions import Sessions, from_log, from_paths

_PATH_FIELD = 3  # index of the field in a line of click paths: client, time, duration, path, …


def read_sessions(paths: Sequence[str], reading: LinesRead, *, exclude: re.Pattern[str] | None = None, host: str = "") -> Sessions:
    """Read the sessions of one site.

    Args:
        paths: The paths of one kind, - for standard input. Click paths are lines of tab-separated fields, the fourth the names of pages
            joined by ";", "<" for a click on the back button, as Wikispeedia publishes them; lines that begin with # are comments.

    Raises:
        UsageError: If nothing is found or a file cannot be read.
    """
    if len(paths) == 1 and _is_path_file(paths[0]):
        found = from_paths(_click_paths(paths[0], reading))
    else:
        found = from_log(read(paths, reading), exclude=exclude, host=host)
    if not len(found):
        first = f", the first at {reading.first_torn}" if reading.torn else ""
        raise UsageError(
            f"{', '.join(paths)}: no sessions in {reading.lines:,} lines, of which {reading.torn:,} are no log lines{first}. "
            "Expected an access log of visitors in common or combined format, or click paths"
        )
    return found


def _is_path_file(path: str) -> bool:
    """Return whether a file, not standard input, has click paths."""
    if path == "-":
        return False
    lines = (line for line in read_lines(path, LinesRead()) if line.strip() and not line.startswith("#"))
    return _click_path(next(lines, "")) is not None


def _click_paths(path: str, reading: LinesRead) -> Iterator[list[str]]:
    for line in read_lines(path, reading):
        if not line.strip() or line.startswith("#"):
            continue
        clicks = _click_path(line)
        if clicks is None:
            tear(reading, path, reading.lines)
        else:
            yield clicks


def _click_path(line: str) -> list[str] | None:
    fields = line.split("\t")
    return fields[_PATH_FIELD].split(";") if len(fields) > _PATH_FIELD and fields[_PATH_FIELD] else None
