"""Sitemaps between agents: one agent's robots.txt names another's sitemap, which announces pages of both and of a third site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import AGENT, CONTACT, crawl, write_config
from witness import ReceivedRequest, Witness, page, text

from thresher.storage.export.sitemaps import announced, orphans
from thresher.storage.shards import open_view
from thresher.storage.verify import verify

N_SITES = 8


def test_sitemaps_and_what_they_announce_cross_between_agents(tmp_path: Path) -> None:
    """The robots.txt of every site names a sitemap on one site, which announces a page of each site; no site's page links to another site.
    Mutation: without the message `Announced`, only the sites of the agent that has cdn.test have an orphan.
    """

    def answer(request: ReceivedRequest) -> bytes:
        match request.host, request.path:
            case "cdn.test", "/robots.txt":
                return text("", "404 Not Found")
            case _, "/robots.txt":
                return text(f"Sitemap: http://cdn.test:{server.port}/{request.host}.txt\n")
            case "cdn.test", path:
                host = path[1:].removesuffix(".txt")
                return text(f"http://{host}:{server.port}/orphan\nhttp://stranger.test:{server.port}/\n")
            case host, path:
                return page(f"{host}{path}")

    with Witness(answer) as server:
        sections: dict[str, Any] = {
            "agents": 2,
            "filters": {"soft_error": {"mode": "off"}},
            "identity": {"agent": AGENT, "contact": CONTACT},
            "scope": {"type": "any"},
            "limits": {"min_free_disk": 0, "max_wait": 5},
            "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0, "address_connections": 100},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": {".test": "127.0.0.1"}},
        }
        seeds = [server.url(f"s{i}.test") for i in range(N_SITES)]
        with crawl(tmp_path / "store", write_config(tmp_path, sections, seeds)) as life:
            assert life.end() == 0, life.said
        for i in range(N_SITES):
            assert sorted(server.paths(f"s{i}.test")) == ["/", "/orphan", "/robots.txt"]
        assert sorted(server.paths("cdn.test")) == ["/robots.txt", *(f"/s{i}.test.txt" for i in range(N_SITES))]
        assert server.paths("stranger.test") == []
        with open_view(tmp_path / "store") as view:
            assert sorted(row.url.text for row in announced(view)) == [f"{seed}orphan" for seed in seeds]
            assert {row.sitemap for row in orphans(view)} == {f"http://cdn.test:{server.port}/s{i}.test.txt" for i in range(N_SITES)}
    assert verify(tmp_path / "store") == []
