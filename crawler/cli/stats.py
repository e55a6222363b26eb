"""`thresher stats`: totals of a crawl, in all or by host, site, status, filter, reason, depth, type, cause, class or wall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table, say_more, top_of, top_option
from thresher.crawler.core.governing import options_of
from thresher.crawler.core.model import State
from thresher.crawler.core.ports import HostRecord
from thresher.crawler.status import Status
from thresher.storage.records import PageRecord, VerdictRecord

if TYPE_CHECKING:
    from thresher.storage.view import View

_JUDGED = frozenset(("verdicts",))  # columns that are not taken from the records of pages
Row = dict[str, Any]  # column → value, in the order of the columns: the key, then counts


def _totals(view: View) -> Row:
    status = _status(view)
    states = {state.name.lower(): view.tables.seen.count(state) for state in State if view.tables.seen.count(state)}
    return {
        "urls": status.known,
        **states,
        "pages": status.pages,
        "wire_bytes": status.wire_bytes,
        "requests": status.requests,
        "robots_requests": status.robots_requests,
        "redirects": status.redirects,
        "failed": status.failed,
        "hosts": status.hosts,
        "skipped": sum(status.skipped.values()),
        "saved": sum(status.saved.values()),
        "audited": view.counters.get("audited"),
        "walled_hosts": status.walled,
        "fetched_again": status.fetched_again,
    }


# From the records of hosts -----------------------------------------------------------------------------------------------------------


def _by_host(view: View) -> Iterator[Row]:
    from thresher.storage.export.scans import hosts

    for _, record in hosts(view):
        yield {"host": record.name, **_of_hosts([record])}


def _by_site(view: View) -> Iterator[Row]:
    from thresher.storage.export.scans import hosts

    for _, group in groupby(hosts(view), key=lambda row: row[0][:8]):
        records = [record for _, record in group]
        yield {"site": records[0].site, **_of_hosts(records), "hosts": len(records)}


def _of_hosts(records: Iterable[HostRecord]) -> Row:
    row = dict.fromkeys(("pages", "wire_bytes", "requests", "failed", "queued"), 0)
    for record in records:
        row["pages"] += record.n_pages
        row["wire_bytes"] += record.n_bytes
        row["requests"] += record.n_requests
        row["failed"] += record.n_failed
        row["queued"] += record.n_queued
    return row


def _by_wall(view: View) -> Iterator[Row]:
    from thresher.crawler.analysis.walls import standings

    return (host._asdict() for host in standings(view))


def _by_class(view: View) -> Iterator[Row]:
    """Yield the classes; each has the proved upper bound of new URLs among those that were left alone together with it."""
    from thresher.crawler.analysis.tails import classes, left_alone

    found = [*classes(view)]
    closings = left_alone(view) if any(of.left_alone for of in found) else ()
    proofs = {(one.host, holder): one.at_most for one in closings for holder in one.holders}
    for of in found:
        at_most = proofs.get((of.host, of.holder), -1) if of.left_alone else -1
        yield {**of._asdict(), "new_at_most": at_most if at_most >= 0 else None}


# From the records of pages -----------------------------------------------------------------------------------------------------------


class _Sum:
    """Sums over the pages of one kind."""

    __slots__ = ("bytes", "elapsed_s", "kept", "pages", "wire_bytes")

    def __init__(self) -> None:
        self.pages = self.kept = self.bytes = self.wire_bytes = 0
        self.elapsed_s = 0.0

    def add(self, page: PageRecord, *, is_kept: bool) -> None:
        self.pages += 1
        self.kept += is_kept
        self.bytes += page.n_bytes
        self.wire_bytes += page.wire_bytes
        self.elapsed_s += page.elapsed_s

    def row(self) -> Row:
        mean_s = round(self.elapsed_s / self.pages, 3) if self.pages else 0.0
        return {"pages": self.pages, "kept": self.kept, "bytes": self.bytes, "wire_bytes": self.wire_bytes, "mean_s": mean_s}


def _sums(view: View, key: Callable[[PageRecord], Any]) -> dict[Any, _Sum]:
    from thresher.storage.export.judged import keeps
    from thresher.storage.export.pages import rows as page_rows

    sums: defaultdict[Any, _Sum] = defaultdict(_Sum)
    for row in page_rows(view, _JUDGED):
        sums[key(row.page)].add(row.page, is_kept=keeps(row.page, row.verdicts))
    return sums


def _by_type(view: View) -> Iterator[Row]:
    for name, total in _sums(view, lambda page: page.mime_type).items():
        yield {"type": name or None, **total.row()}


def _by_status(view: View) -> Iterator[Row]:
    """Count answers by status, from counters; pages, bytes and times are sums over the records of pages, which redirects do not have."""
    sums = _sums(view, lambda page: page.status)
    answers = {int(name.removeprefix("status:")): n for name, n in view.counters.all("status:").items()}
    for code in {*sums, *answers}:
        yield {"status": code or None, "answers": answers.get(code, 0), **sums.get(code, _Sum()).row()}


def _by_depth(view: View) -> Iterator[Row]:
    from thresher.storage.export.pages import current_pages

    from_seed: defaultdict[int, _Sum] = defaultdict(_Sum)
    in_site: defaultdict[int, _Sum] = defaultdict(_Sum)
    for _, page in current_pages(view):
        from_seed[page.seed_distance].add(page, is_kept=page.keep)
        in_site[page.site_depth].add(page, is_kept=page.keep)
    for depth in sorted({*from_seed, *in_site}):
        clicks, within = from_seed[depth], in_site[depth]
        yield {
            "depth": depth,
            "pages_from_seed": clicks.pages,
            "bytes_from_seed": clicks.bytes,
            "pages_in_site": within.pages,
            "bytes_in_site": within.bytes,
        }


# From counters and verdicts ----------------------------------------------------------------------------------------------------------


def _by_reason(view: View) -> Iterator[Row]:
    for name, n in _status(view).skipped.items():
        yield {"reason": name, "skipped": n, "option": options_of(name)}


def _by_cause(view: View) -> Iterator[Row]:
    for name, n in _status(view).causes.items():
        yield {"cause": name, "attempts": n, "option": options_of(name)}


_OF_FILTER = (
    *("saved", "held", "would_save", "verdicts", "not_kept", "not_followed"),
    *("revised", "revised_to_not_kept", "revised_to_kept", "redirects_not_kept"),
)


def _by_filter(view: View) -> Iterator[Row]:
    """Count each filter's newest verdicts on pages and redirects, and what it saved, holds now, or in `observe` would have saved."""
    from thresher.storage.export.pages import rows as page_rows
    from thresher.storage.export.scans import revisions

    status = _status(view)
    rows: defaultdict[str, Row] = defaultdict(lambda: dict.fromkeys(_OF_FILTER, 0))
    for column, counts in (("saved", status.saved), ("held", status.held_by), ("would_save", status.would_save)):
        for name, n in counts.items():
            rows[name][column] = n
    pages: set[bytes] = set()  # pages with revised verdicts
    for page in page_rows(view, _JUDGED):
        for verdict, revised_at in page.verdicts:
            row = rows[verdict.filter]
            row["verdicts"] += 1
            row["not_kept"] += not verdict.keep
            row["not_followed"] += not verdict.follow
            if revised_at:
                pages.add(page.page.key)
                _count_revision(row, page.page, verdict)
    for key, revised in revisions(view):
        newest = {} if key in pages else {revision.verdict.filter: revision.verdict for revision in revised}
        for name, verdict in newest.items():
            rows[name]["redirects_not_kept"] += not verdict.keep
    for name, row in rows.items():
        yield {"filter": name, **row}


