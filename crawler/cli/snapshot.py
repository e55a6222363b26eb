"""`thresher snapshot` and `thresher restore`: a copy of a crawl as of one moment, and a crawl made from such a copy."""

from __future__ import annotations

import time
from pathlib import Path

import click

from thresher.config.settings import SnapshotSettings
from thresher.crawler.cli.common import directory_argument, json_option, print_json
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import require
from thresher.storage.partitions import read_partitions
from thresher.storage.snapshots.manifest import TakenSnapshot
from thresher.storage.snapshots.restoring import restore as restored
from thresher.storage.snapshots.restoring import snapshots
from thresher.storage.snapshots.targets import Target, is_url, target

_target_argument = click.argument("where", metavar="TARGET", type=click.Path())


@click.command(epilog="Example: thresher snapshot example /backup/example")
@directory_argument
@_target_argument
@click.option(
    "--keep", type=click.IntRange(1), default=SnapshotSettings().keep, show_default=True, help="Number of snapshots that TARGET keeps."
)
@json_option
def snapshot(directory: str, where: str, keep: int, as_json: bool) -> int:
    """Copy the crawl in DIR, as it is now, to TARGET.

    TARGET is a folder or, with the extra `snapshots`, a URL that fsspec knows, such as s3://bucket/crawl. The first snapshot copies
    everything, each later one only what has changed. The crawl may be running. If `snapshots.target` is configured, a crawl takes
    snapshots itself.

    On several machines TARGET must be `snapshots.target`: a snapshot of each machine is taken there, for `thresher cluster lost`.
    """
    from thresher.storage.snapshots.taking import take

    table = read_partitions(Path(directory))
    if table is not None and len(set(table.machines)) > 1:
        require(directory, module="ray", extra="ray")
        from thresher.crawler.machines import command

        for machine, taken in command.snapshot(Path(directory), where, keep):
            _show(taken, as_json=as_json, machine=machine)
        return 0
    _show(TakenSnapshot.of(take(Path(directory), _target(where), keep=keep)), as_json=as_json)
    return 0


@click.command(epilog="Example: thresher restore /backup/example example")
@_target_argument
@click.argument("directory", metavar="[DIR]", type=click.Path(), required=False)
@click.option("--number", type=click.IntRange(1), metavar="N", help="Number of the snapshot.  [default: the last one]")
@click.option("--list", "is_list", is_flag=True, help="List the snapshots in TARGET.")
@json_option
def restore(where: str, directory: str | None, number: int | None, is_list: bool, as_json: bool) -> int:
    """Make a crawl in DIR from a snapshot in TARGET.

    DIR must be missing or empty. `thresher resume DIR` continues from there, and fetches again what was found after the snapshot. Do
    not continue the original crawl too: both would ask the same hosts.
    """
    if is_list == (directory is not None):
        raise UsageError("restore: expected DIR or --list, found " + ("both" if is_list else "neither"))
    for manifest in snapshots(_target(where)) if directory is None else [restored(_target(where), Path(directory), number)]:
        _show(TakenSnapshot.of(manifest), as_json=as_json)
    return 0


def _target(where: str) -> Target:
    if is_url(where):
        require(where, module="fsspec", extra="snapshots")
    return target(where)


def _show(taken: TakenSnapshot, *, as_json: bool, machine: str = "") -> None:
    if as_json:
        names = ("number", "at", "pages", "new_bytes")
        print_json(({"machine": machine} if machine else {}) | {name: getattr(taken, name) for name in names} | {"bytes": taken.n_bytes})
    else:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(taken.at))
        size = f"{taken.n_bytes / 1e6:,.1f} MB, of which {taken.new_bytes / 1e6:,.1f} were new, compressed"
        click.echo(f"{f'{machine}: ' if machine else ''}snapshot {taken.number} of {at}: {taken.pages:,} pages, {size}")
