"""The demo's planted patterns, crawled with and without the filter: the short form of `python -m benchmarks.quality.patterns_crawl`."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import demo

from benchmarks.quality import patterns_crawl


def test_planted_patterns_are_cut_and_no_document_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late bloomer, a paginated archive and a manual of which much is not translated stay whole: small classes are fetched whole.
    Mutation: what is held is never fetched.
    """
    monkeypatch.setattr(patterns_crawl, "ServerProcess", lambda name, changes: demo(name, tmp_path, **changes))
    report = patterns_crawl.measure(tmp_path, n_pages=24)
    assert report.lost == []
    assert report.documents > 100
    assert {site: report.saved_by_site[site] for site in ("shop", "blog")} == {"shop": 0.0, "blog": 0.0}
    assert report.saved_by_kind["page"].startswith("0 of ")
