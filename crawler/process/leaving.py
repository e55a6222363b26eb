"""How a process of ours ends: with the exit code that it means, whatever became of its terminal.

The interpreter flushes standard output and standard error last of all. Where that fails (EIO: the terminal was closed; EPIPE: the pipe's
reader is gone) it ends with 120 instead of the code it was given.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End with `code`. What can no longer be written to a closed terminal or pipe is dropped."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # ValueError: closed; AttributeError: None, it was closed by whoever started us
            with suppress(OSError, ValueError, AttributeError):
                _point_nowhere(stream.fileno())
    sys.exit(code)


def _point_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)  # the interpreter's last flush goes there
    os.close(nowhere)
