"""Studies: computations of filters that take too long for the event loop (mining a site takes seconds) run in a child process.

A filter asks for a study of a site. When the study's turn comes, its material is gathered in the event loop, in pieces, so that other work
goes on in between. The finding is given to the filter in the loop, in a separate commit. One study runs at a time. A study that kills the
child, or takes too long, is not tried again by this process; one whose gathering kills the agent, or whose finding is quarantined, never.

The child is started for the first study (about 0.3 s of CPU time), and ends with the crawl.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Final

import msgspec

from thresher.crawler.children import python
from thresher.crawler.children.crash_suspects import Suspects, gathering_work
from thresher.crawler.children.killing import kill
from thresher.crawler.children.parser_process import LENGTH, OUT_OF_TIME
from thresher.crawler.children.study_process import LONGEST_S
from thresher.filters.capabilities import StudyAbandonedError
from thresher.filters.reports import Reports
from thresher.storage.tables.quarantine import Quarantine

_PATIENCE: Final = 10.0  # wall-clock limit as a multiple of the CPU time that a study may take: a last resort
_READ_BUFFER: Final = 1 << 20
_log = logging.getLogger(__name__)

Asked = tuple[str, bytes]  # filter, site


class Studies:
    """A queue of studies and the child that does them."""

    def __init__(self, reports: Reports, suspects: Suspects, quarantine: Quarantine) -> None:
        self._reports = reports
        self._suspects = suspects
        self._quarantine = quarantine
        self._waiting: dict[Asked, None] = {}
        self._current: Asked | None = None
        self._given_up: set[Asked] = set()
        self._wake = asyncio.Event()
        self._child: Process | None = None

    @property
    def busy(self) -> bool:
        """Whether a study is under way or waits."""
        return bool(self._waiting) or self._current is not None

    def ask(self, who: str, site: bytes) -> None:
        """Queue a study of a site for a filter; a second call before its turn changes nothing.

        Args:
            who: The name of the filter.
            site: The key of the site.
        """
        asked = (who, site)
        if asked == self._current or asked in self._given_up:
            return
        if self._suspects.guilty(gathering_work(who, site)) is not None or self._quarantine.has_finding(who, site):
            self._given_up.add(asked)
            return
        self._waiting[asked] = None
        self._wake.set()

    async def run(self, on_finding: Callable[[str, bytes, bytes], None]) -> None:
        """Do the studies one after another until cancelled.

        Args:
            on_finding: Called with (filter, site, finding) for each result, in the event loop.
        """
        try:
            while True:
                await self._wake.wait()
                while self._waiting:
                    self._current = next(iter(self._waiting))
                    del self._waiting[self._current]
                    await self._study(*self._current, on_finding)
                    self._current = None
                self._wake.clear()
        finally:
            await self._end()

    async def _study(self, who: str, site: bytes, on_finding: Callable[[str, bytes, bytes], None]) -> None:
        material = await self._gathered(who, site)
        if material is None:
            self._given_up.add((who, site))
            return
        try:
            async with asyncio.timeout(_PATIENCE * LONGEST_S):
                finding = await self._ask_child(self._reports.study_of(who), material)
            self._reports.check_finding(who, finding)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, msgspec.MsgspecError) as error:
            self._given_up.add((who, site))
            code = await self._end()
            why = f"it took more than {LONGEST_S:.0f} s of processor time" if code in OUT_OF_TIME else error or type(error).__name__
            _log.error("a study of filter %s was given up: %s", who, why)
            return
        self._current = None  # the finding may make the filter ask for another study of this site
        on_finding(who, site, finding)

    async def _gathered(self, who: str, site: bytes) -> bytes | None:
        """Return the material of a study; None if the filter's own code failed to gather it, which has been reported."""
        pieces: list[bytes] = []
        source, work = self._reports.gather(who, site), gathering_work(who, site)
        while True:
            with self._suspects.trying(work):
                try:
                    piece = next(source, None)
                except StudyAbandonedError:
                    return None
            if piece is None:
                return b"".join(pieces)
            pieces.append(piece)
            await asyncio.sleep(0)

    async def _ask_child(self, study: str, material: bytes) -> bytes:
        child = self._child = self._child or await _start()
        assert child.stdin is not None
        assert child.stdout is not None
        for message in (study.encode(), material):
            child.stdin.write(LENGTH.pack(len(message)))
            child.stdin.write(message)
            await child.stdin.drain()
        n_bytes = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))[0]
        return await child.stdout.readexactly(n_bytes)

    async def _end(self) -> int | None:
        """Kill the child and wait until it is gone; return its exit code, None if there was no child."""
        child, self._child = self._child, None
        if child is None:
            return None
        if child.stdin is not None:
            child.stdin.close()
        return await kill(child)


async def _start() -> Process:
    return await asyncio.create_subprocess_exec(
        *python.command("thresher.crawler.children.study_process"),
        stdin=PIPE,
        stdout=PIPE,
        env=python.environment(OPENBLAS_NUM_THREADS="1"),
        limit=_READ_BUFFER,
        start_new_session=True,  # Ctrl-C is for the crawler
    )
