"""`thresher report`: a crawl as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument
from thresher.crawler.cli.status import crawl_state
from thresher.storage.export.target import replacing


@click.command(epilog="Example: thresher report example -o report.html")
@directory_argument
@click.option("-o", "--output", default="-", show_default=True, metavar="FILE", help="File to write, - for standard output.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--no-order", is_flag=True, help="Leave out PageRank and its curves, which take 12 bytes of memory for each link.")
def report(directory: str, output: str, force: bool, no_order: bool) -> int:
    """Write a report on the crawl in DIR as one HTML page.

    It shows throughput, politeness, depth and novelty, what filters saved with samples of their decisions, the quality of the order,
    hosts, errors, and what was learned about sites. The page needs no network and no script. The crawl may be running.
    """
    from thresher.crawler.report.gather import gather
    from thresher.crawler.report.page import render
    from thresher.storage.export.reading import reading

    path = Path(directory)
    with reading(path) as view:
        page = render(gather(view, with_order=not no_order), crawl_state(path, view))
    if output == "-":
        sys.stdout.buffer.write(page)
        return 0
    with replacing(Path(output), force=force) as file:
        file.write(page)
    click.echo(f"{output}: {len(page):,} bytes", err=True)
    return 0
