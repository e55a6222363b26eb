"""When the agent has nothing else to fetch, hosts in turn continue with their tails: the URLs that filters hold."""

from __future__ import annotations

from thresher.crawler.clock import Clock
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.tail_service import TailService


class TailTurns:
    """Serves the tails of some hosts with each call; after the last host comes the first again."""

    def __init__(self, service: TailService, committer: Committer, clock: Clock) -> None:
        self._service = service
        self._committer = committer
        self._clock = clock
        self._after: bytes | None = b""  # the host that was served last; None: no host has a held URL to serve

    def on_settled(self) -> None:
        """Record that a visit may have given a tail a URL to serve."""
        self._after = self._after or b""

    @property
    def may_have_any(self) -> bool:
        """Whether it is worth to call `serve`: False after no host had a URL, until a visit is settled."""
        return self._after is not None

    @property
    def has_any(self) -> bool:
        """Whether a held URL may be served."""
        return self.may_have_any and self._service.has_any

    def serve(self) -> bool:
        """Draw URLs from the tails of the next hosts; return whether any host had one."""
        self._committer.whole(self._draw)
        return self.may_have_any

    def _draw(self) -> None:
        self._after = self._service.serve(self._clock(), self._after or b"")
