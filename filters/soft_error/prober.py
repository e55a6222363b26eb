"""Learns from the answers to probes and controls. The suspects for which they were requested are judged then (judging.py).

A probe is a request for what cannot exist, a control one for what a place shows without a name (probe.py). Redirects of both are followed
for `_MOST_HOPS` while their targets are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.effects import Answer, Effect, Request, Revise
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.base import Effects
from thresher.filters.soft_error import probe, stream
from thresher.filters.soft_error.judging import ProbeCase, Reduced, SuspectJudge
from thresher.filters.soft_error.kinds import ERRORS, GATES, ErrorKind, hint_of, kind_of
from thresher.filters.soft_error.looks import look_of
from thresher.filters.soft_error.records import (
    ASKED,
    DIRECTORIES,
    HOPS,
    HOSTS,
    LABELS,
    NAME,
    SUSPECTS,
    TARGETS,
    TEMPLATES,
    Control,
    FaultySites,
    FollowedRedirect,
    OpenRequest,
    ProbedHost,
    ProbedPlace,
    ProbeOutcome,
    SuspectPage,
    no_soft_error,
    read_places,
)
from thresher.filters.soft_error.redirect_gate import SoftErrorEvidence, is_like_missing, relabel, target_key
from thresher.filters.soft_error.suspects import is_idle
from thresher.filters.soft_error.url_kind import is_root, url_kind

_MOST_HOPS = 4  # redirects of a request that are followed
_MOST_LANDINGS = 8  # redirect targets of probes that are remembered for a host
_MOST_IDLE = 16  # parameters that name nothing, remembered for a host


class ProbeLearner:
    """Learns from answers to probes and controls."""

    name = NAME
    answer_type = Reduced

    def __init__(self, settings: SoftErrorSettings, faults: FaultySites) -> None:
        self._max_probes = settings.max_probes
        self._faults = faults
        self._judge = SuspectJudge(faults, max_probes=settings.max_probes)

    def reduce(self, answer: Answer, /) -> Reduced:
        url, page, target = answer.url, answer.page, answer.target
        is_url = bool(url.host)
        return Reduced(
            url=url.text,
            key=url.key,
            directory=probe.directory_key(url) if is_url else url.key,
            host=stream.host_key(url) if is_url else url.key,
            day=probe.day_of(answer.at),
            status=answer.status,
            failure=answer.failure,
            target=target.text if target else "",
            target_key=target.key if target else b"",
            counted_as=target_key(url, target) if target else b"",
            is_home=is_root(url.text) if is_url else False,
            look=look_of(page) if page else None,
            hint=hint_of(page).kind if page else "",
        )

    def on_answer(self, reduced: Reduced, memory: Memory, /) -> Effects:
        hop = HOPS.get(memory, reduced.key)
        if hop is not None:
            HOPS.delete(memory, reduced.key)
        return tuple(self._learn(reduced, hop, memory))

    def _learn(self, answer: Reduced, hop: FollowedRedirect | None, memory: Memory) -> Iterator[Effect]:
        asked = hop.asked if hop else _take_asked(answer, memory)
        case = ProbeCase(answer, asked, [hop.counted_as, answer.key] if hop else [], memory)
        if answer.target:
            directory, host = read_places(memory, *case.keys)
            is_known = answer.counted_as in (directory.suspect, *host.landings) or stream.n_to_target(memory, answer.counted_as) > 0
            if not is_known and (hop is None or hop.n < _MOST_HOPS):
                counted_as = hop.counted_as if hop else answer.counted_as
                HOPS.put(memory, answer.target_key, FollowedRedirect(asked, hop.n + 1 if hop else 1, counted_as))
                yield Request(answer.target, Purpose.PROBE)
                return
            case = case._replace(landings=[*case.landings[:1], answer.counted_as])
        if asked.is_control:
            for key in asked.directories:
                yield from self._on_control(case, key)
        elif answer.failure:
            yield from self._on_failure(case)
        elif case.is_error:
            yield from self._honest(case)
        else:
            yield from self._on_landing(case)

    # -- controls

    def _on_control(self, case: ProbeCase, key: bytes) -> Iterator[Effect]:
        """Learn what a place shows without a name; judge the suspects that waited for that."""
        answer, asked, landings, memory = case
        directory = DIRECTORIES.get(memory, key) or ProbedPlace()
        directory.control = Control.FAILED if answer.failure else Control.DONE
        directory.shown = None if case.is_error else answer.look
        place = next((place for place in probe.places(asked.url) if self._key(place, case) == key), None)
        suspect = directory.suspect
        if place is not None and place.is_parameter:
            self._note_idle(case, place, key, directory)
        DIRECTORIES.put(memory, key, directory)
        if suspect and place is not None and place.is_parameter and not answer.failure:
            yield from self._control_of_pairs(case, place, key, directory, is_itself=suspect == answer.key and not landings)
        yield from self._judge.settle(case, key)

    def _note_idle(self, case: ProbeCase, place: probe.NamingPart, key: bytes, directory: ProbedPlace) -> None:
        """Remember that a parameter names nothing, if a suspect's page is the same without it."""
        waiting = [suspect for _, suspect in SUSPECTS.scan(case.memory, key)]
        directory.is_idle = any(is_idle(suspect.look, directory) for suspect in waiting if _base_of(suspect, place) == directory.base)
        host = HOSTS.get(case.memory, case.asked.host) or ProbedHost()
        if directory.is_idle and (place.parameter in host.idle or len(host.idle) < _MOST_IDLE):
            host.idle[place.parameter] = host.idle.get(place.parameter, 0) + 1
            HOSTS.put(case.memory, case.asked.host, host)

    def _control_of_pairs(
        self, case: ProbeCase, place: probe.NamingPart, key: bytes, directory: ProbedPlace, *, is_itself: bool
    ) -> Iterator[Effect]:
        """Go on with redirects of URLs with a parameter.

        Args:
            is_itself: Whether they lead to the URL without the parameter, so that it names nothing.
        """
        answer, asked, landings, memory = case
        suspect = directory.suspect
        if not (is_itself or suspect in (*landings, answer.target_key, answer.key)):
            yield from probe.ask(memory, place, (key, asked.host), answer.day, max_probes=self._max_probes, suspect=suspect)
            return
        directory.outcome, directory.n_soft = ProbeOutcome.IGNORED, 0
        DIRECTORIES.put(memory, key, directory)
        if is_itself:
            yield from _take_back(directory, key, "ignored", memory)
            return
        following = probe.places(place.control)[0]
        keys = (self._key(following, case), asked.host)
        if not probe.is_probed(DIRECTORIES.get(memory, keys[0]) or ProbedPlace(), answer.day):
            yield from probe.ask(memory, following, keys, answer.day, max_probes=self._max_probes, suspect=suspect)

    def _key(self, place: probe.NamingPart, case: ProbeCase) -> bytes:
        return probe.key_of_directory(place.directory, origin_of(place.url), case.asked.host)

    # -- probes

    def _on_failure(self, case: ProbeCase) -> Iterator[Effect]:
        """A request failed: nothing is learned. If it was the second of two probes, the first one's answer is used."""
        key = case.keys[0]
        directory = DIRECTORIES.get(case.memory, key) or ProbedPlace()
        if directory.outcome == ProbeOutcome.NONE:
            directory.outcome = ProbeOutcome.FAILED
            DIRECTORIES.put(case.memory, key, directory)
        yield from self._judge.settle(case, key)

    def _honest(self, case: ProbeCase) -> Iterator[Effect]:
        """A missing page was answered as missing: clear the suspects, except targets that name themselves an error or a gate."""
        key, memory = case.keys[0], case.memory
        directory = DIRECTORIES.get(memory, key) or ProbedPlace()
        directory.outcome = ProbeOutcome.HONEST
        directory.n_soft = directory.n_good = 0
        DIRECTORIES.put(memory, key, directory)
        yield from self._judge.settle(case, key)
        target = TARGETS.get(memory, directory.suspect) if directory.suspect else None
        if directory.suspect and (target is None or target.hint not in ERRORS | GATES):
            yield from _take_back(directory, key, "honest_404", memory)

    def _on_landing(self, case: ProbeCase) -> Iterator[Effect]:
        """A missing page was answered by a redirect or by a page: compare it with the suspects."""
        answer, landings, memory, keys = case.answer, case.landings, case.memory, case.keys
        directory, host = read_places(memory, *keys)
        if landings:
            directory.outcome, directory.target = ProbeOutcome.TARGET, landings[0]
            directory.landing = answer.target or answer.url
            directory.is_page = any(suspect.page in landings and not suspect.is_target for _, suspect in SUSPECTS.scan(memory, keys[0]))
            host.landings = [*host.landings, *(key for key in dict.fromkeys(landings) if key not in host.landings)][-_MOST_LANDINGS:]
        else:
            directory.outcome = ProbeOutcome.TEXT
        if answer.look is not None:
            directory.looks = [*directory.looks, answer.look][-2:]
            directory.kind = answer.hint
        DIRECTORIES.put(memory, keys[0], directory)
        HOSTS.put(memory, keys[1], host)
        self._faults.note(memory, keys[0])
        found = SoftErrorEvidence(_landing_kind(landings, answer, memory), "same_target")
        if answer.target and answer.counted_as != answer.target_key and found.kind != ErrorKind.ROOT:
            TEMPLATES.put(memory, answer.counted_as, found.kind)
            self._faults.note(memory, answer.counted_as)
        for landing in dict.fromkeys(landings):
            yield from relabel(memory, landing, found, host=keys[1])
        if directory.suspect and directory.suspect not in landings:
            yield from self._compare_target(directory, host, case)
        yield from self._judge.settle(case, keys[0])

    def _compare_target(self, directory: ProbedPlace, host: ProbedHost, case: ProbeCase) -> Iterator[Effect]:
        """The probe was answered with a page: does the suspects' target look like it, and do its words name an error?"""
        target = TARGETS.get(case.memory, directory.suspect)
        if target is not None and is_like_missing(target, directory, host):
            found = SoftErrorEvidence(target.hint, "same_text")
            yield from relabel(case.memory, directory.suspect, found, host=case.keys[1])


