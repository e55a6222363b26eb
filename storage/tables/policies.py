"""The /.well-known/tdmrep.json of each origin, if the configuration asks for them."""

from __future__ import annotations

from thresher.storage.records import POLICY, PolicyRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import POLICIES


class Policies:
    """One record for each requested origin."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, origin_key: bytes, record: PolicyRecord) -> None:
        """Write a record."""
        self._rows.put(POLICIES, origin_key, POLICY.encode(record))

    def record(self, origin_key: bytes) -> PolicyRecord | None:
        """Return the record of an origin; None if there is none."""
        value = self._rows.get(POLICIES, origin_key)
        return None if value is None else POLICY.decode(value)
