"""The supervisor's side of one agent process, from start to end: gets reports, sends orders and signals, kills an agent that is silent.

Silence is counted only while the supervisor itself runs: after the machine was suspended for an hour, no agent counts as silent for an
hour.
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
from thresher.crawler.status import AgentOrder, AgentReport

START_S = 120.0
_LOOK_S = 1.0
_decode = msgspec.json.Decoder(AgentReport).decode
_encode = msgspec.json.Encoder().encode


class AgentLife:
    """One start of an agent; the next start is another object."""

    def __init__(self, command: Sequence[str], *, silence_s: float, note: Callable[[str], None]) -> None:
        """Create the agent life.

        Args:
            command: The command that starts the agent.
            silence_s: Seconds without a report after which the agent counts as hanging.
            note: Shows a message to the operator.
        """
        self._command = command
        self._silence_s = silence_s
        self._note = note
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, signals: Iterable[int], on_report: Callable[[AgentReport], None]) -> int:
        """Run the process to its end; return its exit code (negative: the signal that killed it).

        Args:
            signals: Signals that arrived before the process existed: sent to it first.
            on_report: Called with each report; if it raises, the process is killed.
        """
        with _interrupt_blocked():
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=python.environment(),
                start_new_session=True,  # so a terminal's Ctrl-C reaches only the supervisor, which passes it on
                limit=1 << 20,
            )
        self._process = process
        for number in signals:
            process.send_signal(number)
        assert process.stdout is not None
        limit_s = max(self._silence_s, START_S)
        try:
            while line := await self._next_line(process, process.stdout, limit_s):
                on_report(_decode(line))
                limit_s = self._silence_s
            return await process.wait()
        finally:
            await kill(process)

    async def _next_line(self, process: asyncio.subprocess.Process, stdout: asyncio.StreamReader, limit_s: float) -> bytes:
        """Return the agent's next line, b"" when it has ended. An agent that is silent for `limit_s` seconds is killed."""
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
        """Send a signal to the process, if it runs."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def order(self, order: AgentOrder) -> None:
        """Send an order to the process, if it runs. Its pipe may be closed before its death is known here."""
        stdin = self._process.stdin if self._process is not None and self._process.returncode is None else None
        if stdin is not None and not stdin.is_closing():
            stdin.write(_encode(order) + b"\n")


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block SIGINT while a child process is started: the child inherits this, and unblocks the signal once it can handle it.

    Several coroutines may be inside at the same time. The one that blocked the signal unblocks it when it leaves.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if signal.SIGINT not in before:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
