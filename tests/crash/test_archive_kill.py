"""A crawl that is killed while it writes its archive has the records of every visit exactly once.

The long form, with more seeds on more pages: `python -m benchmarks.proofs.archive_kill`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from archive_oracle import archive_faults
from harness import crawl
from injecting import crash_at
from killing import bench

from thresher.storage.verify import verify

SMALL: dict[str, Any] = {"n_sites": 2, "pages_per_host": [8, 10]}


@pytest.mark.parametrize("point", ["in_archive:25", "after_archive:1"])
def test_killed_in_mid_archive_every_visit_has_its_records_once(tmp_path: Path, point: str) -> None:
    """F81 for the archive: records of half a group, or of a group that was not committed, are cut off and written again."""
    web, store, crashed = replace(bench(**SMALL), archives=True), tmp_path / "store", tmp_path / "crashed"
    with web.serve(tmp_path) as server, crawl(store, web.config(server, tmp_path), **crash_at(point, once=crashed)) as life:
        assert life.end() == 0, life.said
    assert crashed.exists(), "the point was never reached"
    assert verify(store) == []
    assert archive_faults(store) == []
    if point.startswith("after"):
        _break(store)


def _break(store: Path) -> None:
    """The oracle and `verify` notice lost bytes, changed bytes, and records that are there twice."""
    (file,) = store.glob("archive/*")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert any("capture" in problem for problem in verify(store))
    at = len(whole) // 3
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    assert any("capture" in problem for problem in verify(store))
    file.write_bytes(whole + whole)
    assert any("times in the archive" in fault for fault in archive_faults(store))
