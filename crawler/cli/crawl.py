"""`thresher crawl` and `thresher resume`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from thresher.config.settings import Settings
from thresher.crawler.cli.common import (
    complain,
    config_option,
    directory_argument,
    ended_by_signals,
    flag_options,
    given_flags,
    interrupted_code,
    load_config,
    set_option,
)
from thresher.crawler.cli.reader_guard import apart
from thresher.crawler.ending import to_go_on
from thresher.crawler.error_log import forget_empty
from thresher.crawler.terminal.progress import LiveBlock, ProgressLines, Silent, headline, summary
from thresher.storage.lock import lock_holder
from thresher.storage.partitions import ADDRESSES, channels_path, is_moving, n_agents_of

if TYPE_CHECKING:
    from thresher.crawler.process.snapshots import SnapshotTimer
    from thresher.crawler.process.supervisor import Display, Supervisor
    from thresher.crawler.start.opening import Make

progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "live", "lines", "none"]),
    default="auto",
    show_default=True,
    metavar="HOW",
    help="Progress on standard error: auto, live, lines or none.",
)


@click.command(epilog="Example: thresher crawl example.org --contact me@example.org --max-pages 1000 -o example")
@click.argument("seeds", nargs=-1)
@click.option(
    "-f", "--file", "files", type=click.Path(), multiple=True, metavar="FILE", help="File with a seed on each line, - for standard input."
)
@config_option
@flag_options
@set_option
@click.option(
    "-o", "--output", "directory", type=click.Path(), required=True, metavar="DIR", help="Directory for the new crawl: missing or empty."
)
@progress_option
def crawl(
    seeds: tuple[str, ...], files: tuple[str, ...], configs: tuple[str, ...], sets: tuple[str, ...], directory: str, progress: str
) -> int:
    """Crawl from SEEDS, politely, into a new store in DIR.

    A seed is a URL or a host name. For a host name, https is tried first, then http. Press Ctrl-C once to stop gracefully, twice to
    stop at once; `thresher resume DIR` continues the crawl.
    """
    from thresher.crawler.start.opening import check_seeds, create_store, with_seeds

    begun = with_seeds(load_config(configs, sets).settings, seeds, files)
    check_seeds(begun.settings)
    _say(begun.words())
    create_store(Path(directory), begun.settings, begun.found.bare, make=_maker(begun.settings))
    return run(Path(directory), progress)


@click.command(epilog="Example: thresher resume example --max-pages 5000")
@directory_argument
@click.argument("seeds", nargs=-1)
@click.option(
    "-f",
    "--file",
    "files",
    type=click.Path(),
    multiple=True,
    metavar="FILE",
    help="File with a new seed on each line, - for standard input.",
)
@config_option
@flag_options
@set_option
@progress_option
def resume(
    directory: str, seeds: tuple[str, ...], files: tuple[str, ...], configs: tuple[str, ...], sets: tuple[str, ...], progress: str
) -> int:
    """Continue the crawl in DIR after a stop, a crash or a kill.

    The crawl keeps its configuration: -c replaces it, --set and the flags change single options. With a wider scope, URLs that the old
    one refused are queued; with a narrower one, queued URLs outside it are refused. SEEDS are added to the crawl's own.
    """
    from thresher.crawler.start.opening import reconfigure

    flags = given_flags()
    _say(apart(Path(directory), lambda: reconfigure(Path(directory), seeds, files, configs, sets, flags)))
    return run(Path(directory), progress)


def _maker(settings: Settings) -> Make | None:
    """Return a function that makes the shards of a crawl on several machines; None for a crawl on this machine."""
    if settings.engine == "processes":
        return None
    from thresher.crawler.machines.command import create_shards

    return create_shards


def _say(words: str) -> None:
    if words:
        complain(f"thresher: {words}")


def run(directory: Path, progress: str) -> int:
    """Supervise the crawl in `directory` to its end; return the exit code."""
    from thresher.crawler.start.opening import check_engine
    from thresher.crawler.terminal.rounds import round_rows
    from thresher.storage.export.reading import reading, reading_shard

    if os.geteuid() == 0:
        complain("thresher: running as root, which a crawler has no use for: an ordinary user is safer")
    console = Console(stderr=True)
    live = progress == "live" or (progress == "auto" and console.is_terminal)
    display = LiveBlock(console) if live else Silent(sys.stderr) if progress == "none" else ProgressLines(sys.stderr)
    with reading_shard(directory) as view:
        settings = view.settings
        is_again = settings.schedule == "continuous" or view.tables.rounds.last() is not None
    check_engine(directory, settings)
    try:
        code, supervisor = _run_far(directory, display, settings) if settings.engine == "ray" else _run_here(directory, display, settings)
        if supervisor is None:
            return code
    finally:
        with suppress(OSError):
            display.close()
    with suppress(OSError):
        forget_empty(directory)
    with suppress(OSError):  # the terminal may be closed; the crawl's status also has its end
        if supervisor.status.at:
            console.print(headline(supervisor.status), soft_wrap=True)  # in one line, for readers of a log
            console.print(summary(supervisor.status))
        if code == 3:
            console.print(f"stopped; `thresher resume {directory}` goes on", markup=False)
        elif hint := to_go_on(supervisor.status, directory):
            console.print(hint, markup=False, soft_wrap=True)
        if is_again:
            with reading(directory) as view:
                console.print("\n".join(round_rows(view, directory)), markup=False, soft_wrap=True)
    return code


def _tell_of_lost_archives(directory: Path) -> None:
    """Warn of files of the archive that were taken away since the crawl stopped."""
    from thresher.storage.archive.checking import lacking
    from thresher.storage.export.reading import damage_as_ours

    with damage_as_ours(directory):
        lost = lacking(directory)
    if lost:
        complain(f"thresher: {'; '.join(lost)}. Until it is back, exports of the archive are refused; a new file goes on")


def _run_here(directory: Path, display: Display, settings: Settings) -> tuple[int, Supervisor | None]:
    """Run all agents on this machine; return the exit code and the supervisor, None if nothing was begun."""
    from thresher.crawler.cluster.resharding import reshard
    from thresher.crawler.process.snapshots import SnapshotTimer
    from thresher.crawler.start.opening import n_agents
    from thresher.crawler.start.rounds import for_this_round

    wanted, there = n_agents(settings), n_agents_of(directory)
    if wanted != there or is_moving(directory):
        settle = partial(_settle_here, directory, settings) if there > 1 else None
        if code := _change(directory, f"its {there} agents", str(wanted), settle, lambda: reshard(directory, wanted)):
            return code, None
    _tell_of_lost_archives(directory)
    supervisor = _supervisor(directory, display, for_this_round(settings, directory))
    return asyncio.run(_with_snapshots(supervisor, SnapshotTimer(directory, settings.snapshots, display.note))), supervisor


async def _with_snapshots(supervisor: Supervisor, timer: SnapshotTimer) -> int:
    async with timer.running():
        return await supervisor.run()


def _settle_here(directory: Path, settings: Settings) -> tuple[int, Supervisor]:
    supervisor = _supervisor(directory, Silent(sys.stderr), settings, settle=True)
    return asyncio.run(supervisor.run()), supervisor


def _run_far(directory: Path, display: Display, settings: Settings) -> tuple[int, Supervisor | None]:
    """Run the agents of several machines; return the exit code and the supervisor, None if nothing was begun."""
    from thresher.crawler.machines import command

    if into := command.becoming(directory, settings):
        settle = partial(command.settle, directory, Silent(sys.stderr), settings)
        if code := _change(directory, "its agents", into, settle, lambda: command.move(directory, settings)):
            return code, None
    return command.run(directory, display, settings)


def _change(directory: Path, who: str, into: str, settle: Callable[[], tuple[int, Supervisor]] | None, move: Callable[[], None]) -> int:
    """Change the crawl's agents to what the configuration asks for; return an exit code if that fails, else 0.

    Args:
        who, into: Names of the old and the new agents, for messages.
        settle: Lets the messages between its agents arrive; None if it has one agent.
        move: Makes the change, or continues one that was begun before.
    """
    from thresher.crawler.process.supervisor import write_status

    code = 0
    if settle is not None and not is_moving(directory):  # messages between agents must arrive first
        code, supervisor = settle()
        if code == 0 or _is_stop(code):  # the status of settling says nothing about the crawl
            supervisor.status.state, supervisor.status.why = "stopped", f"{who} are becoming {into}"
            write_status(directory, supervisor.status)
    if not code:
        try:
            with ended_by_signals():
                move()
        except KeyboardInterrupt as by:
            code = interrupted_code(by)
    if _is_stop(code):
        complain(f"thresher: stopped while {who} were becoming {into}; `thresher resume {directory}` goes on")
    return code


def _is_stop(code: int) -> bool:
    return code == 3 or code > 128


def _supervisor(directory: Path, display: Display, settings: Settings, *, settle: bool = False) -> Supervisor:
    from thresher.crawler.cluster.address_file import create
    from thresher.crawler.process.supervisor import Supervisor

    n = n_agents_of(directory)
    if n > 1 and not lock_holder(directory):
        create(channels_path(directory) / ADDRESSES)
    return Supervisor(directory, display, n_agents=n, settings=settings, settle=settle)
