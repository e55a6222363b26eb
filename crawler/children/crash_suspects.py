"""What was being worked on when the process died: poison is quarantined after a few crashes, pages and all other work.

The work at hand stands in a small mapped file meanwhile. A page cache outlives a crash or a SIGKILL, so the next life finds what it was,
and counts the death against it before it does anything else. A page is parsed in the isolated parser from then on, and at `limit` deaths it
is not parsed again. Work that is nothing to be parsed (a message of another agent, what a study found, the answer to a filter's request) is
guilty once our own code has raised an exception over it, or two processes are gone: it is quarantined in place of being done.

    slot = state 1 (0 nothing, 1 at work, 2 an exception was raised) ‖ work 17 ‖ what was raised, UTF-8, to the first nought
    work = "u" ‖ key of a page 16               "m" ‖ sender 2 ‖ number 8 ‖ nought 6        a message
           "a" ‖ number of a request 8 ‖ nought 8      "f" ‖ site 8 ‖ hash of the filter 8   a finding; "g": what is gathered for it
           "q" ‖ key in the quarantine 10 ‖ nought 6   what is tried once more

The store's own errors and a want of memory accuse no work: the first leave no name, the second count as a death without an exception.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


def message_work(sender: int, number: int) -> bytes:
    """Return what a message of another agent is called."""
    return b"m" + sender.to_bytes(2, "big") + pack_u64(number) + bytes(6)


def answer_work(seq: int) -> bytes:
    """Return what the answer to a filter's own request is called."""
    return b"a" + pack_u64(seq) + bytes(8)


def finding_work(who: str, site: bytes) -> bytes:
    """Return what the finding of a filter's study of a site is called."""
    return b"f" + site + xxhash.xxh64_digest(who.encode())


def gathering_work(who: str, site: bytes) -> bytes:
    """Return what it is called to gather what is to be studied."""
    return b"g" + finding_work(who, site)[1:]


def offered_work(key: bytes) -> bytes:
    """Return what quarantined work is called while it is tried once more."""
    return b"q" + key + bytes(6)


def words_of(trial: TrialRecord | None) -> str:
    """Return in words the evidence against some work, "" if there is none."""
    if trial is None:
        return ""
    return trial.raised or f"the agent was gone {trial.deaths} times over it"


class Suspects:
    """The slot of the work at hand, and the crash counts of earlier lives. One per agent."""

    limit = 3

    def __init__(self, directory: Path, tables: Tables, *, shard: int = 0) -> None:
        """Create the suspects.

        Args:
            directory: The directory of the shard, which has this number.
        """
        self._table = tables.suspects
        self._trials = tables.trials
        self._quarantine = tables.quarantine
        self._shard = shard
        descriptor = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size != _SIZE:
                os.pwrite(descriptor, bytes(_SIZE), 0)  # not a hole: a mapped hole in a full disk is a SIGBUS
            self._slot = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._any = self._table.any()
        self._any_trial = self._trials.any()
        self._is_ending = False  # an exception was raised over what the slot names: it stays so until the process is gone

    def crashes(self, key: bytes) -> int:
        """Return how many lives ended while this page was worked on."""
        return self._table.crashes(key) if self._any else 0

    def guilty(self, work: bytes) -> TrialRecord | None:
        """Return the proof that work kills the process that does it, None if there is none."""
        return self._trials.guilty(work) if self._any_trial else None

    def attempt(self, work: bytes, do: Callable[[], None], row: Callable[[str], QuarantineRecord]) -> None:
        """Do work, or quarantine it if it has killed earlier lives; joins the visit that acknowledges it.

        aside: returns the row of the quarantine, by why it is there
        """
        if (trial := self.guilty(work)) is not None:
            self.quarantine(work, row(words_of(trial)))
            return
        with self.trying(work):
            do()
        self.done(work)

    def quarantine(self, work: bytes, row: QuarantineRecord) -> None:
        """Quarantine work that is not to be done."""
        self._quarantine.add(self._shard, row)
        self.done(work)

    def done(self, work: bytes) -> None:
        """Forget the trial of work that is done, or quarantined."""
        if self._any_trial:
            self._trials.forget(work)

    @contextmanager
    def watching(self, key: bytes) -> Iterator[None]:
        """Name a page while it is worked on; see `trying`."""
        with self.trying(_PAGE + key):
            yield

    @contextmanager
    def trying(self, work: bytes) -> Iterator[None]:
        """Name work while it is done; nothing may await meanwhile. An exception, which ends this life, leaves the name.

        What is done within other work stands in its place until it is done.
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
        """Name the page that is worked on from now on, in place of any other."""
        self._name(_AT_WORK + _PAGE + key)

    def clear(self) -> None:
        """Say that nothing is worked on."""
        self._name(_EMPTY)

    def _name(self, named: bytes) -> None:
        if not self._is_ending:
            self._slot[:_NAMED] = named

    def close(self) -> None:
        """Unmap the slot."""
        self._slot.close()

    def accuse(self) -> bool:
        """Count a crash for what the last life left in the slot; return whether there was anything: then commit it, and `acquit`."""
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
        """Empty the slot of what has been counted, and is on disk."""
        self.clear()


def is_about_to_know(directory: Path, tables: Tables) -> bool:
    """Return whether the next life will quarantined what the last one left in the slot, and the last one could not yet.

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
    """Return the work that a life left in its slot, b"" if none, and the exception that it raised."""
    state, work, said = slot[:1], slot[1:_NAMED], slot[_NAMED:].partition(b"\0")[0]
    if state not in (_AT_WORK, _RAISED):
        return b"", ""
    return work, said.decode(errors="replace") if state == _RAISED else ""
