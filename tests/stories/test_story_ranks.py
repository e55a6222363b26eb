"""Ranks of a crawl whose filters tell copies from pages: the short form of `python -m benchmarks.quality.graph_collapse`."""

from __future__ import annotations

import pytest

from benchmarks.quality import graph_collapse


def test_collapsed_a_crawl_ranks_pages_as_the_web_s_documents_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: a copy is ranked by itself, and not as the page that it copies."""
    monkeypatch.setattr(graph_collapse, "TOPS", (200,))
    found = graph_collapse.measure(8, 3, ("aliases", "replicas"))
    ((_, _, again, share),), ((_, _, again_collapsed, share_collapsed),) = found[False], found[True]
    assert again_collapsed < again / 2
    assert share_collapsed > max(0.9, share + 0.05)
