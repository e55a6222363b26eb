"""Counts a URL that is not requested by its reason, and writes it to the log of skipped URLs."""

from __future__ import annotations

from thresher.crawler.gates.link_gate import Skip
from thresher.crawler.settlement.totals import Totals
from thresher.storage.tables import Tables


def note_skip(tables: Tables, totals: Totals, skip: Skip, via: bytes) -> None:
    """Count a skip and log it.

    Args:
        via: Key of the page that named the URL.
    """
    totals.skip(skip.reason)
    tables.skips.add(skip.text, skip.reason, via=via, by=skip.by)
