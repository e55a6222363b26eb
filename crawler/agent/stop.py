"""The stop of a crawl in this process: its reason, and how long requests in flight are waited for."""

from __future__ import annotations

import asyncio

from thresher.crawler.ending import Ending


class Stop:
    """A stop begins once; an error replaces its reason."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.begun = asyncio.Event()
        self.quiet = asyncio.Event()  # set after the stop has begun, when nothing is in flight or the time for it is over

    def begin(self, ending: Ending) -> None:
        """Begin the stop, unless one has begun."""
        if self.ending is None:
            self.ending = ending
            self.begun.set()

    def overrule(self, ending: Ending) -> None:
        """End for this reason, even if a stop had begun; requests in flight are abandoned."""
        self.ending = ending
        self.begun.set()
        self.quiet.set()
