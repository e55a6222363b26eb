"""Settles pages together whose journeys end at about the same time, so that each filter learns from all of them in one go.

Every page is judged and written by itself, in order, since the URLs and the records of one may matter to the next. What filters learn from
the pages, and what follows from it, is then done stage by stage (crawler/settlement/settler.py): the code and the records of a filter stay
in the processor's caches. A page is judged only after filters have learned from the pages before it that are of its site, of the site that
led to it, or of one to which it names a new URL: so it is judged by what it would be judged by page by page.

A group is settled in one step of the loop, and has as many pages as keep that short, by the CPU time that the last ones took. So no request
of a host is chosen, and nothing is committed, between a page and what is learned from it. A page waits for others only while more are read.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import Visit, VisitContext, judged

_MOST: Final = 8  # pages of a group: with more, a page hardly takes less time
_STEP_S: Final = 0.008  # seconds of CPU time that a group may take

Settled = tuple[Visit, float]  # (the visit, when it was settled: seconds since the epoch)


class PageGroup:
    """The pages that wait to be settled."""

    def __init__(
        self,
        settler: Settler,
        context: VisitContext,
        committer: Committer,
        *,
        clock: Callable[[], float],
        on_settled: Callable[[Visit], None],
    ) -> None:
        """Create an empty group.

        Args:
            settler: Writes the pages.
            context: Has the filters, and the suspects.
            committer: Is told if a visit is half written.
            clock: Seconds since the epoch.
            on_settled: Called with each visit once all of the group are written.
        """
        self._settler = settler
        self._context = context
        self._committer = committer
        self._clock = clock
        self._on_settled = on_settled
        self._waiting: list[tuple[Visit, asyncio.Future[Settled]]] = []
        self._most = _MOST  # pages of the next group
        self._begun: list[Visit] = []  # pages that are written, and not learned from yet
        self._failure: Exception | None = None  # raised by what was learned while a page was judged: it is not that page's fault
        self._owed: set[bytes] = set()  # sites of which filters may learn by them

    def settle(self, made: Visit) -> asyncio.Future[Settled]:
        """Settle a page that was read, in the next round of the loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Settled] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._settle_some)
        self._waiting.append((made, future))
        return future

    def _settle_some(self) -> None:
        """Settle the pages that wait, unless too few wait and more will come."""
        self._waiting = [(made, future) for made, future in self._waiting if not future.done()]  # others were abandoned: the agent ends
        is_early = len(self._waiting) < self._most and self._context.batch_reader.has_more
        waiting = [] if is_early else self._waiting[: self._most]
        del self._waiting[: len(waiting)]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._settle_some)
        if waiting:
            began = time.thread_time()
            self._settle_all(waiting)
            page_s = (time.thread_time() - began) / len(waiting)
            self._most = max(1, min(_MOST, int(_STEP_S / max(page_s, _STEP_S / _MOST))))

    def _settle_all(self, waiting: Sequence[tuple[Visit, asyncio.Future[Settled]]]) -> None:
        settled: list[Settled] = []
        try:
            settled += map(self._settle, waves([made for made, _ in waiting]))
            self._learn()
            for visit, _ in settled:
                self._on_settled(visit)
        except Exception as error:  # noqa: BLE001 - ends the agent by one of its workers, which all wait for this
            waiting[0][1].set_exception(error)
            return
        of_lease = {id(visit.lease): (visit, now) for visit, now in settled}
        for made, future in waiting:
            future.set_result(of_lease[id(made.lease)])

    def _settle(self, made: Visit) -> Settled:
        """Judge and write a page."""
        url = made.lease.entry.url
        if self._begun and self._depends_on_others(url):
            self._learn()
        with self._context.suspects.watching(url.key):
            visit, now = judged(made, self._context, self._prepare if self._begun else None), self._clock()
            if self._failure is not None:
                raise self._failure
            if visit.page is None:  # our own fault on it
                self._learn()
                self._committer.whole(self._settler.settle, visit, now)
                return visit, now
            self._committer.whole(self._settler.begin_page, visit, now)
        self._begun.append(visit)
        self._owed.update((url.key[:8], url.via[:8]) if url.via else (url.key[:8],))
        return visit, now

    def _depends_on_others(self, url: CrawlURL) -> bool:
        """Return whether filters must have learned from the pages before; always after a redirect, which is judged with this page."""
        return url.hops > 0 or url.key[:8] in self._owed or url.via[:8] in self._owed

    def _prepare(self, links: LinkBatch) -> bool:
        """Let filters learn from the pages before if that may matter to the judgement of these links; return whether they did."""
        if self._owed.isdisjoint(links.site_keys):
            return False
        try:
            self._learn()
        except Exception as error:
            self._failure = error
            raise
        return True

    def _learn(self) -> None:
        """Let filters learn from the pages that are written."""
        if not self._begun:
            return
        begun, self._begun = self._begun, []
        self._owed.clear()
        with self._context.suspects.watching(begun[0].lease.entry.url.key):
            self._committer.whole(self._settler.learn_together, begun, self._clock())


def waves(pages: Sequence[Visit]) -> list[Visit]:
    """Return pages in another order: first the first one of each site, then the second ones, and so on."""
    count = Counter[bytes]()
    of_wave: list[tuple[int, Visit]] = []
    for page in pages:
        site = page.lease.entry.url.key[:8]
        of_wave.append((count[site], page))
        count[site] += 1
    return [page for _, page in sorted(of_wave, key=itemgetter(0))]
