"""`thresher quarantine`: shows messages, findings and answers that killed the agent that worked on them, and offers them again."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table
from thresher.crawler.core.errors import UsageError
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
        from thresher.crawler.start.quarantined import offer

        offer(path, chosen)
        click.echo(f"{len(chosen):,} offered again; `thresher resume {path}` tries them", err=True)
    shown = [_row(name, record, offered=record.offered or again) for name, record in found.items() if name in chosen]
    if as_json:
        for row in shown:
            print_json(row)
    else:
        print_table(("row", "what", "from", "quarantined", "offered", "why"), [list(row.values()) for row in shown])
    return 0


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
