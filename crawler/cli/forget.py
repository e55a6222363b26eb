"""`thresher forget`: a takedown, and what was taken down."""

from __future__ import annotations

import getpass
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table
from thresher.crawler.core.errors import StoreError, UsageError
from thresher.crawler.core.url import BadURL
from thresher.storage.partitions import require_crawl

if TYPE_CHECKING:
    from thresher.storage.tables.forgotten import ForgottenRecord

_COLUMNS = ("what", "at", "by", "why", "URLs", "pages", "records", "state")


@click.command(epilog="Example: thresher forget example https://example.org/private --why 'asked for on 3 May'")
@directory_argument
@click.argument("target", required=False, metavar="[URL|HOST]")
@click.option("--by", metavar="WHO", default="", help="Who deletes it.  [default: the current user]")
@click.option("--why", metavar="TEXT", default="", help="Why, for the record.")
@json_option
def forget(directory: str, target: str | None, by: str, why: str, as_json: bool) -> int:
    """Delete a URL or a host from the crawl in DIR, for good.

    Its pages, bodies and links are deleted from the store, its records in the archive become tombstones, and later runs refuse its URLs
    as `forgotten`. A HOST means http and https, with www and without, but not its subdomains. The crawl must not be running.

    Without URL or HOST, an interrupted deletion is completed, and the output shows what was deleted, by whom, when and why.
    """
    from thresher.storage.archive.checking import lacking
    from thresher.storage.directory import require_store
    from thresher.storage.export.reading import reading
    from thresher.storage.forget import finish, target_of, unfinished
    from thresher.storage.forget import forget as carry_out

    path = Path(directory)
    require_crawl(path)
    require_store(path)
    if target is not None:
        with reading(path) as view:
            try:
                meant = target_of(view, target)
            except BadURL as error:
                raise UsageError(f"{target}: expected a URL or the name of a host, found neither: {error.detail}") from None
        carry_out(path, meant, by=by or _user(), why=why, now=time.time())
    elif unfinished(path):
        finish(path)
    with reading(path) as view:
        found = [record for _, record in view.tables.forgotten.all() if target is None or record.text == meant.text]
    for record in sorted(found, key=lambda record: record.at) if as_json else ():
        print_json(_row(record))
    if not as_json:
        print_table(_COLUMNS, [list(_row(record).values()) for record in sorted(found, key=lambda record: record.at)])
    if target is not None and (lost := lacking(path)):
        raise StoreError(f"{'; '.join(lost)}. What it held of {target} is not taken down: put it back and call this again")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the user has no name
        return f"user {os.getuid()}"


def _row(record: ForgottenRecord) -> dict[str, object]:
    from thresher.storage.export.fields import iso

    return {
        "what": record.text,
        "at": iso(record.at),
        "by": record.by,
        "why": record.why,
        "urls": record.n_urls,
        "pages": record.n_pages,
        "records": record.n_captures,
        "state": "done" if record.is_done else "cut short",
    }
