"""Parts stand side by side in one web, and the plain webs are as they were."""

from __future__ import annotations

import hashlib
import socket
from collections import Counter
from urllib.parse import urlsplit

import pytest
from labelling import PORT, fetch, labelled

from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.crawler.demo.demo_settings import PARTS, PROFILES, DemoSettings, profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.opening import open_web
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.demo.truth import split
from thresher.crawler.demo.web import Web


def test_parts_together_are_the_parts_alone() -> None:
    small = {"part_pages": 20, "part_sites": 3}
    together = labelled("labelled", **small)
    truth = together.truth()
    assert {label.part for label in truth.urls.values()} == set(PARTS)
    for part in PARTS:
        alone = labelled(part, **small)
        urls = alone.truth().urls
        assert {url: label for url, label in truth.urls.items() if label.part == part} == urls
        assert all(fetch(alone, url) == fetch(together, url) for url in list(urls)[::17])
    addresses = together.static_dns()
    assert len(set(addresses.values())) == len(addresses) == len(together.hosts())


def test_aliases_documents_and_kinds_are_told_by_the_truth() -> None:
    truth = labelled("labelled", part_pages=20, part_sites=3).truth()
    documents = truth.documents()
    for document, urls in documents.items():
        assert {truth.urls[url].document for url in urls} == {document}
        assert (urls[0] == truth.urls[urls[0]].canonical) == any(url == truth.urls[url].canonical for url in urls)
    assert sum(map(len, documents.values())) == sum(bool(label.document) for label in truth.urls.values())
    assert truth.aliases().keys().isdisjoint(truth.aliases().values() & truth.aliases().keys())


@pytest.mark.parametrize(("option", "value"), [("parts", ("soft", "hard")), ("part_pages", -1), ("part_sites", -1)])
def test_a_wrong_knob_says_so(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{option}|part_sites, part_pages and"):
        profile("soft", **{option: value})


def test_hosts_of_all_parts_may_share_sites() -> None:
    """The benchmark's web of 20 sites, a fortieth of its size: aliases and soft errors on each of them, and all sites of like size."""
    web = LabelledWeb(profile("bench_sites", part_pages=48), port=PORT)
    by_site: dict[str, Counter[str]] = {}
    for url, label in web.truth().urls.items():
        by_site.setdefault(site_of(hostname_of(origin_of(url))), Counter())[label.part] += 1
    assert len(by_site) == 20
    assert all({"aliases", "soft"} <= of.keys() for of in by_site.values())
    assert sum("replicas" in of for of in by_site.values()) == 9
    assert max(of.total() for of in by_site.values()) < 2 * min(of.total() for of in by_site.values())


def test_a_web_without_parts_is_the_plain_one() -> None:
    assert isinstance(open_web(DemoSettings()), Web)
    assert all(bool(demo_settings.parts) == (name in (*PARTS, "labelled", "bench_sites")) for name, demo_settings in PROFILES.items())


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("demo", "3eb7971d05a762ee"),
        ("story", "641cfb399640edad"),
        ("kill", "96efcad9ad155f3c"),
        ("bench_median", "4ebd169e5f9535ba"),
        ("bench_small", "94d84dcd8f61f792"),
        ("spam", "6c6bda17c82deb0a"),
    ],
)
def test_the_plain_profiles_are_equal_to_the_byte(name: str, digest: str) -> None:
    """Benchmarks of different days compare only where the web is the same."""
    web = Web(PROFILES[name], port=PORT)
    found = hashlib.sha256()
    for host in web.hosts()[:: max(1, len(web.hosts()) // 12)]:
        home = web.respond(host, "/")
        found.update(repr(home).encode())
        place = web.locate(host, "/")
        for link in [] if place.status != 200 or place.kind == "redirect" else web.links(host, place)[:6]:
            found.update(repr(web.respond(*split(link.url))).encode())
    assert found.hexdigest()[:16] == digest


def _get(url: str) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", urlsplit(url).port or 80)) as client:
        client.sendall(f"GET {url[url.index('/', 8) :]} HTTP/1.0\r\nHost: {urlsplit(url).netloc}\r\n\r\n".encode())
        head, _, body = b"".join(iter(lambda: client.recv(1 << 16), b"")).partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


def test_a_server_process_serves_every_part_on_its_own_port() -> None:
    with ServerProcess("labelled", changes={"part_pages": 20, "part_sites": 3}) as server:
        assert isinstance(server.web, LabelledWeb)
        for part in server.web.parts.values():
            url = part.seeds()[0]
            assert _get(url) == (200, server.web.respond(*split(url)).body)
