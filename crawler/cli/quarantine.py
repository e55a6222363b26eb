"""`thresher quarantine`: shows messages, findings and answers that killed the agent that worked on them, and offers them again."""

from __future__ import annotations

import time
from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table
from thresher.crawler.core.errors import UsageError
from thresher.storage.partitions import shard_paths
from thresher.storage.records import QuarantineRecord


@click.command(epilog="Example: thresher quarantine example --again")
@directory_argument
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--again", is_flag=True, help="Let the next `resume` try it again.")
@json_option
def quarantine(directory: str, rows: tuple[str, ...], again: bool, as_json: bool) -> int:
    """Show what was quarantined because it killed an agent.

    An agent is a process that crawls. What killed it may be a message between agents, a finding about a site, or the answer to a
    filter's own request. With --again, the given ROWs, or all, are tried again by the next `thresher resume DIR`. What kills its agent
    again is quarantined again.
    """
    from thresher.storage.export.reading import reading
    from thresher.storage.tables.quarantine import name_of

    path = Path(directory)
    with reading(path) as view:
        found = {name_of(key): record for key, record in view.tables.quarantine.all()}
    if unknown := [row for row in rows if row not in found]:
        raise UsageError(f"{unknown[0]}: expected a row of the quarantine of {path}, found none of that name. Give none to see all")
    chosen = set(rows or found)
    if again:
        _offer(path, chosen)
        click.echo(f"{len(chosen):,} offered again; `thresher resume {path}` tries them", err=True)
    shown = [_row(name, record, offered=record.offered or again) for name, record in found.items() if name in chosen]
    if as_json:
        for row in shown:
            print_json(row)
    else:
        print_table(("row", "what", "from", "quarantined", "offered", "why"), [list(row.values()) for row in shown])
    return 0


def _offer(path: Path, names: set[str]) -> None:
    """Mark rows to be tried again by the next `resume`; those of one shard in one commit."""
    from thresher.storage.store import Store
    from thresher.storage.tables.quarantine import name_of

    for shard in shard_paths(path):
        with Store.open(shard, None, time.time()) as store:
            for key, record in store.tables.quarantine.all():
                if name_of(key) in names:
                    store.tables.quarantine.offer(key, record)


def _row(name: str, record: QuarantineRecord, *, offered: bool) -> dict[str, object]:
    from thresher.storage.export.fields import iso

    return {
        "row": name,
        "what": record.what,
        "from": f"agent {record.sender}, message {record.number}" if record.kind == "message" else record.url or record.site.hex(),
        "at": iso(record.at),
        "offered": offered,
        "why": record.why,
    }
