"""Ranks of a crawl whose filters tell copies from pages: the short form of `python -m benchmarks.quality.graph_collapse`."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import demo

from benchmarks.quality import graph_collapse


def test_collapsed_a_crawl_ranks_pages_as_the_web_s_documents_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: a copy is ranked by itself, and not as the page that it copies."""
    monkeypatch.setattr(graph_collapse, "ServerProcess", lambda name, changes: demo(name, tmp_path, **changes))
    monkeypatch.setattr(graph_collapse, "TOPS", (200,))
    found = graph_collapse.measure(8, 3, ("aliases", "replicas"))
    ((_, _, again, share),), ((_, _, again_collapsed, share_collapsed),) = found[False], found[True]
    assert again_collapsed < again / 2
    assert share_collapsed > max(0.9, share + 0.05)
