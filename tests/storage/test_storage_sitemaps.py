"""Tables of sitemaps: what is written is read, chunks are taken in order, and `verify` names what does not fit together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from thresher.config.settings import Settings
from thresher.crawler.core.model import Purpose
from thresher.crawler.core.ports import Entry, HostRecord, Lane, SiteRecord
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.records import AnnouncedRecord, SitemapRecord
from thresher.storage.schema import ANNOUNCED
from thresher.storage.store import Store
from thresher.storage.tables.sitemaps import REQUESTER
from thresher.storage.verify import verify

TEXT = "https://a.example/sitemap.xml"


def _make(path: Path, change: Callable[[Store, bytes], None]) -> None:
    """Write a store with one sitemap that waits, change it, and close it."""
    with Store.create(path, Settings(), 1000.0) as store:
        space = URLSpace(store.secret, url_rules(Settings()))
        url = space.url(TEXT, purpose=Purpose.SITEMAP)
        seq = store.tables.requests.add(url, REQUESTER, 1000.0)
        queue = space.queue_key(url.host)
        host = HostRecord(name="a.example", site="a.example", n_queued=1, due=1000.0)
        store.tables.queues.put(queue, Entry(Lane.FRESH, 0, seq, 0, url))
        store.tables.queues.save_host(queue, host)
        store.tables.queues.file(queue, 0.0, 1000.0)
        store.tables.sitemaps.save_sitemap(url.key, SitemapRecord(TEXT, "", 0))
        store.tables.queues.save_site(queue[:8], SiteRecord(name="a.example", n_hosts=1))
        change(store, url.key)
        store.end_visit()


def test_chunks_are_taken_in_order_across_commits(tmp_path: Path) -> None:
    with Store.create(tmp_path / "crawl", Settings(), 1000.0) as store:
        store.tables.sitemaps.add_chunks(b"b" * 16, [b"2", b"3"])
        store.tables.sitemaps.add_chunks(b"a" * 16, [b"1"])
        assert store.tables.sitemaps.take_chunk() == (b"a" * 16, b"1")
        store.end_visit()
        store.flush().result()
        assert [store.tables.sitemaps.take_chunk() for _ in range(3)] == [(b"b" * 16, b"2"), (b"b" * 16, b"3"), None]
        assert not store.tables.sitemaps.has_chunks
        store.tables.sitemaps.add_chunks(b"a" * 16, [b"4"])
        assert store.tables.sitemaps.has_chunks
        assert store.tables.sitemaps.take_chunk() == (b"a" * 16, b"4")
        store.end_visit()


def _nothing(store: Store, key: bytes) -> None: ...


def _is_read(store: Store, key: bytes) -> None:
    store.tables.sitemaps.save_sitemap(key, SitemapRecord(TEXT, "", 0, "read"))


def _is_admitting(store: Store, key: bytes) -> None:
    store.tables.sitemaps.save_sitemap(b"x" * 16, SitemapRecord("https://b.example/s.xml", "", 0, "admitting"))


def _has_a_stray_chunk(store: Store, key: bytes) -> None:
    store.tables.sitemaps.add_chunks(b"x" * 16, [b""])


def _announces_the_unknown(store: Store, key: bytes) -> None:
    store.tables.sitemaps.save_announced(b"y" * 16, AnnouncedRecord(key, "page", 0.0))
    assert store.get(ANNOUNCED, b"y" * 16) is not None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_nothing, ""),
        (_is_read, f"sitemap {TEXT}: read, and a request for it waits"),
        (_is_admitting, "sitemap https://b.example/s.xml: nothing of it is left to be admitted, and it is not done"),
        (_has_a_stray_chunk, f"sitemap {(b'x' * 16).hex()}: waits to be read or admitted, and is unknown"),
        (_announces_the_unknown, f"announced {(b'y' * 16).hex()}: a URL that is not known"),
    ],
)
def test_verify_names_what_does_not_fit(change: Callable[[Store, bytes], None], problem: str, tmp_path: Path) -> None:
    _make(tmp_path / "crawl", change)
    assert verify(tmp_path / "crawl") == ([problem] if problem else [])
