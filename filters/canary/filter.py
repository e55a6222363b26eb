"""Canaries: a page of a host that was kept is fetched again, to see whether the host still answers as itself.

Login walls, consent pages, rate limits, maintenance and challenges answer for a whole host, for a while. What filters learn meanwhile is
wrong, and a wall that answers 200 settles URLs whose pages nobody has seen. So the filter asks for a canary

    when answers are alike that were not before (sighting.py), one is as a wall's was, some are written in words that no page before
    used (vocabulary.py), or several in a row are dropped (copies.py): so a wall is noticed within a few fetches
    before a class of held URLs is closed, and before a rule of aliases is adopted
    after `2 / share` answers without a canary

and when a host has nothing else to fetch some of its pages are fetched again, which are no canaries, but samples (samples.py).

The canary is a request of this filter's own, the next one of the host. As long as no wall was found there, the first one of a round waits
until it is within filters' share of the host's requests (`Request.can_wait`), or until so many answers are alike that it is worth it. What
follows from its answer: rounds.py. What is learned from the answers of the crawl: answers.py.

Memory: records.py. Time: 10 µs an answer.
"""

from __future__ import annotations

from typing import Any, Final

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Answer, Hurry
from thresher.crawler.core.model import Cause, Mode, Page, Purpose
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.canary import answers, doubts, records, samples, vocabulary, watch
from thresher.filters.canary.answers import AnswerGroup, Wanted
from thresher.filters.canary.first_answers import FirstAnswers, read_state, states
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.records import NAME, HostState, Stage
from thresher.filters.canary.rounds import Budget, Round
from thresher.filters.canary.sighting import is_page, of_failure, of_page, of_redirect, of_refused, words_for
from thresher.filters.canary.vocabulary import Speech
from thresher.filters.soft_error.looks import look_of
from thresher.filters.spec import FilterSpec

_LOST_AFTER: Final = 50  # answers after which a request of this filter is taken to be lost: it goes before all others
_LOST_IF_WAITING: Final = 2_000  # the same for one that can wait
_CAUSES: Final = frozenset(map(str, Cause))


def spec(settings: CanarySettings) -> FilterSpec:
    """Return the filter with its parts."""
    part = CanaryFilter(settings)
    return FilterSpec(NAME, Mode(settings.mode), prober=part, peer_filter=part, foresee=part.foresee, voids=True)


