"""Walls before hosts of several agents. The hosts move to other agents while they are walled, and the crawl is killed between a canary and
its judgement.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import AGENT, CONTACT, crawl, resume, write_config
from injecting import crash_at
from witness import ReceivedRequest, Witness, links, page, text

from thresher.crawler.analysis.walls import standings
from thresher.storage.shards import open_view
from thresher.storage.verify import verify

BEFORE, N = 7, 12  # pages of a host that are fetched before walls stand, and in all
HOSTS = [f"{name}s{i}.test" for i in range(3) for name in ("a.", "b.")]  # two of each site
FORM = "Log in to see this page, please. <form method=post><input name=user><input type=password name=word></form>"


class Walled:
    """Hosts each of whose pages links to the next, but for the last page that is fetched before the walls. While walls stand, the hosts
    show a login form.
    """

    def __init__(self) -> None:
        self.stand = False

    def answer(self, request: ReceivedRequest) -> bytes:
        if request.path == "/robots.txt":
            return text("", "404 Not Found")
        if self.stand:
            return page(FORM)
        n = int(request.path[1:] or 0)
        words = " ".join(f"{request.host.replace('.', '')}w{n}x{i}" for i in range(60))
        return page(words + links(*[f"/{n + 1}"] * (n + 1 not in (BEFORE, N))))


def sections(server: Witness) -> dict[str, Any]:
    return {
        "agents": 2,
        "sitemaps": "off",
        "filters": {"soft_error": {"mode": "off"}, "audit_share": 0.0, "tail_yield": 0.0},
        "identity": {"agent": AGENT, "contact": CONTACT},
        "limits": {"min_free_disk": 0, "max_wait": 1},
        "politeness": {
            "min_delay": 0,
            "delay_factor": 0,
            "jitter": 0,
            "address_delay": 0,
            "address_connections": 100,
            "backoff_initial": 4,
            "backoff_max": 4,
        },
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
        "dns": {"static": {".test": "127.0.0.1"}},
    }


def test_hosts_stay_walled_over_kills_and_moves_and_lose_nothing(tmp_path: Path) -> None:
    """URLs for which a wall has answered are requested again by the agent that has the host then. Mutations: `Canaries.fetch_again` queued
    nothing; a canary's records stayed with the agent that the host had left.
    """
    web, store, dead = Walled(), tmp_path / "store", (tmp_path / "first", tmp_path / "second")
    with Witness(web.answer) as server:
        config = write_config(tmp_path, sections(server), [server.url(host) for host in HOSTS])
        with crawl(store, config) as life:
            assert life.end() == 0, life.said
        web.stand = True
        seeds = [server.url(host, f"/{BEFORE}") for host in HOSTS]
        with resume(store, *seeds, **crash_at("voided:2", once=dead[0])) as life:
            assert life.end() == 0, life.said
        with open_view(store) as view:
            stood = {one.host.partition(":")[0]: one.state for one in standings(view)}
        n_asked = {host: len(server.of(host)) for host in HOSTS}
        web.stand = False
        with resume(store, "--set", "limits.max_wait=600", "--set", "agents=1", **crash_at("again:2", once=dead[1])) as life:
            assert life.end() == 0, life.said
        then = {host: server.paths(host)[n_asked[host] :] for host in HOSTS}
        paths = {server.url(host, f"/{n}" if n else "/") for host in HOSTS for n in range(N)}
    assert [path.exists() for path in dead] == [True, True], "a point was never reached"
    assert stood == dict.fromkeys(HOSTS, "walled")
    assert verify(store) == []
    before = [f"/{n}" if n else "/" for n in range(BEFORE)]
    for host, asked in then.items():
        pages = [path for path in asked if path != "/robots.txt"]
        assert pages[0] in before, f"the first request to {host} is no canary: {pages}"
        assert sum(path in before for path in pages) <= 4, f"canaries, also those that the kill forgot, of {host}: {pages}"
    with open_view(store) as view:
        assert {one.url for _, one in view.all_pages() if one.keep and one.n_bytes > 300} == paths
        assert {one.state for one in standings(view)} == {"well"}
