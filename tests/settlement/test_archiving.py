"""The archive's records of answers that the small webs of other tests do not give: 304, TLS."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from edge import fetching, url
from hostile import always, response, serve

from thresher.config.settings import ArchiveSettings, Settings
from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import Fetched, Head, Wire
from thresher.crawler.core.ports import Entry, Lane
from thresher.crawler.settlement.archiving import Archiver
from thresher.crawler.settlement.seed_labels import SeedLabels
from thresher.crawler.visit import Visit
from thresher.storage.archive.peers import PeerCaptures
from thresher.storage.archive.record import ArchiveRecord
from thresher.storage.store import Store

SETTINGS = Settings(archive=ArchiveSettings(format="warc"))
HEADERS = ((b"ETag", b'"1"'), (b"Content-Length", b"4"))


def answered(status: int, received: bytes, headers: tuple[tuple[bytes, bytes], ...] = HEADERS, at: float = 1.0) -> Visit:
    page = url("http://a.test/")
    wire = Wire(b"GET / HTTP/1.1\r\n\r\n", (received,), at, "127.0.0.1", 0, True, None, "", "")
    outcome = Fetched(page, Head(page, status, headers, "127.0.0.1", 0.0), b"", len(received), 0.0, wire=wire)
    return Visit(Lease(bytes(16), Entry(Lane.FRESH, 0, 1, 0, page), "127.0.0.1"), outcome)


def added(store: Store, archiver: Archiver, visit: Visit) -> list[ArchiveRecord]:
    archiver.add(visit, 2.0)
    store.end_visit()
    return store._open.archive[-1][1]


def test_a_304_is_a_revisit_of_what_it_says_has_not_changed(tmp_path: Path) -> None:
    """The record refers to the last capture of the URL, even if that was a revisit; if there is none, it refers to nothing."""
    with Store.create(tmp_path, SETTINGS, 0.0) as store:
        archiver = Archiver(store, SETTINGS, "test", SeedLabels(store, SETTINGS), PeerCaptures([]))
        unknown = added(store, archiver, answered(304, b"HTTP/1.1 304 Not Modified\r\n\r\n", ()))
        first = added(store, archiver, answered(200, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"))
        again = added(store, archiver, answered(304, b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n', at=3.0))
    assert unknown[0].kind == "response"
    assert (again[0].kind, again[0].block) == ("revisit", b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
    headers = dict(again[0].headers)
    assert headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert headers["WARC-Refers-To"] == f"<urn:uuid:{first[0].id}>"
    assert headers["WARC-Refers-To-Date"] == first[0].date


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_request_by_tls_says_by_which(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """WARC-Protocol and WARC-Cipher-Suite are those of the connection; OpenSSL's own names of older suites are left out."""
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.test").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    context.minimum_version = context.maximum_version = version
    server, client = serve(always(response(b"<p>a page</p>")), tls=context), fetching(ca_file=str(tmp_path / "authority.pem"), records=True)
    async with server as site, client as fetcher:
        outcome = await fetcher.fetch(url(site.url(scheme="https")))
    with Store.create(tmp_path / "store", SETTINGS, 0.0) as store:
        visit = answered(200, b"")
        visit.outcome = outcome
        records = added(store, Archiver(store, SETTINGS, "test", SeedLabels(store, SETTINGS), PeerCaptures([])), visit)
    said = [value for name, value in records[0].headers if name == "WARC-Protocol"]
    suites = [value for name, value in records[0].headers if name == "WARC-Cipher-Suite"]
    assert said == ["http/1.1", "tls/1.3" if version is ssl.TLSVersion.TLSv1_3 else "tls/1.2"]
    assert bool(suites) == (version is ssl.TLSVersion.TLSv1_3)
    assert records[0].block == response(b"<p>a page</p>")
    assert records[1].block == site.requests[0]
