"""The filter's records beside the counts of the redirect log (stream.py), and the texts of its verdicts.

    site 8 ‖ "P" ‖ hash of a place 8                   → ProbedPlace: requests and answers there, and what was found since
    site 8 ‖ "H" ‖ hash of a host 8                    → ProbedHost: probes of the day and where they ended, texts of its error pages, home
    site 8 ‖ "A" ‖ hash of a URL 8                     → OpenRequest: why a request was made that is not answered yet
    site 8 ‖ "U" ‖ hash of a place 8 ‖ page's key      → SuspectPage: to be judged by an answer there
    site 8 ‖ "T" ‖ URL 8                               → RedirectTarget: how a page looks to which a redirect led
    site 8 ‖ "L" ‖ URL 8                               → RedirectLabel: the verdict on a URL that redirected
    site 8 ‖ "V" ‖ hash of a template 8                → kind of the soft errors whose targets have this form
    site 8 ‖ "J" ‖ URL 8                               → FollowedRedirect: why a request's redirect is followed
    site 8 ‖ "M" ‖ URL 8                               → the last pair that ended there (sharing.py)
    site 8 ‖ "E" ‖ hash of a host and a text 8         → Echo: pages with this text, apart from words that quote their URLs
    site 8 ‖ "K" ‖ hash of a place 8                   → words of its first page without quotes; 0 once another has more or fewer
    site 8 ‖ "F"                                       → exists if a directory of the site answers everything, or a form is a soft error's

A site's memory has a cap; dropped records are learned again, which costs a probe. Directories and hosts are dropped last.
Memory: 60 bytes a directory or host where nothing is wrong, at most 2 KB a host, 330 bytes a suspect or target.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, Generic, TypeVar

import msgspec
import xxhash

from thresher.crawler.core.model import Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.soft_error.looks import Look
from thresher.filters.soft_error.score import THRESHOLD
from thresher.filters.soft_error.stream import RedirectEvidence

NAME = "soft_error"
NO_EVIDENCE = RedirectEvidence(0.0, 0, 0, 0, 0)
_HEAVY = 1e6  # weight: these records are dropped last
_SITE = 8
_SITES_REMEMBERED = 65_536


class ProbeOutcome(IntEnum):
    """The result of the probe of a directory."""

    NONE = 0  # not requested, or not answered yet
    HONEST = 1  # an error status: a missing page is answered as missing
    TARGET = 2  # a redirect: a missing page leads there
    TEXT = 3  # a page with status 200: this is how a missing page looks
    FAILED = 4  # no useful answer
    IGNORED = 5  # no probe was made: without the parameter the page is the same


class Control(IntEnum):
    """Whether it is known what a place shows without a name."""

    NONE = 0
    ASKED = 1
    DONE = 2
    FAILED = 3


class ErrorText(msgspec.Struct, array_like=True, frozen=True):
    """How an error page of a host looks."""

    look: Look
    spread: float  # distance between two of them
    kind: str


class ProbedPlace(msgspec.Struct, array_like=True):
    """One place of a host, for the most part a directory (probe.py). Days count from the epoch."""

    day: int = -1  # of the last probe
    n_asked: int = 0  # that day
    outcome: int = ProbeOutcome.NONE
    target: bytes = b""  # key of the redirect's target
    looks: list[Look] = []  # of the probes' pages
    kind: str = ""  # kind by the words of those pages
    suspect: bytes = b""  # key of the target for which the probe was requested; b"" if it was for a page
    n_soft: int = 0  # soft errors since then
    n_good: int = 0  # other pages and redirects since then
    control: int = Control.NONE
    shown: Look | None = None  # how the control looks; None if it is no page
    is_page: bool = False  # probes lead to a page that links lead to as well: what looks like it is no error
    base: str = ""  # of a parameter: the control without parameters that name a visit
    is_idle: bool = False  # a page was the same without the parameter
    landing: str = ""  # URL at which the probes' redirects ended

    @property
    def answers_everything(self) -> bool:
        return self.outcome in (ProbeOutcome.TARGET, ProbeOutcome.TEXT)

    def is_closed(self, give_up_after: int) -> bool:
        """Return whether it has shown so many soft errors for each good page that no more of it is fetched."""
        return self.answers_everything and self.n_soft >= give_up_after * (1 + self.n_good)


class ProbedHost(msgspec.Struct, array_like=True):
    """One host queue."""

    day: int = -1  # of the last probe
    n_asked: int = 0  # that day
    is_good: bool = False  # it has shown a good page
    n_walls: int = 0  # challenges, consent pages, empty shells
    landings: list[bytes] = []  # keys of the targets of probes' redirects
    texts: list[ErrorText] = []
    home: Look | None = None  # how the home page looks, or else the first seed
    is_home: bool = False  # `home` is the home page
    idle: dict[str, int] = {}  # parameter → URLs at which it named nothing
    asks_at_home: bool = False  # its home page asks for a password, so another page may do so, too
    n_waiting: int = 0  # suspects that have come to wait for answers since the last time that requests were hurried


class SuspectPage(msgspec.Struct, array_like=True, frozen=True):
    """A page whose words or structure hint at an error or a gate; a probe decides."""

    page: bytes
    look: Look
    hint: str
    is_exempt: bool
    url: str
    is_strong: bool  # the hint
    is_target: bool  # a redirect led to it
    is_gate: bool = False  # it was called a gate at once: an honest answer to the probe takes that back
    form: str = ""  # kind of input that its form asks for


class OpenRequest(msgspec.Struct, array_like=True):
    """A request that is not answered yet."""

    directories: list[bytes]  # keys of the places for which it was made
    host: bytes
    url: str  # the URL from which siblings are made there
    is_control: bool = False
    day: int = -1


class RedirectTarget(msgspec.Struct, array_like=True, frozen=True):
    """A page that a redirect led to."""

    look: Look
    hint: str


class RedirectLabel(msgspec.Struct, array_like=True, frozen=True):
    """The verdict on a URL that redirected."""

    directory: bytes
    is_soft: bool
    is_exempt: bool
    threshold: float = THRESHOLD  # threshold of σ for this URL; overrides may set others for other URLs. Missing in old rows


class Echo(msgspec.Struct, array_like=True):
    """Pages of a host with the same text, apart from words that quote their URLs."""

    pages: list[bytes]  # keys of the first of them, three at most
    is_judged: bool = False  # their text was proved to be an error page


class FollowedRedirect(msgspec.Struct, array_like=True, frozen=True):
    """A request's redirect that is followed."""

    asked: OpenRequest
    n: int  # hops so far
    counted_as: bytes  # key of the first hop's target in the redirect log


