"""A server for a measurement: asyncio in a thread of this process, on loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]  # serves one connection


@contextmanager
def serving(talk: Talk, address: str = "127.0.0.1") -> Iterator[int]:
    """Serve until the block ends; yield the port. Connections that are still open at the end are cut.

    Args:
        talk: Serves one connection.
        address: A loopback address to listen on.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(talk, address, 0), loop).result()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(server: asyncio.Server) -> None:
    """Close a server and cancel the tasks of its connections."""
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
