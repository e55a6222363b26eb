"""`thresher recrawl`: one more round over the pages of a crawl."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.cli.common import complain, config_option, directory_argument, flag_options, given_flags, set_option
from thresher.crawler.cli.crawl import progress_option, run
from thresher.crawler.cli.durations import Duration
from thresher.crawler.cli.reader_guard import apart


@click.command(epilog="Example: thresher recrawl example --older-than 7d --where host=docs.example.org")
@directory_argument
@click.option(
    "--older-than",
    "older_than_s",
    type=Duration("7d"),
    default=0.0,
    show_default="every page",
    help="Only pages whose last visit is this long ago, such as 7d.",
)
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only pages whose url, host, site, type, status, depth or gone is VALUE; * matches any text.",
)
@click.option("--trust", "trusted", multiple=True, metavar="HOST", help="Accept that a parked host has lost pages, and go on with it.")
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
    """Visit the pages of the crawl in DIR again, as a new round.

    The round has limits of its own. Its requests are conditional where the server supports that. `thresher changes DIR` prints what it
    has found. `thresher resume DIR` continues a round that was stopped or killed; another `recrawl` starts a new round, which takes
    over what still waits.
    """
    from thresher.crawler.start.opening import reconfigure
    from thresher.crawler.start.rounds import begin_round, trust

    path, flags = Path(directory), given_flags()
    for words in (
        apart(path, lambda: reconfigure(path, (), (), configs, sets, flags)),
        apart(path, lambda: trust(path, trusted) if trusted else begin_round(path, older_than_s=older_than_s, where=where)),
    ):
        if words:
            complain(f"thresher: {words}")
    return run(path, progress)