T = TypeVar("T")


class RecordTable(Generic[T]):
    """Records of one kind in a filter's memory. Keys: 8 bytes of a site, then what the module's table says."""

    def __init__(self, tag: bytes, kind: type[T], *, weight: float = 0.0) -> None:
        self._tag, self._weight = tag, weight
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind)

    def cell(self, key: bytes) -> bytes:
        return key[:_SITE] + self._tag + key[_SITE:]

    def decode(self, value: bytes | None) -> T | None:
        return None if value is None else self._decoder.decode(value)

    def get(self, memory: Memory, key: bytes) -> T | None:
        return self.decode(memory.get(self.cell(key)))

    def put(self, memory: Memory, key: bytes, record: Any) -> None:
        memory.put(self.cell(key), self._encode(record), weight=self._weight)

    def delete(self, memory: Memory, key: bytes) -> None:
        memory.delete(self.cell(key))

    def scan(self, memory: Memory, prefix: bytes) -> list[tuple[bytes, T]]:
        """Return (key, record) of every key that begins with `prefix`."""
        cells = list(memory.scan(self.cell(prefix)))
        return [(cell[:_SITE] + cell[_SITE + 1 :], self._decoder.decode(value)) for cell, value in cells]


DIRECTORIES = RecordTable(b"P", ProbedPlace, weight=_HEAVY)
HOSTS = RecordTable(b"H", ProbedHost, weight=_HEAVY)
ASKED = RecordTable(b"A", OpenRequest)
SUSPECTS = RecordTable(b"U", SuspectPage)
TARGETS = RecordTable(b"T", RedirectTarget)
LABELS = RecordTable(b"L", RedirectLabel)
TEMPLATES = RecordTable(b"V", str, weight=_HEAVY)
HOPS = RecordTable(b"J", FollowedRedirect)
ECHOES = RecordTable(b"E", Echo)
LENGTHS = RecordTable(b"K", int)
_FAULTY = RecordTable(b"F", bool, weight=_HEAVY)


