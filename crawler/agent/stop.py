"""How a crawl ends in this process: why, once that is known, and until when requests in flight are waited for."""

from __future__ import annotations

import asyncio

from thresher.crawler.ending import Ending


class Stop:
    """Begins once; an error overrules why it began."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.begun = asyncio.Event()
        self.quiet = asyncio.Event()  # after it has begun: set when nothing is in flight, or when it is no longer waited for

    def begin(self, ending: Ending) -> None:
        """Stop taking URLs, unless that has begun."""
        if self.ending is None:
            self.ending = ending
            self.begun.set()

    def overrule(self, ending: Ending) -> None:
        """End for this reason, whatever had begun; requests in flight are given up."""
        self.ending = ending
        self.begun.set()
        self.quiet.set()
