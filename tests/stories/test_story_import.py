"""An archive becomes a crawl: archives of our own, of Common Crawl, torn ones and those of other programs."""

from __future__ import annotations

import gzip
from pathlib import Path

import forking
import pytest
from click.testing import CliRunner
from little_web import LittleWeb, crawl
from long import shortened
from raw_web import archived, files

from thresher.config.settings import FilterSettings, Settings, SoftErrorSettings
from thresher.crawler.cli import thresher
from thresher.storage.archive.answers import ArchivedAnswers
from thresher.storage.export.pages import current_pages
from thresher.storage.export.scans import hosts
from thresher.storage.verify import verify
from thresher.storage.view import View


def imported(store: Path, *sources: Path) -> tuple[int, str]:
    """Run the command in a process of its own; return its exit code and what it said."""
    run = forking.run(["import", *sources, "-o", store], cwd=store.parent)
    return run.returncode, run.stderr


async def test_a_crawls_own_archive_comes_to_the_same_crawl(tmp_path: Path) -> None:
    """Pages with their words and links, redirects and errors are as in the crawl that wrote the archive; what an archive cannot tell is
    left out.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/moved", "a.test/gone", "b.test/")
        web.page("a.test/1", "a.test/2", text="words that are the same " * 20)
        web.page("a.test/2", text="words that are others " * 20)
        web.redirect("a.test/moved", "b.test/")
        filters = FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(max_probes=0))
        first = await crawl(old, archived(web, ["a.test/"], filters=filters))
    code, said = imported(new, *files(old))
    assert code == 0, said
    assert verify(new) == []
    with View(old, at_once=True) as before, View(new, at_once=True) as after:
        pages = [{page.url: (page.status, page.title, page.fingerprint) for _, page in view.all_pages()} for view in (before, after)]
        assert pages[0] == pages[1]
        stored = {page.url for visit, page in after.all_pages() if after.tables.bodies.get(visit)}
        assert stored >= {url for url, page in first.pages.items() if page.has_body}
        links = [{page.url: len(view.tables.links.read(visit)) for visit, page in view.all_pages()} for view in (before, after)]
        assert links[0] == links[1]
        assert [edge.to_text for _, edge in after.all_edges()] == [edge.to_text for _, edge in before.all_edges()]
        counts = [{record.name: record.n_pages for _, record in hosts(view)} for view in (before, after)]
        assert counts[0] == counts[1]
        assert sorted(counts[1].values()) == [1, 4]
    for words in (["rank", str(new)], ["replicas", str(new)], ["export", str(new), "--fields", "url,text"], ["stats", str(new)]):
        result = CliRunner().invoke(thresher, words)
        assert result.exit_code == 0, (words, result.output, result.exception)


def record(kind: str, url: str, block: bytes, *more: str, content_type: str = "application/http; msgtype=response") -> bytes:
    """Return a record as others write it: WARC 1.0, times of whole seconds."""
    lines = ["WARC/1.0", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", "WARC-Date: 2024-01-01T00:00:00Z", *more]
    lines += ["WARC-Record-ID: <urn:uuid:12345678-1234-4234-8234-123456789abc>", f"Content-Type: {content_type}"]
    return gzip.compress("\r\n".join([*lines, f"Content-Length: {len(block)}", "", ""]).encode() + block + b"\r\n\r\n")


def foreign() -> bytes:
    """Return a file of Common Crawl's shape: bodies unpacked, old lengths under other names, requests and metadata beside, a revisit."""
    body = b"<html><title>Caf\xc3\xa9</title><a href='/b'>b</a>" + b"some words " * 40
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
    packed = head + b"Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\n" + gzip.compress(body + b"packed")
    refers = "WARC-Refers-To-Target-URI: http://c.test/"
    return b"".join(
        (
            record("warcinfo", "", b"software: Nutch\r\n", content_type="application/warc-fields"),
            record("request", "http://c.test/", b"GET / HTTP/1.1\r\n\r\n", content_type="application/http; msgtype=request"),
            record("response", "http://c.test/", head + b"X-Crawl-Content-Encoding: gzip\r\n\r\n" + body),
            record("metadata", "http://c.test/", b"fetchTimeMs: 9\r\n", content_type="application/warc-fields"),
            record("response", "<http://c.test/b>", packed),
            record("response", "dns:c.test", b"127.0.0.1", content_type="text/dns"),
            record("resource", "http://c.test/r", b"plain", content_type="text/plain"),
            record("revisit", "http://c.test/copy", head + b"\r\n", refers),
        )
    )


def test_what_others_wrote_is_read(tmp_path: Path) -> None:
    """WARC 1.0 by warcio, with wrong lengths, a body that is still compressed, a resource record, a revisit record; records of DNS look-ups
    are no pages.
    """
    path = tmp_path / "cc.warc.gz"
    path.write_bytes(foreign())
    code, said = imported(tmp_path / "store", path)
    assert code == 0, said
    assert verify(tmp_path / "store") == []
    with View(tmp_path / "store", at_once=True) as view:
        bodies = {page.url: (page.title, view.tables.bodies.get(visit)) for visit, page in view.all_pages()}
    assert bodies["http://c.test/"][0] == "Café"
    assert (bodies["http://c.test/b"][1] or b"").endswith(b"packed")
    assert bodies["http://c.test/r"][1] == b"plain"
    assert bodies["http://c.test/copy"][1] == bodies["http://c.test/"][1]
    assert len(bodies) == 4


