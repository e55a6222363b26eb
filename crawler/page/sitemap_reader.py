"""Reads sitemaps: a small one in a thread, a large or compressed one in a child process that can be killed.

One is read at a time, so that a host with a hundred sitemaps takes no more memory than one. The child takes a fifth of a second of CPU
time; it reads the file to which the body was written, so that a large body is never in memory as a whole.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE
from contextlib import suppress
from typing import IO, Final

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.children import python
from thresher.crawler.children.parser_process import OUT_OF_TIME
from thresher.crawler.children.sitemap_process import Job, pieces_of
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.sitemap import SitemapLimits, SitemapReading, read

_PATIENCE: Final = 30.0  # wall-clock limit as a multiple of the CPU time that a sitemap may take
_TIMES: Final = 5.0  # CPU time of a sitemap as a multiple of `parse.timeout`: 50 MiB take two seconds
_PACKED: Final = b"\x1f\x8b"


class SitemapReader:
    """Reads sitemaps; never raises because of a sitemap."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.parse
        self._overriding = Overriding(settings)
        self._turn = asyncio.Semaphore(1)

    async def read(self, file: IO[bytes], url: str) -> SitemapReading:
        """Read a sitemap within the limits.

        Args:
            file: Its body; the position is at the end.
            url: Its URL.
        """
        of = self._overriding.of(url)
        limits = SitemapLimits(of.limits.max_sitemap_size, of.limits.max_sitemap_urls, of.feeds)
        async with self._turn:
            n_bytes = file.tell()
            file.seek(0)
            if n_bytes <= self._settings.isolate_above and file.read(len(_PACKED)) != _PACKED:
                return await asyncio.to_thread(read, lambda: pieces_of(file), limits)
            return await self._apart(file, limits)

    async def _apart(self, file: IO[bytes], limits: SitemapLimits) -> SitemapReading:
        timeout = _TIMES * self._settings.timeout
        job = msgspec.json.encode(Job(limits, self._settings.memory, timeout)).decode()
        command = python.command("thresher.crawler.children.sitemap_process", job)
        file.flush()
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=file, stdout=PIPE, env=python.environment(), start_new_session=True
            )
        except OSError as error:
            return SitemapReading(notes=[f"no process could be started to read it: {error}"])
        try:
            async with asyncio.timeout(_PATIENCE * timeout):
                answer, _ = await child.communicate()
        except TimeoutError:
            return SitemapReading(notes=[f"the process that read it did not answer in {_PATIENCE * timeout:.0f} s"])
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            code = await child.wait()
        if code:
            is_late = code in OUT_OF_TIME
            return SitemapReading(
                notes=[f"its reading took more than {timeout:.0f} s of processor time" if is_late else "its reader died of it"]
            )
        return msgspec.msgpack.decode(answer, type=SitemapReading)
