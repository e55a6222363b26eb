"""Named totals, exact after any crash: committed together with the rows that they count, and checked by storage/verify.py."""

from __future__ import annotations

from thresher.storage.packing import pack_i64, unpack_i64
from thresher.storage.rows import Rows
from thresher.storage.schema import COUNTERS


class Counters:
    """All counters, in memory; changed ones are written with each group."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._values = {name.decode(): unpack_i64(value) for name, value in rows.scan(COUNTERS)}
        self._changed: set[str] = set()

    def add(self, name: str, n: int = 1) -> None:
        self._values[name] = self._values.get(name, 0) + n
        self._changed.add(name)

    def get(self, name: str) -> int:
        return self._values.get(name, 0)

    def items(self) -> list[tuple[str, int]]:
        """Return every counter with its name."""
        return list(self._values.items())

    def all(self, prefix: str = "") -> dict[str, int]:
        """Return every counter whose name begins with `prefix`, by name."""
        return {name: self._values[name] for name in sorted(self._values) if name.startswith(prefix)}

    def save(self) -> None:
        """Write what changed to the open group."""
        for name in self._changed:
            self._rows.put(COUNTERS, name.encode(), pack_i64(self._values[name]))
        self._changed.clear()
