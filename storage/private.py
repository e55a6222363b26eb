"""Files with a crawl's data can only be read by their owner, in any directory."""

from __future__ import annotations

import os

MODE = 0o600


def private(path: str, flags: int) -> int:
    """Open a file, for `open(…, opener=private)`; a new or truncated file can only be read by its owner."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, MODE)
    if flags & os.O_TRUNC:
        os.fchmod(descriptor, MODE)
    return descriptor
