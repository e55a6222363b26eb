"""A returned shard is merged into one that knows less, or other things: seen in the stores, without an engine and without agents."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urljoin

import pytest
from half_crawled import half_a_crawl, known

from thresher.crawler.agent.merging import Merged, Merger
from thresher.crawler.core.effects import Hold
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import State
from thresher.crawler.core.ownership import N_PARTITIONS
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.reading import reading_shard
from thresher.storage.records import UrlRecord
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

ALL = bytes(N_PARTITIONS)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return half_a_crawl(tmp_path_factory.mktemp("crawled"))


@pytest.fixture
def fresh(crawled: Path, tmp_path: Path) -> Path:
    """A shard of the same crawl that knows nothing yet."""
    with reading_shard(crawled) as view:
        Store.create(tmp_path / "fresh", view.settings, time.time(), secret=view.secret).close()
    return tmp_path / "fresh"


def merge(
    source: Path,
    target: Path,
    body: Callable[[bytes | None], bytes | None] = lambda body: body,
    first: Callable[[Merger], None] | None = None,
) -> Merged:
    """Merge a shard into another.

    Args:
        body: What is read in place of a stored body.
        first: Called before.
    """

    async def run(store: Store, view: View) -> Merged:
        merger = Merger(target, store, view, shard=1, owners=ALL, me=0)
        try:
            if first is not None:
                first(merger)
            return await merger.run()
        finally:
            await merger.close()

    with reading_shard(source) as view, Store.open(target, None, time.time()) as store:
        get = view.tables.bodies.get
        with mock.patch.object(view.tables.bodies, "get", lambda visit: body(get(visit))):
            return asyncio.run(run(store, view))


def what_is_known(path: Path) -> dict[str, Any]:
    """Return what a crawl knows, without where it found each URL first."""
    found = known(path)
    names = ("states", "pages", "visits", "links", "edges")
    return {name: found[name] for name in names} | {"urls": {(text, row.state) for text, _, row in found["urls"]}}


def test_a_shard_that_knows_nothing_knows_all_after_it(crawled: Path, fresh: Path) -> None:
    """And its hosts' budgets are used. Mutation: the links of what was merged are not admitted."""
    assert merge(crawled, fresh).counts == {"pages merged": 60}
    assert verify(fresh) == []
    assert what_is_known(fresh) == what_is_known(crawled)
    n_pages = [{host.name: host.n_pages for host in known(path)["hosts"].values()} for path in (crawled, fresh)]
    assert n_pages[0] == n_pages[1]
    assert merge(crawled, fresh).counts == {"fetched by the crawl, too, with the same answer": 60}
    assert what_is_known(fresh) == what_is_known(crawled)


def test_a_page_without_a_body_keeps_its_record_and_its_links(crawled: Path, fresh: Path) -> None:
    """Mutation: it is read as an empty page."""
    assert merge(crawled, fresh, lambda _: None).counts == {"pages merged": 60}
    assert verify(fresh) == []
    expected = what_is_known(crawled)
    expected["pages"] = {(url, None) for url, _ in expected["pages"]}
    assert what_is_known(fresh) == expected
    assert merge(crawled, fresh).counts == {"fetched by the crawl, too, with the same answer": 60}


def test_a_page_that_the_crawl_has_fetched_since_stays_and_the_other_is_told(crawled: Path, fresh: Path) -> None:
    """Nothing of it changes but that URLs which only the returned shard knew are known."""
    merge(crawled, fresh, lambda body: (body or b"").replace(b"</body>", b"<p>words that were not there before</p></body>"))
    before = known(fresh)
    found = merge(crawled, fresh)
    assert found.counts == {"fetched by the crawl, too, with another answer, which stays": 60}
    assert {(other.url, other.status) for other in found.others} == {(url, 200) for url, _ in before["pages"]}
    assert {name: before[name] for name in before} == known(fresh)


def test_a_held_url_that_was_fetched_there_is_held_no_longer(crawled: Path, fresh: Path) -> None:
    """It has one state, and its class knows of it. Mutation: what holds it is not forgotten."""

    def hold(merger: Merger) -> None:
        """Hold two seeds."""
        settler, store, frontier = merger._settler, merger._store, merger._frontier
        seeds = [merger._context.urls.seed(text) for text in store.settings.seeds[:2]]
        for url in seeds:
            settler.admission.seed(url, 1.0)
            row = store.tables.seen.row(url.key)
            assert row is not None
            assert frontier.withdraw(url, row.seq, row.worth)
            settler._effects.hold_at_turn(url, [("dust", Hold(url.text, "dust a class"))], 1.0)
            settler.learning.write(1.0)
            store.end_visit()
        assert store.tables.seen.count(State.HELD) == len(seeds)

    assert merge(crawled, fresh, first=hold).counts == {"pages merged": 60}
    assert verify(fresh) == []
    assert what_is_known(fresh) == what_is_known(crawled)


def test_a_redirect_is_taken_with_its_target(crawled: Path, fresh: Path, tmp_path: Path) -> None:
    """One that waits in the returned shard, and nothing else names its target. Mutation: redirects stay in their queue."""
    source = tmp_path / "redirected"
    shutil.copytree(crawled, source)
    url = min(waiting(source), key=lambda one: one.text)
    with Store.open(source, None, time.time()) as store:
        target = urljoin(url.text, "/nowhere-else.html")
        store.tables.seen.settle(url.key, State.DONE)
        space = URLSpace(store.secret, url_rules(store.settings))
        store.tables.redirects.put(url.key, space.key(target), target, 301, 1.0)
        store.end_visit()
    assert merge(source, fresh).counts == {"pages merged": 60, "redirects merged": 1}
    assert verify(fresh) == []
    found = what_is_known(fresh)
    assert found["edges"] == what_is_known(source)["edges"]
    assert {(url.text, State.DONE), (target, State.QUEUED)} <= found["urls"]
    assert merge(source, fresh).counts == {"fetched by the crawl, too, with the same answer": 61}
    assert what_is_known(fresh) == found


def waiting(path: Path) -> list[UrlRecord]:
    """Return the URLs that wait."""
    with reading_shard(path) as view:
        return [url for url, _ in view.all_urls(State.QUEUED)]


def test_a_shard_of_another_crawl_is_refused(crawled: Path, tmp_path: Path) -> None:
    with reading_shard(crawled) as view:
        Store.create(tmp_path / "other", view.settings, time.time()).close()
    with pytest.raises(StoreError, match="found one of another crawl"):
        merge(crawled, tmp_path / "other")
