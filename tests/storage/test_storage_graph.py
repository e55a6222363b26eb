"""The link graph as arrays: what pages linked to, by number, with what is known of each URL; and which URLs are one page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from harness import ROOT

from thresher.config.settings import Settings
from thresher.crawler.cluster.shard import ownership_of
from thresher.crawler.core.model import CrawlURL, Purpose, Reason, State, Verdict
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.start.opening import create_store
from thresher.storage import graph
from thresher.storage.export.group_graph import HOSTGRAPH_KIND
from thresher.storage.graph import KnownUrls, read_known, read_links, redirects
from thresher.storage.records import PageRecord
from thresher.storage.representatives import NONE, representatives
from thresher.storage.shards import open_view
from thresher.storage.store import Store
from thresher.storage.tables.requests import Requester
from thresher.storage.tables.verdicts import verdict_records
from thresher.storage.view import View

NAMES = (
    "a.example/",
    "a.example/1",
    "b.example/",
    "b.example/old",
    "a.example/copy",
    "a.example/gone",
    "a.example/soft",
    "a.example/s?id=1",
)
A, ONE, B, OLD, COPY, GONE, SOFT, ALIAS = range(1, 9)


class Crawl:
    """A store with eight known URLs, numbered as they stand in NAMES."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store.create(path, Settings(), 1000.0)
        self.space = URLSpace(self.store.secret, URLRules())
        self.urls = [self.space.url(f"https://{name}", seed_distance=n) for n, name in enumerate(NAMES)]
        for url in self.urls:
            state = State.ALIAS if "?" in url.text else State.QUEUED
            self.store.tables.seen.add(url, state, Reason.REWRITTEN if state is State.ALIAS else None, 1.0)
        self.store.end_visit()

    def url(self, seq: int) -> CrawlURL:
        return self.urls[seq - 1]

    def page(self, seq: int, *links: int, status: int = 200, verdicts: tuple[Verdict, ...] = ()) -> None:
        url = self.url(seq)
        self.store.tables.pages.put(PageRecord(url=url.text, key=url.key, status=status, verdicts=verdict_records(verdicts)), None)
        self.store.tables.links.put(links)
        self.store.tables.seen.settle(url.key, State.DONE)
        self.store.end_visit()

    def view(self) -> View:
        self.store.close(2.0)
        return View(self.path)


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    made = Crawl(tmp_path / "crawl")
    yield made
    made.store.close(commit=False)


def test_links_are_read_by_number_in_whatever_order_pages_were_fetched(crawl: Crawl) -> None:
    crawl.page(B, A, OLD)
    crawl.page(A, ONE, B, GONE)
    with crawl.view() as view:
        found = read_links(view)
    rows = [found.targets[found.offsets[v] : found.offsets[v + 1]].tolist() for v in range(len(NAMES) + 1)]
    assert rows == [[], [ONE, B, GONE], [], [A, OLD], [], [], [], [], []]
    assert found.across_sites().tolist() == [False, True, False, True, False]
    assert np.flatnonzero(found.known.is_page).tolist() == [A, B]
    assert found.known.states[[0, A, ONE, ALIAS]].tolist() == [0, State.DONE, State.QUEUED, State.ALIAS]
    assert found.known.depths[[ONE, B]].tolist() == [1, 2]


def test_a_page_fetched_again_has_the_links_of_its_last_visit(crawl: Crawl) -> None:
    """Mutation: every visit counts."""
    crawl.page(A, ONE, B)
    crawl.page(B, A)
    crawl.page(A, GONE)
    with crawl.view() as view:
        found = read_links(view)
        assert found.targets.tolist() == [GONE, A]


def test_a_filters_own_request_is_no_url(crawl: Crawl) -> None:
    probe = crawl.space.url("https://a.example/probe", purpose=Purpose.PROBE)
    number = crawl.store.tables.requests.add(probe, Requester("soft_error"), 1.0)
    crawl.page(A, ONE)
    with crawl.view() as view:
        found = read_links(view)
        assert found.known.states[number] == 0
        assert representatives(view, found.known)[number] == NONE


