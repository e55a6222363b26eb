"""Rows of `urls` and `queue`, which have many URLs each, say what rows of one each would say."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.config.settings import Settings
from thresher.crawler.core.model import CrawlURL
from thresher.crawler.core.ports import Entry, HostRecord, Lane
from thresher.crawler.native import NATIVE, native
from thresher.storage.packing import pack_u64
from thresher.storage.records import UrlRecord
from thresher.storage.store import Store
from thresher.storage.tables.queues import Queues
from thresher.storage.url_rows import front_coded_in_python, front_decoded_in_python, n_urls, pack_urls, packed_keys_in_python, unpack_urls

SITE = b"S" * 8
QUEUE = SITE + b"q" * 8
TEXTS = st.lists(st.text(string.ascii_lowercase[:3] + "/é", max_size=300), min_size=1, max_size=30)


def key_of(n: int, n_sites: int = 1) -> bytes:
    return (n % n_sites).to_bytes(8, "big") + n.to_bytes(8, "big")


@given(TEXTS, st.sampled_from([1, 2, 300]), st.sampled_from([b"", b"v" * 16]))
@settings(max_examples=60, deadline=None)
def test_a_row_of_urls_says_what_was_written(texts: list[str], n_sites: int, via: bytes) -> None:
    texts *= 300 // len(texts) if n_sites == 300 else 1
    keys = [key_of(n, n_sites) for n in range(len(texts))]
    packed = pack_urls(texts, keys, via, 7.5)
    row = unpack_urls(packed)
    assert [row.record(at) for at in range(len(texts))] == [UrlRecord(text, key, via, 7.5) for text, key in zip(texts, keys, strict=True)]
    assert n_urls(packed) == len(texts)


@pytest.mark.skipif(not NATIVE, reason="the extension is not there")
@given(TEXTS, st.integers(0, 2_000), st.integers(0, 255))
@settings(max_examples=100, deadline=None)
def test_both_ways_write_the_same_bytes_and_refuse_the_same(texts: list[str], place: int, byte: int) -> None:
    """Law: the bytes of both are the same, and give the texts back."""
    coded = native.front_coded(texts)
    assert coded == front_coded_in_python(texts)
    assert native.front_decoded(b"xy" + coded, 2, len(texts)) == front_decoded_in_python(b"xy" + coded, 2, len(texts)) == texts
    broken = bytearray(coded)
    broken[place % len(coded)] = byte
    read: list[list[str] | None] = []
    for decode in (native.front_decoded, front_decoded_in_python):
        try:
            read.append(decode(bytes(broken), 0, len(texts)))
        except ValueError:  # a torn row, or bytes that are no text
            read.append(None)
    assert read[0] == read[1]


@pytest.mark.skipif(not NATIVE, reason="the extension is not there")
@given(st.lists(st.integers(0, 400), min_size=1, max_size=400), st.sampled_from([1, 3, 256, 257, 400]))
@example([*range(256)], 256)
@example([*range(257)], 257)
@settings(max_examples=60, deadline=None)
def test_both_ways_pack_the_same_keys(numbers: list[int], n_sites: int) -> None:
    keys = [key_of(n, n_sites) for n in numbers]
    packed = native.packed_keys(keys)
    assert packed == (packed_keys_in_python(keys) if len({key[:8] for key in keys}) <= 256 else None)
    if packed is not None:
        with pytest.raises(ValueError, match="keys of 16 bytes"):
            native.packed_keys([*keys, b"short"])


def test_a_row_that_is_cut_or_of_another_version_is_refused() -> None:
    packed = pack_urls(["https://a.example/1", "https://a.example/2"], [key_of(1), key_of(2)], b"", 1.0)
    for torn in (packed[:-1], packed[:-20]):
        with pytest.raises(ValueError, match="torn"):
            unpack_urls(torn)
    with pytest.raises(ValueError, match="version 7"):
        unpack_urls(b"\x07" + packed[1:])


def url(seq: int, depth: int = 0) -> CrawlURL:
    return CrawlURL(f"https://a.example/{seq}", "a.example", "https://a.example", SITE + pack_u64(seq), site_depth=depth)


def put_page(queues: Queues, ranks: list[int], first: int) -> None:
    """Queue new links of a page, as the frontier does."""
    if len(set(ranks)) == 1:
        queues.put_alike(QUEUE, ranks[0], 0, range(first, first + len(ranks)), seed_distance=0, hops=0)
    else:
        queues.put_links(QUEUE, [(rank, first + i, 0) for i, rank in enumerate(ranks)], seed_distance=0, hops=0)


@pytest.mark.parametrize("seqs", [[7], range(7, 11), [7, 9, 10, 500], range(3, 2_000)], ids=["one", "run", "gaps", "long run"])
def test_links_that_are_alike_are_queued_as_any_others(seqs: Sequence[int], tmp_path: Path) -> None:
    rows = []
    for alike in (True, False):
        with Store.create(tmp_path / f"{alike}", Settings(), 1.0) as store:
            if alike:
                store.tables.queues.put_alike(QUEUE, 5, 3, seqs, seed_distance=4, hops=2)
            else:
                store.tables.queues.put_links(QUEUE, [(5, seq, 3) for seq in seqs], seed_distance=4, hops=2)
            rows.append(store.scan("queue"))
    assert rows[0] == rows[1]


def test_the_first_url_of_a_row_is_taken_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of most hosts one URL after another is taken, each the first of its row: such a row is read by its key."""
    with Store.create(tmp_path / "crawl", Settings(), 1.0) as store:
        store.tables.queues.put_alike(QUEUE, 1, 0, range(1, 4), seed_distance=0, hops=0)
        store.tables.queues.put_alike(QUEUE, 1, 0, [9], seed_distance=0, hops=0)
        monkeypatch.setattr(store, "floor", None)
        for seq in (1, 2, 3, 9):
            store.tables.queues.delete(QUEUE, Entry(Lane.FRESH, 1, seq, 0, url(seq)))
        assert store.scan("queue") == []


