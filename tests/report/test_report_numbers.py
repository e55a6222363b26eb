"""A report shows the numbers of the store, and has a part only for what the store has something of."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hostile_store import page_of, read
from small_store import NOW, SmallStore

from thresher.config.settings import Settings
from thresher.crawler.core.model import Cause, State
from thresher.crawler.report.filter_sections import filters
from thresher.crawler.report.gather import filter_names
from thresher.storage.records import FailureRecord

EVERY_PART = {
    *("summary", "throughput", "politeness", "depth", "filters", "skipped", "order", "hosts", "errors"),
    *("dust", "mirrors", "patterns", "depth-advice"),
}


def parts(page: str) -> set[str]:
    return set(re.findall('<section id="([a-z-]+)"', page))


def visits(path: Path, gaps: list[float], elapsed_s: float = 0.05) -> None:
    """Write a crawl of one host; gaps: from the end of an answer to the next request."""
    small = SmallStore(path, Settings(seeds=["https://a.example/"]))
    at = NOW
    for number, gap in enumerate([0.0, *gaps]):
        url = small.url(f"/{number}")
        small.known(url, State.DONE)
        at += gap + elapsed_s
        small.page(url, fetched_at=at, elapsed_s=elapsed_s, fingerprint=bytes([number // 2]) * 16)
    small.close()


def test_a_crawl_that_has_everything_has_every_part(hostile_page: str) -> None:
    assert parts(hostile_page) == EVERY_PART


def test_an_empty_crawl_has_a_page(tmp_path: Path) -> None:
    SmallStore(tmp_path / "none").close()
    page = page_of(tmp_path / "none")
    assert parts(page) == {"summary", "filters"}
    assert "no page yet" in page


def test_a_crawl_of_failures_alone_has_a_page(tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "failed")
    for number in range(5):
        url = small.url(f"/{number}")
        small.known(url, State.DONE)
        small.store.tables.failures.put(url.key, FailureRecord(Cause.CONN_REFUSED, "nobody listens", NOW, 4, True))
        small.totals.count_failure(Cause.CONN_REFUSED, terminal=True)
        small.settle(url)
    small.close()
    page = page_of(tmp_path / "failed")
    assert parts(page) == {"summary", "filters", "hosts", "errors"}
    assert "nobody listens" in page
    assert "100% of what was settled" in page


def test_one_store_makes_one_page_wherever_it_lies(hostile: Path, hostile_page: str, tmp_path: Path) -> None:
    assert page_of(hostile) == hostile_page
    copy = shutil.copytree(hostile, tmp_path / hostile.name)
    assert page_of(copy) == hostile_page


def test_gaps_are_held_against_what_the_host_is_owed(tmp_path: Path) -> None:
    visits(tmp_path / "polite", [1.0, 1.2, 3.0])
    visits(tmp_path / "hasty", [1.0, 0.4, 3.0])
    visits(tmp_path / "slow", [1.0, 1.2, 3.0], elapsed_s=0.2)  # 10 times 0.2 s must lie between
    polite, hasty, slow = (read(tmp_path / name).pages for name in ("polite", "hasty", "slow"))
    assert (sum(polite.gaps), polite.n_short, hasty.n_short, slow.n_short) == (3, 0, 1, 2)
    assert polite.shortest == pytest.approx(1.0, abs=1e-3)
    assert "All 3 gaps were at least" in page_of(tmp_path / "polite")
    assert "1 of 3 gaps were shorter" in page_of(tmp_path / "hasty")


def test_a_text_is_new_once(tmp_path: Path) -> None:
    visits(tmp_path / "twice", [1.0] * 7)  # eight pages, each text twice
    found = read(tmp_path / "twice").pages
    assert found.new_share == 0.5
    assert found.from_seed[1].new_texts == 4
    assert sum(sums[0] for _, _, sums in found.time.bins()) == 8


def test_what_filters_said_is_counted_by_its_newest_word(hostile: Path) -> None:
    crawl = read(hostile)
    replicas = crawl.pages.filters["near_replica"]
    assert (replicas.verdicts, replicas.not_kept, replicas.revised) == (60, 0, 60)
    assert crawl.pages.filters["exact_duplicate"].not_kept == 30
    assert crawl.held.by_filter == {"pattern_yield": 1, "depth_cutoff": 1}
    assert {"exact_duplicate", "soft_error", "dust", "media"} <= set(filter_names(crawl))
    assert filters(crawl) is not None


def test_a_verdict_on_a_redirect_is_none_on_a_page(hostile: Path, hostile_page: str) -> None:
    crawl = read(hostile)
    assert {name: (of.refused, of.let_off) for name, of in crawl.redirects.items()} == {"soft_error": (1, 0)}
    assert crawl.pages.filters["soft_error"].revised == 0
    assert "Redirects: 1 refused, 0 let off" in hostile_page


def test_what_was_learned_of_sites_is_found(hostile: Path) -> None:
    learned = read(hostile).learned
    assert (learned.dust.standing, len(learned.dust.rules)) == ({"valid": 1}, 1)
    assert [(host, n) for host, _, n in learned.mirrors] == [("h1.example", 40)]
    assert [(pattern.evidence.fetched, n_held) for _, pattern, n_held in learned.patterns.barren] == [(90, 1)]
    assert [(place.limit, n_held) for _, place, n_held in learned.depth.places] == [(1, 1)]
    assert [level.new for level in learned.depth.levels] == [9, 5, 1]


def test_the_order_is_told_by_ranks_of_mean_one(hostile: Path) -> None:
    order = read(hostile).order
    assert order is not None
    assert order.captured[0] == (0.0, 0.0)
    assert order.captured[-1] == order.captured_by_best[-1]
    assert all(got <= best + 1e-9 for (_, got), (_, best) in zip(order.captured, order.captured_by_best, strict=True))
