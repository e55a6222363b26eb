"""`thresher export`: what the store holds, as lines for other programs."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from thresher.crawler.cli.choices import EXPORT_KINDS
from thresher.crawler.cli.common import directory_argument
from thresher.crawler.cli.export_archive import ARCHIVE_FORMATS, check_archive, write_archive
from thresher.crawler.cli.export_texts import taking_texts
from thresher.crawler.core.errors import DiskError, UsageError
from thresher.crawler.terminal.extras import require
from thresher.crawler.terminal.printable import printable
from thresher.storage.export.lines import CsvLines, JsonLines, LineWriter, TsvLines
from thresher.storage.export.parquet import ParquetFolder, ParquetRows
from thresher.storage.export.target import replacing, replacing_folder

if TYPE_CHECKING:
    from thresher.storage.export.fields import ExportKind, Field
    from thresher.storage.view import View

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".cdxj": "cdxj", ".wacz": "wacz"}  # end of a file's name → format
_JSON_LINES = (".jsonl", ".ndjson")  # ends of names for JSON lines
_NOTICED_S = 0.2
_ROWS = {"hostgraph": "links between hosts", "sitegraph": "links between sites"}  # names of rows in the message


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The command's options: what to export, where to, and how."""

    output: str
    format: str
    what: str = "pages"
    fields: str = ""
    force: bool = False
    raw: bool = False
    text: str = "main"
    since: str = ""
    next_file: str = ""

    @classmethod
    def of(cls, *, format_: str | None, output: str, **others: Any) -> ExportOptions:
        """Make it from the given options; without `format_`, the end of the file's name gives the format."""
        return cls(format=format_ or _FORMATS.get(Path(output).suffix, "jsonl"), output=output, **others)

    def choose(self, kind: ExportKind[Any]) -> Sequence[Field[Any]]:
        """Return the fields of a kind that are exported; raises UsageError if it has no field of a name."""
        return kind.choose([name.strip() for name in self.fields.split(",") if name.strip()])

    def check(self) -> None:
        """Raise UsageError if options contradict each other, or what they need is not installed."""
        from thresher.storage.export.kinds import TIMED

        if self.raw and self.format not in ("csv", "tsv"):
            raise UsageError("--raw: only CSV and TSV are ever changed for spreadsheets; the flag is for --format csv and tsv")
        if self.format == "parquet":
            _check_parquet(self.output)
        if self.format in ARCHIVE_FORMATS:
            check_archive(self.format, what=self.what, fields=self.fields, since=self.since or self.next_file, output=self.output)
        if self.since and self.what not in TIMED:
            raise UsageError(f"--since: {self.what} has no time. It is there for: {', '.join(sorted(TIMED))}")
        if self.next_file and not self.since:
            raise UsageError("--next: goes with --since. Give --since start for everything and the first cursor")


@click.command(epilog="Example: thresher export example --what pages --fields url,status,depth,title --format csv -o pages.csv")
@directory_argument
@click.option(
    "--what",
    type=click.Choice(EXPORT_KINDS),
    default="pages",
    show_default=True,
    metavar="KIND",
    help="What to export, as above.",
)
@click.option("--fields", metavar="A,B,C", default="", help="Fields, in this order; of pages also text, html, body.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "csv", "tsv", "parquet", *ARCHIVE_FORMATS]),
    default=None,
    metavar="FORMAT",
    help="jsonl, csv, tsv, parquet, cdxj, wacz or warc.  [default: by the name of FILE, else jsonl]",
)
@click.option("-o", "--output", type=click.Path(), metavar="FILE", default="-", help="File to write, - for standard output.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--raw", is_flag=True, help="Do not mark what looks like a formula.")
@click.option(
    "--text",
    type=click.Choice(["main", "visible"]),
    default="main",
    show_default=True,
    help="Of texts: without menus and footers, or all visible text.",
)
@click.option("--since", metavar="CURSOR", default="", help="Only what was found since; `start`: all. Prints the next cursor.")
@click.option("--next", "next_file", type=click.Path(), metavar="FILE", default="", help="Also write the next cursor to this file.")
@click.option("--list-fields", is_flag=True, help="Print the names of the fields, and export nothing.")
def export(directory: str, list_fields: bool, **options: Any) -> int:
    """Export what the crawl in DIR found, also while it runs.

    \b
    pages         newest record of each page
    texts         text of each kept page, and its language  [extra: text]
    urls          every known URL with its state
    skipped       log of the links that were not followed
    redirects     every redirect with the end of its chain
    links         link graph; as TSV the edge list that `rank` reads
    hostgraph     which host links to which other; sitegraph: which site
    sitemaps      each sitemap and what came of it
    announced     URLs that sitemaps name; orphans: those that no link names
    unannounced   pages that the sitemaps of their host leave out
    versions      every kept record of a page, of all rounds
    forgotten     what `thresher forget` has deleted
    browser       pages that only a browser can read
    requisites    what pages need to be shown (`archive.requisites`)

    Parquet (extra `parquet`) has typed columns; unless FILE ends with .parquet, it is a folder of files. Extra `archive`: cdxj is
    the index of a crawl that wrote WARC files, wacz all of it in one file for players; warc writes the stored bodies of any other crawl.

    FILE is written whole or not at all, and a new one only for you. Terminals show \\x1b for control bytes.
    """
    from thresher.storage.export.kinds import KINDS
    from thresher.storage.export.reading import reading

    wanted = ExportOptions.of(**options)
    kind = KINDS[wanted.what]
    if list_fields:
        for field in kind.fields:
            print(field.name)
        return 0
    chosen = wanted.choose(kind)
    wanted.check()
    if wanted.force and Path(wanted.output).resolve().is_relative_to(Path(directory).resolve()):
        raise UsageError(f"-o {wanted.output}: lies in the crawl's own directory, in which --force replaces nothing. Choose another place")
    if wanted.format in ARCHIVE_FORMATS:
        _export_archive(directory, wanted)
    else:
        with reading(Path(directory), walks=True) as view:
            export_rows(view, kind, chosen, wanted)
    return 0


