"""Parquet, for exports of links: columns of text, whole numbers and truth values. Needs the extra `parquet` (pyarrow).

Memory: a row group of 100,000 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Self

from thresher.storage.export.lines import whole_text

PARQUET_KINDS = ("links", "hostgraph", "sitegraph")  # those whose columns have types

_ROW_GROUP = 100_000
_TYPES = {"source": "string", "target": "string", "links": "int64", "cross_site": "bool"}


class ParquetRows:
    """Writes records as the other formats' writers do; the file is whole once it is closed."""

    def __init__(self, out: BinaryIO, names: Sequence[str]) -> None:
        """Raises ImportError without pyarrow. names: fields of the kinds in `PARQUET_KINDS`"""
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._schema = pyarrow.schema([(name, getattr(pyarrow, _TYPES[name].replace("bool", "bool_"))()) for name in names])
        self._writer = pyarrow.parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[Sequence[Any]] = []

    def write(self, values: Sequence[Any]) -> None:
        self._rows.append([whole_text(value) if isinstance(value, str) else value for value in values])
        if len(self._rows) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        columns = [list(column) for column in zip(*self._rows, strict=True)] or [[] for _ in self._schema.names]
        self._writer.write_table(self._arrow.table(columns, schema=self._schema))
        self._rows = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()