def test_a_page_that_was_cut_for_its_length_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Common Crawl cuts at 1 MiB. What broke off is a failure, as in a crawl.

    Mutation: both were failures, so a long page had neither words nor links.
    """
    page, path = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>long</title><a href=/b>b</a>words", tmp_path / "cut.warc.gz"
    cut = {"http://c.test/long": "length", "http://c.test/broken": "disconnect"}
    path.write_bytes(b"".join(record("response", url, page, f"WARC-Truncated: {why}") for url, why in cut.items()))
    code, said = imported(tmp_path / "store", path)
    assert code == 0, said
    with View(tmp_path / "store", at_once=True) as view:
        pages = {page.url: (page, len(view.tables.links.read(visit))) for visit, page in view.all_pages()}
    long, broken = pages["http://c.test/long"], pages["http://c.test/broken"]
    assert (long[0].title, long[0].flags, long[0].failed_cause, long[1]) == ("long", ["truncated_size"], "", 1)
    assert (broken[0].flags, broken[0].failed_cause) == (["incomplete"], "incomplete")


def test_a_url_with_many_answers_has_a_page_of_each(tmp_path: Path) -> None:
    """An archive of several crawls: the newest page is that of the URL, the others are its versions, and the store is sound.

    Mutation: each answer was the URL's first visit.
    """
    head, path = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>%s</title>words", tmp_path / "twice.warc.gz"
    blocks = [head % b"first", head % b"second", b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n", head % b"third"]
    path.write_bytes(b"".join(record("response", "http://c.test/", block) for block in blocks))
    code, said = imported(tmp_path / "store", path)
    assert code == 0, said
    assert verify(tmp_path / "store") == []
    with View(tmp_path / "store") as view:
        assert [page.title for _, page in view.all_pages()] == ["first", "second", "third"]
        assert [page.title for _, page in current_pages(view)] == ["third"]


def test_a_body_of_ten_gibibytes_is_read_as_far_as_any_other(tmp_path: Path) -> None:
    """Of an answer no more is read than `fetch.max_body` and a head; the record behind a large one is read.

    Mutation: the whole record was read into memory.
    """
    head, n = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>large</title>", 10 << 30
    huge, large = tmp_path / "huge.warc", tmp_path / "large.warc"
    first, second = (gzip.decompress(record("response", f"http://c.test/{name}", head)) for name in ("large", ""))
    for path, size in ((huge, n), (large, 40 << 20)):
        said = first.replace(b"Content-Length: %d" % len(head), b"Content-Length: %d" % (len(head) + size))
        with path.open("wb") as file:
            file.write(said.removesuffix(b"\r\n\r\n"))
            file.seek(size, 1)  # a hole: it costs no disk
            file.write(b"\r\n\r\n" + second)
    answer = next(iter(ArchivedAnswers(huge, 1 << 20)))
    assert (answer.url, len(answer.payload) <= 1 << 20) == ("http://c.test/large", True)
    code, said_of = imported(tmp_path / "store", large)
    assert code == 0, said_of
    with View(tmp_path / "store", at_once=True) as view:
        pages = {page.url: (page.title, page.n_bytes, page.flags) for _, page in view.all_pages()}
    assert pages["http://c.test/"][0] == "large"
    assert pages["http://c.test/large"][1] == Settings().fetch.max_body
    assert "truncated_size" in pages["http://c.test/large"][2]


@pytest.mark.parametrize(("is_packed", "cut"), shortened([(True, 0.7), (False, 0.55), (True, 0.4), (True, 0.95)], 2))
def test_a_torn_file_gives_what_is_whole(tmp_path: Path, cut: float, *, is_packed: bool) -> None:
    """The answers before the tear are there, the tear is named, and the exit code tells of it.

    Mutation: of a file that is not packed a tear in a head, or in a record that is no answer, was taken for the end.
    """
    path, whole = tmp_path / "torn.warc.gz", foreign() if is_packed else gzip.decompress(foreign())
    path.write_bytes(whole[: int(len(whole) * cut)])
    code, said = imported(tmp_path / "store", path)
    assert code == 1, said
    assert str(path) in said
    assert "Traceback" not in said
    with View(tmp_path / "store", at_once=True) as view:
        assert [page.url for _, page in view.all_pages()][:1] == ["http://c.test/"]


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    """A page, packed or not, an empty file, random bytes behind gzip's magic, an ARC file: an error that names the file and what was
    found, and leaves no crawl; a sound file beside it is read, into the same folder.
    """
    contents = {
        "page.html": (b"<html>", "begins with b'<html>'"),
        "empty.warc": (b"", "an empty file"),
        "odd.warc.gz": (b"\x1f\x8b" + bytes(range(256)), "gzip cannot unpack"),
        "page.warc.gz": (gzip.compress(b"<html>"), "begins with b'<html>'"),
        "old.arc.gz": (gzip.compress(b"filedesc://old.arc 0.0.0.0 20040101000000 text/plain 9\n"), "warcio recompress"),
    }
    for name, (content, words) in contents.items():
        (tmp_path / name).write_bytes(content)
        code, said = imported(tmp_path / f"store-{name}", tmp_path / name)
        assert code != 0, name
        assert str(tmp_path / name) in said
        assert words in said, said
        assert "Traceback" not in said, said
        assert not list((tmp_path / f"store-{name}").iterdir())
    (tmp_path / "sound.warc.gz").write_bytes(foreign())
    code, said = imported(tmp_path / "store-empty.warc", tmp_path / "page.html", tmp_path / "sound.warc.gz")
    assert (code, "4 answers" in said) == (1, True), said
