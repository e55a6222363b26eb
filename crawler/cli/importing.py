"""`thresher import`: an existing archive becomes a crawl that the other commands read."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import click

from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import require

_NEEDS = ("fastwarc",)
_MOST_FAULTS = 20


@click.command("import", epilog="Example: thresher import CC-MAIN-20240220.warc.gz -o imported")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE...")
@click.option(
    "-o", "--output", "directory", type=click.Path(), required=True, metavar="DIR", help="Directory for the crawl: missing or empty."
)
def import_(files: tuple[str, ...], directory: str) -> int:
    """Make a crawl in DIR from the answers in WARC FILEs.

    They may come from Thresher, Heritrix, Common Crawl, wget and others. No request is made. `export`, `explain`, `rank`, `report`,
    `replicas`, `dust` and others then read DIR like any crawl. All that is readable of a damaged file is taken; the exit code is 1 if
    something was not readable.
    """
    for module in _NEEDS:
        require("import", module=module, extra="archive")
    counts, faults = asyncio.run(_import([Path(file) for file in files], Path(directory)))
    for what, n in sorted(counts.items()):
        click.echo(f"{directory}: {n:,} {what}", err=True)
    for fault in faults[:_MOST_FAULTS]:
        click.echo(f"thresher: {fault}", err=True)
    if len(faults) > _MOST_FAULTS:
        click.echo(f"thresher: {len(faults) - _MOST_FAULTS:,} more", err=True)
    if not counts["answers"]:
        for entry in Path(directory).iterdir():  # everything in it was made by this command: the directory was missing or empty
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        raise UsageError(f"{files[0]}: expected a WARC file with answers of HTTP, found none in {len(files)} file(s)")
    return 1 if faults else 0


async def _import(files: list[Path], directory: Path) -> tuple[Counter[str], list[str]]:
    from thresher.crawler.agent.importing import Importer, import_settings
    from thresher.crawler.start.opening import create_store
    from thresher.storage.store import Store

    settings = import_settings()
    create_store(directory, settings)
    with Store.open(directory, settings, 0.0) as store:
        importer = Importer(directory, store)
        try:
            await importer.run(files)
        finally:
            await importer.close()
    return importer.counts, importer.faults
