"""`thresher recrawl`: one more round over the pages of a crawl."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.cli.common import complain, config_option, directory_argument, flag_options, given_flags, set_option
from thresher.crawler.cli.crawl import progress_option, run
from thresher.crawler.cli.durations import Duration
from thresher.crawler.cli.reader_guard import apart
from thresher.crawler.start.opening import reconfigure
from thresher.crawler.start.rounds import begin_round, trust


@click.command(epilog="Example: thresher recrawl example --older-than 7d --where host=docs.example.org")
@directory_argument
@click.option(
    "--older-than",
    "older_than_s",
    type=Duration("7d"),
    default=0.0,
    show_default="every page",
    help="Ask for what was visited at least so long ago, as in 7d.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Ask only where url, host, site, type, status, depth or gone is so; * matches.",
)
@click.option("--trust", "trusted", multiple=True, metavar="HOST", help="Go on with a parked host in this round: what it lost is lost.")
@config_option
@flag_options
@set_option
@progress_option
def recrawl(
    directory: str,
    older_than_s: float,
    where: tuple[str, ...],
    trusted: tuple[str, ...],
    configs: tuple[str, ...],
    sets: tuple[str, ...],
    progress: str,
) -> int:
    """Visit the pages of the crawl in DIR once more: a further round, with limits of its own.

    Requests are conditional where servers allow it. What a round finds `thresher changes` tells. A round that was stopped or killed is gone
    on with by `thresher resume DIR`; another recrawl begins a new one, which takes over what still waits.
    """
    path, flags = Path(directory), given_flags()
    for words in (
        apart(path, lambda: reconfigure(path, (), (), configs, sets, flags)),
        apart(path, lambda: trust(path, trusted) if trusted else begin_round(path, older_than_s=older_than_s, where=where)),
    ):
        if words:
            complain(f"thresher: {words}")
    return run(path, progress)
