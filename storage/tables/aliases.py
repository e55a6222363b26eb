"""URLs that a rule rewrote: where each one leads."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.rows import Rows
from thresher.storage.schema import ALIAS, ALIASES, AliasRecord


class Aliases:
    """One row per alias; a rule's rows are capped by `thresher.storage.tables.rules`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, key: bytes, to_text: str, rule: str) -> None:
        self._rows.put(ALIASES, key, ALIAS.encode(AliasRecord(to_text, rule)))

    def get(self, key: bytes) -> AliasRecord | None:
        value = self._rows.get(ALIASES, key)
        return None if value is None else ALIAS.decode(value)

    def of_site(self, site: bytes) -> Iterator[tuple[bytes, AliasRecord]]:
        """Yield (key, alias) of a site by the first 8 bytes of its keys."""
        for key, value in self._rows.scan(ALIASES, site):
            yield key, ALIAS.decode(value)

    def forget(self, key: bytes) -> None:
        self._rows.delete(ALIASES, key)