def forget_again(pages: Sequence[bytes], memory: Memory) -> None:
    """Take pages that are fetched again out of those with the same text: a wall may have shown it.

    Args:
        pages: Keys, of one site.
        memory: The filter's memory.
    """
    gone = set(pages)
    for key, echo in ECHOES.scan(memory, pages[0][:_SITE]):
        if echo.is_judged or gone.isdisjoint(echo.pages):
            continue
        echo.pages = [page for page in echo.pages if page not in gone]
        if echo.pages:
            ECHOES.put(memory, key, echo)
        else:
            ECHOES.delete(memory, key)


class FaultySites:
    """Sites whose links are to be judged; one read a site, then remembered."""

    def __init__(self) -> None:
        self._known: dict[bytes, bool] = {}

    def note(self, memory: Memory, key: bytes) -> None:
        """Add the site of a key."""
        self._known[key[:_SITE]] = True
        _FAULTY.put(memory, key[:_SITE], True)

    def drop(self, site: bytes, /) -> None:
        """Drop the cached state of a site: its records were restored to earlier ones."""
        self._known.pop(site, None)

    def has(self, key: bytes, memory: Memory) -> bool:
        """Return whether the site of a key was added."""
        site = key[:_SITE]
        known = self._known.get(site)
        if known is None:
            if len(self._known) >= _SITES_REMEMBERED:
                self._known.clear()
            known = self._known[site] = _FAULTY.get(memory, site) is not None
        return known


def read_places(memory: Memory, directory: bytes, host: bytes) -> tuple[ProbedPlace, ProbedHost]:
    """Return the records of a directory and of its host; one read if the host was never probed."""
    of_host = HOSTS.get(memory, host) or ProbedHost()
    return (DIRECTORIES.get(memory, directory) if of_host.day >= 0 else None) or ProbedPlace(), of_host


def echo_key(host: bytes, look: Look) -> bytes:
    """Return the key of an `Echo`.

    Args:
        host: Key.
        look: Look of any of its pages.
    """
    return host[:_SITE] + xxhash.xxh3_64_digest(host[_SITE:] + look.text)


NO_SOFT_ERROR: Final = Verdict(NAME)


def soft_error(kind: str, probe: str, evidence: RedirectEvidence = NO_EVIDENCE) -> Verdict:
    """Return the verdict on a soft error: its kind, the probe's result, σ and the four counts behind it."""
    said = _evidence(probe, evidence)
    return Verdict(NAME, keep=False, follow=False, score=evidence.score, reason=Reason.SOFT_ERROR, evidence={"kind": kind, **said})


def no_soft_error(probe: str, evidence: RedirectEvidence = NO_EVIDENCE) -> Verdict:
    """Return the verdict that takes an earlier one back."""
    return Verdict(NAME, score=evidence.score, evidence=_evidence(probe, evidence))


def _evidence(probe: str, evidence: RedirectEvidence) -> dict[str, str | int | float]:
    return {
        "probe": probe,
        "sigma": round(evidence.score, 3),
        "n_to_target": evidence.n_to_target,
        "n_from_host": evidence.n_from_host,
        "n_targets": evidence.n_targets,
        "n_target_hosts": evidence.n_target_hosts,
    }