class CanaryFilter:
    """Learns from every answer of the crawl, and from the answers to its own requests."""

    name = NAME
    news_type: Any = Seen | CanaryRequest
    answer_type = Found

    def __init__(self, settings: CanarySettings) -> None:
        self._share = settings.share
        self._budget = Budget(settings.share, settings.floor)

    # -- questions of other parts

    def foresee(self, page: Page, queue: bytes, memory: Memory, /) -> None:
        of_page(page)
        if page.status != 200 or page.flags:
            return
        vocabulary.foresee(memory, queue, page)
        wanted = self.wanted(queue, memory, Speech.UNKNOWN)
        if wanted.look or wanted.sample:
            look_of(page)

    def wanted(self, queue: bytes, memory: Memory, speaks: Speech, token: bytes = b"") -> Wanted:
        """Return what is wanted of the next page of a host.

        Args:
            queue: Of the host.
            memory: The filter's memory.
            speaks: Whether the page uses its host's words.
            token: Of the page, b"" if that is not known yet.
        """
        return answers.wanted(memory, queue, speaks, token)

    def hosts_of(self, site: bytes, memory: Memory) -> list[bytes]:
        """Return the queues of a site's hosts; first those with the most answers since their last good canary."""
        found = dict(states(memory, site))
        return sorted(found, key=lambda queue: found[queue].good_at - found[queue].n_answers)

    def is_suspected(self, site: bytes, memory: Memory) -> bool:
        """Return whether one of a site's hosts is being asked whether it is itself, or is walled."""
        return any(state.stage is not Stage.IDLE for _, state in states(memory, site))

    def may_decide(self, queue: bytes, memory: Memory) -> bool:
        """Return whether a decision for good may be made about a host now: its last answer was a good canary's, or it has no candidate."""
        state = read_state(memory, queue)
        if state.good_at == state.n_answers and state.stage is Stage.IDLE:
            return True
        return state.stage is Stage.IDLE and not answers.usable(memory, queue)

    def is_in_doubt(self, queue: bytes, memory: Memory) -> bool:
        """Return whether answers of a host that has nothing else to fetch are to be cleared by requests."""
        state = None if len(FirstAnswers(memory, queue)) else records.stored_state(memory, queue)
        if state is None or state.stage is not Stage.IDLE:
            return False
        if watch.is_due_at_end(state) and answers.usable(memory, queue):
            return True
        if samples.is_due(state) or (state.n_walls and doubts.is_any_of_wall(memory, queue)):
            return True
        return self._budget.allows_clearing(state) and bool(doubts.groups(memory, queue))

    # -- the crawl's own answers

    def on_news(self, news: Seen | CanaryRequest, memory: Memory, /) -> Effects:
        """Learn from an answer of the crawl, or that a canary is wanted; return the request for one."""
        first = FirstAnswers(memory, news.queue)
        if isinstance(news, Seen) and answers.enter(memory, news, first, self._share):
            return NO_EFFECTS
        state = answers.opened(memory, news.queue, first)
        effects = self._on_request(news, state, memory) if isinstance(news, CanaryRequest) else self._seen(news, state, memory)
        records.write_state(memory, news.queue, state)
        return effects

    def _on_request(self, request: CanaryRequest, state: HostState, memory: Memory) -> Effects:
        if state.stage is not Stage.IDLE:
            return NO_EFFECTS
        of = self._round(request.queue, state, memory)
        if not request.is_drained:
            return of.begin(b"", can_wait=False)
        state.is_drained = True
        why = doubts.worth_a_request(memory, request.queue, state, small_too=self._budget.allows_clearing(state))[0]
        effects = (of.begin(why, is_drained=True, can_wait=False) if why else NO_EFFECTS) or of.begin_check()
        return effects or (of.begin(b"", is_drained=True, can_wait=False) if watch.is_due_at_end(state) else NO_EFFECTS)

    def _seen(self, seen: Seen, state: HostState, memory: Memory) -> Effects:
        heirs = answers.heirs(memory, seen, state)
        group = answers.learn(memory, seen, state)
        again = self._round(seen.queue, state, memory).again(heirs) if heirs else NO_EFFECTS
        return (*again, *self._after(seen, group, state, memory))

    def _after(self, seen: Seen, group: AnswerGroup, state: HostState, memory: Memory) -> Effects:
        """Ask for what an answer makes necessary, after it was learned from."""
        lost_after = _LOST_IF_WAITING if state.is_waiting else _LOST_AFTER
        if state.stage not in (Stage.IDLE, Stage.WALLED) and state.n_answers - state.asked_at > lost_after:
            state.stage = Stage.IDLE
        if state.is_waiting and doubts.is_pressing(memory, seen.queue, group.token, group.n, state.n_honest):
            state.is_waiting = False
            return (Hurry(origin_of(seen.url), Purpose.CANARY),)
        return self._ask_for(group, seen, state, memory) if state.stage is Stage.IDLE else NO_EFFECTS

    def _ask_for(self, group: AnswerGroup, seen: Seen, state: HostState, memory: Memory) -> Effects:
        """Ask for a canary if there are as many alike answers as are wanted for it, or if the last one was long ago."""
        queue, token, allows = seen.queue, group.token, self._budget.allows
        if watch.is_due(state):
            return self._round(queue, state, memory).begin(b"", can_wait=False)
        if group.n >= group.wanted and group.n >= records.patience(memory, queue, token, seen.url, group.wanted):
            is_news = state.n_honest < doubts.FEW and not records.is_honest(memory, queue, token, seen.url)
            if allows(state, of_news=is_news) or doubts.is_large(memory, queue, token, group.n, state.n_honest):
                can_wait = not doubts.is_pressing(memory, queue, token, group.n, state.n_honest)
                return self._round(queue, state, memory).begin(token, can_wait=can_wait)
        is_due = self._share > 0 and allows(state) and state.n_answers - state.good_at >= 2 / self._share
        return self._round(queue, state, memory).begin(b"") if is_due else NO_EFFECTS

    def _round(self, queue: bytes, state: HostState, memory: Memory) -> Round:
        return Round(memory, queue, state, self._budget)

    # -- answers to this filter's requests

    def reduce(self, answer: Answer, /) -> Found:
        """Return what is learned from the answer to a request of this filter."""
        page, look, told = answer.page, None, f"status {answer.status}"
        words = vocabulary.ends(page.tokens) if page is not None and page.status == 200 else b""
        if page is not None:
            shown = of_page(page)
            look = look_of(page) if page.status == 200 and is_page(shown.token) else None
            told = f"status {page.status}, {words_for(shown.token)}" + (f': "{page.title[:80]}"' if page.title else "")
        elif answer.target is not None:
            shown, told = of_redirect(answer.target.text), f"a redirect to {answer.target.text.partition('?')[0]}"
        elif answer.status and answer.failure not in _CAUSES:
            shown, told = of_refused(answer.failure, answer.status), answer.failure or told
        else:
            shown, told = of_failure(answer.failure, answer.status), answer.failure or told
        was_asked = bool(answer.status) or answer.failure in _CAUSES
        n_links = len(page.links) if page is not None else 0
        return Found(answer.url.key, answer.at, shown.token, answer.status, look, told, was_asked, words, n_links)

    def on_answer(self, reduced: Found, memory: Memory, /) -> Effects:
        """Learn from the answer to a request of this filter, and go on with its round."""
        queue = records.take_asked(memory, reduced.key)
        if not queue:
            return NO_EFFECTS
        state = answers.opened(memory, queue, FirstAnswers(memory, queue))
        effects = self._round(queue, state, memory).on_answer(reduced)
        state.has_own = any(one.speaks == Speech.OWN for one in records.candidates(memory, queue).values())
        records.write_state(memory, queue, state)
        return effects
