"""What pages need to be shown, by crawls that are killed, and by several agents: all of it is in the archive, every visit once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import AGENT, CONTACT, crawl, write_config
from injecting import crash_at
from raw_web import faults
from witness import ReceivedRequest, Witness, page, text

from thresher.storage.records import REQUISITE
from thresher.storage.schema import REQUISITES
from thresher.storage.shards import open_view
from thresher.storage.verify import verify

N_SITES = 4


def typed(kind: str, body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def needed(server: Witness) -> set[str]:
    """Return what the pages of all sites need: an image of their own, one of another site's, a style sheet, and its font."""
    sites = [f"s{i}.test" for i in range(N_SITES)]
    own = {server.url(site, f"/{n}.png") for site in sites for n in range(3)}
    shared = {server.url(f"cdn{i}.test", path) for i in range(3) for path in ("/style.css", "/font.woff2", "/image.png")}
    return own | shared | {server.url(site, "/favicon.ico") for site in sites}


def web(request: ReceivedRequest, server: Witness) -> bytes:
    match request.path.rpartition(".")[2]:
        case "txt":
            return text("", "404 Not Found")
        case "css":
            return typed("text/css", "@font-face { src: url(/font.woff2) } p { background: url(image.png) }")
        case "png" | "woff2" | "ico":
            return typed("image/png", f"{request.host}{request.path}" * 50)
        case _:
            cdns = "".join(f'<link rel=stylesheet href="{server.url(f"cdn{i}.test", "/style.css")}">' for i in range(3))
            n = int(request.path[1:] or 0)
            return page(f'{cdns}<img src="/{n}.png">{request.host} <a href="/{n + 1}">on</a>' if n < 3 else "the end")


@pytest.mark.parametrize(("n_agents", "point"), [(1, "in_archive:20"), (2, "after_archive:1")])
def test_killed_a_crawl_still_fetches_all_that_its_pages_need(tmp_path: Path, n_agents: int, point: str) -> None:
    """Mutation: a style sheet's font that is queued in another commit than its style sheet's is lost by some of these."""
    crashed = tmp_path / "crashed"
    server = Witness(lambda request: web(request, server))
    with server:
        sections: dict[str, Any] = {
            "agents": n_agents,
            "sitemaps": "off",
            "filters": {"soft_error": {"mode": "off"}},
            "identity": {"agent": AGENT, "contact": CONTACT},
            "limits": {"min_free_disk": 0, "max_wait": 5},
            "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0, "address_connections": 100},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": {".test": "127.0.0.1"}},
            "archive": {"format": "warc", "requisites": True},
        }
        config = write_config(tmp_path, sections, [server.url(f"s{i}.test") for i in range(N_SITES)])
        with crawl(tmp_path / "store", config, **crash_at(point, once=crashed)) as life:
            assert life.end() == 0, life.said
        wanted = needed(server)
    assert crashed.exists(), "the point was never reached"
    assert verify(tmp_path / "store") == []
    assert faults(tmp_path / "store") == []
    with open_view(tmp_path / "store") as view:
        states = {record.text: record.state for record in map(REQUISITE.decode, dict(view.rows(REQUISITES)).values())}
    assert {url for url, state in states.items() if state == "fetched"} == wanted
    assert wanted == states.keys()
