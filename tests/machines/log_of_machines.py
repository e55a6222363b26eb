"""What the log of a web says of a crawl of several machines, beside what it says of any."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from thresher.crawler.core.ownership import partition
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.demo.log import ServerLog
from thresher.storage.partitions import read_partitions
from thresher.storage.shards import open_view

_LATE_S = 6.0  # what a host asked for this long before a fault may be on no disk yet
_TOLERANCE_S = 0.001


def early_requests(log: ServerLog, faults: Sequence[float], rest_s: float) -> tuple[list[str], int]:
    """Return the requests that came before the Retry-After of their host's last 503 was over, and how many such rests there were.

    One that was asked for within `_LATE_S` before a fault does not count: it may be on no disk yet.
    """
    early, n_rests = [], 0
    for requests in log.queues().values():
        for before, request in pairwise(requests):
            if before.status == 503 and not any(before.end - 0.5 <= at <= before.end + _LATE_S for at in faults):
                n_rests += 1
                if request.start - before.end < rest_s - _TOLERANCE_S:
                    early.append(f"{request.start - before.end:.3f} s before {request.host}{request.path}")
    return early, n_rests


def n_shared(log: ServerLog, head: Path, on_one_disk: Path) -> int:
    """Count the addresses on which sites of several machines lie in the end.

    Args:
        head: The crawl's directory on the head, with the table.
        on_one_disk: All its shards.
    """
    table = read_partitions(head)
    with open_view(on_one_disk) as view:
        urls = URLSpace(view.secret, url_rules(view.settings))
    assert table is not None, "a crawl of several machines has a table"
    machines = [table.machines[agent] for agent in table.table()]
    at: dict[str, set[str]] = {}
    for request in log.requests:
        at.setdefault(request.address, set()).add(machines[partition(urls.queue_key(f"http://{request.host}"))])
    return sum(len(names) > 1 for names in at.values())
