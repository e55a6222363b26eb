"""`thresher export --format cdxj|wacz|warc`: exports a crawl's web archive, or, if it has none, the bodies of its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import require
from thresher.crawler.version import VERSION

if TYPE_CHECKING:
    from thresher.storage.view import View

ARCHIVE_FORMATS: Final = ("cdxj", "wacz", "warc")
_NEEDS: Final = {"cdxj": ("fastwarc", "surt"), "wacz": ("fastwarc", "surt"), "warc": ("fastwarc", "isal")}
_SOFTWARE: Final = f"Thresher/{VERSION}"


def check_archive(format_: str, *, what: str, fields: str, since: str, output: str) -> None:
    """Raise UsageError for options that do not go together, or if the extra is not installed."""
    if what != "pages" or fields:
        raise UsageError(f"--format {format_}: writes the whole archive; leave --what and --fields out")
    if since:
        raise UsageError(f"--format {format_}: writes the whole archive; leave --since and --next out")
    if format_ != "cdxj" and output == "-":
        raise UsageError(f"--format {format_}: no stream of lines. Name a file with -o")
    for module in _NEEDS[format_]:
        require(f"--format {format_}", module=module, extra="archive")


def write_archive(view: View, out: BinaryIO, format_: str, directory: str) -> str:
    """Write a crawl's archive in a format; return a message about what was written."""
    from thresher.storage.archive.cdxj import index_lines, warc_files
    from thresher.storage.archive.resources import write_resources
    from thresher.storage.archive.wacz import write_wacz

    files = warc_files(view)
    if format_ == "warc":
        if files:
            raise UsageError(
                f"--format warc: {directory} has its WARC files already, with the bytes of the wire, as {files[0].file.path}. Copy these; "
                "--format wacz packs them with their index"
            )
        n = write_resources(view, out, software=_SOFTWARE)
        return f"{n:,} resource records: the crawl wrote no archive, so there are bodies as decoded, and no heads or requests"
    if not files:
        raise UsageError(
            f"--format {format_}: {directory} has no archive, which is written while crawling, by archive.format: warc. "
            "`--format warc` makes a file of the bodies that the store has"
        )
    if format_ == "wacz":
        return f"{write_wacz(view, files, out, software=_SOFTWARE):,} pages, {len(files):,} WARC files"
    n = 0
    for line in index_lines(files):
        out.write(line.encode())
        n += 1
    return f"{n:,} answers"
