"""An archive holds what was on the wire, byte for byte, as a raw server and two other programs see it."""

from __future__ import annotations

import base64
import gzip
import os
import random
import re
from pathlib import Path

import brotli
import msgspec
from little_web import crawl, settings
from raw_web import RawWeb, Then, answers, archived, faults, files, records

from thresher.config.settings import ExactDuplicateSettings, FetchSettings, FilterSettings, LimitSettings, MediaSettings, SoftErrorSettings
from thresher.storage.packing import pack_u64
from thresher.storage.schema import BODIES
from thresher.storage.verify import verify
from thresher.storage.view import View

PAGE = b"<html><body>" + b" ".join(b"word%d" % n for n in range(200)) + b"</body></html>"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def chunks(body: bytes, size: int = 100) -> bytes:
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: yes\r\n\r\n"


def sized(body: bytes, *lines: bytes) -> bytes:
    return OK + b"".join(line + b"\r\n" for line in lines) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def odd_answers() -> dict[str, tuple[tuple[bytes, ...], Then]]:
    """Complete answers of unusual forms, and how the connection ends after each."""
    packed, squeezed = gzip.compress(PAGE + b"gz"), brotli.compress(PAGE + b"br")
    bad = sized(b"\x1f\x8b\x08garbage" + PAGE * 90, b"Content-Encoding: gzip")
    long_chunks = chunks(gzip.compress(PAGE * 50), 37)
    return {
        "gzip": ((sized(packed, b"Content-Encoding: gzip"),), "keep"),
        "br": ((sized(squeezed, b"Content-Encoding: br"),), "keep"),
        "chunked": ((OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks(PAGE + b"chunked"),), "keep"),
        "chunked_gzip": (
            (OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", long_chunks[:99], long_chunks[99:]),
            "keep",
        ),
        "http10": ((b"HTTP/1.0 200 Fine\r\ncontent-TYPE:   text/html  \r\nX-Twice: a\r\nx-twice: b\r\n\r\n" + PAGE, b"10"), "close"),
        "latin1": ((sized(PAGE + b"latin", "X-Name: café".encode("latin-1")),), "keep"),
        "empty": ((b"HTTP/1.1 204 No Content\r\n\r\n",), "keep"),
        "folded": ((sized(PAGE + b"folded", b"X-Long: a\r\n b"),), "keep"),
        "e404": ((b"HTTP/1.1 404 Gone fishing\r\nContent-Length: 4\r\n\r\nnone",), "keep"),
        "long_redirect": ((b"HTTP/1.1 302 Found\r\nLocation: /gzip\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000,), "keep"),
        "bad_gzip": ((bad[:999], bad[999:]), "keep"),
        "zstd_unasked": ((sized(b"\x28\xb5\x2f\xfd" + PAGE, b"Content-Encoding: zstd"),), "keep"),
    }


async def test_what_was_sent_and_received_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """gzip, br, chunked with trailers, HTTP/1.0, odd heads, redirects and errors: as a capture of the sockets has them."""
    async with RawWeb() as web:
        whole = odd_answers()
        for name, (parts, then) in whole.items():
            web.raw(f"a.test/{name}", *parts, then=then)
        web.page("a.test/", *(f"a.test/{name}" for name in whole))
        await crawl(tmp_path, archived(web, ["a.test/"]))
        by_url = answers(tmp_path)
        asked = {record.url: record.block for record in records(tmp_path) if record.kind == "request"}
        for place, sent in web.sent.items():
            found = by_url[web.url(place)]
            assert [record.block for record in found] == sent, place
            assert not any(record["WARC-Truncated"] for record in found), place
            assert asked[web.url(place)] in web.received[place]
            assert found[0]["WARC-IP-Address"] == web.address
        assert by_url[web.url("a.test/http10")][0].headers["WARC-Protocol"] == ["http/1.0"]
    assert "a.test/robots.txt" in web.sent
    assert b"zstd" not in asked[web.url("a.test/gzip")]
    assert faults(tmp_path) == []
    contents = {"gzip": PAGE + b"gz", "br": PAGE + b"br", "chunked": PAGE + b"chunked", "chunked_gzip": PAGE * 50}
    in_archive = contents | {"http10": PAGE + b"10", "latin1": PAGE + b"latin", "folded": PAGE + b"folded", "e404": b"none"}
    assert bodies(tmp_path) == {
        **{web.url(f"a.test/{name}"): ("archive", content) for name, content in in_archive.items()},
        web.url("a.test/"): ("archive", web.sent["a.test/"][0].partition(b"\r\n\r\n")[2]),
    }
    assert verify(tmp_path) == []


def bodies(path: Path) -> dict[str, tuple[str, bytes | None]]:
    """Return by URL where a page's body lives, and what is read of it."""
    with View(path) as view:
        return {
            page.url: ("store" if view.get(BODIES, pack_u64(visit)) else "archive", view.tables.bodies.get(visit))
            for visit, page in view.all_pages()
            if page.has_body
        }


async def test_interim_answers_stand_beside_the_final_one(tmp_path: Path) -> None:
    """An interim answer (1xx) is stored as it came, in a record of its own: programs that replay an archive take the first status line of a
    record for the answer's.
    """
    interim = b"\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    async with RawWeb() as web:
        web.raw("a.test/", interim, sized(PAGE))
        await crawl(tmp_path, archived(web, ["a.test/"]))
        (answer,) = answers(tmp_path)[web.url("a.test/")]
        beside = [record for record in records(tmp_path) if record.kind == "metadata" and record.block == interim]
    assert answer.block == sized(PAGE)
    assert [record["WARC-Concurrent-To"] for record in beside] == [answer["WARC-Record-ID"]]
    assert faults(tmp_path) == []


async def test_answers_that_broke_off_are_there_and_marked(tmp_path: Path) -> None:
    """Cut by the server, by a reset, by a time limit, by our limit of bytes, within the head, within a chunk: each is marked as the
    standard says.
    """
    cut_chunks = chunks(PAGE)[:350]
    broken: dict[str, tuple[str, Then, bytes]] = {
        "b.test/declared": ("length", "close", OK + b"Content-Length: 10737418240\r\n\r\n"),
        "a.test/cut": ("disconnect", "close", OK + b"Content-Length: 90000\r\n\r\n" + PAGE),
        "a.test/chunk": ("disconnect", "close", OK + b"Transfer-Encoding: chunked\r\n\r\n" + cut_chunks),
        "a.test/head": ("disconnect", "close", OK + b"X-Unfin"),
        "a.test/reset": ("disconnect", "reset", OK + b"Content-Length: 90000\r\n\r\n" + PAGE),
        "a.test/stalled": ("time", "stall", OK + b"Content-Length: 90000\r\n\r\n" + PAGE),
        "a.test/status": ("unspecified", "close", b"HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno"),
        "a.test/ssh": ("unspecified", "close", b"SSH-2.0-OpenSSH_9.2\r\n"),
        "a.test/nul": ("unspecified", "close", OK + b"X-Nul: a\0b\r\nContent-Length: 2\r\n\r\nno"),
        "b.test/headers": ("length", "close", OK + b"X: y\r\n" * 5_000),
    }
    async with RawWeb() as web:
        for place, (_, then, data) in broken.items():
            web.raw(place, data, then=then)
        web.page("a.test/", *broken)
        fetch = FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=8, read_timeout=1.0)
        await crawl(tmp_path, archived(web, ["a.test/"], fetch=fetch))
        by_url = answers(tmp_path)
        for place, (why, _, data) in broken.items():
            found = by_url[web.url(place)]
            assert {record["WARC-Truncated"] for record in found} == {why}, place
            assert {record.block for record in found} == {data}, place
            assert not any(record["WARC-Payload-Digest"] for record in found), place
            assert len(found) == len(web.sent[place])  # each try has its own
    assert faults(tmp_path) == []


async def test_a_body_over_the_limit_is_cut_and_marked(tmp_path: Path) -> None:
    """`fetch.max_body` holds in the archive, too: the record has the bytes up to there."""
    async with RawWeb() as web:
        web.raw("a.test/", sized(PAGE * 4000), then="close")
        fetch = FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], max_body=100_000)
        await crawl(tmp_path, archived(web, ["a.test/"], fetch=fetch))
        (answer,) = answers(tmp_path)[web.url("a.test/")]
    assert answer["WARC-Truncated"] == "length"
    assert 100_000 < len(answer.block) < len(sized(PAGE * 4000))
    assert sized(PAGE * 4000).startswith(answer.block)
    assert faults(tmp_path) == []


