"""Counts the rows that each rule has written: rows that a rule can derive again are stored up to a limit, and only counted beyond it."""

from __future__ import annotations

from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.rows import Rows
from thresher.storage.schema import RULES

ROWS_PER_RULE = 10_000


class RuleCounts:
    """Counts by rule: even a trap that makes a million aliases takes only ten thousand rows."""

    def __init__(self, rows: Rows, cap: int = ROWS_PER_RULE) -> None:
        self._rows = rows
        self._cap = cap

    def may_record(self, rule: str) -> bool:
        """Count a row of the rule; return whether it may be stored."""
        n = self.count(rule) + 1
        self._rows.put(RULES, rule.encode()[:500], pack_u64(n))
        return n <= self._cap

    def count(self, rule: str) -> int:
        """Return the number of rows that the rule asked for."""
        value = self._rows.get(RULES, rule.encode()[:500])
        return 0 if value is None else unpack_u64(value)

    def all(self) -> dict[str, int]:
        return {name.decode("utf-8", "replace"): unpack_u64(value) for name, value in self._rows.scan(RULES)}
