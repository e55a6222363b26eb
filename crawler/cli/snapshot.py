"""`thresher snapshot` and `thresher restore`: a copy of a crawl as of one moment, and a crawl made from such a copy."""

from __future__ import annotations

import time
from pathlib import Path

import click

from thresher.config.settings import SnapshotSettings
from thresher.crawler.cli.common import directory_argument, json_option, print_json
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import require
from thresher.storage.snapshots.manifest import Manifest
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
    """
    from thresher.storage.snapshots.taking import take

    _show(take(Path(directory), _target(where), keep=keep), as_json=as_json)
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
        _show(manifest, as_json=as_json)
    return 0


def _target(where: str) -> Target:
    if is_url(where):
        require(where, module="fsspec", extra="snapshots")
    return target(where)


def _show(manifest: Manifest, *, as_json: bool) -> None:
    n_bytes = sum(file.n_bytes for file in manifest.files)
    if as_json:
        names = ("number", "at", "pages", "new_bytes")
        print_json({**{name: getattr(manifest, name) for name in names}, "bytes": n_bytes})
    else:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(manifest.at))
        size = f"{n_bytes / 1e6:,.1f} MB, of which {manifest.new_bytes / 1e6:,.1f} were new, compressed"
        click.echo(f"snapshot {manifest.number} of {at}: {manifest.pages:,} pages, {size}")
