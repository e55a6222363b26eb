"""The limits of the whole crawl that this agent must keep: pages, bytes and time."""

from __future__ import annotations

from thresher.config.settings import LimitSettings
from thresher.crawler.agent.last_requisites import MAX_PAGES
from thresher.crawler.clock import Clock
from thresher.crawler.cluster.member import Member
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.status import Status
from thresher.storage.store import Store


class CrawlLimits:
    """Knows whether a limit is reached. If there are several agents, the supervisor grants each a number of pages."""

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
            began_at: Start of this process's part of the crawl, in seconds of the clock; `limits.max_time` counts from it.
            left_behind: Status of shards that no longer have an agent; their pages and bytes count, too.
            member: The link to the other agents; None: this agent is alone.
        """
        self._limits = limits
        self._totals = totals
        self._clock = clock
        self._began_at = began_at
        self._member = member
        last_round = store.tables.rounds.last()  # the limits are of the newest round only
        before = (last_round.pages_before, last_round.bytes_before) if last_round is not None and member is None else (0, 0)
        elsewhere = left_behind or Status()
        self._pages_elsewhere, self._bytes_elsewhere = elsewhere.pages - before[0], elsewhere.wire_bytes - before[1]

    def reached(self, in_flight: int) -> str:
        """Return the limit that is reached, or would be if each of the `in_flight` requests gave a page; "" if none is."""
        limits, totals = self._limits, self._totals
        max_pages = limits.max_pages if self._member is None or limits.max_pages is None else self._member.may_have
        if max_pages is not None and totals.pages + self._pages_elsewhere + in_flight >= max_pages:
            return MAX_PAGES
        if limits.max_bytes is not None and totals.wire_bytes + self._bytes_elsewhere >= limits.max_bytes:
            return "limits.max_bytes"
        if limits.max_time is not None and self._clock() - self._began_at >= limits.max_time:
            return "limits.max_time"
        return ""
