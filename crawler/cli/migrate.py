"""`thresher migrate`: carry a crawl over that an earlier Thresher made."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument
from thresher.storage.partitions import require_crawl
from thresher.storage.schema import VERSION


@click.command(epilog="Example: thresher migrate example")
@directory_argument
def migrate(directory: str) -> int:
    """Convert the crawl in DIR to this version's schema.

    Then this version can read and continue it. A copy of the crawl's state is made, compared with the original row by row, and put in
    its place. The crawl must not be running. If the command is interrupted, the crawl is as before; run the command again.
    """
    from thresher.storage.migrating import migrate as carry_over

    path = Path(directory)
    require_crawl(path)
    if not carry_over(path, lambda text: click.echo(text, err=True)):
        click.echo(f"{directory}: is of schema {VERSION}, nothing to do", err=True)
    return 0
