"""Bounds, decay and audits are written once: no filter has its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from thresher.filters.evidence.audits import is_audited
from thresher.filters.evidence.decay import halved
from thresher.filters.evidence.intervals import at_any_time, wilson
from thresher.filters.evidence.posterior import lower_share

FILTERS = Path(__file__).parents[3] / "filters"


def _bounds(file: Path) -> Iterator[str]:
    """Yield expressions that are the core of an interval of a share: sqrt(p (1 − p) …), lgamma."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            text = ast.unparse(node)
            if name == "lgamma" or (name == "sqrt" and "/ n + z" in text.replace("(", "").replace(")", "")):
                yield f"{file.relative_to(FILTERS)}: {text}"


def test_no_filter_has_a_bound_of_its_own() -> None:
    """Seen to fail: Wilson's interval was written in dust/evidence.py and in depth_cutoff/interval.py as well."""
    files = [file for file in FILTERS.rglob("*.py") if file.parent.name != "evidence"]
    assert len(files) > 100
    assert [found for file in files for found in _bounds(file)] == []
    assert list(_bounds(FILTERS / "evidence" / "intervals.py"))


@pytest.mark.parametrize(("n", "s"), [(0, 0), (1, 0), (4, 4), (40, 3), (400, 399)])
def test_intervals_hold_what_was_seen_and_that_for_every_look_is_wider(n: int, s: int) -> None:
    low, high = wilson(s / n if n else 0.0, n, 1.96)
    assert 0 <= low <= (s / n if n else 0) <= high <= 1
    wide_low, wide_high = at_any_time(n, s)
    assert wide_low <= low + 1e-9
    assert high <= wide_high + 1e-9
    assert lower_share(n, s) == wilson(s / n if n else 0.0, n, 1.64)[0]


def test_counts_are_halved_when_they_are_many() -> None:
    assert (halved(63, 40, 64), halved(64, 41, 64)) == ((63, 40), (32, 20))


def test_a_share_of_all_keys_is_audited_the_same_each_time() -> None:
    keys = [bytes(12) + (i * 2**22).to_bytes(4, "big") for i in range(1000)]
    assert [is_audited(key, 0.1) for key in keys] == [i * 2**22 < 0.1 * 2**32 for i in range(1000)]
    assert not any(is_audited(key, 0.0) for key in keys)
