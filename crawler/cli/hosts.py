"""`thresher hosts`: every host queue, what it has given, and why it waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from heapq import nlargest, nsmallest
from pathlib import Path
from typing import Any

import click
import msgspec

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table, say_more, top_of, top_option
from thresher.crawler.core.ports import HostRecord


class HostRow(msgspec.Struct, kw_only=True):
    """One host queue as it is printed; times in seconds from now, None where there is none."""

    name: str
    site: str
    queued: int
    pages: int
    requests: int
    failures: int  # all failed requests
    failures_in_a_row: int
    next_in: float | None  # until it may be asked; None: nothing is queued, or it is parked for good
    backoff: float | None
    crawl_delay: float | None
    parked: str | None
    parked_until: str | None


_ORDERS: dict[str, Callable[[HostRow], Any]] = {
    "queued": lambda row: row.queued,
    "pages": lambda row: row.pages,
    "errors": lambda row: row.failures,
    "delay": lambda row: -1.0 if row.next_in is None else row.next_in,
}
_COLUMNS = ("host", "site", "queued", "pages", "requests", "failures", "next in s", "back-off s", "crawl delay s", "parked", "until")


@click.command(epilog="Example: thresher hosts example --sort errors --top 20")
@directory_argument
@click.option(
    "--sort", type=click.Choice([*_ORDERS, "name"]), default="queued", show_default=True, help="Largest first; names in alphabetical order."
)
@top_option
@click.option("--parked", is_flag=True, help="Only parked hosts: nothing is fetched from them.")
@json_option
def hosts(directory: str, sort: str, top: int | None, parked: bool, as_json: bool) -> int:
    """Print the hosts of the crawl in DIR.

    Each row says what the host gave, what waits there, and when it may be asked again. http and https, with www and without, are one
    host.
    """
    from thresher.storage.export.reading import reading
    from thresher.storage.export.scans import hosts as every_host

    limit = top_of(top, as_json=as_json)
    now = time.time()
    with reading(Path(directory)) as view:
        rows = (host_row(record, now) for _, record in every_host(view) if record.parked or not parked)
        found = _first(rows, sort, None if limit is None else limit + 1)
    if as_json:
        for row in found[:limit]:
            print_json(row)
    else:
        print_table(_COLUMNS, [_cells(row) for row in found[:limit]])
        say_more(len(found), limit)
    return 0


def host_row(record: HostRecord, now: float) -> HostRow:
    """Return what is printed of a host's record."""
    from thresher.storage.export.fields import iso

    at = max(record.next_at, record.backoff_until, record.parked_until)
    waits = record.n_queued > 0 and not (record.parked and not record.parked_until)
    return HostRow(
        name=record.name,
        site=record.site,
        queued=record.n_queued,
        pages=record.n_pages,
        requests=record.n_requests,
        failures=record.n_failed,
        failures_in_a_row=record.failures,
        next_in=round(max(0.0, at - now), 3) if waits else None,
        backoff=round(record.backoff_until - now, 3) if record.backoff_until > now else None,
        crawl_delay=record.crawl_delay if record.crawl_delay >= 0 else None,
        parked=record.parked or None,
        parked_until=iso(record.parked_until) if record.parked else None,
    )


def _first(rows: Iterator[HostRow], sort: str, limit: int | None) -> list[HostRow]:
    """Return the first `limit` rows in order. Memory: those rows."""
    if sort == "name":
        return sorted(rows, key=lambda row: row.name) if limit is None else nsmallest(limit, rows, key=lambda row: row.name)
    order = _ORDERS[sort]

    def rank(row: HostRow) -> tuple[Any, ...]:
        return order(row), row.queued, row.pages

    return sorted(rows, key=rank, reverse=True) if limit is None else nlargest(limit, rows, key=rank)


def _cells(row: HostRow) -> list[object]:
    failures = f"{row.failures:,} ({row.failures_in_a_row} in a row)" if row.failures_in_a_row else row.failures
    numbers = [row.queued, row.pages, row.requests, failures, row.next_in, row.backoff, row.crawl_delay]
    return [row.name, row.site, *numbers, row.parked, row.parked_until or ("the configuration changes" if row.parked else None)]
