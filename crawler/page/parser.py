"""Parses pages: ordinary ones in this process, large and suspicious ones in a child process that can be killed.

lexbor cannot be interrupted, and takes minutes for some pages of a hundred kilobytes. So `Parser.here` asks `bomb` first and returns
None for a page that must be isolated; `Parser.apart` sends such a page to a child with limited memory and CPU time. A page that kills its
child keeps the links that a bounded scan of its start finds, and is flagged.

The limit of a page is CPU time of the child, so that no page loses its text because the machine is loaded. A child that does not answer for
much longer and has not used up its CPU time is stopped, swapped out or starved, which is not the page's fault: the child is replaced, and
the page is tried once more after the waiting pages.

A child is started when it is first needed, and again after a death; each start takes about 0.1 s of CPU time. It is replaced after
`parse.recycle_after` pages, so that possible memory leaks of lexbor stay bounded.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
from asyncio.subprocess import PIPE, Process
from typing import Final

import msgspec
from msgspec.structs import replace

from thresher.config.settings import ParseSettings
from thresher.crawler.children import python
from thresher.crawler.children.killing import gone, kill
from thresher.crawler.children.parser_process import LENGTH, OUT_OF_TIME, ParseRequest, ParserSetup
from thresher.crawler.core import html
from thresher.crawler.core.document_types import DOCUMENTS
from thresher.crawler.core.model import Flag
from thresher.crawler.core.parsed import Parsed
from thresher.crawler.core.requisites import Needs

_START_TIMEOUT_S: Final = 120.0
_PATIENCE: Final = 30.0  # wall-clock limit as a multiple of the CPU time that a page may take
_READ_BUFFER: Final = 1 << 20
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3

_log = logging.getLogger(__name__)


class Parser:
    """Parses bodies; never raises because of a page."""

    def __init__(self, settings: ParseSettings, agent: str, *, patience_s: float | None = None) -> None:
        """Create the parser.

        Args:
            patience_s: Seconds after which a child that has not used up its CPU time is given up; None = 30 times `parse.timeout`.
        """
        self._patience_s = _PATIENCE * settings.timeout if patience_s is None else patience_s
        self._settings = settings
        self._agent = agent
        self._turns = asyncio.Semaphore(settings.processes)
        self._idle: list[_Child] = []
        keep_freed_memory()

    def here(self, body: bytes, content_type: str, mime_type: str, robots_headers: list[str], *, max_links: int) -> Parsed | None:
        """Parse in this process, or return None if the page must be isolated."""
        source = self.prepared(body, content_type, mime_type, max_links=max_links)
        return self.finished(source, robots_headers, max_links=max_links) if source else None

    def prepared(self, body: bytes, content_type: str, mime_type: str, *, max_links: int) -> html.DecodedBody | None:
        """Decode a page, the first half of `here`; None if the page must be isolated."""
        if len(body) > self._settings.isolate_above and not html.is_binary(body, content_type):
            return None
        return html.prepared(body, content_type, mime_type, max_links=max_links)

    def finished(self, source: html.DecodedBody, robots_headers: list[str], *, max_links: int) -> Parsed:
        """Parse what is decoded, the second half of `here`."""
        return html.finished(source, agent=self._agent, max_links=max_links, headers=robots_headers)

    async def apart(self, body: bytes, content_type: str, mime_type: str, robots_headers: list[str], *, max_links: int) -> Parsed:
        """Parse in a child process. If the page kills the child, return what a scan of the page's start finds, with a flag."""
        request = ParseRequest(body, content_type, mime_type, robots_headers, max_links)
        answer = await self._ask(request) or await self._ask(request) or Flag.PARSE_TIMEOUT
        if isinstance(answer, Parsed):
            return answer
        if mime_type in DOCUMENTS:
            return replace(html.plain(b"", "", agent=self._agent, headers=robots_headers), flags=frozenset({answer}))
        start, charset = html.decode(body[: html.SCAN_BYTES], content_type)
        if mime_type == "text/plain":
            parsed = html.plain(start, charset, agent=self._agent, headers=robots_headers)
        else:
            parsed = await asyncio.to_thread(html.scan, start, charset, max_links, agent=self._agent, headers=robots_headers)
        return replace(parsed, flags=parsed.flags | {answer})

    async def needs(self, body: bytes, content_type: str, mime_type: str, at_most: int) -> Needs | None:
        """Find the requisites (images, style sheets, scripts) of a page or a style sheet in a child process; None if the page killed the
        child.
        """
        request = ParseRequest(body, content_type, mime_type, [], n_needs=at_most)
        answer = await self._ask(request) or await self._ask(request)
        return answer if isinstance(answer, Needs) else None

    async def close(self) -> None:
        """End the children. No page may be under way."""
        while self._idle:
            await self._idle.pop().end()

    async def _ask(self, request: ParseRequest) -> Parsed | Needs | Flag | None:
        """Let a child process parse a page; a flag says how the child died of it. If there are more callers than children, they wait.

        Return None if the child neither answered nor died within much more than the page's time.
        """
        async with self._turns:
            child = self._idle.pop() if self._idle else await self._start()
            if child is None:
                return Flag.PARSE_SKIPPED
            is_in_step = False
            try:
                async with asyncio.timeout(self._patience_s):
                    answer = await child.ask(request)
                is_in_step = True
            except TimeoutError:
                _log.warning("a parser process did not answer in %.0f s; it is replaced", self._patience_s)
                return None
            except (asyncio.IncompleteReadError, ConnectionError):
                return Flag.PARSE_TIMEOUT if await child.died() in OUT_OF_TIME else Flag.PARSE_CRASH
            finally:  # also when the caller is cancelled: otherwise the child's answer would be taken for that to the next request
                if is_in_step and child.n_answers < self._settings.recycle_after:
                    self._idle.append(child)
                else:
                    await child.end()
            return answer

    async def _start(self) -> _Child | None:
        """Start a child; None if the system has no room for one."""
        setup = ParserSetup(self._agent, self._settings.memory, self._settings.timeout)
        try:
            return await _Child.start(setup)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            _log.error("no parser process could be started, a page was only scanned for links: %s", error)
            return None


