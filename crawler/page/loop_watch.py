"""Watches the event loop from a thread: if a step takes more than 50 ms, its stack is logged, and the host of the page that is being read
is accused.

The loop gives beats: by a timer fifty times a second, and by the batch reader at the start of each of its rounds. The thread looks as
often. When the last beat is older than a step may take, it logs the stack of the loop's thread. This works during parsing, too, since
lexbor releases the interpreter's lock.

On a machine with other work every step is slow. So a host is accused only if the loop's thread itself has used so much CPU time.

Time: 20 µs of each 20 ms, in a separate thread that needs the interpreter's lock; 3 µs in the loop.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from thresher.crawler.error_log import LOG_ONLY

LIMIT_S: Final = 0.05
_EVERY_S: Final = 0.02
_FRAMES: Final = 12
_QUIET_S: Final = 1.0  # seconds between two reports without a host

_log = logging.getLogger(__name__)


class LoopStep:
    """The current step of the loop: written by the loop's thread, read by the watch."""

    def __init__(self) -> None:
        self.host = ""  # host of the page that is being read; "": none
        self.began = (time.monotonic(), time.thread_time(), 0.0)  # (monotonic clock, CPU time of the thread, seconds that may be missing)

    def begin(self) -> None:
        """Record that a step begins now."""
        self.began = (time.monotonic(), time.thread_time(), 0.0)

    def beat(self) -> None:
        """Record a beat: the loop goes on, and a step may begin until the next beat."""
        self.began = (time.monotonic(), time.thread_time(), _EVERY_S)


class LoopWatch:
    """Watches the loop in which it is created, until it is closed."""

    def __init__(self, step: LoopStep, accuse: Callable[[str], None]) -> None:
        """Begin to watch.

        Args:
            step: The current step of the loop.
            accuse: Called, in the watch's thread, with the host of a page that blocked the loop.
        """
        self._step = step
        self._accuse = accuse
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._cpu_clock = time.pthread_getcpuclockid(self._watched)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="loop watch", daemon=True)
        self._timer = self._loop.call_later(_EVERY_S, self._beat)
        step.beat()
        self._thread.start()

    def close(self) -> None:
        """Stop watching; call it in the loop."""
        self._timer.cancel()
        self._closed.set()
        self._thread.join()

    def _beat(self) -> None:
        self._step.beat()
        self._timer = self._loop.call_later(_EVERY_S, self._beat)

    def _watch(self) -> None:
        told = accused = (0.0, 0.0, 0.0)  # the steps that were logged and accused last
        quiet_until = 0.0
        while not self._closed.wait(_EVERY_S):
            step, host, now = self._step.began, self._step.host, time.monotonic()
            since, cpu_before, unsure_s = step
            if now - since <= LIMIT_S + unsure_s or step is accused:
                continue
            cpu_s = time.clock_gettime(self._cpu_clock) - cpu_before
            if host and cpu_s > LIMIT_S:
                accused = step
                self._tell(now - since, cpu_s, host)
            elif step is not told and now >= quiet_until:
                told, quiet_until = step, now + _QUIET_S
                self._tell(now - since, cpu_s, "")

    def _tell(self, held_s: float, cpu_s: float, host: str) -> None:
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001 - documented, in spite of its name
        stack = "".join(traceback.format_stack(frame, _FRAMES)) if frame is not None else ""
        whose = f", by a page of {host}, whose pages are parsed apart from now on" if host else ""
        if host:
            self._accuse(host)
        held = f"the event loop is held for {held_s * 1e3:.0f} ms, {cpu_s * 1e3:.0f} ms of them computing"
        _log.warning("%s%s:\n%s", held, whose, stack, extra=LOG_ONLY if not host else None)
