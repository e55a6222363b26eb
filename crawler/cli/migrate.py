"""`thresher migrate`: carry a crawl over that an earlier Thresher made."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument
from thresher.storage.migrating import migrate as carry_over
from thresher.storage.partitions import require_crawl
from thresher.storage.schema import VERSION


@click.command(epilog="Example: thresher migrate example")
@directory_argument
def migrate(directory: str) -> int:
    """Carry the crawl in DIR over to the schema of this Thresher, so that it can be read and gone on with.

    A copy of its state is made, compared with the original row by row, and put in its place. No crawl may run meanwhile. If it is cut
    short, the crawl is as it was, and the command can be given again.
    """
    path = Path(directory)
    require_crawl(path)
    if not carry_over(path, lambda text: click.echo(text, err=True)):
        click.echo(f"{directory}: is of schema {VERSION}, nothing to do", err=True)
    return 0
