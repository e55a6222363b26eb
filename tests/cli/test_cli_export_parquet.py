"""Parquet: the rows of JSON Lines with types, in one file or a folder of files."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command import Command
from long import shortened

from thresher.storage.export import parquet as module
from thresher.storage.export.kinds import KINDS

parquet = pytest.importorskip("pyarrow.parquet")


def plain(value: Any) -> Any:
    """Return a value as JSON Lines have it."""
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if isinstance(value, datetime) else value


def as_text(kind: str, name: str, value: Any) -> Any:
    """Return what a column of text holds of what JSON Lines have."""
    is_text = module.column_type(kind, name) == "text"
    return value if not is_text or value is None or isinstance(value, str) else json.loads(json.dumps(value))


# each export of texts starts a child: test_cli_export_texts.py compares the rows of both formats, too
@pytest.mark.parametrize("kind", shortened([*sorted(set(KINDS) - {"texts"}), "texts"], -1))
def test_every_kind_has_the_rows_of_json_lines(kind: str, thresher: Command, crawl: Path, tmp_path: Path) -> None:
    """Mutation: a time as text; a mapping as Python writes it."""
    what = ["--what", kind, *(["--text", "visible"] if kind == "texts" else [])]  # main texts take longer: test_cli_export_texts.py
    assert thresher("export", crawl, *what, "-o", tmp_path / "x.parquet").code == 0
    table = parquet.read_table(tmp_path / "x.parquet")
    lines = [json.loads(line) for line in thresher("export", crawl, *what).out.splitlines()]
    found = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    for row in found:
        for name, value in row.items():
            if module.column_type(kind, name) == "text" and isinstance(value, str) and value[:1] in ("[", "{"):
                row[name] = json.loads(value)
    assert found == [{name: as_text(kind, name, value) for name, value in line.items()} for line in lines]
    assert table.schema.metadata[b"thresher.kind"] == kind.encode()
    assert table.schema.metadata[b"thresher.schema"] == module.SCHEMA.encode()


def test_types_are_those_of_the_documented_schema(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    thresher("export", crawl, "-o", tmp_path / "x.parquet")
    types = {field.name: str(field.type) for field in parquet.read_schema(tmp_path / "x.parquet")}
    assert types["fetched_at"] == "timestamp[ms, tz=UTC]"
    assert types["status"] == "int64"
    assert types["keep"] == "bool"
    assert types["type"].startswith("dictionary<values=string")
    assert types["verdicts"] == types["url"] == "string"


def test_a_folder_is_cut_into_files_and_replaced_whole(
    thresher: Command, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresher.storage.export.parquet.ROWS_PER_FILE", 2)
    n = len(thresher("export", crawl, "--fields", "url").out.splitlines())
    export = ("export", crawl, "--format", "parquet", "--fields", "url,status", "-o", tmp_path / "pages")
    assert thresher(*export).code == 0
    files = sorted((tmp_path / "pages").iterdir())
    assert [file.name for file in files] == [f"part-{i:05}.parquet" for i in range((n + 1) // 2)]
    assert parquet.read_table(tmp_path / "pages").num_rows == n
    again = thresher(*export)
    assert (again.code, "exists already" in again.err) == (2, True)
    assert thresher(*export, "--force").code == 0
    (tmp_path / "pages/notes.txt").write_text("mine")
    foreign = thresher(*export, "--force")
    assert (foreign.code, "expected a folder of Parquet files" in foreign.err) == (2, True)
    assert (tmp_path / "pages/notes.txt").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"pages"}


def test_an_export_that_fails_leaves_nothing(thresher: Command, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thresher.storage.export.parquet.ParquetRows.write", full)
    failed = thresher("export", crawl, "--format", "parquet", "-o", tmp_path / "pages")
    assert (failed.code, "No space left" in failed.err) == (74, True)
    assert list(tmp_path.iterdir()) == []


def test_the_notes_of_sitemaps_are_text() -> None:
    """Mutation: their column was of whole numbers, and the export of sitemaps failed."""
    table = module.arrow_table("sitemaps", ["url", "notes"], [["https://a.example/s.xml", ["status 404"]], ["https://a.example/", []]])
    assert table.column("notes").to_pylist() == ['["status 404"]', "[]"]
