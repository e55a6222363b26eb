"""URLs that a rule rewrote: where each one leads, and which lead to one.

aliases     key 16                       → AliasRecord
alias_of    key of the target 16 ‖ key   → (empty)
letting_go  key of the target 16         → (empty)        its aliases are released a part at a time, in as many commits

An alias depends on its target: if that gives no page, the alias becomes an ordinary URL again.
"""

from __future__ import annotations

from collections.abc import Iterator

from thresher.storage.records import ALIAS, AliasRecord
from thresher.storage.rows import Rows
from thresher.storage.schema import ALIAS_OF, ALIASES, LETTING_GO

_KEY = 16


class Aliases:
    """One row per alias; `thresher.storage.tables.rules` limits the rows of a rule."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._may_release = True  # False once no target's aliases are being released

    def put(self, key: bytes, to_text: str, rule: str, to_key: bytes = b"") -> None:
        """Record an alias.

        Args:
            to_key: Key of the target on which the alias depends; b"": none.
        """
        self._rows.put(ALIASES, key, ALIAS.encode(AliasRecord(to_text, rule, to_key)))
        if to_key:
            self._rows.put(ALIAS_OF, to_key + key, b"")

    def get(self, key: bytes) -> AliasRecord | None:
        value = self._rows.get(ALIASES, key)
        return None if value is None else ALIAS.decode(value)

    def of_site(self, site: bytes) -> Iterator[tuple[bytes, AliasRecord]]:
        """Yield (key, alias) of a site by the first 8 bytes of its keys."""
        for key, value in self._rows.scan(ALIASES, site):
            yield key, ALIAS.decode(value)

    def forget(self, key: bytes) -> None:
        """Delete an alias; nothing happens if the URL is none."""
        alias = self.get(key)
        if alias is not None:
            self._rows.delete(ALIASES, key)
            self._rows.delete(ALIAS_OF, alias.to_key + key)

    def has_any(self, target: bytes) -> bool:
        """Return whether any URL is an alias of this one."""
        return bool(self._rows.scan(ALIAS_OF, target, limit=1))

    def release(self, target: bytes) -> None:
        """Mark the aliases of a target as released; `take_released` returns them, a part at a time."""
        self._rows.put(LETTING_GO, target, b"")
        self._may_release = True

    def take_released(self, limit: int) -> list[bytes]:
        """Return up to `limit` aliases of a released target; the caller forgets each."""
        first = self._rows.scan(LETTING_GO, b"", limit=1) if self._may_release else []
        if not first:
            self._may_release = False
            return []
        target = first[0][0]
        rows = self._rows.scan(ALIAS_OF, target, limit=limit)
        if len(rows) < limit:
            self._rows.delete(LETTING_GO, target)
        return [row[_KEY:] for row, _ in rows]

    @property
    def is_releasing(self) -> bool:
        """Whether `take_released` may return any."""
        return self._may_release
