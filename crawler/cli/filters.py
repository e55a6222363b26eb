"""`thresher filters`: what each filter saved and lost in a crawl, by replays with each of them left out."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from thresher.crawler.cli.common import config_option, crawl_config, directory_argument, print_json, print_table, set_option
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules

if TYPE_CHECKING:
    from thresher.crawler.analysis.filter_worth import JudgedCrawl
    from thresher.crawler.analysis.walls import Walls
    from thresher.storage.view import View

_LIMIT = 20_000  # answers
_EVERY_S = 5.0


@click.command(epilog="Example: thresher filters example")
@directory_argument
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", help="How to print.  [default: table]")
@click.option("--answers", type=click.IntRange(1), default=_LIMIT, metavar="N", help=f"Replay the first N answers.  [default: {_LIMIT}]")
@config_option
@set_option
def filters(directory: str, form: str, answers: int, configs: tuple[str, ...], sets: tuple[str, ...]) -> int:
    """Print what each filter saved and lost in the crawl in DIR.

    The crawl must not be running. Its stored answers are crawled again with all filters that enforce, then without each of them, then
    without any. --set filters.NAME.mode=enforce adds a filter that was off.

    \b
    saved    requests that the filter saved
    lost     documents (texts) found only without the filter
    near     lost documents of which a near copy is found
    late     documents found in the second half instead of the first
    unkept   documents of which no page is kept
    left     held URLs, of so many classes, that were never fetched
    unknown  requests without the filter to URLs that the crawl never
             fetched, so that their answers are not known; none if the
             filters of the crawl only observe

    canary has no row, since a replay has one answer for each page. What it found in the crawl itself is printed below the table.
    """
    from thresher.crawler.analysis.filter_worth import judge, replays_of
    from thresher.crawler.analysis.recorded_store import read_graph
    from thresher.storage.export.reading import reading

    with reading(Path(directory)) as view:
        settings = crawl_config(view.settings, configs, sets)
        space = URLSpace(view.secret, url_rules(settings))
        recorded = read_graph(view, space, limit=answers, progress=_Progress("answers read"))
        progress = _Progress("requests replayed")
        names = replays_of(settings)
        judged = judge(recorded, settings, space, on_begin=lambda name: progress.begin(_words(name, names)), progress=progress)
        if form == "json":
            _print_json(judged, view)
        else:
            _print(judged, view)
    return 0


def _words(name: str, names: list[str]) -> str:
    from thresher.crawler.analysis.filter_worth import ALL, NONE

    words = {ALL: "with all filters", NONE: "without any"}
    return f"replay {names.index(name) + 1} of {len(names)}, {words.get(name, f'without {name}')}"


class _Progress:
    """Prints progress on standard error, every few seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._n = 0
        self._at = time.monotonic()

    def begin(self, what: str) -> None:
        self._what, self._n, self._at = f"requests, {what}", 0, time.monotonic()
        click.echo(what, err=True)

    def __call__(self, n: int) -> None:
        self._n += n
        if self._n % 256 == 0 and time.monotonic() - self._at > _EVERY_S:
            self._at = time.monotonic()
            print(f"{self._n:,} {self._what}", file=sys.stderr, flush=True)


def _print_json(judged: JudgedCrawl, view: View) -> None:
    from thresher.crawler.analysis.tails import left_alone
    from thresher.crawler.analysis.walls import walls

    recorded = judged.recorded
    for worth in judged.worths():
        print_json({"kind": "filter", **msgspec.structs.asdict(worth)})
    for closed in left_alone(view):
        print_json({"kind": "closed", **closed._asdict()})
    if (found := walls(view)).hosts:
        print_json({"kind": "walls", **found._asdict()})
    known = recorded.graph.n_answered
    unknown = {"answers": known, "left_out": recorded.n_left_out, "unread": recorded.n_unread, "unnamed": recorded.n_unnamed}
    print_json({"kind": "recorded", **unknown, "never_fetched": len(recorded.graph.urls) - (known or 0)})


def _print(judged: JudgedCrawl, view: View) -> None:
    from thresher.crawler.analysis.filter_worth import Worth
    from thresher.crawler.analysis.tails import left_alone
    from thresher.crawler.analysis.walls import walls

    rows = [list(msgspec.structs.astuple(worth)) for worth in judged.worths()]
    print_table([name.replace("_", " ") for name in Worth.__struct_fields__], rows)
    for closed in left_alone(view):
        proof = (
            f"at most {closed.at_most:,} of them new, as was proved" if closed.at_most >= 0 else "not proved, as filters.tail_yield is 1"
        )
        click.echo(f"left alone on {closed.host}: {closed.n:,} URLs of {len(closed.holders)} classes, {proof}")
    if (found := walls(view)).hosts:
        click.echo(_words_of_walls(found))
    recorded = judged.recorded
    known = recorded.graph.n_answered or 0
    said = f"{known:,} answers; what {len(recorded.graph.urls) - known:,} URLs would have answered that were never fetched is not known"
    click.echo(said + (f"; {recorded.n_left_out:,} answers past --answers were left out" if recorded.n_left_out else ""), err=True)


def _words_of_walls(found: Walls) -> str:
    """Return a message about what the filter canary found in the crawl: a replay has one answer for each page, so it meets no wall."""
    return (
        f"canary, as the crawl counted: hosts of which a page was fetched again: {found.hosts:,}; walls: {found.walls:,}, behind which "
        f"{found.fetched_again:,} URLs were fetched again; hosts that are walled now: {found.walled:,}, "
        f"that are taken as they are: {found.another:,}"
    )
