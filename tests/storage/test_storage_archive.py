"""The archive's files: appended with the commit that makes them count, cut where it did not come, whole on a full disk."""

from __future__ import annotations

import gzip
import subprocess
import uuid
import zlib
from pathlib import Path

import pytest
from forking_agents import forked_code
from injecting import crash_at
from warcio.archiveiterator import ArchiveIterator

from thresher.config.settings import ArchiveSettings, Settings
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.http_message import split
from thresher.storage.archive.bodies import may_hold
from thresher.storage.archive.cdxj import warc_files
from thresher.storage.archive.record import FIELDS, HTTP_RESPONSE, ArchiveRecord, fields, stamp
from thresher.storage.packing import unpack_u64
from thresher.storage.records import ARCHIVE_END, ArchiveEnd, PageRecord
from thresher.storage.schema import BODIES, META, Meta
from thresher.storage.store import Store
from thresher.storage.verify import verify
from thresher.storage.view import View

ROOT = Path(__file__).parents[2]
SETTINGS = Settings(archive=ArchiveSettings(format="warc"))


def record(n: int, noise: bytes = b"") -> ArchiveRecord:
    said = fields([("visit", str(n)), ("noise", noise.hex())])
    return ArchiveRecord("metadata", str(uuid.uuid4()), stamp(0.0), FIELDS, said, [("WARC-Target-URI", f"http://a.test/{n}")])


def visit(store: Store, noise: bytes = b"") -> int:
    n = store.visit
    store.capture([record(n, noise)])
    store.end_visit()
    return n


def visits(path: Path) -> list[int]:
    """Return the visits in the archive, in order."""
    found = []
    for file in sorted((path / "archive").glob("*")):
        with file.open("rb") as stream:
            told = (one for one in ArchiveIterator(stream, no_record_parse=True) if one.rec_type == "metadata")
            found += [int(one.raw_stream.read().split(b"\r\n")[0].split()[1]) for one in told]
    return found


def test_what_was_never_committed_is_cut_off_at_opening(tmp_path: Path) -> None:
    """When a store is opened, half a record at the end of an archive file and a file too many are removed, also if the configuration has no
    archive any more.
    """
    for again in (SETTINGS, Settings()):
        with Store.open(tmp_path, SETTINGS, 0.0) if (tmp_path / "state").exists() else Store.create(tmp_path, SETTINGS, 0.0) as store:
            visit(store)
            visit(store)
            store.flush().result()
        expected = visits(tmp_path)
        (file,) = (tmp_path / "archive").glob("*")
        with file.open("ab") as torn:
            torn.write(file.read_bytes()[:100])
        file.with_name(file.name.replace("-000000", "-000001")).write_bytes(b"\x1f\x8b")
        with Store.open(tmp_path, again, 0.0) as store:
            pass
        assert visits(tmp_path) == expected
        assert len(list((tmp_path / "archive").iterdir())) == 1
        assert verify(tmp_path) == []


@pytest.mark.parametrize("point", ["after_archive:1", "after_results_commit:1"])
def test_without_a_commit_there_is_no_record_and_no_body(tmp_path: Path, point: str) -> None:
    """The process was killed after the first group was written to the archive and before its state was.

    The store that is opened again is empty, and the page of that body is not in it.
    """
    code = (
        "import sys; from test_storage_archive import *\n"
        "store = Store.create(Path(sys.argv[1]), SETTINGS, 0.0); visit(store);"
        "answer(store, b'two', b'two'); store.flush().result()"
    )
    command = [*forked_code(code), str(tmp_path)]
    environ = {**crash_at(point), "PATH": "/usr/bin"}
    assert subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode == -9
    assert visits(tmp_path) == [1, 2]
    with Store.open(tmp_path, SETTINGS, 0.0) as store:
        assert visits(tmp_path) == []
        assert store.tables.pages.since(0) == []
        assert store.tables.captures.place(2) is None
        assert visit(store) == 1
    assert visits(tmp_path) == [1]
    assert verify(tmp_path) == []