def export_rows(view: View, kind: ExportKind[Any], chosen: Sequence[Field[Any]], wanted: ExportOptions) -> None:
    """Write the rows of a kind, and the cursor for the next export."""
    cursor = view.narrow(wanted.since) if wanted.since else ""
    with taking_texts(view, kind, chosen, wanted.text) as taken:
        _write_rows(view, taken, chosen, wanted)
    if cursor:
        click.echo(f"thresher: go on with --since {cursor}", err=True)
    if wanted.next_file:
        with replacing(Path(wanted.next_file), force=True) as file:
            file.write(cursor.encode() + b"\n")


def _write_rows(view: View, kind: ExportKind[Any], chosen: Sequence[Field[Any]], wanted: ExportOptions) -> None:
    from thresher.storage.export.kinds import write_all

    what, output, is_raw = _ROWS.get(kind.name, kind.name), wanted.output, wanted.raw
    if output == "-":
        _to_stdout(lambda out: _write(view, kind, chosen, out, wanted.format, raw=is_raw))
    elif wanted.format == "parquet" and Path(output).suffix != ".parquet":
        with (
            replacing_folder(Path(output), force=wanted.force) as folder,
            ParquetFolder(folder, kind.name, [field.name for field in chosen]) as parts,
        ):
            n = write_all(view, kind, chosen, parts)
        click.echo(f"{output}: {n:,} {what}{_checked(view)}", err=True)
    else:
        with replacing(Path(output), force=wanted.force) as out:
            n = _write(view, kind, chosen, out, wanted.format, raw=is_raw)
        unsaid = ", as JSON lines" if wanted.format == "jsonl" and Path(output).suffix not in _JSON_LINES else ""
        click.echo(f"{output}: {n:,} {what}{unsaid}{_checked(view)}", err=True)


def _checked(view: View) -> str:
    """Return how long the files were checked, if that is long enough to be noticed."""
    return f" (checked the store's files for damage in {view.checked_s:.1f} s)" if view.checked_s >= _NOTICED_S else ""


def _export_archive(directory: str, wanted: ExportOptions) -> None:
    from thresher.storage.export.reading import reading

    output = wanted.output
    with reading(Path(directory), walks=True) as view:
        if output == "-":
            _to_stdout(lambda out: write_archive(view, out, wanted.format, directory))
        else:
            with replacing(Path(output), force=wanted.force) as out:
                said = write_archive(view, out, wanted.format, directory)
            click.echo(f"{output}: {said}{_checked(view)}", err=True)


def _check_parquet(output: str) -> None:
    """Raise UsageError if Parquet cannot be written: first if it never can be (no file is named), then if the extra is not installed."""
    if output == "-":
        raise UsageError("--format parquet: no stream of lines. Name a file or a folder with -o")
    require("--format parquet", module="pyarrow.parquet", extra="parquet")


def _write(view: View, kind: ExportKind[Any], fields: Sequence[Field[Any]], out: BinaryIO, format_: str, *, raw: bool) -> int:
    """Write every row in a format; return how many there were. `out` stays open."""
    from thresher.storage.export.kinds import write_all

    names = [field.name for field in fields]
    if format_ == "parquet":
        with ParquetRows(out, kind.name, names) as table:
            return write_all(view, kind, fields, table)
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    lines = _lines(text, names, format_, raw=raw)
    try:
        return write_all(view, kind, fields, _Shown(lines) if out.isatty() else lines)
    finally:
        text.detach()


def _lines(text: io.TextIOWrapper, names: Sequence[str], format_: str, *, raw: bool) -> LineWriter:
    match format_:
        case "csv":
            return CsvLines(text, names, raw=raw)
        case "tsv":
            return TsvLines(text, raw=raw)
        case _:
            return JsonLines(text, names)


class _Shown:
    """Records on a terminal, one a line. Control characters of crawled text are shown as escapes: they could move the cursor."""

    def __init__(self, lines: LineWriter) -> None:
        self._lines = lines

    def write(self, values: Sequence[Any]) -> None:
        self._lines.write([printable(value) if isinstance(value, str) else value for value in values])


def _to_stdout(write: Callable[[BinaryIO], object]) -> None:
    """Write to standard output. A reader that closes the pipe early (`| head`) is no error."""
    out = sys.stdout.buffer
    try:
        write(out)
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the rest of the buffer has no reader: Python shall write it to /dev/null
    except OSError as error:
        raise DiskError(f"standard output: cannot be written: {error.strerror or error}") from error
