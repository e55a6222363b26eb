"""What kills a process of ours is written to DIR/errors.log, with its traceback and the time; an operator's terminal gets one line.

An agent's own standard error, which its children inherit, is the log from its start on: whatever the interpreter, the C libraries or
a child that dies have to say lands there. What is meant for the operator is written to the stream that was there before.
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
LOG_ONLY = {_LOG_ONLY: True}  # `extra` of a record that an operator can do nothing about
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def divert(directory: Path) -> TextIO:
    """Let standard error be the log in `directory`; return the operator's stream. On a disk that refuses it stays what it was."""
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
    """Let the program's own log go to the operator, a line each; what has more lines is also in the error log as a whole."""
    short, full = logging.StreamHandler(operator), logging.StreamHandler(sys.stderr)
    short.setFormatter(_OneLine(_FORMAT))
    full.setFormatter(logging.Formatter(_FORMAT))
    short.addFilter(lambda record: not hasattr(record, _LOG_ONLY))
    full.addFilter(lambda record: record.exc_info is not None or "\n" in record.getMessage())
    logging.basicConfig(level=level.upper(), handlers=[short, full])


def forget_empty(directory: Path) -> None:
    """Remove a log that nothing was written to; nobody may have it open any more."""
    path = directory / NAME
    if path.is_file() and path.stat().st_size == 0:
        path.unlink()
