"""Two agents, and what crosses from the sites of one to those of the other: links, redirects and their ends, a robots.txt elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import AGENT, CONTACT, crawl, write_config
from witness import Request, Witness, links, page, text

from crawler.core.url import URLSpace
from crawler.seeds import url_rules
from storage.shards import open_view
from storage.verify import verify

N_SITES = 8


def test_links_redirects_and_robots_txt_cross_between_agents_as_within_one(tmp_path: Path) -> None:
    """Every site's robots.txt lies on another site, its pages link to the next site, and one of them redirects, by two hops, to a third."""

    def answer(request: Request) -> bytes:
        port = server.port
        site = request.host.removeprefix("s").removesuffix(".test")
        match request.host, request.path:
            case "rules.test", "/robots.txt":
                return text("", "404 Not Found")
            case "rules.test", "/rules.txt":
                return text("User-agent: *\nDisallow: /no\n")
            case _, "/robots.txt":
                return (
                    page("", "302 Found", f"location: http://rules.test:{port}/rules.txt") if site.isdigit() else text("", "404 Not Found")
                )
            case _, "/away":
                return page("", "301 Moved", f"location: http://between.test:{port}/{site}")
            case "between.test", _:
                return page("", "301 Moved", f"location: http://end.test:{port}/end")
            case "end.test", _:
                return page("the end")
            case _, "/":
                following = f"http://s{(int(site) + 1) % N_SITES}.test:{port}"
                return page(links(*(f"{following}{path}" for path in ("/", "/yes", "/no", "/away"))))
            case _:
                return page(f"{request.host}{request.path}")

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
        config = write_config(tmp_path, sections, [server.url("s0.test")])
        with crawl(tmp_path / "store", config) as life:
            assert life.end() == 0, life.said
        for i in range(N_SITES):
            assert sorted(server.paths(f"s{i}.test")) == ["/", "/away", "/robots.txt", "/yes"]
        assert server.paths("end.test").count("/end") == 1
        originals = [f"{server.url(f's{i}.test')}away" for i in range(N_SITES)]
        end = f"{server.url('end.test')}end"
    with open_view(tmp_path / "store") as view:
        space = URLSpace(view.secret, url_rules(view.settings))
        pairs = [view.redirects.pair(space.key(url)) for url in originals]
    assert [(pair.target_text, pair.hops, pair.status) for pair in pairs if pair] == [(end, 2, 200)] * N_SITES
    assert verify(tmp_path / "store") == []
