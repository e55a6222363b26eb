"""The limits of the whole crawl: pages, bytes and time, as far as this agent must keep them."""

from __future__ import annotations

from thresher.config.settings import LimitSettings
from thresher.crawler.agent.last_requisites import MAX_PAGES
from thresher.crawler.clock import Clock
from thresher.crawler.cluster.member import Member
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import Status
from thresher.storage.store import Store


class CrawlLimits:
    """Says whether a limit is reached. One of several agents may have as many pages as the supervisor gives it."""

    def __init__(
        self,
        store: Store,
        limits: LimitSettings,
        totals: Totals,
        clock: Clock,
        began_at: float,
        *,
        left_behind: Status | None,
        member: Member | None,
    ) -> None:
        """Create the limits.

        Args:
            began_at: Beginning of this life, from which its time counts.
            left_behind: Counts of shards that no agent has any more: they count, too.
            member: What makes this agent one of several; None: it is alone.
        """
        self._limits = limits
        self._totals = totals
        self._clock = clock
        self._began_at = began_at
        self._member = member
        last_round = store.tables.rounds.last()  # the limits hold for the newest round alone
        before = (last_round.pages_before, last_round.bytes_before) if last_round is not None and member is None else (0, 0)
        elsewhere = left_behind or Status()
        self._pages_elsewhere, self._bytes_elsewhere = elsewhere.pages - before[0], elsewhere.wire_bytes - before[1]

    def reached(self, in_flight: int) -> str:
        """Return the limit that is reached, or would be if each request in flight gave a page; "" if none is."""
        limits, totals = self._limits, self._totals
        max_pages = limits.max_pages if self._member is None or limits.max_pages is None else self._member.may_have
        if max_pages is not None and totals.pages + self._pages_elsewhere + in_flight >= max_pages:
            return MAX_PAGES
        if limits.max_bytes is not None and totals.wire_bytes + self._bytes_elsewhere >= limits.max_bytes:
            return "limits.max_bytes"
        if limits.max_time is not None and self._clock() - self._began_at >= limits.max_time:
            return "limits.max_time"
        return ""
