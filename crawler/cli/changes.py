"""`thresher changes`: what has changed between the rounds of a crawl."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument, print_json

_POLL_S = 1.0


@click.command(epilog="Example: thresher changes example --since 2 | index-updates")
@directory_argument
@click.option(
    "--since", default="0", show_default=True, metavar="ROUND|DATE|CURSOR", help="Start there; a row's cursor starts after that row."
)
@click.option("--follow", is_flag=True, help="Go on with what the crawl finds, until interrupted.")
def changes(directory: str, since: str, follow: bool) -> int:
    """Print what is new, changed, moved or gone, as JSON lines.

    They are in the order in which the crawl found them, and say by how much a page has changed.
    """
    from thresher.storage.export.changes import Changes
    from thresher.storage.export.reading import reading

    with reading(Path(directory)) as view:
        stream = Changes(view)
        place, after = stream.since(since)
        try:
            while True:
                for row in stream.rows(place, after):
                    print_json(row)
                if not follow:
                    return 0
                sys.stdout.flush()
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            return 130
