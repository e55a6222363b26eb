"""Visits of ordinary pages whose ends are written together: what filters that can wait learn, and what follows from it.

A page goes through the code and the tables of every filter, and each finds them cold in the processor's caches if all else of a page lies
between. So the page itself and its links are written at once (`begin`), and a few pages later each filter learns from all of them, then the
filter canary is told of all, then each visit ends in its turn (`catch_up`). This takes half the time (filters/observing.py).

The outcome is as if each visit had ended before the next began:

- A visit waits only if it asks for nothing on the way: no filter has an effect, no class, no redirect that ends there. Otherwise all that
  wait end first, or with it, in their order.
- Nothing is decided about a site with a page that waits, and no URL is taken from the frontier: whoever would do so catches up first.
- All rows of a visit have its number, and a group is committed only when none of its visits waits.

Only what is judged of another site's links may not know yet what the pages that wait teach of all sites, as if it had been judged earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from thresher.crawler.core.model import Fetched, Purpose, RedirectPair
from thresher.crawler.settlement.effects import Effector
from thresher.crawler.settlement.learning import Learning
from thresher.crawler.settlement.pages import PageSettlement
from thresher.crawler.settlement.redirect_pairs import RedirectPairs
from thresher.crawler.visit import Visit, VisitContext
from thresher.filters.deliberation import Learned
from thresher.filters.observing import Observing
from thresher.storage.store import Store

_SITE = 8
_MAY_WAIT = (Purpose.PAGE, Purpose.ANNOUNCED)
_ASKS_NO_FILTER = (Purpose.ROBOTS, Purpose.SITEMAP)


class _LateVisit(NamedTuple):
    """A visit that has not ended."""

    visit: Visit
    number: int
    now: float
    observings: list[Observing]
    pairs: list[RedirectPair]  # redirects that end at its page

    @property
    def has_asked(self) -> bool:
        """Whether anything is to be done that a filter asks for, or that another page may be concerned by."""
        return bool(self.pairs) or any(one.has_asked for one in self.observings)


class LateVisits:
    """The visits that have not ended."""

    def __init__(
        self,
        store: Store,
        context: VisitContext,
        effects: Effector,
        learning: Learning,
        pages: PageSettlement,
        pairs: RedirectPairs,
        *,
        end: Callable[[Visit, Learned, float], None],
    ) -> None:
        """Create them; there are none yet.

        Args:
            end: Writes what follows from a visit after the filter canary was told of it.
        """
        self._store = store
        self._context = context
        self._lessons = context.panel.lessons
        self._effects = effects
        self._learning = learning
        self._pages = pages
        self._pairs = pairs
        self._end = end
        self._late: list[_LateVisit] = []

    def __len__(self) -> int:
        return len(self._late)

    def may_wait(self, visit: Visit) -> bool:
        """Return whether the end of a visit may be written later."""
        outcome, judged, url = visit.outcome, visit.deliberation, visit.lease.entry.url
        if judged is None or visit.page is None or not isinstance(outcome, Fetched) or outcome.refused is not None:
            return False
        if url.purpose not in _MAY_WAIT or visit.robots_of or visit.policy_of or judged.effects:
            return False
        links = visit.sifted.deliberation if visit.sifted is not None else None
        if links is not None and (links.effects or links.audited):
            return False
        return not self._effects.class_of_links(url.key, judged.judgement)

    def must_end_before(self, visit: Visit, *, may_wait: bool) -> bool:
        """Return whether the visits that wait must end before another one is settled.

        Args:
            may_wait: Whether the other one may wait, too.
        """
        url = visit.lease.entry.url
        if not self._late or url.key[:_SITE] in self._lessons.owed:
            return bool(self._late)
        asks_no_filter = url.purpose in _ASKS_NO_FILTER or visit.robots_of or visit.policy_of
        return not (may_wait or asks_no_filter)

    def begin(self, visit: Visit, now: float) -> None:
        """Write the page of a visit that may wait, and let the filters learn that cannot wait."""
        outcome, page, url = visit.outcome, visit.page, visit.lease.entry.url
        assert isinstance(outcome, Fetched)
        assert page is not None
        self._pages.begin(visit, outcome, now)
        deliberations = (visit.deliberation, visit.sifted.deliberation if visit.sifted is not None else None)
        observings = [self._lessons.promptly(one) for one in deliberations if one is not None]
        pairs = self._pairs.on_end(url, page.status, page.fingerprint, now)
        self._late.append(_LateVisit(visit, self._store.visit, now, observings, pairs))
        self._lessons.owed.add(url.key[:_SITE])

    @property
    def has_asked(self) -> bool:
        """Whether the visit that began last must end at once, with those before it."""
        return self._late[-1].has_asked

    def catch_up(self) -> None:
        """End all visits that wait."""
        if not self._late:
            return
        late, self._late = self._late, []
        self._lessons.owed.clear()
        store, name = self._store, self._context.suspects.name
        present, keys = store.visit, [one.visit.lease.entry.url.key for one in late]

        def begin(at: int) -> None:  # for each filter again
            store.visit = late[at].number
            name(keys[at])

        with self._context.suspects.watching(keys[0]):
            self._lessons.late([one.observings for one in late], begin)
            told: list[Learned | None] = [None] * len(late)
            for at, one in enumerate(late):
                if not one.has_asked:
                    begin(at)
                    told[at] = self._effects.canaries.on_answer(one.visit)
            for at, one in enumerate(late):
                begin(at)
                self._learning.finish(one.observings, one.now)
                self._pages.on_learned(one.visit, "", one.now)
                self._learning.judge_pairs(one.pairs, one.now)
                self._end(one.visit, told[at] or self._effects.canaries.on_answer(one.visit), one.now)
        store.visit = present
