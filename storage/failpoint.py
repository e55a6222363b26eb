"""Places where a test may kill the process, and broken designs it may switch on. Inert unless the environment says otherwise.

`THRESHER_CRASH_AT=name:count` sends SIGKILL to the process the `count`-th time the point `name` is reached.
`THRESHER_BROKEN_DESIGN=split_txn` commits a group's new URLs in a second transaction: the kill test must catch the loss.
"""

from __future__ import annotations

import os
import signal

_name, _, _count = os.environ.get("THRESHER_CRASH_AT", "").partition(":")
_left = int(_count or 1)

split_txn = os.environ.get("THRESHER_BROKEN_DESIGN", "") == "split_txn"


def reached(name: str) -> None:
    """Die here if the environment asks for it."""
    global _left
    if name != _name:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
