"""The part "patterns": what shares a document shows its words, what is barren yields nothing, what blooms late does."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from labelling import check_purity, check_truth, fetch, labelled, words

from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.labels import Label
from thresher.crawler.demo.patterns import N_COPIES, TRANSLATED
from thresher.crawler.demo.truth import split

SMALL = {"part_pages": 60}


def _number(label: Label) -> int:
    return int(label.url.rstrip("/").rpartition("/")[2])


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("patterns", **SMALL))


def test_it_is_pure() -> None:
    check_purity("patterns", **SMALL)


def test_every_pattern_is_planted_on_six_hosts() -> None:
    web = LabelledWeb(PROFILES["patterns"])
    kinds = Counter(label.kind for label in web.truth().urls.values())
    assert kinds.keys() == {"page", "index", "sort_order", "permalink", "form", "feed", "calendar", "gone", "copy", "fallback"}
    assert len(web.hosts()) == 6
    assert 5_000 < kinds.total() < 7_000
    assert min(kinds.values()) >= N_COPIES == kinds["copy"]


def test_what_shares_a_document_shows_the_same_words() -> None:
    web = labelled("patterns", **SMALL)
    for document, urls in web.truth().documents().items():
        for url in urls:
            expected, shown = words(web, document), words(web, url)
            assert sorted(shown) == sorted(expected) if web.label(url).kind == "sort_order" else shown == expected, url


def test_different_documents_show_different_words() -> None:
    web = labelled("patterns", **SMALL)
    shown = [" ".join(words(web, document)) for document in web.truth().documents()]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("kind", ["form", "calendar", "feed", "gone"])
def test_barren_kinds_have_no_document_and_hardly_a_word_of_their_own(kind: str) -> None:
    web = labelled("patterns", **SMALL)
    labels = web.truth().of_kind(kind)
    assert not any(label.document for label in labels)
    by_page = defaultdict(list)
    for label in labels:
        by_page[split(label.url)[1].partition("?")[0].partition("/archive/")[0]].append(words(web, label.url))
    for pages in by_page.values():
        common = Counter(pages[0])
        for page in pages:
            assert sum((Counter(page) - common).values()) <= 6
    assert all(label.status == (404 if kind == "gone" else 200) for label in labels)


def test_a_feed_is_no_page() -> None:
    web = labelled("patterns", **SMALL)
    assert {fetch(web, label.url).headers for label in web.truth().of_kind("feed")} == {(("content-type", "application/rss+xml"),)}


def test_the_late_bloomer_shows_one_notice_thirty_times_and_is_linked_in_order() -> None:
    truth = labelled("patterns", **SMALL).truth()
    items = [label for label in truth.urls.values() if "/items/" in label.url]
    assert [_number(label) for label in items] == list(range(1, len(items) + 1))
    assert [label.kind for label in items] == ["copy"] * N_COPIES + ["page"] * (len(items) - N_COPIES)
    assert len({label.document for label in items}) == 1 + len(items) - N_COPIES


def test_the_archive_is_a_chain_and_alone_leads_to_the_posts() -> None:
    web = labelled("patterns", **SMALL)
    pages = [label for label in web.truth().of_kind("index") if "/archive/page/" in label.url]
    assert [label.depth for label in pages] == list(range(1, len(pages) + 1))
    leading = defaultdict(set)
    for url, links in web.graph():
        for link in links:
            leading[link].add(url)
    posts = [label.url for label in web.truth().of_kind("page") if "/post/" in label.url]
    assert len(posts) == 45
    assert all(len(leading[post]) == 1 and leading[post] <= {page.url for page in pages} for post in posts)


def test_the_manual_is_translated_in_part_and_english_elsewhere() -> None:
    truth = LabelledWeb(PROFILES["patterns"]).truth()
    for lang, share in TRANSLATED.items():
        labels = [label for label in truth.urls.values() if label.variant == lang]
        assert sum(label.kind == "page" for label in labels) / len(labels) == pytest.approx(share, abs=0.12)
        assert all("/en/" in label.document for label in labels if label.kind == "fallback")


def test_what_is_not_linked_is_gone() -> None:
    web = labelled("patterns", **SMALL)
    paths = (
        "/viewtopic.php?t=9999",
        "/items/0",
        "/items/007",
        "/archive/page/99/",
        "/xx/guide/1",
        "/book?room=1&date=2024-13-01",
        "/book?room=1",
    )
    for host in web.hosts():
        assert {web.respond(host, path).status for path in paths} == {404}
