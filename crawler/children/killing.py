"""Kills a child process and waits until it is gone."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress


async def kill(process: Process) -> int:
    """Kill a process, unless it has ended, and wait until it is gone; return its exit code, or minus the number of the signal that ended
    it.

    If the caller is cancelled meanwhile, it still waits, and is cancelled after that. Otherwise an event loop that ends, and cancels all
    tasks, would leave a process that nobody reaps.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    return await gone(process)


async def gone(process: Process) -> int:
    """Wait until an ending process is gone, also if cancelled meanwhile; return its exit code."""
    cancelled: asyncio.CancelledError | None = None
    while process.returncode is None:
        try:
            await process.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return process.returncode
