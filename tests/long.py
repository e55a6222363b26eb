"""What the suite leaves to `python -m pytest -m long`: more of the same that takes seconds of CPU, and would find the same faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def shortened(values: Sequence[Any], n: int) -> list[Any]:
    """Return a test's parameters; the suite takes the first `n`, `-m long` the others. A parameter may be a tuple of several."""
    first, rest = [*values[:n]], values[n:]
    return first + [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.long) for one in rest]
