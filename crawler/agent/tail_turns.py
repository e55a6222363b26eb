"""When the agent has nothing else to fetch, hosts go on in turn with what filters hold: their tails."""

from __future__ import annotations

from thresher.crawler.clock import Clock
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.tail_service import TailService


class TailTurns:
    """Serves the tails of some hosts with each call, and begins again at the first after the last."""

    def __init__(self, service: TailService, committer: Committer, clock: Clock) -> None:
        self._service = service
        self._committer = committer
        self._clock = clock
        self._after: bytes | None = b""  # the host that was served last; None: no host has anything to serve

    def on_settled(self) -> None:
        """Note that a visit may have given a tail something to serve."""
        self._after = self._after or b""

    @property
    def may_have_any(self) -> bool:
        """Whether it is worth while to serve: not since it was found that no host has anything."""
        return self._after is not None

    @property
    def has_any(self) -> bool:
        """Whether something may be served, and something is held at all."""
        return self.may_have_any and self._service.has_any

    def serve(self) -> bool:
        """Draw from the tails of the next hosts; return whether any host had something to draw."""
        self._committer.whole(self._draw)
        return self.may_have_any

    def _draw(self) -> None:
        self._after = self._service.serve(self._clock(), self._after or b"")
