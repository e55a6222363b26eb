"""The arithmetic of `python -m benchmarks.living`, without servers: what counts as duplicate, as lost, as near copy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.living.compare import Comparison
from benchmarks.living.crawls import Crawl, CrawledPage, filters_of

LONG = " ".join(f"word{n}" for n in range(200))


def crawl(*answers: CrawledPage, n_probes: int = 0) -> Crawl:
    requests = Counter(page=len(answers), probe=n_probes)
    states = {answer.url: ("done", "") for answer in answers}
    return Crawl(Path("none"), list(answers), states, requests, n_audited=0, n_served=requests.total(), cpu_s=1.0, is_cut=False)


def answer(name: str, text: str, *, is_kept: bool = True, status: int = 200) -> CrawledPage:
    return CrawledPage(f"http://a.example/{name}", status, text if is_kept else "", f"print of {text}", is_kept, [])


def compare(base: Crawl, other: Crawl) -> Comparison:
    found = Comparison(base, other, lambda url: url.endswith("missing"))
    found.__dict__["_refused"] = {}  # no store to ask
    found.__dict__["_held"] = {}
    return found


def test_copies_that_were_not_fetched_are_covered_and_probes_cost_what_they_save() -> None:
    base = crawl(answer("a", LONG), answer("b", LONG), answer("c", LONG), answer("d", "another text"))
    found = compare(base, crawl(answer("a", LONG), answer("b", LONG, is_kept=False), n_probes=1))
    assert (found.n_base_duplicates, found.n_duplicates, found.coverage) == (2, 1, 0.5)
    assert found.reduction == pytest.approx(1 - 3 / 4)


def test_a_document_is_lost_only_if_no_kept_page_has_its_text() -> None:
    base = crawl(answer("a", LONG), answer("b", LONG), answer("c", "another text"))
    found = compare(base, crawl(answer("b", LONG), answer("c", "another text", is_kept=False)))
    assert [loss.urls for loss in found.lost] == [["http://a.example/c"]]
    assert found.lost[0].fates == ["fetched, dropped by nobody"]
    assert found.is_lost(found.lost[0])


def test_a_lost_document_with_a_near_copy_is_not_gone() -> None:
    base = crawl(answer("a", LONG), answer("b", LONG.replace("word7 ", "word1000 ")))
    (loss,) = compare(base, crawl(answer("a", LONG))).lost
    assert loss.resemblance > 0.9
    assert not compare(base, crawl(answer("a", LONG))).is_lost(loss)


def test_views_of_what_does_not_exist_and_errors_are_no_documents() -> None:
    base = crawl(answer("a", LONG), answer("missing", "no such page"), answer("b", "gone", status=404))
    assert compare(base, crawl(answer("a", LONG))).lost == []


def test_a_set_of_filters_is_named_by_sum_or_by_what_is_left_out() -> None:
    assert filters_of("dust+soft_error") == ["dust", "soft_error"]
    assert "depth_cutoff" in filters_of("all")
    assert "depth_cutoff" not in filters_of("all-depth_cutoff")
    with pytest.raises(ValueError, match="no filter: chaff"):
        filters_of("dust+chaff")
