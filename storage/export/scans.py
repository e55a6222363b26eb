"""Whole tables as records, for statistics: hosts in the order of their sites, revised verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from thresher.crawler.core.ports import HostRecord
from thresher.storage.records import HOST, REVISIONS, RevisionRecord
from thresher.storage.schema import HOSTS, VERDICTS
from thresher.storage.view import View


def hosts(view: View) -> Iterator[tuple[bytes, HostRecord]]:
    """Yield (queue, record) of every host queue; the hosts of a site are adjacent."""
    for queue, value in view.rows(HOSTS):
        yield queue, HOST.decode(value)


def revisions(view: View) -> Iterator[tuple[bytes, list[RevisionRecord]]]:
    """Yield (key of the page, its revised verdicts) of every page that has some."""
    for key, value in view.rows(VERDICTS):
        yield key, REVISIONS.decode(value)
