"""Suspects: pages answered 200 whose words or structure hint at an error or a gate, and the evidence needed to call them so.

A suspect is tested at the places of its URL (probe.py), one after the other, those of its path first. It is a soft error if at one place

    a sibling that cannot exist looks like it, and
    the place without a name does not (the control), and
    the host's home page, if it is known, does not either: evidence that would convict the home page is not used.

Likeness alone is no sign of an error: equal texts are copies, which exact_duplicate finds. So there are two kinds of suspects only: pages
whose own words name an error or a gate; and pages that differ from another page only in the name that is also in their URLs, so that they
say the same of any name. For the latter the probe's text must be equal word for word. Any other page is a soft error only if its text
equals, word for word, what the host answers with an error status, or that of a convicted suspect.

A gate whose title names it and that has few words is there whatever URL is requested: it needs no control, and on a host that has shown
nothing else no equal text. A shell is a gate only if its
host shows nothing else, and does not show it as its home page: otherwise it is an application.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import msgspec

from thresher.crawler.core.effects import Effect, Hurry, Request
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.soft_error import probe
from thresher.filters.soft_error.kinds import GATES, ErrorKind
from thresher.filters.soft_error.looks import MOST_SPREAD, Look, ProbeLikeness, compare, is_nearly, is_same_text, may_match, spread_of
from thresher.filters.soft_error.probe import NamingPart
from thresher.filters.soft_error.records import (
    DIRECTORIES,
    HOSTS,
    LENGTHS,
    SUSPECTS,
    Control,
    ProbedHost,
    ProbedPlace,
    ProbeOutcome,
    SuspectPage,
)

_MOST_PROBES = 2
_WORTH_ONE = 20  # suspects that are worth a request; of a host that has shown good pages for each that was asked of it
_IDLE = 2  # after so many URLs at which a parameter names nothing, it is not probed on this host any more
_MARGIN = 2  # a control is another page if it is farther from the probes than they are from each other, by this factor


class ProbeStep(Enum):
    """The next step for a suspect at one place."""

    SOFT = 1  # it is an error or a gate
    GOOD = 2  # there is no evidence against it
    NEXT = 3  # the name that was changed names nothing: try the next place
    WAIT = 4
    PROBE = 5
    CONTROL = 6


class SuspectStanding(NamedTuple):
    """The state of a suspect: the next step, and at which place."""

    step: ProbeStep
    place: NamingPart
    key: bytes  # key of the place
    directory: ProbedPlace


def is_gate(hint: str, *, is_strong: bool) -> bool:
    """Return whether a page that looks like a missing one is a gate even if home pages look so."""
    return is_strong and hint in GATES


def stand(suspect: SuspectPage, host: ProbedHost, day: int, memory: Memory) -> SuspectStanding:
    """Return the state of a suspect by what is known now; change nothing."""
    gate = is_gate(suspect.hint, is_strong=suspect.is_strong)
    origin, last = origin_of(suspect.url), None
    places = probe.places(suspect.url)
    for place in sorted(places, key=lambda place: place.is_parameter):  # many pages share a path's probe, few a parameter's control
        if last and not place.is_parameter and last.step is ProbeStep.GOOD:
            continue
        if place.is_parameter and (gate or host.idle.get(place.parameter, 0) >= _IDLE):
            continue
        key = probe.key_of_directory(place.directory, origin, suspect.page)
        directory = DIRECTORIES.get(memory, key) or ProbedPlace()
        last = SuspectStanding(_step(suspect, place, directory, host, day, gate=gate), place, key, directory)
        if last.step is ProbeStep.SOFT and (_is_innocent(suspect, host, gate=gate) or _is_unsaid(suspect, key, directory, memory)):
            return last._replace(step=ProbeStep.GOOD)
        if last.step not in (ProbeStep.GOOD, ProbeStep.NEXT):
            return last
    assert last is not None
    return last._replace(step=ProbeStep.GOOD)


def _is_unsaid(suspect: SuspectPage, key: bytes, directory: ProbedPlace, memory: Memory) -> bool:
    """Return whether a page's words give no hint and its structure is not enough.

    Args:
        key: The key of the place that was probed.
    """
    if suspect.hint:
        return False
    is_template = bool(suspect.form) or LENGTHS.get(memory, key) == 0
    return not (is_template and any(is_same_text(suspect.look, look) for look in directory.looks))


def _is_innocent(suspect: SuspectPage, host: ProbedHost, *, gate: bool) -> bool:
    """Return whether the evidence would convict an honest home page, too; or, for a shell, whether the host shows more than that."""
    if suspect.hint == ErrorKind.SHELL and host.is_good:
        return True
    return is_home_too(suspect.look, host) and not (gate and suspect.hint != ErrorKind.SHELL)


def try_suspect(
    suspect: SuspectPage, standing: SuspectStanding, keys_host: bytes, day: int, memory: Memory, *, max_probes: int, n_waiting: int = 1
) -> Iterator[Effect]:
    """Request what is needed to judge a suspect, and record the suspect for the answer.

    A few suspects are not urgent: most are honest, and until the answer comes their links are followed like those of any page. So the
    request waits until it is within filters' share of the host's requests, or until so many suspects wait that it is worth its price.

    Args:
        suspect: The page.
        standing: Its state.
        keys_host: Key of its host.
        day: Number of the day.
        memory: The filter's memory.
        max_probes: Requests of a host and day.
        n_waiting: Suspects that wait for this answer, if they are known.
    """
    step, place, key, directory = standing
    asked: tuple[Request, ...] = ()
    can_wait = n_waiting < _price(HOSTS.get(memory, keys_host) or ProbedHost())
    if step is ProbeStep.PROBE:
        asked = probe.ask(memory, place, (key, keys_host), day, max_probes=max_probes)
    elif step is ProbeStep.CONTROL:
        asked = probe.ask_control(memory, place, (key, keys_host), day, max_probes=max_probes)
    yield from (msgspec.structs.replace(request, can_wait=can_wait) for request in asked)
    after = DIRECTORIES.get(memory, key) or directory
    if asked or step is ProbeStep.WAIT or after.control == Control.ASKED:
        SUSPECTS.put(memory, key + suspect.page, suspect)
        host = HOSTS.get(memory, keys_host) or ProbedHost()
        host.n_waiting += 1
        if host.n_waiting >= _price(host):
            host.n_waiting = 0
            yield Hurry(origin_of(suspect.url), Purpose.PROBE)
        HOSTS.put(memory, keys_host, host)


def _price(host: ProbedHost) -> int:
    """Return for how many suspects a request is worth it whatever else the host was asked."""
    return _WORTH_ONE * max(1, host.n_asked) if host.is_good else _WORTH_ONE


def is_home_too(look: Look, host: ProbedHost) -> bool:
    """Return whether a host's home page has the same look."""
    return host.home is not None and is_nearly(look, host.home)