@pytest.mark.parametrize("is_lifted", [True, False])
def test_a_disk_that_fills_in_mid_record_loses_nothing(tmp_path: Path, is_lifted: bool) -> None:
    """F86 for the archive: what was half written is written anew once there is room; if there is none, it is cut off, and told."""
    code = """
import resource, signal, sys, random, time
from test_storage_archive import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store.create(Path(sys.argv[1]), SETTINGS, 0.0, patience_s=20 if sys.argv[2] else 0.2)
visit(store); store.flush().result()
resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
for n in range(4):
    visit(store, random.Random(n).randbytes(900_000))
    future = store.flush()
    while not future.done():
        if store.trouble and sys.argv[2]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        time.sleep(0.002)
    future.result()
    print(store.visit, flush=True)
store.close()
"""
    command = [*forked_code(code), str(tmp_path), "lift" if is_lifted else ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert ("DiskError: the disk refuses" in done.stderr) is not is_lifted, done.stderr
    with View(tmp_path) as view:
        n_committed = view.visit - 1
    assert n_committed == 5 if is_lifted else 1 < n_committed < 5
    with Store.open(tmp_path, None, 0.0):
        pass
    assert visits(tmp_path) == list(range(1, n_committed + 1))
    assert verify(tmp_path) == []


def answer(store: Store, page: bytes, body: bytes, headers: bytes = b"") -> int:
    """Settle a visit whose page has a body, and whose answer is in the archive; return its number."""
    n, text = store.visit, f"http://a.test/{store.visit}"
    store.tables.pages.put(PageRecord(url=text, key=b"%016d" % n, status=200), body)
    block = b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + page
    store.capture([ArchiveRecord("response", str(uuid.uuid4()), stamp(0.0), HTTP_RESPONSE, block, [("WARC-Target-URI", text)]), record(n)])
    message = split(block)
    store.leave_body_to_archive(lambda kept: may_hold(message, kept, is_plain_sailing=True))
    store.end_visit()
    return n


def test_a_body_lives_in_the_archive_and_is_read_before_and_after_its_commit(tmp_path: Path) -> None:
    """A body that is on its way to the disk is read from memory, later from its WARC record.

    What cannot be read from the record has a row of its own.
    """
    with Store.create(tmp_path, SETTINGS, 0.0) as store:
        plain, other = answer(store, b"page one", b"page one"), answer(store, b"page two", b"page 2")
        members = b"".join(map(gzip.compress, (b"page ", b"three"))) + b"\0\0"
        packed = answer(store, members, b"page three", b"Content-Encoding: gzip\r\n")
        bare = answer(store, zlib.compress(b"page four", wbits=-15), b"page four", b"content-encoding: Deflate\r\n")
        expected = {plain: b"page one", other: b"page 2", packed: b"page three", bare: b"page four"}
        for _ in range(2):
            assert {n: store.tables.bodies.get(n) for n in expected} == expected
            store.flush().result()
    with View(tmp_path) as view:
        assert [unpack_u64(key) for key, _ in view.rows(BODIES)] == [other]
        assert {n: view.tables.bodies.get(n) for n in expected} == expected
        (file,) = (tmp_path / "archive").glob("*")
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] + b"x" * (len(whole) // 2))
        with pytest.raises(StoreError, match="damaged at byte"):
            view.tables.bodies.get(bare)
        file.unlink()
        with pytest.raises(StoreError, match="gone, and bodies of pages lie in it"):
            view.tables.bodies.get(plain)
    assert any("its body cannot be unpacked" in problem for problem in verify(tmp_path))


def test_verify_tells_of_an_archive_that_is_not_what_the_store_says(tmp_path: Path) -> None:
    with Store.create(tmp_path, SETTINGS, 0.0) as store:
        visit(store)
        visit(store)
        store.flush().result()
    (file,) = (tmp_path / "archive").glob("*")
    whole = file.read_bytes()
    for broken in (whole[:-10], whole[:-200] + b"x" * 200, b""):
        file.write_bytes(broken)
        assert any(problem.startswith(("capture", "archive")) for problem in verify(tmp_path))
    file.write_bytes(whole)
    assert verify(tmp_path) == []
    with Store.open(tmp_path, Settings(), 0.0) as store:
        store.put(META, Meta.ARCHIVE, ARCHIVE_END.encode(ArchiveEnd(0, len(whole) - 100)))
    assert any("past the committed end" in problem for problem in verify(tmp_path))
    file.unlink()
    assert any("is gone" in problem for problem in verify(tmp_path))


@pytest.mark.parametrize("lost", ["all", "last bytes"])
def test_after_a_file_was_taken_away_the_next_one_begins(tmp_path: Path, lost: str) -> None:
    """Nothing is written behind a hole: what comes later is whole, and what is missing is named until it is back.

    Mutation: appended where the lost file ended, the new records stand behind zeros.
    """
    with Store.create(tmp_path, SETTINGS, 0.0) as store:
        visit(store)
        visit(store)
        store.flush().result()
    (file,) = (tmp_path / "archive").glob("*")
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    if lost == "all":
        file.unlink()
    for _ in range(2):
        with Store.open(tmp_path, SETTINGS, 0.0) as store:
            visit(store)
            store.flush().result()
    assert file.name in "\n".join(verify(tmp_path))
    with View(tmp_path) as view, pytest.raises(StoreError, match=f"{file.name} is (gone|shorter)"):
        warc_files(view)
    file.write_bytes(whole)
    assert len(list((tmp_path / "archive").iterdir())) == 2
    assert len(visits(tmp_path)) == 4
    assert verify(tmp_path) == []
    with View(tmp_path) as view:
        assert len(warc_files(view)) == 2


def test_no_value_can_end_its_line() -> None:
    """S36: whatever a page or a failure says, it is one line of a block of fields."""
    block = fields([("a", "x\r\nvisit: 9"), ("b", "\u2028\x85\0é"), ("c", "\ud800")])
    assert [line.partition(b":")[0] for line in block.splitlines()] == [b"a", b"b", b"c"]
    assert len(block.decode().splitlines()) == 3
