"""Canaries: a page of a host that was kept is fetched again, to see whether the host still answers as itself.

Login walls, consent pages, rate limits, maintenance and challenges answer for a whole host, for a while. What filters learn meanwhile is
wrong, and a wall that answers 200 settles URLs whose pages nobody has seen. So the filter asks for a canary

    when answers are alike that were not before (sighting.py), one is as a wall's was, or some are written in words that no page before
    used (tongue.py): so a wall is noticed within a few fetches
    before a class of held URLs is closed, and before a rule of aliases is adopted
    after `2 / share` answers without a canary

The canary is a request of this filter's own, the next one of the host; the first one of a round waits while its host is young
(`Request.can_wait`). If it fails (another status, a redirect, or a text unlike the kept
one, likeness.py), the page alone may have changed: a second canary decides. If both pages have changed, and differ from one another, the
first is fetched once more, since a page that changes with each request proves nothing.

**Walled.** If the canaries fail, the evidence since the last good canary is void. The host rests; after each rest a canary is fetched. When
one is good again, URLs are queued again if their answer was the wall's. If no answer was the same as the canary's, or if two canaries'
answers differ, all URLs of that time are; of a wall in another language those between the last and the next answer in the host's words.

**A wall that has fallen.** If the canary is good, one of the answers that were alike is fetched again. If it shows something else now, and
the canary is good still, a wall was there, and the URLs that it answered are queued again; so are they if two canaries have failed and the
first is good again. If not, the site is like that, and the next
canary for this answer is asked for only after four times as many. The other answers that were alike stay in doubt (doubts.py) until one of
them was fetched again, too.

If a host still fails after `_MOST_RESTS` rests, it is accepted as it is. After `_CHANGED` rests it is, if no two of its URLs show the same
or if it answers that its pages are gone: a site that was rebuilt must not be called walled for ever.

Memory: records.py. Time: 10 µs an answer.
"""

from __future__ import annotations

from typing import Any, Final

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Again, Answer, Effect, Request, Rest, Void, Well
from thresher.crawler.core.model import Cause, Mode, Purpose
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.canary import doubts, early, records, tongue
from thresher.filters.canary.likeness import is_changing, is_like, lost
from thresher.filters.canary.news import Found, Seen, Wish
from thresher.filters.canary.records import NAME, Candidate, FirstAnswers, HostState, Stage, SuspectAnswer
from thresher.filters.canary.sighting import AT_ONCE, is_error, of_failure, of_page, of_redirect, words_for
from thresher.filters.canary.tongue import Speech
from thresher.filters.soft_error.looks import look_of
from thresher.filters.spec import FilterSpec

FEWEST_WORDS: Final = 30  # bytes of the key of a candidate
_MOST_RESTS: Final = 20
_CHANGED: Final = 3
_MOST_AGAIN: Final = 4  # how often one URL may be queued again
_LOST_AFTER: Final = 50  # answers after which a request of this filter is taken to be lost: it goes before all others
_SLOTS_AT: Final = (1, 2, 3, 8, 32, 128, 512)  # kept pages that become candidates
_FOR_ONE: Final = 20  # kept pages of a host for each request of `floor`
_OF_NEWS: Final = 2  # factor of `share` that canaries for alike answers may cost if none ever found a wall
_GONE: Final = (404, 410)  # a rebuilt site answers so for its old pages; hardly any wall does
_CAUSES: Final = frozenset(map(str, Cause))


def spec(settings: CanarySettings) -> FilterSpec:
    """Return the filter with its parts."""
    part = CanaryFilter(settings)
    return FilterSpec(NAME, Mode(settings.mode), prober=part, peer_filter=part, voids=True)


