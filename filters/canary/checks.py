"""The part of a round that fetches samples again (samples.py), and the requests of rounds.

A sample that shows another page is fetched once more: if it shows something else then, it changes with each request and proves nothing.
If it does not, a canary is fetched; only if that is good was the sample's first answer a wall's, or its page has changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Final

from thresher.crawler.core.effects import FetchAgain, Request, Void
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.canary import answers, behind, copies, records, samples, vocabulary, watch
from thresher.filters.canary.likeness import MOST_NOISE, is_less, is_like_look, lost, says, shows_less
from thresher.filters.canary.news import Found
from thresher.filters.canary.records import Candidate, HostState, Stage
from thresher.filters.canary.samples import Finding, Sample
from thresher.filters.canary.sighting import is_page, words_for
from thresher.filters.soft_error.looks import Look, is_nearly, most_noise

_AS_NEAR: Final = 1.5  # factor of what a page loses from one fetch to the next that it may have lost since it was suspected
_AGAIN: Final = 3  # times as many URLs as a host has that may be queued again
_AGAIN_OF_SAMPLES: Final = 2  # the same if only samples say so, or canaries that have changed to and fro
_ANY: Final = 50  # URLs that may be queued again of each host
_MOST_AGAIN: Final = 8  # how often one URL may be queued again
_MOST_OF_WALL: Final = 32  # the same if a wall is known to have answered last


class Requests:
    """The requests of a round."""

    def __init__(self, memory: Memory, queue: bytes, state: HostState) -> None:
        """Take up the requests.

        Args:
            memory: The filter's memory.
            queue: Of the host.
            state: That of the host; it is changed, and not written.
        """
        self._memory = memory
        self._queue = queue
        self._state = state

    def _usable(self, *, but: bytes = b"") -> list[int]:
        slots = answers.usable(self._memory, self._queue, but=but)
        if watch.is_on(self._state):  # those that have been good come first, of them those that say most
            found = records.candidates(self._memory, self._queue)
            slots.sort(key=lambda slot: (not found[slot].is_proved, found[slot].is_proved and -says(found[slot])))
        return slots

    def _fetch(self, slot: int, stage: Stage, *, can_wait: bool = False) -> Effects:
        candidate = records.candidates(self._memory, self._queue)[slot]
        self._state.slot = slot
        return self._request(candidate.url, candidate.key, stage, can_wait=can_wait)

    def _request(self, url: str, key: bytes, stage: Stage, *, can_wait: bool = False) -> Effects:
        state = self._state
        state.stage, state.asked_at, state.is_waiting = stage, state.n_answers, can_wait
        state.n_asked += 1
        state.n_of_round += 1
        records.note_asked(self._memory, self._queue, key)
        return (Request(url, Purpose.CANARY, can_wait=can_wait),)

    def _was_no_waste(self) -> None:
        """Take this round's requests from those that found no wall."""
        state = self._state
        state.n_asked -= state.n_of_round
        state.n_of_round = 0

    def _drop(self, *slots: int) -> None:
        """Take the pages of these slots no longer for canaries."""
        for slot in slots:
            records.drop_candidate(self._memory, self._queue, slot)

    def _is_less(self, candidate: Candidate, token: bytes, look: Look | None) -> bool:
        """Return whether a canary proves nothing, since it shows less than ever before: another one is to be asked, or steady ones have
        failed, and this one was never fetched again.
        """
        if self._state.stage is Stage.SECOND and not candidate.is_proved and self._have_steady_failed():
            return shows_less(candidate, token, look)
        return is_less(candidate, token, look) and any(slot != self._state.slot for slot in self._usable(but=self._state.why))

    def _have_steady_failed(self) -> bool:
        """Return whether all canaries that have failed in this round had shown the same when they were fetched again before."""
        found = records.candidates(self._memory, self._queue)
        return all(slot in found and found[slot].is_proved for slot in self._state.bad)

    def _beside_good(self) -> Effects:
        """Learn that the first canary of a round has failed and another one is good: a wall has just fallen, or answers some requests only;
        or the first one's page has changed.

        Where walls are known that answer differently for each URL, the second one's page may be one that such a wall leaves as it is. So
        a steady page that has changed is kept for what it was, too: if it is that again, a wall stood since then.
        """
        state, memory, queue = self._state, self._memory, self._queue
        one = records.candidates(memory, queue).get(state.first_slot)
        of_walls = [records.is_of_wall(memory, queue, token) for token in state.failed]
        if watch.is_on(state) and not any(of_walls) and watch.is_steady(memory, queue, state.first_slot):
            watch.doubt(memory, queue, state)
            return self._again(samples.since(memory, queue, state.good_at))
        if state.has_met_wall:
            suspects = records.suspects(memory, queue)
            met = [key for key, one in suspects.items() if one.token in state.failed]
            return self._again(behind.with_redirects(memory, queue, suspects, met))
        if one is not None and state.shown is not None and watch.is_on(state) and one.is_proved:
            one.before, one.n_failed, state.renewed_after = (one.token, one.look, one.at), 0, state.good_at
            one.token, one.look, one.at = state.failed[0], state.shown, state.n_answers
            records.put_candidate(memory, queue, state.first_slot, one)
            self._drop(*(slot for slot in state.changed if slot != state.first_slot))
        elif one is not None and state.shown is not None and is_like_look(one.look, state.shown):
            one.spread = max(one.spread, lost(one.look, state.shown))
            one.token, one.look = state.failed[0], state.shown
            records.put_candidate(memory, queue, state.first_slot, one)
            self._drop(*(slot for slot in state.changed if slot != state.first_slot))
        else:
            self._drop(state.first_slot, *state.changed)
        state.has_changed = True
        return NO_EFFECTS

    def _is_nearly_suspected(self, found: Found) -> bool:
        """Return whether a page differs from the suspected answers by a time of day or a count at most."""
        suspected = records.counts(self._memory, self._queue).get(self._state.why)
        if suspected is None or suspected.look is None or found.look is None:
            return False
        return is_nearly(found.look, suspected.look)

    def _is_noise(self, found: Found) -> bool:
        """Return whether the suspected URL differs from itself as much as from the suspected answers: it shows another quotation or
        advertisement each time. Of a run of copies, what that URL has shown is not kept: it is enough that it shows something else again.
        """
        suspected, again = records.counts(self._memory, self._queue).get(self._state.why), self._state.again
        if suspected is None or again is None or found.look is None or found.token == again[0]:
            return False
        if suspected.look is None:
            return True
        noise, then = lost(again[1], found.look), suspected.look
        return noise <= MOST_NOISE and all(lost(then, look) <= _AS_NEAR * noise for look in (again[1], found.look))

    def again(self, keys: Collection[bytes]) -> Effects:
        """Queue URLs again that have shown the same as one which shows something else now; none of the canaries of a round under way."""
        of_round = set() if self._state.stage is Stage.IDLE else {one.key for one in records.candidates(self._memory, self._queue).values()}
        return self._again([key for key in keys if key not in of_round])

    def _again(self, keys: Collection[bytes], most: int = _AGAIN) -> Effects:
        """Queue these URLs again; their pages are no canaries and no samples.

        Args:
            keys: Of the URLs.
            most: Not if so many times as many were queued again as the host has URLs: then it answers now this, now that, by itself.
        """
        state, memory, queue = self._state, self._memory, self._queue
        found = records.candidates(memory, queue)
        self._drop(*(slot for slot, one in found.items() if one.key in keys and slot != state.slot and not one.is_proved))
        samples.forget(memory, queue, state, keys)
        left = max(0, most * (state.n_answers - state.n_again) + _ANY - state.n_again)
        chosen = tuple(key for key in list(keys)[:left] if records.note_again(memory, queue, key, _MOST_AGAIN) or self._met_wall(key))
        state.n_again += len(chosen)
        return (FetchAgain(queue, chosen),)

    def _run_again(self) -> Effects:
        """Queue a run of copies again, and what was answered just before and after it, since one of them is a copy no more: a wall showed
        another page in the place of each, or these pages have changed.
        """
        run, memory, queue = self._state.why, self._memory, self._queue
        ats = [one.at for one in copies.members(memory, queue, run).values()]
        records.drop_count(memory, queue, run)
        return self._again(samples.around(memory, queue, min(ats), max(ats))) if ats else NO_EFFECTS

    def _met_wall(self, key: bytes) -> bool:
        """Count that a URL is queued again more often than others may be, if a wall is known to have answered it last."""
        memory, queue = self._memory, self._queue
        if records.is_coming(memory, queue, key):
            return False
        token = samples.last_shown(memory, queue, key)
        return records.is_of_wall(memory, queue, token) and records.note_again(memory, queue, key, _MOST_OF_WALL)


