"""What a crawl found and whom it asked is nobody else's to read, whatever the umask and wherever the files lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from thresher.crawler.cluster.address_file import create
from thresher.crawler.core.model import Cause, Failed
from thresher.crawler.core.ownership import divided
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.fetch.request_log import RequestLog
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.status import Status
from thresher.storage.export.target import replacing
from thresher.storage.partitions import Partitions, ranges_of, write_partitions


@pytest.fixture(autouse=True)
def lenient() -> Iterator[None]:
    """The umask of a careless administrator."""
    before = os.umask(0)
    yield
    os.umask(before)


def log_a_request(path: Path) -> None:
    log = RequestLog(str(path / "requests.log"))
    url = URLSpace(bytes(16), URLRules()).url("https://a.example/?token=secret")
    log.write(Failed(url, Cause.TIMEOUT_TOTAL, ""), 0.0)
    log.close()


def export(path: Path) -> None:
    with replacing(path / "pages.csv", force=False) as file:
        file.write(b"url")


FILES: dict[str, Callable[[Path], None]] = {
    "status.json": lambda path: write_status(path, Status(why="x")),
    "requests.log": log_a_request,
    "partitions.json": lambda path: write_partitions(path, Partitions(2, ranges_of(divided(2)))),
    "addresses": lambda path: create(path / "addresses"),
    "pages.csv": export,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_crawl_data_is_its_owners_alone(name: str, tmp_path: Path) -> None:
    """Seen to fail for all five files: they had the mode that the umask gives, and others could read them."""
    FILES[name](tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / name).stat().st_size > 0


def test_what_an_earlier_version_left_half_written_makes_no_file_public(tmp_path: Path) -> None:
    (tmp_path / "status.json.tmp").touch(0o644)
    write_status(tmp_path, Status())
    assert (tmp_path / "status.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_made_public_stays_so(tmp_path: Path) -> None:
    """An operator may make a file readable for others: an export that a web server shows keeps its mode when it is replaced, and so does a
    request log that is continued.
    """
    for name in ("pages.csv", "requests.log"):
        (tmp_path / name).touch(0o644)
    with replacing(tmp_path / "pages.csv", force=True) as file:
        file.write(b"new")
    log_a_request(tmp_path)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {"pages.csv": 0o644, "requests.log": 0o644}