class CanaryFilter:
    """Learns from every answer of the crawl, and from the answers to its own requests."""

    name = NAME
    news_type: Any = Seen | Wish
    answer_type = Found

    def __init__(self, settings: CanarySettings) -> None:
        self._share = settings.share
        self._floor = settings.floor

    # -- questions of other parts

    def wants_look(self, queue: bytes, memory: Memory, speaks: Speech) -> bool:
        """Return whether the next page of a host that is kept becomes a candidate.

        Args:
            speaks: Whether it uses its host's words.
        """
        watch = records.find_watch(memory, queue)
        return watch is None or watch.n_kept + 1 in _SLOTS_AT or (speaks is Speech.OWN and not watch.has_own)

    def hosts_of(self, site: bytes, memory: Memory) -> list[bytes]:
        """Return the queues of a site's hosts; first those with the most answers since their last good canary."""
        found = dict(records.watches(memory, site))
        return sorted(found, key=lambda queue: found[queue].good_at - found[queue].n_answers)

    def is_suspected(self, site: bytes, memory: Memory) -> bool:
        """Return whether one of a site's hosts is being asked whether it is itself, or is walled."""
        return any(watch.stage is not Stage.IDLE for _, watch in records.watches(memory, site))

    def may_decide(self, queue: bytes, memory: Memory) -> bool:
        """Return whether a decision for good may be made about a host now: its last answer was a good canary's, or it has no candidate."""
        watch = records.read_watch(memory, queue)
        if watch.good_at == watch.n_answers and watch.stage is Stage.IDLE:
            return True
        return watch.stage is Stage.IDLE and not self._usable(watch, queue, memory)

    def is_in_doubt(self, queue: bytes, memory: Memory) -> bool:
        """Return whether answers of a host that has nothing else to fetch are to be cleared by requests."""
        if FirstAnswers(memory, queue).items:
            return False
        watch = records.find_watch(memory, queue)
        return watch is not None and watch.stage is Stage.IDLE and self._may_clear(watch) and bool(doubts.groups(memory, queue))

    # -- the crawl's own answers

    def on_news(self, news: Seen | Wish, memory: Memory, /) -> Effects:
        first = FirstAnswers(memory, news.queue)
        if isinstance(news, Seen) and (n := first.enter(lambda listed: early.entry(news, listed, self._share))):
            if news.look is not None:
                self._keep(news, HostState(n), memory)
            return NO_EFFECTS
        watch = self._opened(memory, news.queue, first)
        if isinstance(news, Wish):
            why = doubts.worth_a_request(memory, news.queue, small_too=True)[0] if news.is_drained else b""
            is_idle = watch.stage is Stage.IDLE
            effects = self._ask(watch, news.queue, why, memory, is_drained=news.is_drained) if is_idle else NO_EFFECTS
        else:
            effects = self._seen(news, watch, memory)
        records.write_watch(memory, news.queue, watch)
        return effects

    def _opened(self, memory: Memory, queue: bytes, first: FirstAnswers) -> HostState:
        """Return a host's state, after its first answers were learned from."""
        answers = first.take()
        watch = records.read_watch(memory, queue)
        for answer in answers:
            self._learn_seen(early.told(queue, answer), watch, memory)
        return watch

    def _seen(self, news: Seen, watch: HostState, memory: Memory) -> Effects:
        token, n_alike, wanted = self._learn_seen(news, watch, memory)
        if watch.stage not in (Stage.IDLE, Stage.WALLED) and watch.n_answers - watch.asked_at > _LOST_AFTER:
            watch.stage = Stage.IDLE
        return self._ask_for(token, n_alike, wanted, news, watch, memory) if watch.stage is Stage.IDLE else NO_EFFECTS

    def _learn_seen(self, news: Seen, watch: HostState, memory: Memory) -> tuple[bytes, int, int]:
        """Learn from an answer; return its token, how many answers have that, and how many ask for a canary."""
        queue = news.queue
        watch.n_answers += 1
        speaks = news.speaks
        if watch.n_suspects < records.MOST_SUSPECTS:
            watch.n_suspects += records.put_suspect(memory, queue, news.key, SuspectAnswer(news.token, news.via, speaks, watch.n_answers))
        token = news.token
        is_walls = watch.n_walls > 0 and records.is_of_wall(memory, queue, token)
        least = AT_ONCE if is_walls else news.least
        n_alike = records.count(memory, queue, token, news.url, news.key, least) if token else 0
        if speaks == Speech.OWN:
            watch.n_strange = 0
        elif speaks == Speech.STRANGE and n_alike < least:
            token, least, watch.n_strange = tongue.STRANGE, tongue.LEAST, watch.n_strange + 1
            n_alike = records.count_run(memory, queue, token, watch.n_strange, news.url, news.key, least)
        if news.is_kept:
            watch.n_kept += 1
            if news.look is not None:
                self._keep(news, watch, memory)
            if news.words and tongue.learn(memory, queue, news.words):
                self._hear(watch, queue, memory)
        return token, n_alike, least if is_walls else doubts.wanted(least, watch.n_honest)

    def _ask_for(self, token: bytes, n_alike: int, wanted: int, news: Seen, watch: HostState, memory: Memory) -> Effects:
        """Ask for a canary if there are as many alike answers as are wanted for it, or if the last one was long ago."""
        queue, allowed = news.queue, self._allowed(watch)
        if n_alike >= wanted and n_alike >= records.patience(memory, queue, token, news.url, wanted):
            is_known = records.is_honest(memory, queue, token, news.url)
            may_ask = watch.n_asked < allowed or (not is_known and watch.n_asked < _OF_NEWS * allowed)
            if may_ask or doubts.is_large(memory, queue, token, n_alike):
                return self._ask(watch, queue, token, memory)
        is_due = self._share > 0 and watch.n_asked < allowed and watch.n_answers - watch.good_at >= 2 / self._share
        return self._ask(watch, queue, b"", memory) if is_due else NO_EFFECTS

    def _allowed(self, watch: HostState) -> float:
        """Return how many requests of this filter that find no wall a host may have."""
        return min(self._floor, watch.n_kept / _FOR_ONE) + self._share * watch.n_answers

    def _may_clear(self, watch: HostState) -> bool:
        """Return whether a host that has nothing else to fetch may have one more request for small groups in doubt."""
        return watch.n_asked < self._floor + _OF_NEWS * self._share * watch.n_answers + watch.n_kept / _FOR_ONE

    def _keep(self, news: Seen, watch: HostState, memory: Memory) -> None:
        """Make a kept page a candidate; if there are enough, it takes the place of the newest one, first of those in foreign words."""
        assert news.look is not None
        found = records.candidates(memory, news.queue)
        free = [slot for slot in range(records.N_CANDIDATES) if slot not in found]
        slot = free[0] if free else max(found, key=lambda slot: (found[slot].speaks != Speech.OWN, found[slot].at))
        if news.look.n_words >= FEWEST_WORDS and not (slot in found and slot == watch.slot and watch.stage is not Stage.IDLE):
            candidate = Candidate(news.url, news.key, news.token, news.look, watch.n_answers, speaks=news.speaks, words=news.words)
            records.put_candidate(memory, news.queue, slot, candidate)
            watch.has_own = watch.has_own or news.speaks == Speech.OWN

    def _hear(self, watch: HostState, queue: bytes, memory: Memory) -> None:
        """Note of each candidate whether it uses its host's words, which are known now."""
        for slot, one in records.candidates(memory, queue).items():
            one.speaks, one.words = tongue.speech_of(memory, queue, one.words), b""
            records.put_candidate(memory, queue, slot, one)
            watch.has_own = watch.has_own or one.speaks == Speech.OWN

    def _usable(self, watch: HostState, queue: bytes, memory: Memory, *, but: bytes = b"") -> list[int]:
        """Return the slots of candidates without those whose own text is the suspected one: in the host's words first, then the oldest."""
        found = records.candidates(memory, queue)
        usable = (slot for slot, one in found.items() if one.token != but)
        return sorted(usable, key=lambda slot: (found[slot].speaks != Speech.OWN, found[slot].at))

    def _ask(self, watch: HostState, queue: bytes, why: bytes, memory: Memory, *, is_drained: bool = False) -> Effects:
        usable = self._usable(watch, queue, memory, but=why)
        if not usable:
            return NO_EFFECTS
        watch.why, watch.failed, watch.shown, watch.has_met_wall, watch.is_foreign = why, [], None, False, False
        watch.n_of_round, watch.is_drained = 0, is_drained
        watch.first_slot = usable[0]
        return self._fetch(watch, queue, usable[0], Stage.FIRST, memory)

    def _fetch(self, watch: HostState, queue: bytes, slot: int, stage: Stage, memory: Memory) -> Effects:
        candidate = records.candidates(memory, queue)[slot]
        watch.slot = slot
        return self._request(watch, queue, candidate.url, candidate.key, stage, memory)

    def _request(self, watch: HostState, queue: bytes, url: str, key: bytes, stage: Stage, memory: Memory) -> Effects:
        watch.stage, watch.asked_at = stage, watch.n_answers
        watch.n_asked += 1
        watch.n_of_round += 1
        records.note_asked(memory, queue, key)
        return (Request(url, Purpose.CANARY, can_wait=stage is Stage.FIRST),)

    # -- answers to this filter's requests

    def reduce(self, answer: Answer, /) -> Found:
        page, look, told = answer.page, None, f"status {answer.status}"
        words = tongue.ends(page.tokens) if page is not None and page.status == 200 else b""
        if page is not None:
            shown = of_page(page)
            look = look_of(page) if page.status == 200 and not is_error(shown.token) else None
            told = f"status {page.status}, {words_for(shown.token)}" + (f': "{page.title[:80]}"' if page.title else "")
        elif answer.target is not None:
            shown, told = of_redirect(answer.target.text), f"a redirect to {answer.target.text.partition('?')[0]}"
        else:
            shown = of_failure(answer.failure, answer.status)
            told = answer.failure or told
        was_asked = bool(answer.status) or answer.failure in _CAUSES
        return Found(answer.url.key, answer.at, shown.token, answer.status, look, told, was_asked, words)

    def on_answer(self, reduced: Found, memory: Memory, /) -> Effects:
        queue = records.take_asked(memory, reduced.key)
        if not queue:
            return NO_EFFECTS
        watch = self._opened(memory, queue, FirstAnswers(memory, queue))
        effects = self._learn(reduced, watch, queue, memory)
        watch.has_own = any(one.speaks == Speech.OWN for one in records.candidates(memory, queue).values())
        records.write_watch(memory, queue, watch)
        return effects

    def _learn(self, found: Found, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        if watch.stage is Stage.RECHECK:
            return self._rechecked(found, watch, queue, memory)
        candidate = records.candidates(memory, queue).get(watch.slot)
        if candidate is None or not found.was_asked:
            records.drop_candidate(memory, queue, watch.slot)
            return self._without(watch, queue, memory)
        is_walls = found.token in (*watch.failed, watch.why) and bool(found.token)
        is_foreign = candidate.speaks == Speech.OWN and tongue.speech_of(memory, queue, found.words) is Speech.STRANGE
        watch.is_foreign = watch.is_foreign or is_foreign
        if not is_walls and not is_foreign and is_like(candidate, found.token, found.look):
            return self._good(found, candidate, watch, queue, memory)
        return self._bad(found, watch, queue, memory, is_walls=is_walls)

    def _without(self, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Go on without a canary that may not be fetched."""
        usable = self._usable(watch, queue, memory, but=watch.why)
        if usable and watch.stage is not Stage.IDLE:
            stage = Stage.WALLED if watch.is_walled else Stage.FIRST
            return self._fetch(watch, queue, usable[0], stage, memory)
        return self._release(watch, queue, memory, is_well=True) if watch.is_walled else self._blind(watch, queue)

    def _blind(self, watch: HostState, queue: bytes) -> Effects:
        """Treat the host as honest, because none of its candidates can show anything; its suspects stay recorded."""
        watch.stage, watch.good_at = Stage.IDLE, watch.n_answers
        return (Well(queue),)

    def _good(self, found: Found, candidate: Candidate, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        if watch.stage is Stage.SECOND and not watch.has_met_wall:
            records.drop_candidate(memory, queue, watch.first_slot)  # it has changed
        if found.look is not None:
            candidate.spread = max(candidate.spread, lost(candidate.look, found.look))
            records.put_candidate(memory, queue, watch.slot, candidate)
        if watch.stage is Stage.CONFIRM:
            watch.failed = [watch.why]
        if watch.stage in (Stage.CONFIRM, Stage.TWICE):
            return self._fallen(watch, queue, memory)
        if watch.is_walled:
            return self._release(watch, queue, memory, is_well=True)
        return self._clear_next(watch, queue, memory)

    def _clear_next(self, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Fetch a URL of the next group in doubt again, while the host is well; accept the host if no other is worth it now."""
        suspected = records.counts(memory, queue).get(watch.why)
        if suspected is None:
            small_too = watch.is_drained and self._may_clear(watch)
            watch.why, suspected = doubts.worth_a_request(memory, queue, small_too=small_too)
        if suspected is None:
            return self._well(watch, queue, memory)
        return self._request(watch, queue, suspected.url, suspected.key, Stage.RECHECK, memory)

    def _well(self, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Accept the answers until now that are not in doubt: the canary was good."""
        was_walled = watch.is_walled
        watch.stage, watch.good_at, watch.rests, watch.since = Stage.IDLE, watch.n_answers, 0, 0.0
        watch.n_suspects = doubts.clear(memory, queue)
        return (Well(queue, was_walled),)

    def _rechecked(self, found: Found, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Learn whether the alike answers were those of a wall that has fallen since: the canary is good still, if no new one stands."""
        is_strange = watch.why == tongue.STRANGE and tongue.speech_of(memory, queue, found.words) is Speech.STRANGE
        if found.token == watch.why or is_strange or not found.was_asked:
            doubts.found_honest(memory, queue, watch.why)
            watch.n_honest += 1
            return self._clear_next(watch, queue, memory)
        watch.failed = []
        if watch.slot not in records.candidates(memory, queue):
            watch.failed = [watch.why]
            return self._fallen(watch, queue, memory)
        return self._fetch(watch, queue, watch.slot, Stage.CONFIRM, memory)

    def _fallen(self, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Queue again what a wall had answered for that has fallen before a canary could see it."""
        watch.told, watch.n_walls, watch.n_honest = words_for(watch.why or watch.failed[0]), watch.n_walls + 1, 0
        return (Void(queue), *self._fetch_again(watch, queue, memory), *self._clear_next(watch, queue, memory))

    def _bad(self, found: Found, watch: HostState, queue: bytes, memory: Memory, *, is_walls: bool) -> Effects:
        watch.failed = [*watch.failed, found.token]
        watch.has_met_wall = watch.has_met_wall or is_walls
        if watch.stage is Stage.WALLED:
            return self._rest(found, watch, queue, memory)
        if watch.stage in (Stage.FIRST, Stage.CONFIRM):
            watch.first_slot, watch.shown = watch.slot, found.look
            others = [slot for slot in self._usable(watch, queue, memory, but=watch.why) if slot != watch.slot]
            if others:
                return self._fetch(watch, queue, others[0], Stage.SECOND, memory)
        is_page = found.look is not None and watch.shown is not None and not is_walls
        if is_page and watch.stage in (Stage.FIRST, Stage.SECOND):
            return self._fetch(watch, queue, watch.first_slot, Stage.TWICE, memory)
        if watch.stage is Stage.TWICE and is_changing(watch.shown, found.look):
            records.drop_candidate(memory, queue, watch.slot)
            return self._blind(watch, queue)
        return self._wall(found, watch, queue, memory)

    def _wall(self, found: Found, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        watch.since, watch.n_walls, watch.n_honest, watch.given_up = found.at, watch.n_walls + 1, 0, False
        for slot, one in records.candidates(memory, queue).items():
            if one.at > watch.good_at and slot != watch.first_slot and one.token in watch.failed:
                records.drop_candidate(memory, queue, slot)  # the answer was the wall's
        watch.slot = watch.first_slot
        watch.is_changed = found.status in _GONE or not self._is_shared(watch, queue, memory)
        return (Void(queue), *self._rest(found, watch, queue, memory))

    def _is_shared(self, watch: HostState, queue: bytes, memory: Memory) -> bool:
        """Return whether two URLs show the same as a failed canary. If not, the canary's page may have changed alone."""
        if len(watch.failed) > len(set(watch.failed)):
            return True
        alike = records.counts(memory, queue)
        return any(token in alike or token[:1] in (b"C", b"F") for token in watch.failed)

    def _rest(self, found: Found, watch: HostState, queue: bytes, memory: Memory) -> Effects:
        """Let the host rest, then ask for a canary. If it has failed for long, accept it as it is."""
        watch.told = found.told
        if watch.rests >= (_CHANGED if watch.is_changed else _MOST_RESTS):
            watch.given_up = True
            for slot in records.candidates(memory, queue):
                records.drop_candidate(memory, queue, slot)
            watch.n_kept = 0
            return self._release(watch, queue, memory, is_well=False)
        watch.rests += 1
        return (Rest(queue, watch.rests), *self._fetch(watch, queue, watch.slot, Stage.WALLED, memory))

    def _release(self, watch: HostState, queue: bytes, memory: Memory, *, is_well: bool) -> Effects:
        """Serve a host again, and queue again the URLs that its wall had answered."""
        watch.given_up = not is_well
        again = self._fetch_again(watch, queue, memory)
        then = self._clear_next if is_well else self._well
        return (*again, *then(watch, queue, memory))

    def _fetch_again(self, watch: HostState, queue: bytes, memory: Memory) -> tuple[Effect, ...]:
        """Queue again what a wall had answered for; its answers are no longer in doubt."""
        watch.n_asked -= watch.n_of_round  # a wall was found: that was no waste
        watch.n_of_round = 0
        keys, tokens = doubts.of_wall(watch, queue, memory)
        for token in tokens:
            records.drop_count(memory, queue, token)
        for token in filter(None, watch.failed):
            records.note_wall(memory, queue, token)
        for slot, one in records.candidates(memory, queue).items():
            if one.key in keys and slot != watch.slot:
                records.drop_candidate(memory, queue, slot)
        tongue.unlearn(memory, queue)
        watch.n_strange = 0
        chosen = tuple(key for key in keys if records.note_again(memory, queue, key, _MOST_AGAIN))
        watch.n_again += len(chosen)
        return (Again(queue, chosen),)