def is_known_error(look: Look, host: ProbedHost, *, is_hinted: bool) -> str:
    """Return the kind of the host's error page that a page looks like, "" if there is none."""
    for text in host.texts:
        if not may_match(look.n_words, text.look, text.spread) or is_home_too(text.look, host):
            continue
        if text.kind == ErrorKind.SHELL and host.is_good:
            continue
        if is_same_text(look, text.look) or (is_hinted and compare(look, (text.look,), spread=text.spread) is ProbeLikeness.SAME):
            return text.kind
    return ""


def _step(suspect: SuspectPage, place: NamingPart, directory: ProbedPlace, host: ProbedHost, day: int, *, gate: bool) -> ProbeStep:
    look, hint = suspect.look, suspect.hint
    if not probe.is_probed(directory, day):
        return ProbeStep.PROBE
    if place.is_parameter:
        return _step_of_parameter(look, place, directory, day)
    if gate and directory.looks and directory.kind == hint and hint != ErrorKind.SHELL and _is_same_gate(look, directory, host):
        return ProbeStep.SOFT
    if _is_landing(suspect, directory):
        return ProbeStep.GOOD
    step = _step_of_probes(look, directory, day)
    if step is not ProbeStep.SOFT or gate or (not hint and suspect.form == "password"):
        return step
    match directory.control:
        case Control.NONE:
            return ProbeStep.CONTROL
        case Control.ASKED:
            return ProbeStep.WAIT
        case Control.FAILED:
            return ProbeStep.GOOD
    return ProbeStep.NEXT if _is_of_control(directory) else ProbeStep.SOFT


def _is_landing(suspect: SuspectPage, directory: ProbedPlace) -> bool:
    """Return whether links lead to the page at which the probes' redirects end, with or without a query: it looks like itself.

    Not a login form, to which many links may lead, each with another query.
    """
    answers_for_itself = not (suspect.is_target or suspect.form)
    return answers_for_itself and directory.landing in (suspect.url, suspect.url.partition("?")[0])


def _is_same_gate(look: Look, directory: ProbedPlace, host: ProbedHost) -> bool:
    """Return whether a page and the probes of its place, which name the same kind of gate, are one gate.

    A gate may say something else each time, if its host shows nothing else. A host that has shown pages may also write about domains for
    sale, or about logins: there the texts must agree.
    """
    return not host.is_good or any(is_nearly(look, shown) for shown in directory.looks)


def _step_of_parameter(look: Look, place: NamingPart, directory: ProbedPlace, day: int) -> ProbeStep:
    if directory.outcome == ProbeOutcome.IGNORED:
        return ProbeStep.NEXT
    if directory.control != Control.DONE:
        return ProbeStep.WAIT if directory.control == Control.ASKED else ProbeStep.GOOD
    if directory.base != place.base:  # the probe was made from a URL with other values in the query: it says nothing about this one
        return ProbeStep.NEXT if directory.is_idle else ProbeStep.GOOD
    if is_idle(look, directory):
        return ProbeStep.NEXT
    if directory.outcome == ProbeOutcome.NONE and not directory.n_asked:
        return ProbeStep.PROBE
    step = _step_of_probes(look, directory, day)
    return ProbeStep.NEXT if step is ProbeStep.SOFT and _is_of_control(directory) else step


def is_idle(look: Look, directory: ProbedPlace) -> bool:
    """Return whether a page is the same without the parameter."""
    return directory.shown is not None and is_nearly(look, directory.shown)


def _step_of_probes(look: Look, directory: ProbedPlace, day: int) -> ProbeStep:
    """Compare a page with the probes of its place; return the next step."""
    if directory.outcome == ProbeOutcome.NONE:
        return ProbeStep.WAIT
    if not directory.answers_everything or not directory.looks or directory.is_page:
        return ProbeStep.GOOD
    likeness = compare(look, directory.looks)
    if likeness is ProbeLikeness.UNSURE and directory.outcome == ProbeOutcome.TEXT:
        is_out = directory.day == day and directory.n_asked >= _MOST_PROBES
        return ProbeStep.WAIT if is_out else ProbeStep.PROBE
    return ProbeStep.SOFT if likeness is ProbeLikeness.SAME else ProbeStep.GOOD


def _is_of_control(directory: ProbedPlace) -> bool:
    """Return whether the control looks as the probes do."""
    if directory.shown is None:
        return False
    tolerance = min(MOST_SPREAD, _MARGIN * spread_of(directory.looks))
    return (
        is_nearly(directory.shown, directory.looks[0]) or compare(directory.shown, directory.looks, spread=tolerance) is ProbeLikeness.SAME
    )
