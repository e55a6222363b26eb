"""The filter's records beside the counts of the redirect log (stream.py), and the texts of its verdicts.

    site 8 ‖ "P" ‖ hash of a place 8                   → Directory: what was asked there and answered, what was found there since
    site 8 ‖ "H" ‖ hash of a host 8                    → Host: probes of the day, where probes landed, texts of its error pages, its home
    site 8 ‖ "A" ‖ hash of a URL 8                     → Asked: for what a request that is not answered yet was made
    site 8 ‖ "U" ‖ hash of a place 8 ‖ page's key      → Suspect: waits for an answer there
    site 8 ‖ "T" ‖ URL 8                               → Target: how a page looks that a redirect led to
    site 8 ‖ "L" ‖ URL 8                               → Label: what was said of a URL that redirected
    site 8 ‖ "V" ‖ hash of a template 8                → kind of the soft errors that URLs of this form are targets of
    site 8 ‖ "J" ‖ URL 8                               → Hop: for what a request's redirect is followed
    site 8 ‖ "M" ‖ URL 8                               → the last pair that ended there (sharing.py)
    site 8 ‖ "E" ‖ hash of a host and a text 8         → Echo: pages that say this but for what quotes their URLs
    site 8 ‖ "K" ‖ hash of a place 8                   → words of its first page, quotes aside; 0 once another has more or fewer
    site 8 ‖ "F"                                       → there if a directory of the site answers everything, or a form is a soft error's

A site has a cap on its memory; evicted records are learned again, which costs a probe. Directories and hosts are evicted last.
Memory: 60 bytes a directory or host where nothing is wrong, at most 2 KB a host, 330 bytes a suspect or target.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, Generic, TypeVar

import msgspec
import xxhash

from thresher.crawler.core.model import Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.soft_error.looks import Look
from thresher.filters.soft_error.stream import RedirectEvidence

NAME = "soft_error"
NO_EVIDENCE = RedirectEvidence(0.0, 0, 0, 0, 0)
_HEAVY = 1e6  # weight of what is evicted last
_SITE = 8
_SITES_REMEMBERED = 65_536


class Outcome(IntEnum):
    """The result of the probe of a directory."""

    NONE = 0  # not asked, or not answered yet
    HONEST = 1  # an error status: what is missing is said to be missing
    TARGET = 2  # a redirect: what is missing leads there
    TEXT = 3  # a page answered 200: what is missing looks so
    FAILED = 4  # no answer that says anything
    IGNORED = 5  # none was asked: without the parameter it is the same page


class Control(IntEnum):
    """Whether it is known what a place shows without a name."""

    NONE = 0
    ASKED = 1
    DONE = 2
    FAILED = 3


class Text(msgspec.Struct, array_like=True, frozen=True):
    """How a host's error pages look."""

    look: Look
    spread: float  # distance between two of them
    kind: str


class Directory(msgspec.Struct, array_like=True):
    """One place of a host, for the most part a directory (probe.py). Days count from the epoch."""

    day: int = -1  # of the last probe
    n_asked: int = 0  # that day
    outcome: int = Outcome.NONE
    target: bytes = b""  # key of where the probe landed
    looks: list[Look] = []  # of the probes' pages
    kind: str = ""  # what those pages hint at
    suspect: bytes = b""  # key of the target for which it was asked; b"" if for a page
    n_soft: int = 0  # soft errors since then
    n_good: int = 0  # pages and redirects since then that are none
    control: int = Control.NONE
    shown: Look | None = None  # how the control looks; None if it is no page
    is_page: bool = False  # probes land at a page that the crawl met by itself: what looks like it is no error
    base: str = ""  # of a parameter: the control without what names a visit
    is_idle: bool = False  # a page was the same without the parameter

    @property
    def answers_everything(self) -> bool:
        return self.outcome in (Outcome.TARGET, Outcome.TEXT)

    def is_closed(self, give_up_after: int) -> bool:
        """Return whether it has shown so many soft errors for each good page that nothing more of it is wanted."""
        return self.answers_everything and self.n_soft >= give_up_after * (1 + self.n_good)


