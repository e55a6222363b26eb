"""Reads the sitemaps that come in: a small one in a thread, a large or packed one in a child of its own that can be killed.

One at a time, so that a host of a hundred sitemaps takes no more memory than one. The child costs a fifth of a second.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Final

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.children import python
from thresher.crawler.children.parser_process import LENGTH, OUT_OF_TIME
from thresher.crawler.children.sitemap_process import Job
from thresher.crawler.core.sitemap import Limits, Reading, read

_PATIENCE: Final = 30.0  # times the processor time that a sitemap may take, on the wall
_TIMES: Final = 5.0  # times `parse.timeout` for a sitemap: 50 MiB take two seconds
_PACKED: Final = b"\x1f\x8b"
_READ_BUFFER: Final = 1 << 20
_ARGUMENTS: Final = python.command("thresher.crawler.children.sitemap_process")


class SitemapReader:
    """Bodies in, readings out; never raises for what a sitemap does."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.parse
        self._limits = Limits(settings.limits.max_sitemap_size, settings.limits.max_sitemap_urls, settings.feeds)
        self._turn = asyncio.Semaphore(1)

    async def read(self, body: bytes) -> Reading:
        """Read a sitemap within the limits."""
        async with self._turn:
            if len(body) <= self._settings.isolate_above and not body.startswith(_PACKED):
                return await asyncio.to_thread(read, body, self._limits)
            return await self._apart(body)

    async def _apart(self, body: bytes) -> Reading:
        timeout = _TIMES * self._settings.timeout
        try:
            child = await asyncio.create_subprocess_exec(
                *_ARGUMENTS, stdin=PIPE, stdout=PIPE, env=python.environment(), limit=_READ_BUFFER, start_new_session=True
            )
        except OSError as error:
            return Reading(told=[f"no process could be started to read it: {error}"])
        try:
            async with asyncio.timeout(_PATIENCE * timeout):
                return await _ask(child, Job(body, self._limits, self._settings.memory, timeout))
        except TimeoutError:
            return Reading(told=[f"the process that read it did not answer in {_PATIENCE * timeout:.0f} s"])
        except (asyncio.IncompleteReadError, ConnectionError):
            is_late = await child.wait() in OUT_OF_TIME
            return Reading(told=[f"its reading took more than {timeout:.0f} s of processor time" if is_late else "its reader died of it"])
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


async def _ask(child: Process, job: Job) -> Reading:
    """Have the child read a sitemap."""
    assert child.stdin is not None
    assert child.stdout is not None
    message = msgspec.msgpack.encode(job)
    child.stdin.write(LENGTH.pack(len(message)))
    child.stdin.write(message)
    await child.stdin.drain()
    child.stdin.close()
    n_bytes = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))[0]
    return msgspec.msgpack.decode(await child.stdout.readexactly(n_bytes), type=Reading)
