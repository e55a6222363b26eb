"""Each test draws the same words, whichever tests ran before it."""

from __future__ import annotations

import pytest
from depth_told import DICE


@pytest.fixture(autouse=True)
def drawn_words() -> None:
    DICE.seed(5)
