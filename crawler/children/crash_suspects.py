"""Finds the work that kills processes, and quarantines it after a few crashes: pages and all other work.

The name of the work at hand is written to a small mapped file. The kernel's page cache survives a crash or a SIGKILL of the process, so the
next process finds the name, and first counts the death against that work. A page is parsed in the isolated parser from then on, and after
`limit` deaths it is not parsed again. Other work (a message of another agent, the finding of a study, the answer to a filter's request) is
guilty once our own code has raised an exception over it, or two processes have died: it is quarantined and not done.

    slot = state 1 (0 nothing, 1 at work, 2 an exception was raised) ‖ work 17 ‖ what was raised, UTF-8, to the first zero byte
    work = "u" ‖ key of a page 16               "m" ‖ sender 2 ‖ number 8 ‖ zeros 6         a message
           "a" ‖ number of a request 8 ‖ zeros 8       "f" ‖ site 8 ‖ hash of the filter 8   a finding; "g": what is gathered for it
           "q" ‖ key in the quarantine 10 ‖ zeros 6    what is tried once more

Errors of the store and a lack of memory accuse no work: the former leave no name, the latter count as a death without an exception.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import xxhash

from thresher.crawler.core.errors import ThresherError
from thresher.storage.faults import is_disk
from thresher.storage.packing import pack_u64
from thresher.storage.records import QuarantineRecord, TrialRecord
from thresher.storage.tables import Tables

_SIZE = 512
_WORK = 17
_NAMED = 1 + _WORK
_EMPTY = bytes(_NAMED)
_FILE = "working"
_PAGE = b"u"
_AT_WORK, _RAISED = b"\1", b"\2"
_AT_PAGE = _AT_WORK + _PAGE


def message_work(sender: int, number: int) -> bytes:
    """Return the name of a message of another agent, as work."""
    return b"m" + sender.to_bytes(2, "big") + pack_u64(number) + bytes(6)


def answer_work(seq: int) -> bytes:
    """Return the name of the answer to a filter's own request, as work."""
    return b"a" + pack_u64(seq) + bytes(8)


def finding_work(who: str, site: bytes) -> bytes:
    """Return the name of the finding of a filter's study of a site, as work."""
    return b"f" + site + xxhash.xxh64_digest(who.encode())


def gathering_work(who: str, site: bytes) -> bytes:
    """Return the name of gathering the data for a study, as work."""
    return b"g" + finding_work(who, site)[1:]


def offered_work(key: bytes) -> bytes:
    """Return the name of quarantined work while it is tried once more."""
    return b"q" + key + bytes(6)


def words_of(trial: TrialRecord | None) -> str:
    """Return a message with the evidence against some work; "" if there is none."""
    if trial is None:
        return ""
    return trial.raised or f"the agent was gone {trial.deaths} times over it"


