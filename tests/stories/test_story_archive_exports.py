"""Exports of an archive: an index like that of another program, a WACZ package whose hashes are right, and a WARC file of a crawl without
an archive.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from little_web import crawl, settings
from raw_web import RawWeb, archived, files, judge, read
from test_story_archive import OK, PAGE, chunks, sized

from thresher.config.settings import ArchiveSettings, FetchSettings, LimitSettings
from thresher.crawler.cli import thresher
from thresher.storage.archive import cdxj
from thresher.storage.archive.files import file_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of whole, odd, broken and repeated answers, over two files of an archive."""
    path = tmp_path_factory.mktemp("archived")
    asyncio.run(_fill(path))
    assert len(files(path)) == 2
    return path


async def _fill(path: Path) -> None:
    async with RawWeb() as web:
        odd = {
            "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks(PAGE + b"c"),
            "packed": sized(gzip.compress(PAGE + b"p"), b"Content-Encoding: gzip"),
            "one?b=2&a=1": sized(PAGE),
            "two": sized(PAGE),
            "bare": b"HTTP/1.1 404 Gone\r\nContent-Length: 2\r\n\r\nno",
            "Caps%20and%20spaces": sized(PAGE + b"caps"),
            "cut": OK + b"Content-Length: 90000\r\n\r\n" + PAGE,
            "status": b"HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nno",
            "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
        }
        for name, data in odd.items():
            web.raw(f"a.test/{name}", b"HTTP/1.1 103 Early\r\n\r\n" * (name == "chunked") + data, then="close")
        web.redirect("a.test/moved", "a.test/two")
        web.page("a.test/", *(f"a.test/{name}" for name in (*odd, "moved")))
        fetch = FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=4)
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=4)
        labels = {web.url("a.test/"): "museums"}
        await crawl(path, archived(web, ["a.test/"], fetch=fetch, limits=limits, labels=labels))
        await crawl(path, archived(web, ["a.test/"], fetch=fetch, labels=labels))


