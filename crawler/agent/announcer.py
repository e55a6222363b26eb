"""Admits the URLs of sitemaps, chunk by chunk between the agent's other work: a chunk takes milliseconds, a sitemap may have a thousand
chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler

_PAUSE_S = 0.05


class Announcer:
    """A background task of the agent."""

    def __init__(self, settler: Settler, committer: Committer, clock: Callable[[], float]) -> None:
        self._settler = settler
        self._committer = committer
        self._clock = clock
        self._wake = asyncio.Event()
        self._wake.set()  # an earlier life may have left chunks

    @property
    def is_busy(self) -> bool:
        """Whether a chunk waits to be admitted."""
        return self._wake.is_set()

    def on_settled(self) -> None:
        """Look whether the settled visit left URLs to admit."""
        if not self._wake.is_set() and self._settler.announcements.is_busy:
            self._wake.set()

    async def run(self, on_chunk: Callable[[], None]) -> None:
        """Admit until cancelled.

        Args:
            on_chunk: Called after each chunk: its URLs may be fetched now.
        """
        while True:
            await self._wake.wait()
            if not self._settler.announcements.is_busy:
                self._wake.clear()
                on_chunk()
            elif self._committer.behind:
                await asyncio.sleep(_PAUSE_S)
            else:
                self._committer.whole(self._settler.announce_next, self._clock())
                on_chunk()
                await asyncio.sleep(0)
