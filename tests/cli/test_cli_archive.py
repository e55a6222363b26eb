"""If an archive cannot be written, the command says why before it creates anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Thresher = Callable[..., Any]
CONTACT = ("--set", "identity.contact=me@example.org", "--set", "archive.format=warc")


def test_the_client_that_does_not_show_the_bytes_is_refused(tmp_path: Path, thresher: Thresher) -> None:
    ran = thresher("crawl", "http://a.test/", *CONTACT, "--set", "fetch.client=aiohttp", "-o", tmp_path / "crawl")
    assert ran.code == 2
    assert "archive.format: warc needs fetch.client: lean, found aiohttp" in ran.err
    assert list(tmp_path.iterdir()) == []
    assert thresher("check", *CONTACT, "--set", "fetch.client=aiohttp").code == 2
    assert thresher("check", *CONTACT).code == 0


@pytest.mark.parametrize("module", ["fastwarc", "isal"])
def test_without_the_extra_it_is_said_how_it_is_had(thresher: Thresher, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = thresher("check", *CONTACT)
    assert ran.code == 2
    assert f"needs {module}, of the extra `archive`" in ran.err
    assert "pip install" in ran.err


def test_a_format_that_is_none_and_a_file_that_is_too_small_are_named(thresher: Thresher) -> None:
    assert "archive.format" in thresher("check", "--set", "archive.format=zim").err
    assert "archive.max_file" in thresher("check", "--set", "archive.max_file=1000").err
