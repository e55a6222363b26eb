"""Kills a child process and waits until it is gone."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress


async def kill(process: Process) -> int:
    """Kill a process, unless it has ended, and wait until it is gone; return its exit code, below zero the signal that ended it.

    A caller that is cancelled meanwhile waits nevertheless, and is cancelled then: an event loop that ends cancels all that is left in it,
    and would leave a process behind that nobody reaps.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    return await gone(process)


async def gone(process: Process) -> int:
    """Wait until a process that is ending is gone, also when cancelled meanwhile; return its exit code."""
    cancelled: asyncio.CancelledError | None = None
    while process.returncode is None:
        try:
            await process.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return process.returncode
