"""Stores and pages that several tests of reports look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_store import bombs, build_hostile, page_of


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose every text is hostile, in a directory named so too; nobody writes to it."""
    path = tmp_path_factory.mktemp("hostile") / '"><script>alert(1)<'
    build_hostile(path, bombs())
    return path


@pytest.fixture(scope="session")
def hostile_page(hostile: Path) -> str:
    return page_of(hostile)