async def test_the_same_payload_is_kept_once(tmp_path: Path) -> None:
    """A second answer of the same bytes becomes a revisit record that names the first one, with the head of the second."""
    async with RawWeb() as web:
        web.raw("a.test/one", sized(PAGE, b"X-Which: one"))
        web.raw("a.test/two", sized(PAGE, b"X-Which: two"))
        web.page("a.test/", "a.test/one", "a.test/two")
        await crawl(tmp_path, archived(web, ["a.test/"], filters=FilterSettings(exact_duplicate=ExactDuplicateSettings(mode="observe"))))
        found = {record.kind: record for name in ("one", "two") for record in answers(tmp_path)[web.url(f"a.test/{name}")]}
    first, second = found["response"], found["revisit"]
    assert second["WARC-Refers-To"] == first["WARC-Record-ID"]
    assert (second["WARC-Refers-To-Target-URI"], second["WARC-Refers-To-Date"]) == (first.url, first["WARC-Date"])
    assert second["WARC-Payload-Digest"] == first["WARC-Payload-Digest"]
    assert second["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert second.block.startswith(OK)
    assert second.block.endswith(b"\r\n\r\n")
    assert len(second.block) < 150
    assert faults(tmp_path) == []
    assert bodies(tmp_path)[first.url] == ("archive", PAGE)
    assert bodies(tmp_path).get(second.url) == ("store", PAGE), "a takedown of the first must not take it"


async def test_what_filters_refuse_is_there_with_their_words(tmp_path: Path) -> None:
    """Every answer has a record, whatever filters say. Its `metadata` record has the verdicts, and the links that were not followed."""
    async with RawWeb() as web:
        web.file("a.test/picture", "image/png", b"\x89PNG" + bytes(range(256)) * 4)
        web.file("a.test/film", "video/mp4", bytes(range(256)) * 4000)
        web.page("a.test/copy", text="the same words " * 30)
        web.page("a.test/", "a.test/picture", "a.test/film", "a.test/copy", "a.test/copy2", "a.test/denied", "http://[bad\r\nvisit: 99/")
        web.page("a.test/copy2", text="the same words " * 30)
        web.robots("a.test", "User-agent: *\nDisallow: /denied")
        filters = FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(max_probes=0), media=MediaSettings(mode="enforce"))
        await crawl(tmp_path, archived(web, ["a.test/"], filters=filters))
        told = {record.url: record.fields for record in records(tmp_path) if record.kind == "metadata"}
        by_url = answers(tmp_path)
        assert by_url[web.url("a.test/picture")][0].block == web.sent["a.test/picture"][0]
        assert told[web.url("a.test/picture")]["skipped"] == ["bad_type media"]
        (film,) = by_url[web.url("a.test/film")]
        assert (film["WARC-Truncated"], web.sent["a.test/film"][0].startswith(film.block)) == ("unspecified", True)
        assert b"\r\n\r\n" in film.block
        assert told[web.url("a.test/film")]["skipped"] == ["bad_type media"]
        assert told[web.url("a.test/picture")]["via"] == [web.url("a.test/")]
        assert told[web.url("a.test/picture")]["hopsFromSeed"] == ["L"]
        assert told[web.url("a.test/robots.txt")]["hopsFromSeed"] == ["P"]
        kept = [told[web.url(f"a.test/{name}")]["kept"] for name in ("copy", "copy2")]
        assert sorted(kept) == [["false"], ["true"]]
        verdicts = [line for name in ("copy", "copy2") for line in told[web.url(f"a.test/{name}")].get("verdict", [])]
        assert [msgspec.json.decode(line)["reason"] for line in verdicts] == ["duplicate_content"]
        assert told[web.url("a.test/denied")]["skipped"][0].startswith("robots_denied robots")
        assert web.url("a.test/denied") not in by_url
        links = told[web.url("a.test/")]["skipped-link"]
    assert [line.split()[:2] for line in links] == [["bad_url", "url"]]
    assert all(len(fields["visit"]) == 1 for fields in told.values()), "a link has forged a line"
    assert faults(tmp_path) == []