def _base_of(suspect: SuspectPage, place: probe.NamingPart) -> str:
    """Return the base of a suspect's URL at a place of a parameter, "" if it has none there."""
    return next((own.base for own in probe.places(suspect.url) if own.directory == place.directory), "")


def _take_asked(answer: Reduced, memory: Memory) -> OpenRequest:
    """Return the places for which a request was made; if the record was dropped, those of its URL."""
    cell = probe.asked_key(answer.url, answer.host)
    asked = ASKED.get(memory, cell)
    if asked is None:
        return OpenRequest([answer.directory], answer.host, answer.url)
    ASKED.delete(memory, cell)
    return asked


def _take_back(directory: ProbedPlace, key: bytes, word: str, memory: Memory) -> Iterator[Effect]:
    """Revise the soft errors of a place that were found by the redirect log."""
    for original, evidence in list(stream.relabels(memory, directory.suspect)):
        label = LABELS.get(memory, original)
        if label is not None and label.is_soft and label.directory == key:
            LABELS.put(memory, original, msgspec.structs.replace(label, is_soft=False))
            yield Revise(original, no_soft_error(word, evidence))


def _landing_kind(landings: Sequence[bytes], answer: Reduced, memory: Memory) -> str:
    """Return the kind of a missing page by its redirect's target: by the target's words, else a home page, else a missing page."""
    hints = [target.hint for landing in landings if (target := TARGETS.get(memory, landing)) is not None and target.hint]
    hint = answer.hint or next(iter(hints), "")
    if hint not in GATES and (answer.is_home or (answer.target and is_root(answer.target))):
        return ErrorKind.ROOT
    return kind_of(hint, url_kind(answer.url, answer.target) if answer.target else None)
