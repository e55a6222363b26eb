"""A round of requests that finds out whether a host still answers itself. It begins with a canary: a kept page of the host, fetched again.

**The canary fails** if it shows another status, a redirect, or a text unlike the kept one (likeness.py). The page alone may have changed,
so a second canary decides, and a third that was kept before the suspected answers. If all that are asked say something new in their host's
words that nothing else there says, and are no more like each other than they were, the site has changed and not been walled: that is what
they are from now on, unless a later canary shows again what it was: then a wall stood in between. If two pages have changed otherwise, the
first is fetched once more: a page that changes with each request proves nothing.

**The host is walled** if the canaries have failed. What was learned since the last good canary is void. The host is parked, then a canary
is fetched, and so on until one is good. Then the URLs for which the wall had answered are queued again: those whose answer was that of the
canaries. If no answer was, or if the canaries' answers differ, samples (checks.py) tell which; few URLs since the last good canary are all
queued again; if the wall was in another language, only those between the last and the next answer in the host's words.

**The canary is good.** Then one of the suspected answers is fetched again. If it shows something else now, more than another time of day or
another quotation, and the canary is still good, a wall was there and has fallen: the URLs for which it had answered are queued again. The
same happens if two canaries have failed and the first is good again. If the answer is the same as before, twice in a row of a host's first
groups, since a wall may answer some requests only, it is the site's own, and the next canary for it is asked for only after four times as
many. The other groups of alike answers stay in doubt (doubts.py) until one of their URLs was fetched again, too.

If a host was parked `_MOST_PARKED` times in a row, it is accepted as it is. `_CHANGED` times are enough if no two of its URLs show the
same, or if it answers that its pages are gone: a site that was rebuilt must not count as walled for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from thresher.crawler.core.effects import NotWalled, ParkWalled, Void
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.canary import behind, copies, doubts, records, samples, vocabulary, watch
from thresher.filters.canary.checks import SampleChecks
from thresher.filters.canary.likeness import MOST_LOST, is_changing, is_less, is_like, is_like_look, lost
from thresher.filters.canary.news import Found
from thresher.filters.canary.records import Candidate, HostState, Stage
from thresher.filters.canary.sighting import is_error, words_for
from thresher.filters.canary.vocabulary import Speech
from thresher.filters.soft_error.looks import Look, distance

_MOST_PARKED: Final = 20
_CHANGED: Final = 3
_ONE_CANARY: Final = 3  # times that a host is parked until another canary is asked for
_FOR_ONE: Final = 20  # kept pages of a host for each request of `floor`
_OF_NEWS: Final = 2  # factor of `share` that canaries for alike answers may cost if none ever found a wall
_AS_FAR: Final = 0.5  # share of their distance when they were kept that two changed pages have at least: a wall makes them more alike
_MOST_RETURNED: Final = 12  # times that canaries may return to what they were: pages that do so more often have two states
_OF_TWO: Final = 2  # answers that are alike, of which one may be the page's own, shown for another one
_MOST_BETWEEN: Final = 64  # answers while canaries were what they had not been before, of which all are fetched again
_MET: Final = 4  # requests of a round, of which one is a canary's where suspected URLs show what a wall has shown
_MOST_MET: Final = 6 * _MET  # requests of a round after which they are asked for no more
_GONE: Final = (404, 410)  # a rebuilt site answers so for its old pages; hardly any wall does


@dataclass(frozen=True)
class Budget:
    """How many requests that find no wall a host may have."""

    share: float  # requests an answer
    floor: float  # requests of any host, one for every `_FOR_ONE` kept pages

    def allows(self, state: HostState, *, of_news: bool = False) -> bool:
        """Return whether a host may have one more request.

        Args:
            state: That of the host.
            of_news: Whether it is for answers that were never found honest.
        """
        allowed = min(self.floor, state.n_kept / _FOR_ONE) + self.share * state.n_answers
        return state.n_asked < (_OF_NEWS * allowed if of_news else allowed)

    def allows_clearing(self, state: HostState) -> bool:
        """Return whether a host that has nothing else to fetch may have one more request for small groups in doubt."""
        return state.n_asked < self.floor + _OF_NEWS * self.share * state.n_answers + state.n_kept / _FOR_ONE


class Round(SampleChecks):
    """The requests to one host, from the first canary until the host is accepted or walled."""

    def __init__(self, memory: Memory, queue: bytes, state: HostState, budget: Budget) -> None:
        """Take up a round, or begin one.

        Args:
            memory: The filter's memory.
            queue: Of the host.
            state: That of the host; it is changed, and not written.
            budget: Of requests.
        """
        super().__init__(memory, queue, state)
        self._budget = budget

    def begin(self, why: bytes, *, is_drained: bool = False, can_wait: bool = True) -> Effects:
        """Ask for the first canary; nothing if the host has no page for it.

        Args:
            why: The suspected token, b"" if there is none.
            is_drained: Whether the host has nothing else to fetch.
            can_wait: Whether the canary may wait for filters' share of the host's requests, unless a wall was found there before.
        """
        state, usable = self._state, self._usable(but=why)
        if not usable:
            return NO_EFFECTS
        state.why, state.failed, state.shown, state.has_met_wall, state.is_foreign = why, [], None, False, False
        state.n_of_round, state.is_drained, state.bad, state.changed = 0, is_drained, [], {}
        state.first_slot = usable[0]
        return self._fetch(usable[0], Stage.FIRST, can_wait=can_wait and state.n_walls == 0)

    def on_answer(self, found: Found) -> Effects:
        """Learn from the answer to the last request, and go on."""
        state, memory, queue = self._state, self._memory, self._queue
        if state.stage is Stage.RECHECK:
            return self._rechecked(found)
        if state.stage in (Stage.SAMPLE, Stage.SAMPLE_TWICE):
            return self._on_sample(found)
        if state.stage is Stage.NOISE:
            return self._honest() if self._is_noise(found) else self._fallen()
        candidate = records.candidates(memory, queue).get(state.slot)
        if candidate is None or not found.was_asked:
            records.drop_candidate(memory, queue, state.slot)
            return self._without()
        is_walls = found.token in (*state.failed, state.why) and found.token not in (b"", candidate.token)
        is_foreign = candidate.speaks == Speech.OWN and vocabulary.speech_of(memory, queue, found.words) is Speech.STRANGE
        state.is_foreign = state.is_foreign or is_foreign
        is_as_kept = not is_walls and not is_foreign and is_like(candidate, found.token, found.look, found.n_links)
        if is_as_kept and not self._is_less(candidate, found.token, found.look):
            return self._good(found, candidate)
        before = candidate.before if state.n_returned < _MOST_RETURNED else None
        is_before = before is not None and found.look is not None and is_like_look(before[1], found.look)
        if before is not None and is_before and (found.token == before[0] or not is_as_kept):
            return self._returned()
        return self._bad(found, candidate, is_walls=is_walls)

    def _without(self) -> Effects:
        """Go on without a canary that may not be fetched."""
        state, usable = self._state, self._usable(but=self._state.why)
        if usable and state.stage is not Stage.IDLE:
            return self._fetch(usable[0], Stage.WALLED if state.is_walled else Stage.FIRST)
        return self._release(is_healthy=True) if state.is_walled else self._blind()

    # -- a good canary

    def _good(self, found: Found, candidate: Candidate) -> Effects:
        state, memory, queue = self._state, self._memory, self._queue
        if found.look is not None:
            candidate.spread = max(candidate.spread, lost(candidate.look, found.look))
            candidate.n_links = max(candidate.n_links, found.n_links)  # it may have been kept without its links
            candidate.is_proved, candidate.n_failed = True, 0
            records.put_candidate(memory, queue, state.slot, candidate)
        if state.stage is Stage.SECOND and not (state.confirms and state.has_met_wall) and (again := self._beside_good()):
            return (*again, *self._clear_next())
        state.is_unsure, state.unsure = False, []
        if state.stage is Stage.SAMPLE_CONFIRM:
            return self._confirmed(candidate.at)
        if state.stage is Stage.CONFIRM:
            state.failed = [state.why]
            suspected = records.counts(memory, queue).get(state.why)
            if suspected is not None and (suspected.look is not None or copies.is_run(state.why)) and state.again is not None:
                return self._request(suspected.url, suspected.key, Stage.NOISE)
        if state.stage in (Stage.CONFIRM, Stage.TWICE) or (state.confirms and state.has_met_wall):
            return self._fallen()
        return self._release(is_healthy=True) if state.is_walled else self._clear_next()

    def _clear_next(self) -> Effects:
        """Fetch a URL of the next group in doubt again, while the host is well; accept the host if no other is worth it now."""
        state, memory, queue = self._state, self._memory, self._queue
        state.confirms = False
        state.n_same = 0
        suspected = records.counts(memory, queue).get(state.why)
        if suspected is None:
            small_too = state.is_drained and self._budget.allows_clearing(state)
            state.why, suspected = doubts.worth_a_request(memory, queue, state, small_too=small_too)
        if suspected is not None:
            return self._request(suspected.url, suspected.key, Stage.RECHECK)
        return (self._check_next() if state.is_drained or state.near else NO_EFFECTS) or self._well()

    def _rechecked(self, found: Found) -> Effects:
        """Learn from a suspected URL that was fetched again. The same answer is the site's own; if it is another one, a wall may have
        fallen, and the canary is fetched once more.
        """
        state, memory, queue = self._state, self._memory, self._queue
        is_strange = state.why == vocabulary.STRANGE and vocabulary.speech_of(memory, queue, found.words) is Speech.STRANGE
        is_same = found.token == copies.shown_by(memory, queue, state.why)
        if not found.was_asked:
            return self._honest()
        if not is_same and records.is_of_wall(memory, queue, found.token):
            return self._met_now()
        if is_same or is_strange or self._is_nearly_suspected(found):
            state.n_same += 1
            suspected = records.counts(memory, queue).get(state.why)
            if suspected is None or state.n_same >= doubts.times(memory, queue, state.why, state):
                return self._honest()
            return self._request(suspected.url, suspected.key, Stage.RECHECK)
        state.confirms, state.failed, state.again = True, [], (found.token, found.look) if found.look is not None else None
        if state.slot not in records.candidates(memory, queue):
            state.failed = [state.why]
            return self._fallen()
        return self._fetch(state.slot, Stage.CONFIRM)

    def _met_now(self) -> Effects:
        """Ask once more, now and then a canary first: a known wall stands now, which says nothing of what was answered before."""
        state = self._state
        suspected = records.counts(self._memory, self._queue).get(state.why)
        if suspected is None or state.n_of_round >= _MOST_MET or state.slot not in records.candidates(self._memory, self._queue):
            return self._well()
        if state.n_of_round % _MET:
            return self._request(suspected.url, suspected.key, Stage.RECHECK)
        state.failed, state.has_met_wall = [], False
        return self._fetch(state.slot, Stage.FIRST)

    def _honest(self) -> Effects:
        """End the doubt about the suspected answers: their host gives them by itself."""
        doubts.found_honest(self._memory, self._queue, self._state.why)
        self._state.n_honest += 1
        return self._clear_next()

    def _fallen(self) -> Effects:
        """Queue again what a wall had answered for that has fallen before a canary could see it."""
        state = self._state
        if copies.is_run(state.why) and state.failed == [state.why]:
            return (*self._run_again(), *self._clear_next())
        state.told, state.n_walls, state.n_honest = words_for(state.why or state.failed[0]), state.n_walls + 1, 0
        state.flaps = state.flaps or records.is_of_wall(self._memory, self._queue, state.why)
        return (Void(self._queue), *self._fetch_again(), *self._clear_next())

    def _well(self) -> Effects:
        """Accept the answers until now that are not in doubt: the canary was good. If it has just changed, the next one decides."""
        state = self._state
        was_walled = state.is_walled
        state.stage, state.good_at, state.n_parked, state.since = Stage.IDLE, state.n_answers, 0, 0.0
        state.n_suspects = doubts.clear(self._memory, self._queue)
        if watch.is_on(state):
            self._was_no_waste()
        return () if state.is_unsure and not was_walled else (NotWalled(self._queue, was_walled),)

    def _blind(self) -> Effects:
        """Accept the host, because no candidate can show whether it is walled; its answers stay in doubt."""
        self._state.stage, self._state.good_at = Stage.IDLE, self._state.n_answers
        return () if self._state.is_unsure else (NotWalled(self._queue),)

    # -- a canary that has failed

    def _bad(self, found: Found, candidate: Candidate, *, is_walls: bool) -> Effects:
        state = self._state
        is_walls = is_walls or self._is_walls(candidate.key, candidate.token, found.token)
        if state.stage is not Stage.TWICE or found.token != state.failed[0]:
            state.failed = [*state.failed, found.token]
        state.has_met_wall = state.has_met_wall or is_walls
        if state.stage is Stage.WALLED:
            return self._park(found)
        if state.stage in (Stage.FIRST, Stage.CONFIRM, Stage.SAMPLE_CONFIRM):
            state.first_slot, state.shown, state.bad = state.slot, found.look, []
        if state.stage is not Stage.TWICE:
            state.bad = [*state.bad, state.slot]
            if found.look is not None and not is_walls and self._is_news(found, found.look, candidate):
                state.changed[state.slot] = found.token, found.look
            others = [slot for slot in self._usable(but=state.why) if slot not in state.bad and self._may_judge(slot)]
            if others:
                return self._fetch(others[0], Stage.SECOND)
        if len(state.changed) == len(state.bad) > 1 and not watch.is_on(state):
            self._renew()
            self._leave_sample()
            state.failed = [state.why]
            return self._fallen() if state.confirms else self._clear_next()
        is_page = found.look is not None and state.shown is not None and not is_walls
        if is_page and state.stage in (Stage.FIRST, Stage.SECOND):
            return self._fetch(state.first_slot, Stage.TWICE)
        was_steady = watch.is_on(state) and candidate.is_proved
        if state.stage is Stage.TWICE and is_changing(state.shown, found.look) and not was_steady:
            self._drop(state.slot)
            return self._blind()
        return self._wall(found)

    def _may_judge(self, slot: int) -> bool:
        """Return whether a candidate may be the next canary: not the third one if a wall may have shown its page when it was kept."""
        state, memory, queue = self._state, self._memory, self._queue
        if len(state.bad) == 1 or len(state.changed) == len(state.bad):
            return True
        suspected = [one.at for one in doubts.members(memory, queue, state.why).values()] if state.why else []
        return records.candidates(memory, queue)[slot].at < min(suspected, default=state.good_at + 1)

    def _is_news(self, found: Found, look: Look, candidate: Candidate) -> bool:
        """Return whether a failed canary is a page that has changed by itself: it says something new, in the words of its host, which no
        other URL says; and it is no more like the first canary than it was when both were kept.
        """
        state, memory, queue = self._state, self._memory, self._queue
        if records.is_counted(memory, queue, found.token):
            return False
        if is_less(candidate, found.token, look) and is_like_look(candidate.look, look):
            return True
        if lost(look, candidate.look) <= MOST_LOST or vocabulary.speech_of(memory, queue, found.words) is not Speech.OWN:
            return False
        first = records.candidates(memory, queue).get(state.first_slot)
        if state.slot == state.first_slot or first is None or state.shown is None:
            return True
        return distance(look, state.shown) > _AS_FAR * distance(candidate.look, first.look)

    def _renew(self) -> None:
        """Take canaries that have changed by themselves for what they are now."""
        state, found = self._state, records.candidates(self._memory, self._queue)
        state.has_changed = True
        state.renewed_after, state.is_unsure = state.good_at, not state.is_unsure
        for slot, one in found.items():
            if slot in state.changed:  # others were a wall's answers and are no canaries any more
                one.before = one.token, one.look, one.at
                (one.token, one.look), one.at = state.changed[slot], state.n_answers
                records.put_candidate(self._memory, self._queue, slot, one)

    def _returned(self) -> Effects:
        """Queue again what was answered since canaries had changed: they show again what they were before, so it was a wall's."""
        state, memory, queue = self._state, self._memory, self._queue
        for slot, one in records.candidates(memory, queue).items():
            if one.before is not None:
                (one.token, one.look, one.at), one.before = one.before, None
                records.put_candidate(memory, queue, slot, one)
        state.told, state.n_walls, state.n_honest, state.failed = words_for(b"P"), state.n_walls + 1, 0, []
        state.is_unsure, state.n_returned = False, state.n_returned + 1
        self._was_no_waste()
        watch.begin(state)
        watch.doubt(memory, queue, state)
        are_few = state.n_answers - state.renewed_after <= _MOST_BETWEEN
        state.near = [] if are_few else samples.unknown(memory, queue, state.renewed_after)
        again = self._again(samples.since(memory, queue, state.renewed_after)) if are_few else ()
        return (Void(queue), *again, *(self._release(is_healthy=True) if state.is_walled else self._clear_next()))

    def _wall(self, found: Found) -> Effects:
        state, memory, queue = self._state, self._memory, self._queue
        state.since, state.n_walls, state.n_honest, state.given_up = found.at, state.n_walls + 1, 0, False
        for slot, one in records.candidates(memory, queue).items():
            if one.at > state.good_at and slot != state.first_slot and one.token in state.failed:
                records.drop_candidate(memory, queue, slot)  # the answer was the wall's
        watch.doubt(memory, queue, state)
        state.slot = state.first_slot
        state.is_changed = found.status in _GONE or not (state.is_foreign or self._is_shared())
        return (Void(queue), *self._park(found))

    def _is_shared(self) -> bool:
        """Return whether two URLs show the same as a failed canary. If not, the canary's page may have changed alone."""
        failed = self._state.failed
        first = records.candidates(self._memory, self._queue).get(self._state.first_slot)
        is_walls = first is not None and any(self._is_walls(first.key, first.token, token) for token in failed)
        if is_walls or len(failed) > len(set(failed)):
            return True
        alike = records.counts(self._memory, self._queue)
        return any(token in alike or token[:1] in (b"C", b"F") for token in failed)

    def _park(self, found: Found) -> Effects:
        """Park the host, then ask for a canary. If it has failed for long, accept it as it is."""
        state, memory, queue = self._state, self._memory, self._queue
        state.told, state.flaps = found.told, False
        is_enough = state.n_parked >= (_CHANGED if state.is_changed and not watch.is_on(state) else _MOST_PARKED)
        if is_enough and watch.is_on(state) and len(state.changed) > 1:
            self._renew()
            return self._release(is_healthy=True)
        if is_enough:
            state.given_up = True
            for slot in records.candidates(memory, queue):
                records.drop_candidate(memory, queue, slot)
            state.n_kept = 0
            return self._release(is_healthy=False)
        state.n_parked += 1
        if state.n_parked > _ONE_CANARY:  # it may have been kept behind a wall
            slots = sorted(records.candidates(memory, queue))
            state.slot = next((slot for slot in slots if slot > state.slot), slots[0])
        return (ParkWalled(queue, state.n_parked), *self._fetch(state.slot, Stage.WALLED))

    # -- the end of a wall

    def _release(self, *, is_healthy: bool) -> Effects:
        """Serve a host again, and queue again the URLs for which its wall had answered.

        Args:
            is_healthy: Whether a canary was good; else the host is accepted as it is.
        """
        self._state.given_up = not is_healthy
        again = self._fetch_again()
        return (*again, *(self._clear_next() if is_healthy else self._well()))

    def _fetch_again(self) -> Effects:
        """Queue again what a wall had answered for; its answers are no longer in doubt."""
        state, memory, queue = self._state, self._memory, self._queue
        self._was_no_waste()
        keys, tokens = behind.answered(memory, queue, state)
        alike = records.counts(memory, queue)
        for token in filter(None, state.failed):
            if is_error(token) or state.has_met_wall or (token in alike and alike[token].n > _OF_TWO):
                records.note_wall(memory, queue, token)
        for token in tokens:
            records.drop_count(memory, queue, token)
        vocabulary.unlearn(memory, queue)
        state.n_strange = 0
        return self._again(keys)
