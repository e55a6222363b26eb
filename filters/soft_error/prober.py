"""Learns from the answers to probes and controls, and judges the suspects that they were requested for.

A probe is a request for what cannot exist, a control one for what a place shows without a name (probe.py). Redirects of both are followed
for `_MOST_HOPS` while their targets are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.effects import Answer, Effect, Request, Revise
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.base import Effects
from thresher.filters.soft_error import probe, stream
from thresher.filters.soft_error.kinds import ERRORS, GATES, WALLS, ErrorKind, hint_of, kind_of
from thresher.filters.soft_error.looks import Look, is_nearly, look_of, spread_of
from thresher.filters.soft_error.records import (
    ASKED,
    DIRECTORIES,
    ECHOES,
    HOPS,
    HOSTS,
    LABELS,
    NAME,
    SUSPECTS,
    TARGETS,
    TEMPLATES,
    Control,
    ErrorText,
    FaultySites,
    FollowedRedirect,
    OpenRequest,
    ProbedHost,
    ProbedPlace,
    ProbeOutcome,
    SuspectPage,
    echo_key,
    no_soft_error,
    read_places,
    soft_error,
)
from thresher.filters.soft_error.redirect_gate import SoftErrorEvidence, count_walls, is_like_missing, relabel, target_key
from thresher.filters.soft_error.suspects import ProbeStep, SuspectStanding, is_idle, is_known_error, stand, try_suspect
from thresher.filters.soft_error.url_kind import is_root, url_kind

_SITE = 8
_MOST_HOPS = 4  # redirects of a request that are followed
_MOST_LANDINGS = 8  # redirect targets of probes that are remembered for a host
_MOST_TEXTS = 4
_MOST_IDLE = 16  # parameters that name nothing, remembered for a host


class Reduced(msgspec.Struct, array_like=True, frozen=True):
    """The part of an answer that is learned from."""

    url: str
    key: stream.Key
    directory: stream.Key
    host: stream.Key
    day: int
    status: int
    failure: str
    target: str = ""  # target of a redirect
    target_key: bytes = b""  # key of the target
    counted_as: bytes = b""  # the target's key in the redirect log
    is_home: bool = False
    look: Look | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        n_bytes = len(self.key) if self.target else 0
        if (len(self.target_key), len(self.counted_as)) != (n_bytes, n_bytes):
            raise ValueError(f"expected keys of {n_bytes} bytes of the target {self.target!r}")


class _Case(NamedTuple):
    """An answer, and the request that it answers."""

    answer: Reduced
    asked: OpenRequest
    landings: list[bytes]  # keys of the redirects' targets
    memory: Memory

    @property
    def keys(self) -> tuple[bytes, bytes]:
        """The keys of the place and the host that were probed."""
        return self.asked.directories[0], self.asked.host

    @property
    def is_error(self) -> bool:
        return self.answer.status >= 400


class ProbeLearner:
    """Learns from answers to probes and controls."""

    name = NAME
    answer_type = Reduced

    def __init__(self, settings: SoftErrorSettings, faults: FaultySites) -> None:
        self._max_probes = settings.max_probes
        self._faults = faults

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
        case = _Case(answer, asked, [hop.counted_as, answer.key] if hop else [], memory)
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

    def _on_control(self, case: _Case, key: bytes) -> Iterator[Effect]:
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
        yield from self._settle_suspects(case, key)

    def _note_idle(self, case: _Case, place: probe.NamingPart, key: bytes, directory: ProbedPlace) -> None:
        """Remember that a parameter names nothing, if a suspect's page is the same without it."""
        waiting = [suspect for _, suspect in SUSPECTS.scan(case.memory, key)]
        directory.is_idle = any(is_idle(suspect.look, directory) for suspect in waiting if _base_of(suspect, place) == directory.base)
        host = HOSTS.get(case.memory, case.asked.host) or ProbedHost()
        if directory.is_idle and (place.parameter in host.idle or len(host.idle) < _MOST_IDLE):
            host.idle[place.parameter] = host.idle.get(place.parameter, 0) + 1
            HOSTS.put(case.memory, case.asked.host, host)

    def _control_of_pairs(
        self, case: _Case, place: probe.NamingPart, key: bytes, directory: ProbedPlace, *, is_itself: bool
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

    def _key(self, place: probe.NamingPart, case: _Case) -> bytes:
        return probe.key_of_directory(place.directory, origin_of(place.url), case.asked.host)

    # -- probes

    def _on_failure(self, case: _Case) -> Iterator[Effect]:
        """A request failed: nothing is learned. If it was the second of two probes, the first one's answer is used."""
        key = case.keys[0]
        directory = DIRECTORIES.get(case.memory, key) or ProbedPlace()
        if directory.outcome == ProbeOutcome.NONE:
            directory.outcome = ProbeOutcome.FAILED
            DIRECTORIES.put(case.memory, key, directory)
        yield from self._settle_suspects(case, key)

    def _honest(self, case: _Case) -> Iterator[Effect]:
        """A missing page was answered as missing: clear the suspects, except targets that name themselves an error or a gate."""
        key, memory = case.keys[0], case.memory
        directory = DIRECTORIES.get(memory, key) or ProbedPlace()
        directory.outcome = ProbeOutcome.HONEST
        directory.n_soft = directory.n_good = 0
        DIRECTORIES.put(memory, key, directory)
        yield from self._settle_suspects(case, key)
        target = TARGETS.get(memory, directory.suspect) if directory.suspect else None
        if directory.suspect and (target is None or target.hint not in ERRORS | GATES):
            yield from _take_back(directory, key, "honest_404", memory)

    def _on_landing(self, case: _Case) -> Iterator[Effect]:
        """A missing page was answered by a redirect or by a page: compare it with the suspects."""
        answer, landings, memory, keys = case.answer, case.landings, case.memory, case.keys
        directory, host = read_places(memory, *keys)
        if landings:
            directory.outcome, directory.target = ProbeOutcome.TARGET, landings[0]
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
        yield from self._settle_suspects(case, keys[0])

    def _compare_target(self, directory: ProbedPlace, host: ProbedHost, case: _Case) -> Iterator[Effect]:
        """The probe was answered with a page: does the suspects' target look like it, and do its words name an error?"""
        target = TARGETS.get(case.memory, directory.suspect)
        if target is not None and is_like_missing(target, directory, host):
            found = SoftErrorEvidence(target.hint, "same_text")
            yield from relabel(case.memory, directory.suspect, found, host=case.keys[1])

    # -- suspects

    def _settle_suspects(self, case: _Case, key: bytes) -> Iterator[Effect]:
        """Judge the pages for which the answer was requested, or request the next probe or control.

        Of several suspects with the same parameter, one is tried first and the others wait: its answer may show that the parameter names
        nothing.
        """
        memory, host_key = case.memory, case.asked.host
        soft: list[tuple[SuspectPage, SuspectStanding]] = []
        tried: dict[str, bytes] = {}  # parameter → key of the place where a probe for it was requested
        for suspect in _forget_suspects(key, memory):
            host = HOSTS.get(memory, host_key) or ProbedHost()
            standing = stand(suspect, host, case.answer.day, memory)
            if _is_landing(suspect, case) or standing.step is ProbeStep.SOFT:
                soft.append((suspect, standing))
            elif standing.step is ProbeStep.GOOD:
                yield from self._restore(suspect, case)
            elif (parameter := standing.place.parameter) in tried:
                SUSPECTS.put(memory, tried[parameter] + suspect.page, suspect)
            else:
                asked = tuple(try_suspect(suspect, standing, host_key, case.answer.day, memory, max_probes=self._max_probes))
                if parameter and asked:
                    tried[parameter] = standing.key
                yield from asked
        if soft:
            yield from self._convict(soft, case)

    def _convict(self, soft: Sequence[tuple[SuspectPage, SuspectStanding]], case: _Case) -> Iterator[Effect]:
        """Revise the verdicts on pages that proved to be soft errors, and remember how they look."""
        memory, host_key = case.memory, case.asked.host
        host, n_walls = HOSTS.get(memory, host_key) or ProbedHost(), 0
        for suspect, (_, _, key, _) in soft:
            directory = DIRECTORIES.get(memory, key) or ProbedPlace()
            kind = suspect.hint or (ErrorKind.LOGIN if suspect.form == "password" else directory.kind or ErrorKind.NOT_FOUND)
            directory.n_soft += 1
            DIRECTORIES.put(memory, key, directory)
            if not suspect.is_gate:
                n_walls += kind in WALLS
                yield Revise(suspect.page, soft_error(kind, "same_target" if _is_landing(suspect, case) else "same_text"))
                yield from _revise_first(suspect, host_key, kind, memory)
            if (
                directory.looks
                and len(host.texts) < _MOST_TEXTS
                and not any(is_nearly(directory.looks[0], text.look) for text in host.texts)
            ):
                host.texts.append(ErrorText(directory.looks[0], spread_of(directory.looks), kind))
                self._faults.note(memory, key)
        HOSTS.put(memory, host_key, host)
        for suspect, kind in _alike(host_key, host, memory):
            n_walls += kind in WALLS
            yield Revise(suspect.page, soft_error(kind, "same_text"))
        if n_walls:
            yield from count_walls(memory, host_key, host, n_walls, origin_of(case.answer.url))

    def _restore(self, suspect: SuspectPage, case: _Case) -> Iterator[Effect]:
        """Take back a verdict that was given without a probe, if the answer contradicts it."""
        if not suspect.is_gate or case.answer.failure or case.answer.hint == suspect.hint:
            return
        host = HOSTS.get(case.memory, case.asked.host) or ProbedHost()
        host.n_walls, host.is_good = max(0, host.n_walls - 1), True
        HOSTS.put(case.memory, case.asked.host, host)
        yield Revise(suspect.page, no_soft_error("honest_404" if case.is_error else "other_text"))


def _revise_first(suspect: SuspectPage, host: bytes, kind: str, memory: Memory) -> Iterator[Effect]:
    """Revise the verdict on the first page with the text of a convicted page, apart from its own name."""
    key = echo_key(host, suspect.look)
    echo = ECHOES.get(memory, key)
    if echo is None or echo.is_judged or suspect.hint or suspect.form == "password":  # the first such form may be the address of all
        return
    echo.is_judged = True
    ECHOES.put(memory, key, echo)
    if echo.pages[0] != suspect.page:
        yield Revise(echo.pages[0], soft_error(kind, "same_text"))


def _is_landing(suspect: SuspectPage, case: _Case) -> bool:
    """Return whether redirects of the crawl and of the probe led to a page. If only the probe's do, the page may be good."""
    return suspect.is_target and suspect.page in case.landings


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


def _forget_suspects(directory: bytes, memory: Memory) -> list[SuspectPage]:
    """Return the suspects for which an answer of the place was requested, and delete them."""
    waiting = SUSPECTS.scan(memory, directory)
    for key, _ in waiting:
        SUSPECTS.delete(memory, key)
    return [suspect for _, suspect in waiting]


def _alike(host_key: bytes, host: ProbedHost, memory: Memory) -> list[tuple[SuspectPage, str]]:
    """Forget the suspects of all places of a host that look like one of its error pages; return them with its kind.

    The probes that they wait for may never be made, since the host may be parked now.
    """
    waiting = [(key, suspect) for key, suspect in SUSPECTS.scan(memory, host_key[:_SITE]) if not suspect.is_gate]
    found = []
    for key, suspect in waiting:
        is_its_own = probe.host_key_of(origin_of(suspect.url), suspect.page) == host_key
        kind = is_known_error(suspect.look, host, is_hinted=bool(suspect.hint)) if is_its_own else ""
        if kind:
            SUSPECTS.delete(memory, key)
            found.append((suspect, suspect.hint or kind))
    return found


def _landing_kind(landings: Sequence[bytes], answer: Reduced, memory: Memory) -> str:
    """Return the kind of a missing page by its redirect's target: by the target's words, else a home page, else a missing page."""
    hints = [target.hint for landing in landings if (target := TARGETS.get(memory, landing)) is not None and target.hint]
    hint = answer.hint or next(iter(hints), "")
    if hint not in GATES and (answer.is_home or (answer.target and is_root(answer.target))):
        return ErrorKind.ROOT
    return kind_of(hint, url_kind(answer.url, answer.target) if answer.target else None)
