"""Kills while sitemaps are read and admitted: no announced URL is lost, and no sitemap is requested again once it was answered."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Any

from harness import AGENT, CONTACT, crawl, wait_until, write_config
from witness import ReceivedRequest, Witness, page, text

from thresher.storage.export.sitemaps import announced, sitemaps
from thresher.storage.verify import verify
from thresher.storage.view import View

N_PAGES = 120


def test_a_crawl_that_is_killed_again_and_again_still_fetches_all_that_is_announced(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> bytes:
        match request.path:
            case "/robots.txt":
                return text("Sitemap: /index.xml\n")
            case "/index.xml":
                parts = "".join(f"<sitemap><loc>/part{n}.txt</loc></sitemap>" for n in range(4))
                return text(f"<sitemapindex>{parts}</sitemapindex>")
            case path if path.startswith("/part"):
                first = int(path[5]) * (N_PAGES // 4)
                return text("".join(f"http://a.test:{server.port}/o{i}\n" for i in range(first, first + N_PAGES // 4)))
            case path:
                return page(f"the page at {path}")

    def far_enough(n_requests: int) -> bool:
        return len(server.requests) >= n_requests or not life.running

    with Witness(answer) as server:
        sections: dict[str, Any] = {
            "identity": {"agent": AGENT, "contact": CONTACT},
            "limits": {"min_free_disk": 0, "max_wait": 5},
            "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0},
            "filters": {"soft_error": {"mode": "off"}, "exact_duplicate": {"mode": "off"}},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": {".test": "127.0.0.1"}},
        }
        store = tmp_path / "store"
        with crawl(store, write_config(tmp_path, sections, [server.url("a.test")])) as life:
            for wanted in (5, 40):
                wait_until(partial(far_enough, wanted))
                life.signal_agent(signal.SIGKILL)
            assert life.end() == 0, life.said
        asked = server.paths("a.test")
        assert {f"/o{i}" for i in range(N_PAGES)} <= set(asked)
        assert all(asked.count(f"/part{n}.txt") <= 3 for n in range(4))
        with View(store) as view:
            assert len(list(announced(view))) == N_PAGES
            assert {record.state for record in sitemaps(view)} == {"read"}
    assert verify(store) == []