class SampleChecks(Requests, ABC):
    """Fetches samples of a host that has nothing else to fetch again."""

    def begin_check(self) -> Effects:
        """Begin a round with a sample; nothing if none is due."""
        self._state.n_of_round, self._state.is_drained, self._state.why = 0, True, b""
        return self._check_next()

    def _check_next(self) -> Effects:
        """Fetch the next sample; nothing if none is due."""
        state = self._state
        due = samples.next_due(self._memory, self._queue, state)
        if watch.is_due_for_samples(state, is_last=due is None):
            state.unsure = state.unsure if self._usable() else []
            if state.unsure:
                return self.begin(b"", is_drained=state.is_drained, can_wait=False)
        if due is None:
            return NO_EFFECTS
        state.sample_at = due[0]
        return self._request(due[1].url, due[1].key, Stage.SAMPLE)

    @abstractmethod
    def begin(self, why: bytes, *, is_drained: bool = False, can_wait: bool = True) -> Effects: ...

    @abstractmethod
    def _clear_next(self) -> Effects:
        """Go on with the round: the host is well, as far as is known."""

    @abstractmethod
    def _blind(self) -> Effects: ...

    def _on_sample(self, found: Found) -> Effects:
        """Learn from a sample that was fetched again."""
        state = self._state
        sample = samples.sample_at(self._memory, self._queue, state.sample_at)
        if sample is None:
            return self._clear_next()
        if not found.was_asked or not self._is_other(sample, found):
            if state.stage is Stage.SAMPLE_TWICE and not watch.is_on(state):
                self._flipped()
            if not records.candidates(self._memory, self._queue):
                self._make_canary(sample, found)
            watch.note(state, state.sample_at)
            return self._closed(Finding.SAME)
        if state.stage is Stage.SAMPLE:
            has_flipped = state.n_flips > 0 or watch.is_on(state)  # a sample that has shown `shows` was itself again
            is_alike = found.token == state.shows[0] != b""
            if has_flipped and is_alike and (found.look is None or lost(sample.look, found.look) > MOST_NOISE):
                records.note_wall(self._memory, self._queue, found.token)  # two samples show it, and it resembles none
            state.shows = found.token, found.look
            return self._request(sample.url, sample.key, Stage.SAMPLE_TWICE)
        if _is_unsteady(state.shows, found):
            if watch.may_wait(self._memory, self._queue, state):
                return self._once_more(sample, found)
            watch.note(state, state.sample_at)
            return self._closed(Finding.UNCLEAR)
        usable = [slot for slot, one in records.candidates(self._memory, self._queue).items() if one.key != sample.key]
        state.why, state.failed, state.has_met_wall, state.is_foreign, state.bad, state.changed = b"", [], False, False, [], {}
        state.shows = b"", None
        canary = next((slot for slot in self._usable() if slot in usable), None)
        return self._closed(Finding.UNCLEAR) if canary is None else self._fetch(canary, Stage.SAMPLE_CONFIRM)

    def _flipped(self) -> None:
        """Count a sample that showed another page, and then its own again: a wall's answer, or a site of variants."""
        state = self._state
        is_walls = records.is_of_wall(self._memory, self._queue, state.shows[0])
        state.n_flips = max(0, state.n_flips + (-1 if is_walls else 1))
        state.n_walls += is_walls and state.n_walls == 0

    def _once_more(self, sample: Sample, found: Found) -> Effects:
        """Look at a sample again that shows something else each time: at once if a wall has shown one of both."""
        of_wall = [self._is_walls(sample.key, sample.token, token) for token in (self._state.shows[0], found.token)]
        if not any(of_wall):
            self._state.shows = b"", None
            return self._clear_next()
        if of_wall[0]:
            self._state.shows = found.token, found.look
        return self._request(sample.url, sample.key, Stage.SAMPLE_TWICE)

    def _is_other(self, sample: Sample, found: Found) -> bool:
        """Return whether a sample shows another page: one that is not like it, or not the page that it has shared with another URL."""
        if samples.is_other(sample, found.token, found.look, found.n_links):
            return True
        if self._state.watched_until and found.look is not None and lost(sample.look, found.look) > most_noise(sample.look):
            return True
        if found.token == sample.token or found.look is None or is_nearly(found.look, sample.look):
            return False
        return samples.is_of_another(self._memory, self._queue, sample.key, sample.token)

    def _is_walls(self, key: bytes, own: bytes, token: bytes) -> bool:
        """Return whether a page of which `own` is the token shows what a wall has shown here before, or another URL's page."""
        if records.is_of_wall(self._memory, self._queue, token):
            return True
        return token != own and is_page(token) and samples.is_of_another(self._memory, self._queue, key, token)

    def _make_canary(self, sample: Sample, found: Found) -> None:
        """Take a sample that shows the same for a canary, where there is none."""
        speaks = vocabulary.speech_of(self._memory, self._queue, found.words)
        if found.look is not None and sample.look.n_words >= answers.FEWEST_WORDS:
            one = Candidate(sample.url, sample.key, sample.token, sample.look, self._state.sample_at, speaks=speaks, n_links=sample.n_links)
            records.put_candidate(self._memory, self._queue, 0, one)

    def _closed(self, finding: Finding) -> Effects:
        samples.close(self._memory, self._queue, self._state, self._state.sample_at, finding)
        return self._clear_next()

    def _leave_sample(self) -> None:
        """Take the sample that is being checked, if one is, for a page that has changed with the canaries."""
        sample = samples.sample_at(self._memory, self._queue, self._state.sample_at)
        if sample is not None and sample.found is Finding.NOTHING:
            samples.close(self._memory, self._queue, self._state, self._state.sample_at, Finding.UNCLEAR)

    def _confirmed(self, at: int) -> Effects:
        """Learn from a good canary, kept at the `at`-th answer, that a sample has become another page while older ones have not.

        If no older page was fetched again until now, the oldest sample is, before this one is judged: a host's first walls may stand before
        it has canaries.
        """
        state = self._state
        older = samples.older(self._memory, self._queue, state.sample_at)
        if state.watched_until or at < state.sample_at or Finding.SAME in older.values():
            return self._bad_sample()
        if older and not any(older.values()):
            state.near = [min(older), state.sample_at, *state.near]
            return self._clear_next()
        return self._closed(Finding.UNCLEAR)

    def _bad_sample(self) -> Effects:
        """Queue again what was answered around a sample, while the host is well."""
        state, memory, queue = self._state, self._memory, self._queue
        state.n_bad += 1
        around = samples.bad(memory, queue, state, state.sample_at)
        effects: Effects = ()
        if around.is_new_wall:
            state.told, state.n_walls, state.n_honest = words_for(b"P"), state.n_walls + 1, 0
            effects, state.given_up = (Void(queue),), False
            watch.begin(state)
        self._was_no_waste()
        return (*effects, *self._again(around.keys, _AGAIN_OF_SAMPLES), *self._clear_next())


def _is_unsteady(shown: tuple[bytes, Look | None], then: Found) -> bool:
    """Return whether two answers in a row show two pages."""
    token, look = shown
    return token != then.token and (look is None or then.look is None or samples.differ(look, then.look))
