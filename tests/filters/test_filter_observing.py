"""Filters that can wait learn from several visits together: the outcome is that of learning from each at once."""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from subjects import LONG_TEXT, page
from webs import Bench, Subject, batches, pages, pairs, registered

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Page
from thresher.filters.deliberation import Learned
from thresher.filters.observing import Observing

visits: st.SearchStrategy[list[Subject]] = st.lists(st.one_of(pages, pages, pages, batches, pairs), min_size=12, max_size=40)


class _Together:
    """Tells a panel of visits, and lets the filters that can wait learn from as many together as they may."""

    def __init__(self, bench: Bench) -> None:
        self.panel = bench.panel
        self.bench = bench
        self.learned: list[Learned] = []
        self.largest = 0  # number of visits that were learned from together
        self._owed: list[list[Observing]] = []
        self.panel.lessons.catch_up = self.catch_up

    def tell(self, subject: Subject) -> None:
        if isinstance(subject, Page | LinkBatch):
            deliberation = self.bench.judge(subject)
            self._owed.append([self.panel.lessons.promptly(deliberation)])
            self.panel.lessons.owed |= {subject.url.key[:8]} if isinstance(subject, Page) else {*subject.site_keys}
        else:
            self.catch_up()
            self.learned.append(self.panel.learn(self.bench.judge(subject)))

    def catch_up(self) -> None:
        owed, self._owed = self._owed, []
        self.panel.lessons.owed.clear()
        self.panel.lessons.late(owed, lambda _: None)
        self.learned += [self.panel.lessons.learned(one) for of_visit in owed for one in of_visit]
        self.largest = max(self.largest, len(owed))


@examples(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(story=visits)
def test_pages_that_are_learned_from_together_teach_what_each_alone_teaches(story: list[Subject]) -> None:
    """Mutation: `Lessons.before` did not catch up: a page was judged before the page of its site was learned from."""
    plain, late = Bench.of(registered()), Bench.of(registered())
    each = [plain.panel.learn(plain.judge(subject)) for subject in story]
    together = _Together(late)
    for subject in story:
        together.tell(subject)
    together.catch_up()
    assert together.learned == each
    assert late.all_rows() == plain.all_rows()


def test_pages_of_two_sites_are_learned_from_together() -> None:
    """Mutation: a site was owed for ever, so that each page was learned from alone."""
    together = _Together(Bench.of(registered()))
    for n in range(6):
        together.tell(page(f"http://{'ab'[n % 2]}.example/{n}", LONG_TEXT))
    together.catch_up()
    assert (together.largest, len(together.learned)) == (2, 6)
    assert not together.panel.lessons.owed
