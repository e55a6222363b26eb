"""The parts of an export: a kind has fields, in order, and a source of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final, Generic, TypeVar

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Purpose, State
from thresher.storage.view import View

R = TypeVar("R")
STATES: Final = {state: state.name.lower() for state in State}
PURPOSES: Final[dict[int, str]] = {purpose: purpose.name.lower() for purpose in Purpose}


@dataclass(frozen=True, slots=True)
class Field(Generic[R]):
    """One column: its name and how it is read from a row. Values are builtins: None, bool, int, float, str, lists and dicts of them."""

    name: str
    of: Callable[[R], Any]
    on_request: bool = False  # left out unless it is named


@dataclass(frozen=True, slots=True)
class ExportKind(Generic[R]):
    """One kind of export. `rows` gets the names of the wanted fields, so that it need not read data for others."""

    name: str
    rows: Callable[[View, frozenset[str]], Iterator[R]]
    fields: tuple[Field[R], ...]

    def choose(self, names: Sequence[str]) -> tuple[Field[R], ...]:
        """Return the fields with these names, in order; without names all except those on request.

        Raises:
            UsageError: If there is no field of a name.
        """
        known = {field.name: field for field in self.fields}
        for name in names:
            if name not in known:
                nearest = get_close_matches(name, known, 1)
                meant = f" Did you mean {nearest[0]}?" if nearest else ""
                raise UsageError(f"--fields {name!r}: no field of {self.name}.{meant} There are: {', '.join(known)}")
        return tuple(known[name] for name in names) or tuple(field for field in self.fields if not field.on_request)


def iso(at: float) -> str | None:
    """Return a time (seconds since the epoch) as ISO 8601 in UTC with milliseconds; None for 0."""
    if not 0 < at < 253402300800:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
