"""Judges the suspects for which a probe or control was requested, once its answer is known.

A suspect is a page that may be a soft error. It is convicted, cleared, or the next probe or control is requested for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from thresher.crawler.core.effects import Effect, Revise
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.soft_error import probe, stream
from thresher.filters.soft_error.kinds import WALLS, ErrorKind
from thresher.filters.soft_error.looks import Look, is_nearly, spread_of
from thresher.filters.soft_error.records import (
    DIRECTORIES,
    ECHOES,
    HOSTS,
    SUSPECTS,
    ErrorText,
    FaultySites,
    OpenRequest,
    ProbedHost,
    ProbedPlace,
    SuspectPage,
    echo_key,
    no_soft_error,
    soft_error,
)
from thresher.filters.soft_error.redirect_gate import count_walls
from thresher.filters.soft_error.suspects import ProbeStep, SuspectStanding, is_known_error, stand, try_suspect

_SITE = 8
_MOST_TEXTS = 4


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


class ProbeCase(NamedTuple):
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


class SuspectJudge:
    """Judges the suspects of places and hosts that were probed."""

    def __init__(self, faults: FaultySites, *, max_probes: int) -> None:
        self._faults = faults
        self._max_probes = max_probes

    def settle(self, case: ProbeCase, key: bytes) -> Iterator[Effect]:
        """Judge the pages for which the answer was requested, or request the next probe or control.

        Of several suspects with the same parameter, one is tried first and the others wait: its answer may show that the parameter names
        nothing.
        """
        memory, host_key = case.memory, case.asked.host
        soft: list[tuple[SuspectPage, SuspectStanding]] = []
        tried: dict[str, bytes] = {}  # parameter → key of the place where a probe for it was requested
        waiting = _forget_suspects(key, memory)
        for suspect in waiting:
            host = HOSTS.get(memory, host_key) or ProbedHost()
            standing = stand(suspect, host, case.answer.day, memory)
            if _is_landing(suspect, case) or standing.step is ProbeStep.SOFT:
                soft.append((suspect, standing))
            elif standing.step is ProbeStep.GOOD:
                yield from self._restore(suspect, case)
            elif (parameter := standing.place.parameter) in tried:
                SUSPECTS.put(memory, tried[parameter] + suspect.page, suspect)
            else:
                day, n = case.answer.day, len(waiting)
                asked = tuple(try_suspect(suspect, standing, host_key, day, memory, max_probes=self._max_probes, n_waiting=n))
                if parameter and asked:
                    tried[parameter] = standing.key
                yield from asked
        if soft:
            yield from self._convict(soft, case)

    def _convict(self, soft: Sequence[tuple[SuspectPage, SuspectStanding]], case: ProbeCase) -> Iterator[Effect]:
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

    def _restore(self, suspect: SuspectPage, case: ProbeCase) -> Iterator[Effect]:
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


def _is_landing(suspect: SuspectPage, case: ProbeCase) -> bool:
    """Return whether redirects of the crawl and of the probe led to a page. If only the probe's do, the page may be good."""
    return suspect.is_target and suspect.page in case.landings


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
