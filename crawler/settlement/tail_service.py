"""Serves tails: records what a visit means for its host's tail, and decides when held URLs are fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from thresher.crawler.core.model import FILTERS_OWN, Purpose, State
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.visit import Visit, VisitContext
from thresher.storage.schema import META, Meta
from thresher.storage.store import Store

_YIELD: Final = "filters.tail_yield"
_HOSTS_AT_ONCE = 200  # hosts whose tails are looked at in one commit: some milliseconds


class TailService:
    """Reports the results of visits to the tails, and draws from them."""

    def __init__(self, store: Store, context: VisitContext, effects: Effector, *, close: Callable[[float], None]) -> None:
        """Create the service of tails.

        Args:
            close: Writes the journal, and the changed tails.
        """
        self._store = store
        self._context = context
        self._effects = effects
        self._close = close

    def on_settled(self, visit: Visit, now: float) -> None:
        """Report the result of the visit to the tail; if the host has nothing else to fetch, draw from its tail."""
        url, queue = visit.lease.entry.url, visit.lease.queue
        if not self._effects.tails.has_tail(queue) or url.purpose in (Purpose.ROBOTS, Purpose.REVISIT, *FILTERS_OWN):
            return
        row = self._store.tables.seen.row(url.key)
        if row is not None and row.state is not State.QUEUED:
            is_good, was_asked = self.is_good(visit), visit.outcome is not None
            is_alike = is_good and self._is_alike(visit)
            if not self._effects.on_end(url.key, now, was_asked=was_asked, is_good=is_good, is_alike=is_alike) and is_good:
                self._effects.tails.useful(queue)
        if self._may_serve_beside_others:
            self._effects.serve_tail(queue, now)

    def decide(self, queue: bytes, now: float) -> None:
        """Continue with the tail of a host that is now known to be itself: something may be closed."""
        if self._effects.tails.has_tail(queue) and self._effects.tails.is_asking(queue):
            self._effects.serve_tail(queue, now)

    def is_good(self, visit: Visit) -> bool:
        """Return whether a visit gave something new: a page with status 200 that no filter knows already or calls worthless."""
        if visit.page is None or visit.page.status != 200 or visit.deliberation is None:
            return False
        return visit.deliberation.judgement.is_new and visit.page.url.key not in self._effects.worthless

    def _is_alike(self, visit: Visit) -> bool:
        """Return whether an enforcing filter says that the visit's page resembles a kept one."""
        return visit.deliberation is not None and self._context.panel.finds_likeness(visit.deliberation.judgement)

    @property
    def _may_serve_beside_others(self) -> bool:
        """Whether a host's tail may be served while other hosts have fresh URLs: not if a limit of the whole crawl is better spent on
        those.
        """
        limits = self._context.settings.limits
        return limits.max_pages is None and limits.max_bytes is None and limits.max_time is None

    @property
    def has_any(self) -> bool:
        """Whether a URL of any host was ever held."""
        return bool(self._effects.tails.queues(b"", 1))

    def reopen(self, now: float) -> None:
        """Judge left-alone URLs anew if the threshold has changed since; a separate visit."""
        settings = self._context.settings
        of_hosts = [(one.match, one.options[_YIELD]) for one in settings.overrides if _YIELD in one.options]
        threshold = msgspec.json.encode((settings.filters.tail_yield, of_hosts))
        if self._store.get(META, Meta.TAIL_YIELD) != threshold:
            self._effects.tails.reopen()
            self._store.put(META, Meta.TAIL_YIELD, threshold)
            self._close(now)
            self._store.end_visit()

    def serve(self, now: float, after: bytes = b"") -> bytes | None:
        """Draw from the tails of hosts that have nothing else, beginning after the host `after`, in a separate visit.

        Return the last host that was tried; None if no host has a URL that may be drawn.
        """
        tried, n_drawn = after, 0
        while not n_drawn and (queues := self._effects.tails.queues(tried, _HOSTS_AT_ONCE)):
            for queue in queues:
                n_drawn += self._effects.serve_tail(queue, now)
            tried = queues[-1]
        if not n_drawn and after:
            return self.serve(now)
        self._close(now)
        self._store.end_visit()
        return tried if n_drawn else None
