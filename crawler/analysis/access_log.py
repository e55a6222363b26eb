"""Reads access logs from files, gzip or plain, and from standard input. Lines that cannot be read are counted and left out."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from thresher.crawler.core.access_log import LoggedRequest, parse
from thresher.crawler.core.errors import UsageError

LONGEST_LINE = 1 << 16  # bytes; a longer line is not a line of a log
_GZIP = b"\x1f\x8b"
_A_LOG = "an access log, gzip or plain text"


@dataclass(slots=True)
class LinesRead:
    """How many lines were read so far, and how many could not be read."""

    lines: int = 0
    torn: int = 0  # lines that are not of a log, not decodable, or too long
    first_torn: str = ""  # file:line


def read_lines(path: str, reading: LinesRead, *, expected: str = _A_LOG) -> Iterator[str]:
    """Yield the lines of a file (gzip or plain, - for standard input) without line ends.

    Args:
        expected: What the file should have been, for the error message.

    Raises:
        UsageError: If it cannot be read.
    """
    try:
        with _opened(path) as file:
            is_rest, number = False, 0
            while line := file.readline(LONGEST_LINE):
                was_rest, is_rest = is_rest, line[-1:] != b"\n"
                if was_rest:
                    continue
                number += 1
                reading.lines += 1
                try:
                    if is_rest and len(line) == LONGEST_LINE:
                        raise ValueError
                    yield line.rstrip(b"\r\n").decode()
                except ValueError:
                    tear(reading, path, number)
    except (OSError, EOFError, zlib.error) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"{path}: cannot be read: {why}. Expected {expected}") from error


def read(paths: Iterable[str], reading: LinesRead) -> Iterator[LoggedRequest]:
    """Yield the requests of logs in common or combined format, file by file."""
    for path in paths:
        before = reading.lines
        for line in read_lines(path, reading):
            request = parse(line)
            if request is not None:
                yield request
            elif line.strip():
                tear(reading, path, reading.lines - before)


def tear(reading: LinesRead, path: str, number: int) -> None:
    """Count a line that is left out."""
    reading.torn += 1
    reading.first_torn = reading.first_torn or f"{path}:{number}"


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader]:
    """Open a file for reading; gzip is unpacked."""
    with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
        if file.peek(2)[:2] == _GZIP:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(cast("io.RawIOBase", unpacked))
        else:
            yield file
