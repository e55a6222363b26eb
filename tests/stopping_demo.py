"""A demo server that stops itself by SIGSTOP after some requests (stopping_server.py), seen from the test that started it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import send, state_of, wait_until

from thresher.crawler.demo.process import ServerProcess


class StoppingServer(ServerProcess):
    """A demo server that stops after each of `counts` requests, until it `goes_on`."""

    def __init__(self, profile: str, *, counts: Sequence[int], **others: Any) -> None:
        super().__init__(profile, **others)
        at = self._command.index("-m")
        self._command[at : at + 2] = [str(Path(__file__).with_name("stopping_server.py")), ",".join(map(str, counts))]

    def until_stopped(self) -> None:
        """Wait until it has stopped; its last request is in the log by then."""
        wait_until(lambda: not self.is_running or state_of(self.pid) == "T")

    def goes_on(self) -> None:
        """Let it answer again after it has stopped."""
        self.until_stopped()
        send(self.pid, signal.SIGCONT)

    def close(self) -> None:
        if self.is_running:
            send(self.pid, signal.SIGCONT)
        super().close()


def stopping_demo(profile: str, directory: Path, *counts: int, port: int = 0, **changes: object) -> StoppingServer:
    """Return a `demo` server that stops after some requests: no crawl of it ends before the test lets it go on."""
    return StoppingServer(profile, counts=counts, port=port, log=directory / "server.log", flush_lines=True, changes=changes)