def test_an_empty_crawl_has_an_empty_graph(tmp_path: Path) -> None:
    Store.create(tmp_path / "crawl", Settings(), 1000.0).close()
    with View(tmp_path / "crawl") as view:
        found = read_links(view)
        assert (found.offsets.tolist(), found.targets.tolist()) == ([0, 0], [])


def test_redirects_aliases_copies_and_errors_have_representatives(crawl: Crawl) -> None:
    copy_of = Verdict("exact_duplicate", keep=True, follow=False, evidence={"copy_of": crawl.url(ONE).key.hex()})
    crawl.page(A, ONE)
    crawl.page(COPY, verdicts=(copy_of,))
    crawl.page(GONE, status=404)
    crawl.page(SOFT, verdicts=(Verdict("soft_error", keep=False),))
    crawl.store.tables.redirects.put(crawl.url(OLD).key, crawl.url(B).key, crawl.url(B).text, 301, 1.0)
    crawl.store.tables.redirects.put(crawl.url(B).key, b"e" * 16, "https://elsewhere.example/", 301, 1.0)
    crawl.store.tables.aliases.put(crawl.url(ALIAS).key, crawl.url(ONE).text, "no id")
    crawl.store.end_visit()
    with crawl.view() as view:
        known = read_links(view).known
        assert representatives(view, known).tolist() == [NONE, A, ONE, B, B, ONE, NONE, NONE, ONE]
        assert [(original, target) for original, target, _ in redirects(view)] in ([(OLD, B), (B, 0)], [(B, 0), (OLD, B)])


def test_a_verdict_that_was_revised_counts_as_revised(crawl: Crawl) -> None:
    crawl.page(SOFT, verdicts=(Verdict("soft_error", keep=False),))
    crawl.store.tables.verdicts.revise(crawl.url(SOFT).key, Verdict("soft_error"), 5.0)
    crawl.store.end_visit()
    with crawl.view() as view:
        assert representatives(view, read_links(view).known)[SOFT] == SOFT


_OTHER_AGENT = """
import sys
from pathlib import Path
from thresher.crawler.core.model import State
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.storage.store import Store
with Store.open(Path(sys.argv[1]), None, 1.0) as store:
    for text in sys.argv[2:]:
        store.tables.seen.add(URLSpace(store.secret, URLRules()).url(text), State.QUEUED, None, 1.0)
    store.end_visit()
"""


def test_a_target_that_another_agent_numbers_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shards of a running crawl are read one after another, so a page may link to a URL that was not there yet when its shard was read.

    Mutation: such links are kept; `export --what hostgraph` and `rank` ended with an IndexError.
    """
    create_store(tmp_path, Settings(agents=2))
    owners = ownership_of(tmp_path)
    assert owners is not None
    owner_of = owners.owner
    with Store.open(tmp_path, None, 1.0) as store:
        space = URLSpace(store.secret, URLRules())
        own, foreign = ([url for n in range(64) if owner_of((url := space.url(f"https://s{n}.example/")).key) == k] for k in (0, 1))
        numbers = [store.tables.seen.add(own[0], State.QUEUED, None, 1.0), store.tables.seen.add(foreign[-1], State.OUTBOX, None, 1.0)]
        store.tables.pages.put(PageRecord(url=own[0].text, key=own[0].key, status=200), None)
        store.tables.links.put(numbers[1:])
        store.tables.seen.settle(own[0].key, State.DONE)
        store.end_visit()

    def known_and_more(view: View) -> KnownUrls:
        found = read_known(view)
        arguments = [str(tmp_path / "agent-1"), *(url.text for url in foreign)]
        subprocess.run([sys.executable, "-c", _OTHER_AGENT, *arguments], cwd=ROOT, check=True)
        return found

    with open_view(tmp_path) as view, monkeypatch.context() as patched:
        patched.setattr(graph, "read_known", known_and_more)
        assert read_links(view).targets.size == 0
    with open_view(tmp_path) as view:
        assert list(HOSTGRAPH_KIND.rows(view, frozenset())) == [(*(url.host.removeprefix("https://") for url in (own[0], foreign[-1])), 1)]
