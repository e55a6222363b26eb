"""Parquet: every kind of export with typed columns. Needs the extra `parquet` (pyarrow).

Schema 2; each file's metadata has it as `thresher.schema`, beside `thresher.kind`:

    timestamp[ms, UTC]      fetched_at, found_at, failed_at, at, announced_at, lastmod, checked_at
    int64                   status, depth, site_depth, hops, bytes, wire_bytes, links, visit, attempts, n, final_status, urls,
                            characters, round
    double                  elapsed, in seconds; lastmod_believed, priority, language_confidence, amount
    bool                    keep, follow, noindex, nofollow, has_body, cross_site, linked, newest, ai_reserved; `final` of urls
    dictionary of strings   type, charset, state, reason, purpose, failed, failure, address, by, end, kind, changefreq,
                            language, fault, text_by, language_by, label, rel, element
    binary                  body
    string                  all others; lists and mappings (verdicts, headers, signals, flags) as JSON

Memory: a row group, which is closed at 100,000 rows or 64 MiB of values, whichever comes first; compressed with zstd.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import msgspec

from thresher.storage.export.lines import json_line, whole_text

SCHEMA: Final = "2"
ROWS_PER_FILE: Final = 1_000_000
BYTES_PER_FILE: Final = 1 << 30  # bytes of values, before compression
_GROUP_ROWS: Final = 100_000
_GROUP_BYTES: Final = 64 << 20
_CHUNK_ROWS: Final = 1000  # rows that are converted to columns together
_CHUNK_BYTES: Final = 1 << 20
_LARGE: Final = frozenset(("text", "html", "body"))  # columns whose values may be large
_OF_LENGTH: Final = frozenset(("text", "word", "bytes"))  # types that are counted in bytes
_NAMES: Final = {
    "time": ("fetched_at", "found_at", "failed_at", "at", "announced_at", "lastmod", "checked_at"),
    "int": (
        "status",
        "depth",
        "site_depth",
        "hops",
        "bytes",
        "wire_bytes",
        "links",
        "visit",
        "attempts",
        "n",
        "final_status",
        "urls",
        "round",
        "characters",
    ),
    "bool": ("keep", "follow", "noindex", "nofollow", "has_body", "cross_site", "linked", "newest", "ai_reserved"),
    "word": (
        *("type", "charset", "state", "reason", "purpose", "failed", "failure", "address", "by", "end", "kind", "changefreq"),
        *("language", "fault", "text_by", "language_by", "label", "rel", "element"),
    ),
    "float": ("elapsed", "amount", "lastmod_believed", "priority", "language_confidence"),
    "bytes": ("body",),
}
_BY_NAME: Final = {name: held for held, names in _NAMES.items() for name in names}
_OF_KIND: Final = {  # columns that have another type in other kinds
    ("urls", "final"): "bool",
    ("forgotten", "pages"): "int",
    ("forgotten", "captures"): "int",
    ("forgotten", "done"): "bool",
}


def column_type(kind: str, field: str) -> str:
    """Return the type of a column: time, int, float, bool, word, bytes or text."""
    return _OF_KIND.get((kind, field)) or _BY_NAME.get(field, "text")


class _Columns:
    """The typed columns of some fields of a kind."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        """Create the columns.

        Raises:
            ImportError: Without pyarrow.
        """
        import pyarrow

        types = {
            "time": pyarrow.timestamp("ms", "UTC"),
            "int": pyarrow.int64(),
            "float": pyarrow.float64(),
            "bool": pyarrow.bool_(),
            "word": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
            "bytes": pyarrow.binary(),
            "text": pyarrow.string(),
        }
        holds = [column_type(kind, name) for name in names]
        about = {"thresher.schema": SCHEMA, "thresher.kind": kind}
        self._arrow = pyarrow
        self._holds = holds
        self._read = [_READ.get(held) for held in holds]
        self.schema = pyarrow.schema([(name, types[held]) for name, held in zip(names, holds, strict=True)], metadata=about)

    def add(self, records: Iterable[Sequence[Any]], columns: Sequence[list[Any]]) -> int:
        """Append the values of records to columns, converted; return their bytes of text."""
        n_bytes = 0
        for column, read, held, values in zip(columns, self._read, self._holds, zip(*records, strict=True), strict=False):
            if held == "text" and (n_characters := _plain_length(values)) is not None:
                column.extend(values)
                n_bytes += n_characters
                continue
            made = values if read is None else [None if value is None else read(value) for value in values]
            column.extend(made)
            if held in _OF_LENGTH:
                n_bytes += sum([len(value) for value in made if value is not None])
        return n_bytes

    def table(self, columns: Sequence[list[Any]]) -> Any:
        """Return columns of converted values as a table."""
        arrays = [self._array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        return self._arrow.Table.from_arrays(arrays, schema=self.schema)

    def _array(self, column: list[Any], of: Any) -> Any:
        if self._arrow.types.is_timestamp(of):
            return self._arrow.array(column, type=self._arrow.string()).cast(of)
        return self._arrow.array(column, type=of)


def arrow_table(kind: str, names: Sequence[str], records: Iterable[Sequence[Any]]) -> Any:
    """Return records as one table, in memory.

    Args:
        kind: The kind of export.
        names: The names of its fields.
        records: The values of each row, in the order of `names`.

    Raises:
        ImportError: Without pyarrow.
    """
    columns = _Columns(kind, names)
    values: list[list[Any]] = [[] for _ in names]
    rest = iter(records)
    while some := list(islice(rest, _CHUNK_ROWS)):
        columns.add(some, values)
    return columns.table(values)


class ParquetRows:
    """Writes records like the writers of other formats; the file is complete once it is closed."""

    def __init__(self, out: BinaryIO, kind: str, names: Sequence[str]) -> None:
        """Create a writer.

        Args:
            out: The open file.
            kind: The kind of export.
            names: The names of its fields.

        Raises:
            ImportError: Without pyarrow.
        """
        from pyarrow.parquet import ParquetWriter

        self._columns = _Columns(kind, names)
        self._writer = ParquetWriter(out, self._columns.schema, compression="zstd")
        self._values: list[list[Any]] = [[] for _ in names]  # by column: rows would be many more objects for the garbage collector
        self._records: list[Sequence[Any]] = []  # the last records
        self._large = [at for at, name in enumerate(names) if name in _LARGE]
        self._n_large = 0  # characters in them
        self._n_rows = 0
        self._n_bytes = 0
        self.n_rows = 0
        self.n_bytes = 0

    def write(self, values: Sequence[Any]) -> None:
        self._records.append(values)
        self.n_rows += 1
        for at in self._large:
            self._n_large += len(values[at] or "")
        if len(self._records) >= _CHUNK_ROWS or self._n_large >= _CHUNK_BYTES:
            self._take()

    def _take(self) -> None:
        """Convert the last records to columns."""
        n_bytes = self._columns.add(self._records, self._values)
        self._n_rows += len(self._records)
        self._n_bytes += n_bytes
        self.n_bytes += n_bytes
        self._records.clear()
        self._n_large = 0
        if self._n_rows >= _GROUP_ROWS or self._n_bytes >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._columns.table(self._values))
        for column in self._values:
            column.clear()
        self._n_rows = self._n_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._take()
        if self._n_rows or not self.n_rows:
            self._flush()
        self._writer.close()


class ParquetFolder:
    """Writes records into part-00000.parquet, part-00001.parquet … of a folder, each at most `ROWS_PER_FILE` and `BYTES_PER_FILE`."""

    def __init__(self, folder: Path, kind: str, names: Sequence[str]) -> None:
        """Create the parquet folder.

        Args:
            folder: An empty folder.
            kind: The kind of export.
            names: The names of its fields.
        """
        self._folder, self._kind, self._names = folder, kind, names
        self._n_files = 0
        self._out: BinaryIO
        self._part = self._open()

    def write(self, values: Sequence[Any]) -> None:
        if self._part.n_rows >= ROWS_PER_FILE or self._part.n_bytes >= BYTES_PER_FILE:
            self._close()
            self._part = self._open()
        self._part.write(values)

    def _open(self) -> ParquetRows:
        self._out = (self._folder / f"part-{self._n_files:05}.parquet").open("xb")
        self._n_files += 1
        return ParquetRows(self._out, self._kind, self._names)

    def _close(self) -> None:
        with self._out, self._part:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _plain_length(values: Sequence[Any]) -> int | None:
    """Return how many characters values have if all are text of ASCII, as most URLs are; else None."""
    try:
        joined = "".join(values)
    except TypeError:
        return None
    return len(joined) if joined.isascii() else None


def _text(value: Any) -> str:
    """Return text that UTF-8 can encode; lists and mappings as JSON."""
    if value.__class__ is str:
        return whole_text(value)
    if value == []:  # most values are
        return "[]"
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate
        return json_line(value)


_READ: Final[dict[str, Callable[[Any], Any]]] = {"text": _text, "word": whole_text, "bytes": b64decode}