class _Child:
    """One parser process. It takes one request at a time; after an unanswered request it can only be ended."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout
        self._answers = msgspec.msgpack.Decoder(Parsed)
        self._needs = msgspec.msgpack.Decoder(Needs)
        self.n_answers = 0

    @classmethod
    async def start(cls, setup: ParserSetup) -> _Child:
        """Start a process and wait until it is ready."""
        child = cls(
            await asyncio.create_subprocess_exec(
                *python.command("thresher.crawler.children.parser_process"),
                stdin=PIPE,
                stdout=PIPE,
                env=python.environment(OPENBLAS_NUM_THREADS="1"),
                limit=_READ_BUFFER,
                start_new_session=True,  # Ctrl-C is for the crawler
            )
        )
        is_ready = False
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                await child._exchange(msgspec.msgpack.encode(setup))
            is_ready = True
        finally:
            if not is_ready:
                await child.end()
        return child

    async def ask(self, request: ParseRequest) -> Parsed | Needs:
        """Let the process parse a page.

        Raises:
            IncompleteReadError: If the process dies of it; ConnectionError if that is noticed while sending.
        """
        reply = await self._exchange(msgspec.msgpack.encode(request))
        answer = self._needs.decode(reply) if request.n_needs else self._answers.decode(reply)
        self.n_answers += 1
        return answer

    async def died(self) -> int:
        """Wait for the end of a process that has closed its output; return its exit code, or minus the number of the signal that ended
        it.
        """
        return await self._process.wait()

    async def end(self) -> None:
        """Kill the process and wait until it is gone. A process that has closed its output is ending already."""
        self._input.close()
        await (gone if self._output.at_eof() else kill)(self._process)

    async def _exchange(self, message: bytes) -> bytes:
        self._input.write(LENGTH.pack(len(message)))
        self._input.write(message)
        await self._input.drain()
        n_bytes = LENGTH.unpack(await self._output.readexactly(LENGTH.size))[0]
        return await self._output.readexactly(n_bytes)


def keep_freed_memory() -> None:
    """Make glibc keep up to 64 MiB of freed memory: by default it returns each page's tree to the kernel and gets it again, which takes 120
    µs a page.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, 64 << 20)
        mallopt(_M_MMAP_THRESHOLD, 4 << 20)