async def test_each_file_begins_with_the_configuration_and_is_bounded(tmp_path: Path) -> None:
    """Records of a visit stay together; another configuration begins another file."""
    from thresher.config.settings import ArchiveSettings

    async with RawWeb() as web:
        names = [f"a.test/{n}" for n in range(12)]
        web.page("a.test/", *names)
        for n, name in enumerate(names):
            web.file(name, "text/html", base64.b64encode(random.Random(n).randbytes(300_000)))
        small = ArchiveSettings(format="warc", max_file=1 << 20)
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=8)
        await crawl(tmp_path, archived(web, ["a.test/"], archive=small, limits=limits))
        n_first = len(files(tmp_path))
        await crawl(tmp_path, archived(web, ["a.test/"], archive=small))
    found = records(tmp_path)
    assert all(file.stat().st_size <= 1 << 20 for file in files(tmp_path))
    assert [record.kind for record in found if record.offset == 0] == ["warcinfo"] * len(files(tmp_path))
    info = [record for record in found if record.kind == "warcinfo"]
    assert [record["WARC-Filename"] for record in info] == [file.name for file in files(tmp_path)]
    assert '"max_pages":8' in info[0].fields["configuration"][0]
    assert '"max_pages":8' not in info[-1].fields["configuration"][0]
    assert len(files(tmp_path)) > n_first
    assert info[0].fields["operator"] == ["https://example.org/bot"]
    assert faults(tmp_path) == []


