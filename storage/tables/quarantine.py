"""Work that killed its process: the deaths counted against it and, once it is guilty, the quarantined work itself.

A message of another agent is quarantined in the visit that moves its sender's watermark, a filter's answer in the one that ends the
request: so nothing is acknowledged that is neither done nor stored here. Rows are numbered by the shard in which they were quarantined, and
keep their key if they move to another shard. Quarantined work is counted by kind, for `thresher status`.
"""

from __future__ import annotations

from msgspec.structs import replace

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.records import QUARANTINED, TRIAL, QuarantineRecord, TrialRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import QUARANTINE, TRIALS

COUNTED = "quarantined:"
ACCUSED = "accused"  # counter: how much work was found guilty so far
_LAST = "quarantine:last"  # counter: number of the shard's last row
_MOST_DEATHS = 2


class DeathTrials:
    """How many processes died while they did some piece of work. Nearly always empty."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def guilty(self, work: bytes) -> TrialRecord | None:
        """Return the proof that work kills the process that does it, None if there is none.

        An exception is proof: the same work raises it again. A process that dies without an exception may have been killed by something
        else; if two die over the same work, which takes so little time, the work is guilty.
        """
        trial = self.get(work)
        return trial if trial is not None and _is_proof(trial) else None

    def would_convict(self, work: bytes, raised: str) -> bool:
        """Return whether one more death over some work would prove what is not yet proven.

        Args:
            raised: As for `accuse`.
        """
        trial = self.get(work) or TrialRecord()
        return not _is_proof(trial) and _is_proof(_accused(trial, raised))

    def get(self, work: bytes) -> TrialRecord | None:
        value = self._rows.get(TRIALS, work)
        return None if value is None else TRIAL.decode(value)

    def accuse(self, work: bytes, raised: str) -> None:
        """Count one more death over some work.

        Args:
            raised: The exception, "" if there was none.
        """
        before = self.guilty(work)
        self._rows.put(TRIALS, work, TRIAL.encode(_accused(self.get(work) or TrialRecord(), raised)))
        if before is None and self.guilty(work) is not None:
            self._rows.counters.add(ACCUSED)

    def forget(self, work: bytes) -> None:
        """Delete the trial of work that is done, or quarantined."""
        self._rows.delete(TRIALS, work)

    def any(self) -> bool:
        return bool(self._rows.scan(TRIALS, limit=1))


def _accused(trial: TrialRecord, raised: str) -> TrialRecord:
    return TrialRecord(trial.deaths + 1, raised or trial.raised)


def _is_proof(trial: TrialRecord) -> bool:
    return bool(trial.raised) or trial.deaths >= _MOST_DEATHS


class Quarantine:
    """Quarantined work, in the order in which it was quarantined."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, shard: int, record: QuarantineRecord) -> bytes:
        """Quarantine work; return its key.

        Args:
            shard: The number of the agent's own shard.
        """
        counters = self._rows.counters
        counters.add(_LAST)
        key = shard.to_bytes(2, "big") + pack_u64(counters.get(_LAST))
        self._rows.put(QUARANTINE, key, QUARANTINED.encode(record))
        counters.add(COUNTED + record.what)
        return key

    def all(self) -> list[tuple[bytes, QuarantineRecord]]:
        return [(key, QUARANTINED.decode(value)) for key, value in self._rows.scan(QUARANTINE)]

    def has_finding(self, who: str, site: bytes) -> bool:
        """Return whether a filter's finding on a site is quarantined."""
        return any((record.kind, record.who, record.site) == ("finding", who, site) for _, record in self.all())

    def change(self, key: bytes, record: QuarantineRecord) -> None:
        """Replace a row."""
        self._rows.put(QUARANTINE, key, QUARANTINED.encode(record))

    def offer(self, key: bytes, record: QuarantineRecord) -> None:
        """Mark work to be tried once more at the next start."""
        self.change(key, replace(record, offered=True))

    def take(self, key: bytes, record: QuarantineRecord) -> None:
        """Delete a row whose work is being done."""
        self._rows.delete(QUARANTINE, key)
        self._rows.counters.add(COUNTED + record.what, -1)

    def adopt(self, key: bytes, record: QuarantineRecord) -> None:
        """Add a row of another shard, unless that was done before."""
        if self._rows.get(QUARANTINE, key) is None:
            self.change(key, record)
            self._rows.counters.add(COUNTED + record.what)


def name_of(key: bytes) -> str:
    """Return the name of a row for the operator: shard and number."""
    return f"{int.from_bytes(key[:2], 'big')}.{unpack_u64(key[2:])}"
