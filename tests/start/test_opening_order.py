"""A crawl keeps the order that it began with: the rows of its queues stand in it. Other options may change, whatever it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.config.settings import IdentitySettings, Override, Settings
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


def test_a_crawl_with_rules_for_some_hosts_takes_single_options(tmp_path: Path) -> None:
    """Seen to fail: the stored form of these rules was read as that of a file, and every `resume` with an option ended."""
    rules = [Override(match="a.example", options={"filters.dust.mode": "off"})]
    create_store(
        tmp_path / "crawl",
        Settings(seeds=["http://a.example/"], identity=IdentitySettings(contact="me@example.org"), overrides=rules),
    )
    reconfigure(tmp_path / "crawl", [], [], [], ["limits.max_pages=9"])
    with View(tmp_path / "crawl") as view:
        assert (view.settings.overrides, view.settings.limits.max_pages) == (rules, 9)
