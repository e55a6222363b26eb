"""One agent's process, from its start to its end, as the supervisor has it: its reports, its silence, signals and orders to it.

Silence is counted in the supervisor's own waking time: a machine that slept for an hour has not had an agent that hung for an hour.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf

import msgspec

from thresher.crawler.children import python
from thresher.crawler.children.killing import kill
from thresher.crawler.status import Order, Report

START_S = 120.0
_LOOK_S = 1.0
_decode = msgspec.json.Decoder(Report).decode
_encode = msgspec.json.Encoder().encode


class AgentLife:
    """Made for each start anew."""

    def __init__(self, command: Sequence[str], *, silence_s: float, note: Callable[[str], None]) -> None:
        """command: that starts the agent.    silence_s: without a report, an agent hangs.    note: takes what the operator should know."""
        self._command = command
        self._silence_s = silence_s
        self._note = note
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, signals: Iterable[int], heard: Callable[[Report], None]) -> int:
        """Run the process to its end; return its exit code (negative: the signal that killed it).

        signals: that have come for it before it was there.    heard: called with each report; if it raises, the process is killed.
        """
        with _interrupt_blocked():
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=python.environment(),
                start_new_session=True,  # a terminal's Ctrl-C reaches the supervisor alone, which passes it on
                limit=1 << 20,
            )
        self._process = process
        for number in signals:
            process.send_signal(number)
        assert process.stdout is not None
        limit_s = max(self._silence_s, START_S)
        try:
            while line := await self._next_line(process, process.stdout, limit_s):
                heard(_decode(line))
                limit_s = self._silence_s
            return await process.wait()
        finally:
            await kill(process)

    async def _next_line(self, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, limit_s: float) -> bytes:
        """Return the agent's next line, b"" at its end; an agent that is silent for too long is killed, which is its end."""
        reading = asyncio.ensure_future(stdout.readline())
        silent_s, look_s = 0.0, min(_LOOK_S, limit_s)
        while not (await asyncio.wait((reading,), timeout=look_s))[0]:
            silent_s += look_s
            if silent_s >= limit_s and process.returncode is None:
                self._note(f"has been silent for {silent_s:.0f} s: it is killed")
                process.kill()
                silent_s = -inf
        return reading.result()

    def signal(self, number: int) -> None:
        """Pass a signal on, if there is a process."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def order(self, order: Order) -> None:
        """Tell the agent what to do; one that is gone does not hear it."""
        if self._process is not None and self._process.returncode is None and self._process.stdin is not None:
            self._process.stdin.write(_encode(order) + b"\n")


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Let a process begin with SIGINT blocked, which asyncio's own loop starts before it first waits: until it knows what to do with it.

    Several may be inside at a time; the one that found it let through lets it through again.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if signal.SIGINT not in before:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