def run(*words: str | Path) -> str:
    """Run a command that must succeed; return its standard output."""
    done = CliRunner().invoke(thresher, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def indexed(paths: list[Path]) -> set[str]:
    """Return the lines that cdxj-indexer makes; of answers that broke off it takes a digest that we leave out."""
    command = [sys.executable, "-c", "from cdxj_indexer.main import main; main()", "--sort", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    truncated = {record.url for path in paths for record in read(path) if record["WARC-Truncated"]}
    found = set()
    for line in done.stdout.splitlines():
        key, at, told = line.split(" ", 2)
        fields = json.loads(told)
        if fields["url"].startswith("urn:"):
            continue
        if fields["url"] in truncated:
            fields.pop("digest")
        found.add(f"{key} {at} {json.dumps(fields)}")
    return found


def test_the_index_is_what_another_program_makes(store: Path) -> None:
    """SURT keys, times, types, states, digests, lengths and offsets, by cdxj-indexer; in order."""
    lines = run("export", store, "--format", "cdxj").splitlines()
    assert lines == sorted(lines)
    assert sorted(set(lines) ^ indexed(files(store))) == []
    assert any('"warc/revisit"' in line for line in lines)
    assert any(line.startswith("test,a:17389)/one?a=1&b=2 ") for line in lines)


def test_each_line_leads_to_its_record(store: Path) -> None:
    for line in run("export", store, "--format", "cdxj").splitlines():
        told = json.loads(line.split(" ", 2)[2])
        with (store / "archive" / told["filename"]).open("rb") as file:
            file.seek(int(told["offset"]))
            record = gzip.decompress(file.read(int(told["length"])))
        assert f"\r\nWARC-Target-URI: {told['url']}\r\n".encode() in record
        assert record.count(b"WARC/1.1\r\n") == 1


def test_an_index_of_more_lines_than_memory_takes_is_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("export", store, "--format", "cdxj")
    monkeypatch.setattr(cdxj, "_AT_ONCE", 3)
    assert run("export", store, "--format", "cdxj") == whole


def test_a_package_is_what_it_says(store: Path, tmp_path: Path) -> None:
    """WACZ: every file is named with its size and hash, the archive is stored as it is, the index leads into its members."""
    run("export", store, "-o", tmp_path / "a.wacz")
    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        assert package.testzip() is None
        content = {name: package.read(name) for name in package.namelist()}
        assert all(info.compress_type == zipfile.ZIP_STORED for info in package.infolist() if info.filename.endswith(".gz"))
    told = json.loads(content["datapackage.json"])
    for resource in told["resources"]:
        data = content[resource["path"]]
        assert (resource["bytes"], resource["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
    assert {resource["path"] for resource in told["resources"]} | {"datapackage.json", "datapackage-digest.json"} == set(content)
    assert json.loads(content["datapackage-digest.json"])["hash"] == f"sha256:{hashlib.sha256(content['datapackage.json']).hexdigest()}"
    assert {f"archive/{file.name}": file.read_bytes() for file in files(store)}.items() <= content.items()
    index = content["indexes/index.cdx.gz"]
    assert gzip.decompress(index).decode() == run("export", store, "--format", "cdxj")
    _, *members = content["indexes/index.idx"].decode().splitlines()
    place = json.loads(members[0].split(" ", 2)[2])
    assert gzip.decompress(index[place["offset"] :][: place["length"]])
    header, *pages = map(json.loads, content["pages/pages.jsonl"].splitlines())
    assert header["format"] == "json-pages-1.0"
    assert [page["url"] for page in pages if page.get("seed")] == ["http://a.test:17389/"]
    assert all({"id", "url", "ts", "title"} <= page.keys() for page in pages)
    assert {page["label"] for page in pages} == {"museums"}


def test_what_is_not_committed_is_in_no_export(store: Path, tmp_path: Path) -> None:
    """While a crawl runs, its last file ends for readers where the last commit ended."""
    whole = run("export", store, "--format", "cdxj")
    last = files(store)[-1]
    more = file_path(last.parent, last.name.rpartition("-")[0], 7)
    data = last.read_bytes()
    try:
        last.write_bytes(data + data)
        more.write_bytes(data)
        assert run("export", store, "--format", "cdxj") == whole
        run("export", store, "-o", tmp_path / "a.wacz")
    finally:
        last.write_bytes(data)
        more.unlink()
    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        assert package.read(f"archive/{last.name}") == data
        assert f"archive/{more.name}" not in package.namelist()


async def test_a_crawl_without_an_archive_gives_resource_records(tmp_path: Path) -> None:
    """The records have bodies as they were decoded, and claim no heads; two other programs check them, and the command says so."""
    async with RawWeb() as web:
        web.raw("a.test/", sized(gzip.compress(PAGE), b"Content-Encoding: gzip", b"X-Odd: a\x7fb"))
        await crawl(tmp_path / "crawl", settings(web, ["a.test/"], labels={web.url("a.test/"): "museums"}))
        done = CliRunner().invoke(thresher, ["export", str(tmp_path / "crawl"), "--format", "warc", "-o", str(tmp_path / "a.warc.gz")])
    assert "1 resource records: the crawl wrote no archive" in done.stderr
    info, resource, beside = read(tmp_path / "a.warc.gz")
    assert "without the bytes of the wire" in info.fields["description"][0]
    assert (resource.kind, resource.block, resource["Content-Type"]) == ("resource", PAGE, "text/html; charset=utf-8")
    assert "X-Odd: a\\x7fb" in beside.fields["header"]
    assert beside.fields["label"] == ["museums"]
    assert judge(tmp_path / "a.warc.gz") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "warc", "-o", "x"), "has its WARC files already"),
        (("--format", "wacz"), "Name a file with -o"),
        (("--format", "cdxj", "--what", "links"), "leave --what and --fields out"),
        (("--format", "cdxj", "--since", "start"), "leave --since and --next out"),
    ],
)
def test_what_cannot_be_is_told(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(thresher, ["export", str(store), *words])
    assert said in str(done.exception)
    assert list(tmp_path.iterdir()) == []


async def test_no_archive_no_index(tmp_path: Path) -> None:
    async with RawWeb() as web:
        await crawl(tmp_path / "crawl", settings(web, ["a.test/"]))
    done = CliRunner().invoke(thresher, ["export", str(tmp_path / "crawl"), "--format", "cdxj"])
    assert "archive.format: warc" in str(done.exception)
    assert ArchiveSettings().format == "off"