async def test_without_an_archive_nothing_is_recorded(tmp_path: Path) -> None:
    """There is no folder and no row, and requests offer zstd, as they do not with an archive."""
    async with RawWeb() as web:
        web.raw("a.test/", sized(PAGE))
        await crawl(tmp_path, settings(web, ["a.test/"]))
    assert not (tmp_path / "archive").exists()
    assert b"zstd" in web.received["a.test/"][0]


async def test_no_file_is_named_after_what_a_server_says(tmp_path: Path) -> None:
    """S31, S36: URLs with paths that would leave a folder, or with line ends. Files are only in the archive's folder, and every record is
    whole.
    """
    hostile = ["a.test/..%2f..%2fetc%2fpasswd", "a.test/%00", "a.test/CON", "a.test/" + "x" * 300, "a.test/%0d%0aWARC-Type:%20warcinfo"]
    async with RawWeb() as web:
        for place in hostile:
            web.page(place)
        web.page("a.test/", *hostile)
        await crawl(tmp_path / "crawl", archived(web, ["a.test/"]))
        by_url = answers(tmp_path / "crawl")
        assert sum(map(len, by_url.values())) == len(web.requests) + len(web.robots_requests)
        assert len(web.requests) >= len(hostile)
    assert os.listdir(tmp_path) == ["crawl"]  # noqa: PTH208 - an async test
    (file,) = files(tmp_path / "crawl")
    assert re.fullmatch(r"thresher-[0-9a-f]{8}-000000\.warc\.gz", file.name)
    assert [record.kind for record in records(tmp_path / "crawl")].count("warcinfo") == 1
    assert faults(tmp_path / "crawl") == []
