"""What the classes of tables need of the object with the tables: `Store` while a crawl writes, `View` for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from thresher.storage.archive.files import ArchiveFile


class Counts(Protocol):
    """Named totals that tables maintain beside their rows (`Counters`)."""

    def add(self, name: str, n: int = 1, /) -> None: ...

    def get(self, name: str, /) -> int: ...

    def all(self, prefix: str = "", /) -> dict[str, int]: ...


class Rows(Protocol):
    """Tables of rows. Reads see every write made before; a `View` refuses writes."""

    @property
    def visit(self) -> int: ...

    @property
    def stride(self) -> int:
        """The difference between consecutive numbers of one shard."""
        ...

    @property
    def counters(self) -> Counts: ...

    def get(self, table: str, key: bytes) -> bytes | None: ...

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def scan(self, table: str, prefix: bytes = b"", start: bytes = b"", limit: int | None = None) -> list[tuple[bytes, bytes]]: ...

    def floor(self, table: str, key: bytes, n_shared: int) -> tuple[bytes, bytes] | None:
        """Return the last row with a key that is not above `key` and has the same first `n_shared` bytes; the table's keys end with a
        number.
        """
        ...

    def put(self, table: str, key: bytes, value: bytes) -> None: ...

    def put_many(self, table: str, rows: Mapping[bytes, bytes]) -> None: ...

    def delete(self, table: str, key: bytes) -> None: ...

    def log(self, line: bytes) -> None: ...

    def take_seq(self, n: int = 1) -> int: ...

    def archive_file(self, visit: int, serial: int) -> ArchiveFile: ...
