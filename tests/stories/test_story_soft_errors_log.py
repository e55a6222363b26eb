"""Many originals, one target: the redirect log of a real crawl counts them all [LEE09, H1]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import forking
import pytest
from little_web import LittleWeb, crawl, settings

from thresher.crawler.analysis.redirect_log import read_store
from thresher.filters.soft_error.score import count
from thresher.storage.view import View


def command(store: Path) -> list[dict[str, Any]]:
    ran = forking.run(["soft-errors", store], cwd=store)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


async def test_every_original_of_a_target_is_counted_by_the_command_as_by_the_score(tmp_path: Path) -> None:
    """60 URLs of one host and 40 of another redirect to one error page, 20 of them in two hops; 5 pages have moved, each to a page of its
    own.
    """
    async with LittleWeb() as web:
        lost = [f"a.test/{i}" for i in range(60)] + [f"b.test/{i}" for i in range(40)]
        moved = [f"a.test/old{i}" for i in range(5)]
        web.page("seed.test/", *lost, *moved)
        for i, place in enumerate(lost):
            web.redirect(place, f"b.test/hop{i}" if i >= 80 else "errors.test/404")
            if i >= 80:
                web.redirect(f"b.test/hop{i}", "errors.test/404")
        for i, place in enumerate(moved):
            web.redirect(place, f"a.test/new{i}")
            web.page(f"a.test/new{i}", text=f"what moved {i}")
        web.page("errors.test/404", text="nothing here")
        await crawl(tmp_path / "c", settings(web, ["seed.test/"]))
        assert web.requests.count("errors.test/404") == 1
    with View(tmp_path / "c") as view:
        log = read_store(view).log.finish()
    counts = count(log.columns)
    found = {web.place(log.originals[i]): tuple(map(int, four)) for i, *four in zip(counts.originals, *counts[2:], strict=True)}
    hops = [f"b.test/hop{i}" for i in range(80, 100)]
    hosts = (
        dict.fromkeys(lost[:60], (120, 65, 6, 2)) | dict.fromkeys(lost[60:] + hops, (120, 60, 1, 1)) | dict.fromkeys(moved, (1, 65, 6, 2))
    )
    assert found == hosts
    told = {web.place(row["original"]): row for row in command(tmp_path / "c")}
    assert {place: tuple(list(row.values())[3:7]) for place, row in told.items()} == found
    assert told["b.test/0"]["score"] == pytest.approx(3.857332, abs=1e-6)  # log10(120 · 60)
    assert [place for place, row in told.items() if row["soft_error"]] == sorted(lost[60:] + hops, key=list(told).index)
    assert {row["kind"] for place, row in told.items() if place not in moved} == {"soft_404"}