class Suspects:
    """The slot of the work at hand, and the crash counts of earlier lives. One per agent."""

    limit = 3

    def __init__(self, directory: Path, tables: Tables, *, shard: int = 0) -> None:
        """Create the suspects.

        Args:
            directory: The directory of the shard.
            tables: The tables of the shard's store.
            shard: The number of the shard.
        """
        self._table = tables.suspects
        self._trials = tables.trials
        self._quarantine = tables.quarantine
        self._shard = shard
        descriptor = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size != _SIZE:
                os.pwrite(descriptor, bytes(_SIZE), 0)  # write real bytes: a mapped hole in a file gives a SIGBUS when the disk is full
            self._slot = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._any = self._table.any()
        self._any_trial = self._trials.any()
        self._is_ending = False  # an exception was raised over the named work: the slot keeps it until the process ends

    def crashes(self, key: bytes) -> int:
        """Return how many processes died while this page was worked on."""
        return self._table.crashes(key) if self._any else 0

    def guilty(self, work: bytes) -> TrialRecord | None:
        """Return the proof that some work kills the process that does it; None if there is none."""
        return self._trials.guilty(work) if self._any_trial else None

    def attempt(self, work: bytes, do: Callable[[], None], row: Callable[[str], QuarantineRecord]) -> None:
        """Do work, or quarantine it if it has killed earlier processes. Part of the transaction of the visit that acknowledges it.

        aside: returns the row of the quarantine, by why it is there
        """
        if (trial := self.guilty(work)) is not None:
            self.quarantine(work, row(words_of(trial)))
            return
        with self.trying(work):
            do()
        self.done(work)

    def quarantine(self, work: bytes, row: QuarantineRecord) -> None:
        """Quarantine work instead of doing it."""
        self._quarantine.add(self._shard, row)
        self.done(work)

    def done(self, work: bytes) -> None:
        """Delete the evidence against work that is done or quarantined."""
        if self._any_trial:
            self._trials.forget(work)

    def watching(self, key: bytes) -> AbstractContextManager[None]:
        """Write a page's name to the slot while it is worked on; see `trying`."""
        return self.trying(_PAGE + key)

    @contextmanager
    def trying(self, work: bytes) -> Iterator[None]:
        """Write the name of work to the slot while it is done; nothing may await meanwhile. An exception ends this process and leaves the
        name.

        Work within other work replaces its name until it is done.
        """
        before = bytes(self._slot[:_NAMED])
        self._name(_AT_WORK + work)
        try:
            yield
        except MemoryError:
            self._is_ending = True
            raise
        except Exception as error:
            if isinstance(error, ThresherError) or is_disk(error):
                self.clear()
            self._is_ending = True
            if self._slot[:_NAMED] == _AT_WORK + work:
                self._say(error)
            raise
        self._name(before)

    def _say(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}".encode(errors="replace")[: _SIZE - _NAMED - 1].replace(b"\0", b"")
        self._slot[_NAMED:] = said.ljust(_SIZE - _NAMED, b"\0")
        self._slot[:1] = _RAISED

    def name(self, key: bytes) -> None:
        """Write the name of the page that is worked on from now on."""
        if not self._is_ending:  # as `_name`, which is called twenty times a page otherwise
            self._slot[:_NAMED] = _AT_PAGE + key

    def clear(self) -> None:
        """Empty the slot: nothing is worked on."""
        self._name(_EMPTY)

    def _name(self, named: bytes) -> None:
        if not self._is_ending:
            self._slot[:_NAMED] = named

    def close(self) -> None:
        """Unmap the slot."""
        self._slot.close()

    def accuse(self) -> bool:
        """Count a crash for the work that the last process left in the slot. Return whether there was any; then commit, and call
        `acquit`.
        """
        work, said = _left(bytes(self._slot))
        if not work:
            return False
        if work.startswith(_PAGE):
            self._table.add_crash(work[1:])
            self._any = True
            return True
        self._trials.accuse(work, said)
        self._any_trial = True
        return True

    def acquit(self) -> None:
        """Empty the slot, after the crash was counted and committed."""
        self.clear()


def is_about_to_know(directory: Path, tables: Tables) -> bool:
    """Return whether the next process will quarantine the work that the last one left in the slot.

    Args:
        directory: The directory of the shard whose agent is gone.
    """
    with suppress(FileNotFoundError):
        work, said = _left((directory / _FILE).read_bytes())
        if work.startswith(_PAGE):
            return tables.suspects.crashes(work[1:]) + 1 == Suspects.limit
        return bool(work) and tables.trials.would_convict(work, said)
    return False


def _left(slot: bytes) -> tuple[bytes, str]:
    """Return (work that a process left in its slot or b"", exception that it raised or "")."""
    state, work, said = slot[:1], slot[1:_NAMED], slot[_NAMED:].partition(b"\0")[0]
    if state not in (_AT_WORK, _RAISED):
        return b"", ""
    return work, said.decode(errors="replace") if state == _RAISED else ""
