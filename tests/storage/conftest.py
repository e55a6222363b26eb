"""A store that is empty, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from thresher.config.settings import Settings
from thresher.storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "crawl", Settings(), 1000.0) as made:
        yield made