def _count_revision(row: Row, page: PageRecord, verdict: VerdictRecord) -> None:
    """Count a page on which a filter has changed its mind, and in which way."""
    was_kept = all(first.keep for first in page.verdicts if first.filter == verdict.filter)
    row["revised"] += 1
    row["revised_to_not_kept"] += was_kept and not verdict.keep
    row["revised_to_kept"] += verdict.keep and not was_kept


def _status(view: View) -> Status:
    from thresher.crawler.settlement.totals import Totals

    status = Status()
    Totals(view.counters).fill(status)
    return status


_BY: dict[str, tuple[Callable[[View], Iterator[Row]], str]] = {  # value of --by → (rows, column that orders them, most first)
    "host": (_by_host, "pages"),
    "site": (_by_site, "pages"),
    "status": (_by_status, "answers"),
    "filter": (_by_filter, "saved"),
    "reason": (_by_reason, "skipped"),
    "depth": (_by_depth, ""),
    "type": (_by_type, "pages"),
    "cause": (_by_cause, "attempts"),
    "class": (_by_class, "left"),
    "wall": (_by_wall, "walls"),
}


@click.command(epilog="Example: thresher stats example --by status")
@directory_argument
@click.option("--by", type=click.Choice(list(_BY)), metavar="WHAT", help=f"Count by {', '.join(_BY)}.")
@top_option
@json_option
def stats(directory: str, by: str | None, top: int | None, as_json: bool) -> int:
    """Print totals of the crawl in DIR.

    They are pages, bytes, requests, failures, and what filters saved. wire_bytes are the bytes received, with headers; bytes are the
    bytes of content.

    --by depth counts clicks from a seed, and clicks from the entry of a page's site.

    --by filter counts the verdicts that hold now: a page that was kept at first and dropped later is not kept, and revised to not kept.
    Redirects that a filter refused are counted separately. "saved" are links that the filter refused or rewrote, and pages that
    it did not keep when they were fetched; verdicts that came later are no part of it. "held" are URLs that it makes wait now. What a
    filter refuses by the form of a URL alone is counted by --by reason.

    --by class counts the URLs that filters have held, by host and class: known, drawn, new ones of these, left, and left alone.
    new_at_most is a proved bound: of all URLs left alone on that host at that time, at most so many are new.

    --by wall shows the hosts of which a page was fetched again to find out whether a wall, such as a login page, answers for them: well,
    walled, or another (changed for so long that the new answers are taken as the host's own).
    """
    from thresher.storage.export.reading import reading

    with reading(Path(directory)) as view:
        if by is None:
            _print_totals(_totals(view), as_json=as_json)
            return 0
        limit = top_of(top, as_json=as_json)
        make, order = _BY[by]
        rows = _first(make(view), order, None if limit is None else limit + 1)
    if as_json:
        for row in rows[:limit]:
            print_json(row)
    elif not rows:
        click.echo(_NOTHING.get(by, "nothing to count yet"), err=True)
    else:
        print_table([column.replace("_", " ") for column in rows[0]], [list(row.values()) for row in rows[:limit]])
        say_more(len(rows), limit)
        if any(row.get("left_alone") for row in rows):
            click.echo("`thresher resume DIR --set filters.tail_yield=0` fetches what was left alone", err=True)
    return 0


_NOTHING = {
    "class": "nothing to count: no filter has held anything",
    "wall": "nothing to count: no host was asked for a canary",
    "cause": "nothing to count: no request has failed",
    "reason": "nothing to count: no URL was skipped; --by cause counts requests that failed",
    "filter": "nothing to count: no filter has judged a page; --by reason counts links that were refused by their form",
}


def _first(rows: Iterator[Row], order: str, limit: int | None) -> list[Row]:
    """Return the first `limit` rows by the column `order`, most first; "": in the order of `rows`."""
    if not order:
        return list(islice(rows, limit))
    if limit is None:
        return sorted(rows, key=lambda row: row[order], reverse=True)
    return nlargest(limit, rows, key=lambda row: row[order])


def _print_totals(totals: Row, *, as_json: bool) -> None:
    if as_json:
        print_json(totals)
    else:
        print_table(("", ""), [(name.replace("_", " "), n) for name, n in totals.items()])