ELSEWHERE = (Lane.RETRY, Lane.ANNOUNCED, Lane.DUE)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("page"), st.lists(st.integers(1, 3), min_size=1, max_size=6)),  # ranks of new links
        st.tuples(st.just("one"), st.integers(1, 3)),
        st.tuples(st.just("move"), st.integers(0, 99), st.integers(1, 3)),
        st.tuples(st.just("take"), st.integers(0, 99)),
        st.tuples(st.just("defer"), st.integers(0, 99)),
        st.tuples(st.just("flush")),
    ),
    max_size=40,
)


@given(STEPS)
@example([("page", [1, 1, 1, 1]), ("take", 0), ("move", 1, 1), ("take", 0), ("take", 0)])  # back into the row from which one was taken last
@settings(max_examples=30, deadline=None)
def test_rows_of_many_urls_are_served_moved_and_taken_as_rows_of_one(steps: list[tuple[Any, ...]]) -> None:
    """Law: whatever is queued, moved, taken or withdrawn, and whenever it is flushed, the rows hold what waits, in its order."""
    with TemporaryDirectory() as directory, Store.create(Path(directory) / "crawl", Settings(), 1.0) as store:
        queues, seen = store.tables.queues, store.tables.seen
        queues.save_host(QUEUE, HostRecord(name="a.example", site="a.example"))
        model: set[tuple[Lane, int, int]] = set()
        gone: list[tuple[Lane, int, int]] = []
        for what, *how in steps:
            if what in ("page", "one"):
                ranks = how[0] if isinstance(how[0], list) else [how[0]]
                first = store.take_seq(len(ranks))
                found = [url(first + i) for i in range(len(ranks))]
                store.tables.urls.add(first, [one.text for one in found], [one.key for one in found], b"", 1.0)
                if what == "page":
                    put_page(queues, ranks, first)
                else:
                    queues.put(QUEUE, Entry(Lane.FRESH, ranks[0], first, 0, found[0]))
                model |= {(Lane.FRESH, rank, first + i) for i, rank in enumerate(ranks)}
            elif what == "flush":
                store.end_visit()
                if not store.committing:
                    store.flush()
            elif model:
                lane, rank, seq = sorted(model)[int(how[0]) % len(model)]
                queues.delete(QUEUE, Entry(lane, rank, seq, 0, url(seq)))
                model.discard((lane, rank, seq))
                gone.append((lane, rank, seq))
                if what != "take":
                    to = (Lane.FRESH, int(how[1])) if what == "move" else (ELSEWHERE[seq % len(ELSEWHERE)], 10**9 + seq)
                    queues.put(QUEUE, Entry(*to, seq, 0, url(seq)))
                    model.add((*to, seq))
            for lane in Lane:
                served = [(entry[:3], entry.url.text) for entry in queues.head(QUEUE, lane, 7)]
                assert served == [(at, url(at[2]).text) for at in sorted(model) if at[0] is lane][:7]
            for limit in (2, 7):
                assert queues.heads(QUEUE, limit) == [entry for lane in Lane for entry in queues.head(QUEUE, lane, limit)]
            assert all(queues.has(QUEUE, Entry(*at, 0, url(at[2]))) == (at in model) for at in {*model, *gone})
        assert seen.url_of(1) == url(1).text if store.tables.urls.get(1) else not model
        assert [seq for seq, _ in store.tables.urls.all()] == [*range(1, store.take_seq())]


def test_a_number_that_is_of_no_url_has_none(tmp_path: Path) -> None:
    """Such a number lies between two rows, or behind the last one, or is that of a request that was answered."""
    with Store.create(tmp_path / "crawl", Settings(), 1.0) as store:
        urls = store.tables.urls
        urls.add(2, ["https://a.example/2", "https://a.example/3"], [key_of(2), key_of(3)], b"", 1.0)
        urls.add(6, ["https://a.example/6"], [key_of(6)], b"", 1.0)
        urls.add(7, ["https://a.example/7"], [key_of(7)], b"", 1.0)
        for _ in range(2):
            texts = [found.text[-1] if found is not None else "" for found in urls.get_many([8, 7, 1, 2, 3, 4, 6, 3])]
            assert texts == ["", "7", "", "2", "3", "", "6", "3"]
            assert [seq for seq, _ in urls.all(3)] == [3, 6, 7]
            store.flush().result()
        urls.forget(6)
        assert [urls.get(6), *(seq for seq, _ in urls.all(4))] == [None, 7]
        assert urls.get(3) is not None
