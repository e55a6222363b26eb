"""Texts about rounds of revisits: for the end of a recrawl and for `thresher status`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.revisit_schedule import Schedule
from thresher.crawler.core.revisit_schedule import options as options_of
from thresher.crawler.terminal.printable import printable
from thresher.crawler.terminal.progress import size
from thresher.storage.shards import ShardsView
from thresher.storage.tables.rounds import RoundRecord, WatchRecord
from thresher.storage.view import View

_ORDER = ("not_modified", "same", "alike", "changed", "new", "moved", "missing", "gone", "failed", "refused")
_SHOWN = 10  # parked hosts that are named in a text


def last_round(view: View) -> RoundRecord | None:
    """Return the newest round, merged from the shards' records; None if there is only the first crawl."""
    shards = view.shards if isinstance(view, ShardsView) else [view]
    lasts = [last for shard in shards if (last := shard.tables.rounds.last()) is not None]
    if not lasts:
        return None
    number = max(last.number for last in lasts)
    parts = [last for last in lasts if last.number == number]
    whole = parts[0]
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.counts)
    for name in ("n_queued", "n_settled", "bytes_received", "bytes_spared"):
        setattr(whole, name, sum(getattr(part, name) for part in parts))
    whole.stage = next((part.stage for part in parts if part.stage != "done"), "done")
    whole.counts = dict(counts)
    return whole


def watches(view: View) -> list[WatchRecord]:
    """Return the hosts that were visited again."""
    shards = view.shards if isinstance(view, ShardsView) else [view]
    return [watch for shard in shards for _, watch in shard.tables.rounds.watches()]


def words_of(record: RoundRecord) -> str:
    """Return a sentence about a round."""
    counts = ", ".join(f"{name.replace('_', ' ')} {record.counts[name]:,}" for name in _ORDER if record.counts.get(name))
    spared = f"; {size(record.bytes_received)} received, {size(record.bytes_spared)} spared" if record.bytes_received else ""
    if record.is_continuous:
        state = {"asking": "", "urls": ": pages are given their times", "closing": ": waiting visits are taken back"}
        is_over = "" if record.stage in state else " (ended)"
        name = f"round {record.number}, continuous{is_over}{state.get(record.stage, '')}"
        return f"{name}: {record.n_settled:,} visits; {counts or 'no answers yet'}{spared}"
    if record.stage in ("hosts", "urls"):
        return f"round {record.number}: its revisits are being queued, {record.n_queued:,} so far"
    left = f", {record.n_queued - record.n_settled:,} wait" if record.n_settled < record.n_queued else ""
    return f"round {record.number}: {record.n_settled:,} of {record.n_queued:,} visited again{left}; {counts or 'no answers yet'}{spared}"


def round_rows(view: View, directory: Path) -> list[str]:
    """Return lines about the state of the newest round, and the decisions that wait for the operator."""
    record = last_round(view)
    if record is None:
        return []
    parked = [watch for watch in watches(view) if watch.parked]
    asks = [
        f"{printable(watch.name)} is parked: {printable(watch.parked)}. If its pages are truly gone: "
        f"`thresher recrawl {directory} --trust {printable(watch.name)}`; if not, the next round asks again"
        for watch in parked[:_SHOWN]
    ]
    more = [f"{len(parked) - _SHOWN:,} more hosts are parked"] if len(parked) > _SHOWN else []
    return [words_of(record), *_schedule_rows(view, record), *asks, *more]


def _schedule_rows(view: View, record: RoundRecord) -> list[str]:
    """Return lines about how many pages have a planned visit, and how fresh their copies are estimated to be."""
    if not record.is_continuous or view.settings.schedule != "continuous":
        return []
    shards = view.shards if isinstance(view, ShardsView) else [view]
    overriding = Overriding(view.settings)
    n_pages, fresh = 0, 0.0
    late: list[tuple[float, str]] = []
    for shard in shards:
        for queue, host in shard.tables.plans.hosts():
            name = _name(shard, queue)
            recrawl = overriding.of_host(name).recrawl
            schedule = Schedule(shard.tables.plans, options_of(recrawl))
            n_pages += host.n_pages
            fresh += host.n_pages * schedule.expected_freshness(host)
            if not schedule.is_in_time(host):
                told = (
                    f"{printable(name)} is too large for `recrawl.max_interval` ({_days(recrawl.max_interval)}): visiting its "
                    f"{host.n_pages:,} pages takes {_days(host.round_s)}, at one in {host.gap_s:.3g} s. A longer one, or a smaller delay, "
                    "mends that"
                )
                late.append((host.round_s, told))
    if not n_pages:
        return []
    late.sort(reverse=True)
    more = [f"{len(late) - _SHOWN:,} more hosts are too large for `recrawl.max_interval`"] if len(late) > _SHOWN else []
    first = f"{n_pages:,} pages have a time for their next visit; {fresh / n_pages:.0%} of the copies are thought to be as the pages are"
    return [first, *(told for _, told in late[:_SHOWN]), *more]


def _name(shard: View, queue: bytes) -> str:
    record = shard.tables.queues.host(queue)
    return record.name if record is not None else queue.hex()


def _days(seconds: float) -> str:
    return f"{seconds / 86_400:.3g} days"
