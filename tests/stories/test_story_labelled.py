"""A crawl without filters of the labelled webs finds exactly the URLs that their truth lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import DangerSettings, DnsSettings, FetchSettings, FilterSettings, ScopeSettings
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.server import Server


def without_filters() -> FilterSettings:
    """Return every filter switched off."""
    filters = FilterSettings(audit_share=0.0)
    each = {name: getattr(filters, name) for name in filters.__struct_fields__}
    off = {name: msgspec.structs.replace(value, mode="off") for name, value in each.items() if hasattr(value, "mode")}
    return msgspec.structs.replace(filters, **off)


async def test_a_crawl_without_filters_fetches_exactly_the_truth(tmp_path: Path) -> None:
    """Of all parts of the web but the one without end."""
    demo_settings = profile("labelled", parts=("soft", "aliases", "patterns", "replicas", "rank"), part_pages=4, part_sites=2)
    async with Server(demo_settings) as server:
        assert isinstance(server.web, LabelledWeb)
        sections: dict[str, Any] = {
            "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port], concurrency=32),
            "dns": DnsSettings(static=server.web.static_dns()),
            "sitemaps": "off",
            "scope": ScopeSettings(type="any", danger=DangerSettings(links=[])),
            "filters": without_filters(),
        }
        configuration = msgspec.structs.replace(settings(LittleWeb(), [], **sections), seeds=server.web.seeds())
        crawled = await crawl(tmp_path / "c", configuration)
        truth = server.web.truth()
    assert crawled.pages.keys() | crawled.edges.keys() == truth.urls.keys()
    assert {url: page.status for url, page in crawled.pages.items()} == {
        url: label.status for url, label in truth.urls.items() if not label.target
    }
