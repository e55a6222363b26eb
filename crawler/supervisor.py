"""The supervisor: starts the agent in a process of its own, shows its progress, and restarts it on its own disk when it dies or hangs.

An agent dies when it is killed or crashes; it hangs when it has sent no status for 30 s, or none at all for 2 min: a large store takes its
time to open. It is started again after a growing pause; when it dies three times in a minute without one more page, the supervisor gives up
with exit 1 and the state is safe. Exit codes that an agent chooses itself (done, stopped, locked, disk full …) are final.

Silence is counted in the supervisor's own waking time: a machine that slept for an hour has not had an agent that hung for an hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Protocol

import msgspec

from crawler.metrics import Status

SILENCE_S = 30.0
START_S = 120.0
AGENT = (sys.executable, "-m", "crawler.agent_process")
_LOOK_S = 1.0
_FINAL = frozenset((0, 2, 3, 4, 5, 6, 74, 130, 143))
_DEATHS = 3
_DEATHS_WITHIN_S = 60.0
_decode = msgspec.json.Decoder(Status).decode


class Display(Protocol):
    """Where the progress goes."""

    def update(self, status: Status) -> None: ...

    def note(self, message: str) -> None: ...


class Supervisor:
    """One crawl's processes. One agent for now; the seam for several is here."""

    def __init__(self, directory: Path, display: Display, *, silence_s: float = SILENCE_S, agent: Sequence[str] = AGENT) -> None:
        """silence_s: without a status, an agent hangs.    agent: the command that starts one, to which the directory is added."""
        self._directory = directory
        self._display = display
        self._silence_s = silence_s
        self._agent = agent
        self._process: asyncio.subprocess.Process | None = None
        self._signals: list[int] = []
        self._deaths: deque[float] = deque(maxlen=_DEATHS)
        self.status = Status()

    async def run(self) -> int:
        """Crawl to an end; return the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_signal_handler(signal.SIGHUP, self._signalled, signal.SIGTERM)  # the terminal was closed
        while True:
            pages = self.status.pages
            code = await self._one_life()
            if code in _FINAL:
                return code
            if self._signals:  # it died of them, before it could handle any
                return 3 if len(self._signals) == 1 else 128 + self._signals[-1]
            if not self._may_restart(progressed=self.status.pages > pages):
                self._display.note(
                    f"the agent died {_DEATHS} times without progress (last exit {code}); the state is safe: `thresher resume` goes on"
                )
                return 1
            pause = 0.2 * 2 ** len(self._deaths)
            self._display.note(f"the agent died (exit {code}); it is restarted on its own disk in {pause:.1f} s")
            self.status.restarts += 1
            await asyncio.sleep(pause)

    async def _one_life(self) -> int:
        """Run one agent process to its end; return its exit code (negative: the signal that killed it)."""
        process = await asyncio.create_subprocess_exec(
            *(*self._agent, str(self._directory)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a terminal's Ctrl-C reaches the supervisor alone, which passes it on
            limit=1 << 20,
        )
        self._process = process
        for number in self._signals:
            process.send_signal(number)
        assert process.stdout is not None
        limit_s = max(self._silence_s, START_S)
        while line := await self._next_line(process, process.stdout, limit_s):
            self._heard(line)
            limit_s = self._silence_s
        return await process.wait()

    async def _next_line(self, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, limit_s: float) -> bytes:
        """Return the agent's next line, b"" at its end; an agent that is silent for too long is killed, which is its end."""
        reading = asyncio.ensure_future(stdout.readline())
        silent_s, look_s = 0.0, min(_LOOK_S, limit_s)
        while not (await asyncio.wait((reading,), timeout=look_s))[0]:
            silent_s += look_s
            if silent_s >= limit_s and process.returncode is None:
                self._display.note(f"the agent has been silent for {silent_s:.0f} s: it is killed")
                process.kill()
                silent_s = -inf
        return reading.result()

    def _heard(self, line: bytes) -> None:
        restarts = self.status.restarts
        self.status = _decode(line)
        self.status.restarts = restarts
        write_status(self._directory, self.status)
        self._display.update(self.status)

    def _signalled(self, number: signal.Signals) -> None:
        self._signals.append(number)
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _may_restart(self, *, progressed: bool) -> bool:
        now = time.monotonic()
        if progressed:
            self._deaths.clear()
        self._deaths.append(now)
        return len(self._deaths) < _DEATHS or now - self._deaths[0] > _DEATHS_WITHIN_S


def write_status(directory: Path, status: Status) -> None:
    """Replace DIR/status.json, which `thresher status` reads while a crawl runs; on a full disk the last one stays."""
    temporary = directory / "status.json.tmp"
    with contextlib.suppress(OSError):
        temporary.write_bytes(msgspec.json.encode({"pid": os.getpid()} | msgspec.to_builtins(status)))
        temporary.replace(directory / "status.json")
