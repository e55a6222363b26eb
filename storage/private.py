"""Files that hold what a crawl found or whom it asked are their owner's alone, in whatever directory they lie."""

from __future__ import annotations

import os

MODE = 0o600


def private(path: str, flags: int) -> int:
    """Open a file as `open(…, opener=private)` asks for it; one that is made, or begun anew, can be read by nobody else."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, MODE)
    if flags & os.O_TRUNC:
        os.fchmod(descriptor, MODE)
    return descriptor