class Host(msgspec.Struct, array_like=True):
    """One host queue."""

    day: int = -1  # of the last probe
    n_asked: int = 0  # that day
    is_good: bool = False  # it has shown a page that nothing speaks against
    n_walls: int = 0  # challenges, consent pages, empty shells
    landings: list[bytes] = []  # keys of where probes landed
    texts: list[Text] = []
    home: Look | None = None  # the home page, or else the first seed
    is_home: bool = False  # it is the home page
    idle: dict[str, int] = {}  # parameter → URLs at which it was seen to name nothing
    asks_at_home: bool = False  # its home page asks for a password: that another does says nothing


class Suspect(msgspec.Struct, array_like=True, frozen=True):
    """A page whose words hint at an error or a gate; a probe decides."""

    page: bytes
    look: Look
    hint: str
    is_exempt: bool
    url: str
    is_strong: bool  # the hint
    is_target: bool  # a redirect led to it
    is_gate: bool = False  # it was called a gate at once: an honest answer takes that back
    form: str = ""  # what it asks its reader for


class Asked(msgspec.Struct, array_like=True):
    """A request that is not answered yet."""

    directories: list[bytes]  # keys of the places for which it was made
    host: bytes
    url: str  # of whom siblings are made there
    is_control: bool = False
    day: int = -1


class Target(msgspec.Struct, array_like=True, frozen=True):
    """A page that a redirect led to."""

    look: Look
    hint: str


class Label(msgspec.Struct, array_like=True, frozen=True):
    """The verdict on a URL that redirected."""

    directory: bytes
    is_soft: bool
    is_exempt: bool


class Echo(msgspec.Struct, array_like=True):
    """Pages of a host that say the same but for what quotes their URLs."""

    pages: list[bytes]  # keys of the first of them, three at most
    is_judged: bool = False  # what they say was found to be an error's


class Hop(msgspec.Struct, array_like=True, frozen=True):
    """A request's redirect that is followed."""

    asked: Asked
    n: int  # hops so far
    counted_as: bytes  # key of the first hop's target in the redirect log


T = TypeVar("T")


class Table(Generic[T]):
    """Records of one kind in a filter's memory. Keys: 8 bytes of a site, then what the table's line above says."""

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


DIRECTORIES = Table(b"P", Directory, weight=_HEAVY)
HOSTS = Table(b"H", Host, weight=_HEAVY)
ASKED = Table(b"A", Asked)
SUSPECTS = Table(b"U", Suspect)
TARGETS = Table(b"T", Target)
LABELS = Table(b"L", Label)
TEMPLATES = Table(b"V", str, weight=_HEAVY)
HOPS = Table(b"J", Hop)
ECHOES = Table(b"E", Echo)
LENGTHS = Table(b"K", int)
_FAULTY = Table(b"F", bool, weight=_HEAVY)


class FaultySites:
    """Which sites links are to be looked at closely; one read a site, then remembered."""

    def __init__(self) -> None:
        self._known: dict[bytes, bool] = {}

    def note(self, memory: Memory, key: bytes) -> None:
        """Enter the site of a key."""
        self._known[key[:_SITE]] = True
        _FAULTY.put(memory, key[:_SITE], True)

    def has(self, key: bytes, memory: Memory) -> bool:
        """Return whether the site of a key is entered."""
        site = key[:_SITE]
        known = self._known.get(site)
        if known is None:
            if len(self._known) >= _SITES_REMEMBERED:
                self._known.clear()
            known = self._known[site] = _FAULTY.get(memory, site) is not None
        return known


def read_places(memory: Memory, directory: bytes, host: bytes) -> tuple[Directory, Host]:
    """Return what is known of a directory and of its host; one read where the host was never probed."""
    of_host = HOSTS.get(memory, host) or Host()
    return (DIRECTORIES.get(memory, directory) if of_host.day >= 0 else None) or Directory(), of_host


def echo_key(host: bytes, look: Look) -> bytes:
    """Return the key of what a host's pages say but for what quotes their URLs.

    Args:
        host: Key.
    """
    return host[:_SITE] + xxhash.xxh3_64_digest(host[_SITE:] + look.text)


NO_SOFT_ERROR: Final = Verdict(NAME)


def soft_error(kind: str, probe: str, evidence: RedirectEvidence = NO_EVIDENCE) -> Verdict:
    """Return the verdict on a soft error: its kind, what the probe came to, σ and the four counts behind it."""
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
