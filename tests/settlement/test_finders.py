"""The first page that linked to a URL (crawler/settlement/finders.py)."""

from __future__ import annotations

from thresher.crawler.settlement.finders import Finders


def test_finders_of_runs_and_of_urls_that_were_looked_up_are_remembered_within_bounds() -> None:
    """Mutations: a run loses its end; runs are never dropped; looked-up values are kept for ever."""
    finders = Finders()
    finders.add(range(5, 9), b"page")
    finders.add(range(12, 13), b"")
    assert [finders.get(seq) for seq in (4, 5, 8, 9, 12, 13)] == [None, b"page", b"page", None, b"", None]
    assert finders.keep(4, b"earlier") == b"earlier"
    assert finders.get(4) == b"earlier"
    for first in range(20, 20 + 3 * 8_192, 3):
        finders.add(range(first, first + 2), first.to_bytes(4))
        finders.keep(first + 10**6, b"later")
    last = 20 + 3 * 8_191
    assert [finders.get(seq) for seq in (5, 20, last, last + 1, last + 2)] == [None, None, last.to_bytes(4), last.to_bytes(4), None]
    assert finders.get(4) is None
