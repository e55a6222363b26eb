"""A crawl keeps the order that it began with: the rows of its queues stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.config.settings import IdentitySettings, Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.start.opening import create_store, reconfigure
from thresher.storage.view import View


def test_a_resume_under_another_order_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    create_store(tmp_path / "crawl", Settings(seeds=["http://a.example/"], identity=IdentitySettings(contact="me@example.org")))
    reconfigure(tmp_path / "crawl", [], [], [], ["frontier.order=breadth_first"])
    with pytest.raises(UsageError, match=r"frontier\.order: expected breadth_first.*found opic"):
        reconfigure(tmp_path / "crawl", [], [], [], ["frontier.order=opic"])
    with View(tmp_path / "crawl") as view:
        assert view.settings.frontier.order == "breadth_first"
