"""A payload that an earlier archive holds is referred to, not written again."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from little_web import LittleWeb, crawl
from raw_web import answers, archived, faults, files

from thresher.config.settings import ArchiveSettings
from thresher.crawler.cli.export_archive import write_archive
from thresher.crawler.core.errors import UsageError
from thresher.crawler.start.archive_checks import check_archive
from thresher.storage.archive.earlier import Earlier, sha1_of
from thresher.storage.export.reading import reading


def put(web: LittleWeb, text: str) -> None:
    web.page("a.test/", "a.test/same", "a.test/other")
    web.page("a.test/same", text="what does not change " * 30)
    web.page("a.test/other", text=text * 30)


@pytest.mark.parametrize("as_index", [False, True])
async def test_what_an_earlier_crawl_archived_is_referred_to(tmp_path: Path, as_index: bool) -> None:
    """The earlier archive is named as a folder or by its index. Each payload that it has becomes a revisit record; new ones are written
    whole. Revisit records of the earlier archive have no payload, so nothing refers to them. Mutation: `learn_earlier` is not called.
    """
    index, old, new = tmp_path / "old.cdxj", tmp_path / "old", tmp_path / "new"
    async with LittleWeb() as web:
        put(web, "first words ")
        await crawl(old, archived(web, ["a.test/"]))
        with reading(old) as view, index.open("wb") as out:
            write_archive(view, out, "cdxj", str(old))
        put(web, "second words ")
        named = str(index if as_index else old)
        crawled = await crawl(new, archived(web, ["a.test/"], archive=ArchiveSettings(format="warc", dedup=[named])))
        before, after = answers(old), answers(new)
        kinds = {web.place(url): [record.kind for record in found] for url, found in after.items()}
        assert kinds["a.test/same"] == kinds["a.test/"] == ["revisit"]
        assert kinds["a.test/other"] == ["response"]
        (first,), (again,) = before[web.url("a.test/same")], after[web.url("a.test/same")]
    assert again["WARC-Refers-To-Target-URI"] == first.url
    assert first["WARC-Date"].startswith(again["WARC-Refers-To-Date"].removesuffix("Z"))
    assert again["WARC-Refers-To"] == ("" if as_index else first["WARC-Record-ID"])
    assert again["WARC-Payload-Digest"] == first["WARC-Payload-Digest"]
    assert crawled.pages[first.url].has_body, "its words are still read offline"
    assert faults(new) == []


def test_foreign_and_torn_indexes_give_what_is_readable(tmp_path: Path) -> None:
    """An index with lines of pywb, whose digests have no prefix, with revisits, SHA-256, garbage and empty lines; and a WARC file that ends
    within a record.
    """
    lines = [
        b'com,example)/a 20240102030405 {"url": "http://example.com/a", "digest": "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"}',
        b'com,example)/b 20240102030405 {"url": "http://example.com/b", "digest": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC"}',
        b'com,example)/c 20240102030405 {"url": "http://a.b/c", "digest": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD", "mime": "warc/revisit"}',
        b'com,example)/d 20240102030405 {"url": "http://example.com/d", "digest": "sha256:00"}',
        b'com,example)/e 2024 {"url": "http://example.com/e", "digest": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC"}',
        b'!meta 0 {"format": "cdxj-gzip-1.0"}',
        b"\xff\xfe garbage",
        b"",
        b'com,example)/f 20240102030405 {"url": "http://example.com/f", "digest"',
    ]
    path = tmp_path / "index.cdxj"
    path.write_bytes(b"\n".join(lines))
    earlier = Earlier(path)
    assert [(capture.url, capture.date) for capture in earlier] == [(f"http://example.com/{name}", "2024-01-02T03:04:05Z") for name in "ab"]
    assert earlier.n_unusable == 4
    assert sha1_of("sha1:" + "0" * 40) == bytes(20)
    (tmp_path / "broken.cdxj.gz").write_bytes(b"\x1f\x8b\x08\0garbage")
    damaged = Earlier(tmp_path / "broken.cdxj.gz")
    assert ([*damaged], len(damaged.faults)) == ([], 1)


async def test_a_torn_archive_gives_what_is_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with LittleWeb() as web:
        put(web, "words ")
        await crawl(tmp_path, archived(web, ["a.test/"]))
    (file,) = files(tmp_path)
    whole = [*Earlier(file)]
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])
    with caplog.at_level(logging.WARNING):
        assert [*Earlier(file)] == whole[: len([*Earlier(file)])]
    assert 0 < len([*Earlier(file)]) < len(whole)


def test_what_cannot_be_read_is_said_before_the_crawl_starts(tmp_path: Path) -> None:
    from thresher.config.settings import Settings

    with pytest.raises(UsageError, match=r"archive\.dedup: .*: expected a CDXJ file"):
        check_archive(Settings(archive=ArchiveSettings(format="warc", dedup=[str(tmp_path)])))
    wacz = tmp_path / "earlier.wacz"
    wacz.write_bytes(b"PK\x03\x04")
    with pytest.raises(UsageError, match=r"earlier\.wacz: expected a CDXJ file"):
        check_archive(Settings(archive=ArchiveSettings(format="warc", dedup=[str(wacz)])))
    with pytest.raises(UsageError, match=r"archive\.requisites: .* expected archive\.format: warc, found off"):
        check_archive(Settings(archive=ArchiveSettings(requisites=True)))
