"""A demo web on the loopback of several network namespaces at once, served by one process with one log, until standard input ends.

python serving_machines.py PROFILE CHANGES PORT LOG NAMESPACE…
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import sys

from thresher.crawler.demo import server as demo
from thresher.crawler.demo.connection import ServerConnection
from thresher.crawler.demo.demo_settings import profile

_CLONE_NEWNET = 0x40000000


def _listening_in(namespace: str, port: int) -> socket.socket:
    """Return a socket that was opened in a namespace, and stays there."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        assert libc.setns(there, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            return demo._listen(port)
        finally:
            assert libc.setns(own, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
    finally:
        os.close(own)
        os.close(there)


async def _serve(name: str, changes: dict[str, object], port: int, log: str, namespaces: list[str]) -> None:
    loop = asyncio.get_running_loop()
    async with demo.Server(profile(name, **changes), port=port, log=log, flush_lines=True) as server:
        servers = [
            await loop.create_server(lambda: ServerConnection(server), sock=_listening_in(space, server.port), backlog=1024)
            for space in namespaces
        ]
        print("ready", flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
        for one in servers:
            one.close()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:]))
