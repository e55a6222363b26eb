"""Places where a test may kill the process, and broken designs it may switch on. Inert unless the environment says otherwise.

`CRAWL_CRASH_AT=name:count` sends SIGKILL to the process the `count`-th time it reaches the point `name`.
`CRAWL_CRASH_AT=name:count:file` does so once over all processes: who makes the file dies, where it stands nobody does.
`CRAWL_BROKEN_DESIGN=split_txn` commits a group's new URLs in a second transaction, `dispatch_delete` takes a URL from its queue when it is
handed out: the kill test must catch the loss.
"""

from __future__ import annotations

import os
import signal

_name, _count, _once, *_ = (*os.environ.get("CRAWL_CRASH_AT", "").split(":", 2), "", "")
_left = int(_count or 1)
_design = os.environ.get("CRAWL_BROKEN_DESIGN", "")

split_txn = _design == "split_txn"
dispatch_delete = _design == "dispatch_delete"


def reached(name: str) -> None:
    """Die here if the environment asks for it."""
    global _left  # noqa: PLW0603 - one countdown of the process
    if name != _name:
        return
    _left -= 1
    if _left == 0 and _is_first():
        os.kill(os.getpid(), signal.SIGKILL)


def _is_first() -> bool:
    if not _once:
        return True
    try:
        os.close(os.open(_once, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
