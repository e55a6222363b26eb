"""Ends a process with its own exit code, even if its terminal or pipe has been closed.

Python flushes standard output and standard error when it exits. If that fails (EIO: the terminal was closed; EPIPE: the reader of the pipe
is gone), it would exit with 120 in place of the code that the program chose.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process with `code`. Output that cannot be written to a closed terminal or pipe is dropped."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (
            OSError,
            ValueError,
            AttributeError,
        ):  # ValueError: closed; AttributeError: None, since the parent had closed it
            with suppress(OSError, ValueError, AttributeError):
                _point_nowhere(stream.fileno())
    sys.exit(code)


def _point_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)  # the interpreter's last flush writes to it
    os.close(nowhere)
