"""The log DIR/errors.log: an error that kills one of our processes, with its traceback and the time; the operator's terminal gets one line.

From its start, an agent's standard error is this log. Its children inherit it, so messages of the interpreter, of C libraries and of dying
children are in it. Messages for the operator go to the stream that was standard error before.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
from pathlib import Path
from typing import TextIO

from thresher.storage.private import MODE

NAME = "errors.log"
_LOG_ONLY = "log_only"
LOG_ONLY = {_LOG_ONLY: True}  # pass as `extra` with a message about which the operator can do nothing
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def divert(directory: Path) -> TextIO:
    """Redirect standard error to the log in `directory`; return the operator's stream. If the disk refuses, nothing is redirected."""
    operator = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    try:
        log = os.open(directory / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)
    except OSError:
        return operator
    os.dup2(log, 2)
    os.close(log)
    faulthandler.enable(sys.stderr)
    return operator


class _OneLine(logging.Formatter):
    """Leaves the traceback to the log."""

    def format(self, record: logging.LogRecord) -> str:
        whole = super().format(record).split("\n")
        return whole[0] if len(whole) == 1 else f"{whole[0]} (more in {NAME})"


def log_to(operator: TextIO, level: str) -> None:
    """Send the program's log to the operator, one line each; a message of several lines is also written to the error log in full."""
    short, full = logging.StreamHandler(operator), logging.StreamHandler(sys.stderr)
    short.setFormatter(_OneLine(_FORMAT))
    full.setFormatter(logging.Formatter(_FORMAT))
    short.addFilter(lambda record: not hasattr(record, _LOG_ONLY))
    full.addFilter(lambda record: record.exc_info is not None or "\n" in record.getMessage())
    logging.basicConfig(level=level.upper(), handlers=[short, full])


def forget_empty(directory: Path) -> None:
    """Remove an empty log; no process may have it open any more."""
    path = directory / NAME
    if path.is_file() and path.stat().st_size == 0:
        path.unlink()
