"""Exports and tasks by their names: what machines do for jobs over all shards of a crawl (tasks.py). Orders and results are bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from thresher.crawler.analysis.dust_lists import looks
from thresher.crawler.analysis.dust_mining import mine_site
from thresher.crawler.analysis.link_export import LinksExport
from thresher.crawler.analysis.rank_groups import ranked_groups
from thresher.crawler.analysis.rank_share import take
from thresher.crawler.analysis.replica_comparing import lines, points, similar_texts
from thresher.crawler.analysis.replica_links import TargetsExport
from thresher.crawler.analysis.replica_sketches import learned, sketched
from thresher.crawler.analysis.tasks import Export
from thresher.crawler.analysis.words_export import LooksExport, WordsExport
from thresher.storage.view import View

TASKS: Final[Mapping[str, Callable[..., list[bytes]]]] = {
    "rank": take,
    "groups": ranked_groups,
    "looks": looks,
    "mine": mine_site,
    "learn": learned,
    "sketch": sketched,
    "points": points,
    "similar": similar_texts,
    "lines": lines,
}
_read_order = msgspec.msgpack.Decoder(LinksExport | LooksExport | TargetsExport | WordsExport).decode


def export(view: View, order: bytes) -> bytes:
    """Return the columns of a shard on this machine's disk."""
    wanted: Export = _read_order(order)
    return wanted.export(view)


def run(name: str, parts: Sequence[bytes]) -> list[bytes]:
    """Run a task."""
    return TASKS[name](*parts)
