"""The registry's filters in whole crawls: in `observe` they change nothing; endless spaces are left while other hosts are crawled to their
end.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from little_web import Crawled, LittleWeb, crawl, settings
from server_log import unlabelled

from thresher.config.settings import (
    DepthCutoffSettings,
    DnsSettings,
    DustSettings,
    ExactDuplicateSettings,
    FetchSettings,
    FilterSettings,
    LimitSettings,
    MediaSettings,
    NearReplicaSettings,
    PathTrapSettings,
    PatternYieldSettings,
    Settings,
    SoftErrorSettings,
)
from thresher.crawler.core.model import Reason
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.plan import PathKind
from thresher.crawler.demo.server import Server
from thresher.crawler.demo.truth import split
from thresher.storage.packing import pack_u64
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS, RULES
from thresher.storage.store import Store
from thresher.storage.tables.rules import ROWS_PER_RULE
from thresher.storage.view import View

LEARNERS_OFF: dict[str, Any] = {
    "dust": DustSettings(mode="off"),
    "depth_cutoff": DepthCutoffSettings(mode="off"),
    "near_replica": NearReplicaSettings(mode="off"),
}
OTHERS_OFF = LEARNERS_OFF | {"exact_duplicate": ExactDuplicateSettings(mode="off"), "pattern_yield": PatternYieldSettings(mode="off")}


def crawl_settings(server: Server, **sections: Any) -> Settings:
    """Return the configuration of a crawl of a demo web without waits."""
    base: dict[str, Any] = {
        "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port], concurrency=32),
        "dns": DnsSettings(static=server.web.static_dns()),
        "sitemaps": "off",
    }
    return msgspec.structs.replace(settings(LittleWeb(), [], **{**base, **sections}), seeds=server.web.seeds())


def skipped(path: Path) -> Counter[str]:
    """Return how many links were refused, by reason, as the log of skipped URLs tells."""
    with View(path) as view:
        return Counter(line.reason for line in view.all_skipped())


# -- observe


def in_mode(mode: Any) -> FilterSettings:
    """Return every filter in one mode, with limits that refuse much of the demo web."""
    return FilterSettings(
        audit_share=0.0,
        path_trap=PathTrapSettings(mode=mode, max_segments=2),
        exact_duplicate=ExactDuplicateSettings(mode=mode),
        media=MediaSettings(mode=mode),
        near_replica=NearReplicaSettings(mode=mode, store_replicas=False),
        soft_error=SoftErrorSettings(max_probes=0),  # requests of filters depend on the order of the answers
        dust=DustSettings(mode="off"),
        pattern_yield=PatternYieldSettings(mode="off"),
        depth_cutoff=DepthCutoffSettings(mode="off"),
    )


async def test_filters_that_observe_change_nothing_but_recorded_verdicts(tmp_path: Path) -> None:
    """Mutations: `Panel.static`, `Panel.links` or `Panel._judge` enforces the verdicts of observing filters."""
    demo_settings = profile("story", n_sites=3, duplicate_share=0.2, canonical_share=0.5, error_share=0.0)
    crawls: dict[str, Crawled] = {}
    n_requests: dict[str, int] = {}
    async with Server(demo_settings) as server:
        for mode in ("off", "observe", "enforce"):
            before = server.n_requests
            crawls[mode] = await crawl(tmp_path / mode, crawl_settings(server, filters=in_mode(mode)))
            n_requests[mode] = server.n_requests - before
    off, observe, enforce = crawls["off"], crawls["observe"], crawls["enforce"]
    assert n_requests["off"] == n_requests["observe"] > n_requests["enforce"]
    assert {url: row.state for url, row in off.rows.items()} == {url: row.state for url, row in observe.rows.items()}
    assert {url: page.sha256 for url, page in off.pages.items()} == {url: page.sha256 for url, page in observe.pages.items()}
    assert {url: page.has_body for url, page in off.pages.items()} == {url: page.has_body for url, page in observe.pages.items()}
    assert off.links == observe.links
    assert off.edges == observe.edges
    assert off.pairs == observe.pairs
    assert skipped(tmp_path / "off") == skipped(tmp_path / "observe")
    assert (off.status.saved, observe.status.saved) == ({}, {})
    assert off.status.would_save == {}
    assert observe.status.would_save.keys() == {"exact_duplicate", "near_replica", "media", "path_trap"}, (
        "what they would have saved is told"
    )
    assert not any(page.verdicts for page in off.pages.values())
    copies = {url for url, page in observe.pages.items() if page.verdicts}
    assert len(copies) > 10
    assert {verdict.filter for url in copies for verdict in observe.pages[url].verdicts} == {"exact_duplicate", "near_replica"}
    assert enforce.status.saved.keys() >= {"exact_duplicate"}


# -- endless spaces


async def test_a_wildcard_farm_gets_no_more_than_its_hosts_and_its_share(tmp_path: Path) -> None:
    """F8: the rows of a site with endlessly many hosts stay below its cap of hosts, and other sites get at least 90 % of the requests."""
    most = 5
    async with Server(profile("spam", n_sites=20, pages_per_host=(5, 5))) as server:
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_hosts_per_site=most, max_pages_per_site=2 * most)
        configuration = crawl_settings(server, limits=limits)
        with Store.create(tmp_path / "c", configuration, 0.0) as store:
            store.put(
                RULES, b"limits:site_host_limit", pack_u64(ROWS_PER_RULE - 10)
            )  # of the rows, those that the farms may have as refused
        crawled = await crawl(tmp_path / "c", configuration)
        truth = unlabelled(server.web).truth()
    ordinary = {url for url in truth.urls if not truth.in_trap(url)}
    assert len(ordinary & crawled.pages.keys()) == len(ordinary) == 200, "others finish"
    assert len(ordinary) >= 0.9 * len(crawled.pages)
    refused = [url for url, row in crawled.rows.items() if row.reason is Reason.SITE_HOST_LIMIT]
    assert len(refused) == 10 < crawled.status.skipped["site_host_limit"]
    with View(tmp_path / "c") as view:
        hosts = Counter(HOST.decode(value).site for _, value in view.rows(HOSTS))
    assert (hosts["farm0.test"], hosts["farm1.test"]) == (most, most)


def repeated(place: str) -> list[str]:
    return [f"{place.rstrip('/')}/{step}/" for step in ("more", "less")]


def parameters(place: str) -> list[str]:
    n = place.count("=")
    return [f"{place}{'&' if '?' in place else '?'}p{n}={value}" for value in (1, 2)]


def directory(place: str) -> list[str]:
    number = int(place.rpartition("/")[2])
    return [f"trap.test/tags/{2 * number + i}" for i in (1, 2)]


def pagination(place: str) -> list[str]:
    number = int(place.split("/")[-2])
    return [f"trap.test/page/{2 * number + i}/" for i in (1, 2)]


def calendar(place: str) -> list[str]:
    year, month = (int(part) for part in place.split("/")[2:4])
    months = [12 * year + month - 1 + step for step in (1, -1, 12)]
    return [f"trap.test/cal/{at // 12}/{at % 12 + 1:02}/" for at in months]


@pytest.mark.parametrize(
    ("generate", "start", "most"),
    [
        (repeated, "trap.test/", 130),
        (parameters, "trap.test/", 31),
        (directory, "trap.test/tags/0", 41),
        (pagination, "trap.test/page/0/", 41),
        (calendar, "trap.test/cal/2024/05/", 25),
    ],
)
async def test_an_endless_space_ends_at_its_cap_and_others_finish(tmp_path: Path, generate: Any, start: str, most: int) -> None:
    """F60: the crawl leaves the endless space at its cap, and fetches all other pages."""
    async with LittleWeb() as web:
        web.page("a.test/", start, *[f"a.test/{i}" for i in range(10)])
        for i in range(10):
            web.page(f"a.test/{i}")
        web.generate, web.generated_text = generate, "what every page of the trap shows " * 5
        tight = FilterSettings(
            audit_share=0.0, path_trap=PathTrapSettings(max_per_prefix=40, max_calendar=24, max_params=4), tail_yield=1.0, **OTHERS_OFF
        )
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=tight))
    in_trap = sum(place.startswith("trap") for place in web.requests)
    assert len(web.requests) - in_trap == 11
    assert 20 < in_trap <= most
    assert crawled.ending.why.startswith("nothing is left to do")


@pytest.mark.parametrize("mode", ["observe", "enforce"])
async def test_a_path_trap_that_observes_says_what_it_would_have_saved(tmp_path: Path, mode: Any) -> None:
    """URLs that wait are judged again when their turn comes, too."""
    n = 60
    async with LittleWeb() as web:
        places = [f"a.test/trap/{i}" for i in range(n)]
        web.page("a.test/", *places)
        for place in places:
            web.page(place, text="what every page of the trap shows " * 5)
        trap = FilterSettings(audit_share=0.0, tail_yield=1.0, path_trap=PathTrapSettings(mode=mode, max_per_prefix=20), **OTHERS_OFF)
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=trap))
    assert len(web.requests) == 1 + (n if mode == "observe" else 21)
    said = crawled.status.would_save, crawled.status.held_by
    assert said == (({"path_trap": n - 21}, {}) if mode == "observe" else ({}, {"path_trap": n - 21}))


@pytest.mark.parametrize("topic", ["forum.test/topic-{}.html", "forum.test/viewtopic.php?t={}"])
async def test_a_forum_in_one_directory_is_found_whole(tmp_path: Path, topic: str) -> None:
    """Its lists link to far more topics than the number of barren pages after which a directory is left. Long form:
    `benchmarks.quality.forum`.
    """
    n_topics, a_list = 120, 20
    async with LittleWeb() as web:
        lists = [f"forum.test/index.php?start={start}" for start in range(0, n_topics, a_list)]
        web.page("forum.test/", *lists)
        for i, place in enumerate(lists):
            web.page(place, *(topic.format(t) for t in range(i * a_list, (i + 1) * a_list)))
        for t in range(n_topics):
            web.page(topic.format(t), "forum.test/")
        crawled = await crawl(
            tmp_path / "c", settings(web, ["forum.test/"], filters=FilterSettings(path_trap=PathTrapSettings(max_per_prefix=20)))
        )
    assert {web.place(url) for url in crawled.pages} == {"forum.test/", *lists, *map(topic.format, range(n_topics))}
    assert len(web.requests) == 1 + len(lists) + n_topics


async def test_the_demo_s_traps_end_and_everything_else_is_found(tmp_path: Path) -> None:
    """F60: session ids are left when their host's budget is used up, calendars when that of their shape is."""
    most = 60
    demo_settings = profile("story", calendar_share=0.3, session_id_share=0.2, pages_per_host=(5, 9), error_share=0.0)
    async with Server(demo_settings) as server:
        filters = FilterSettings(audit_share=0.0, tail_yield=1.0, path_trap=PathTrapSettings(max_calendar=2), **LEARNERS_OFF)
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages_per_host=most)
        crawled = await crawl(tmp_path / "c", crawl_settings(server, filters=filters, limits=limits))
        truth = unlabelled(server.web).truth()
    assert {trap.kind for trap in truth.traps} == {PathKind.CALENDAR, PathKind.SESSION}
    answered = crawled.pages.keys() | crawled.edges.keys()
    kinds = {planted.kind for url, planted in truth.urls.items() if url not in answered}
    assert kinds <= {PathKind.ASSET}
    visited = [(trap.kind, sum(trap.holds(*split(url)) for url in crawled.pages)) for trap in truth.traps]
    assert (
        max(n for kind, n in visited if kind is PathKind.CALENDAR) == 2 * 20
    )  # months and days that are all new: ten times `max_calendar`
    assert most - 1 <= max(n for kind, n in visited if kind is PathKind.SESSION) <= most, "its home page has no session"
    assert crawled.status.hosts_parked == {"host_budget": 1}


# -- links that lead nowhere


NO_PAGES = [
    *("javascript:alert(1)", "JaVaScRiPt:x", "vbscript:x", "data:text/html,x", "mailto:a@b.example", "tel:+123", "urn:isbn:1", "#top"),
    *("ftp://a.test/x", "file:///etc/passwd", "about:blank", "blob:http://a.test/1", "view-source:http://a.test/", "ws://a.test/"),
]


@pytest.mark.parametrize("base", ["", "javascript:alert(1)", "data:text/html,x", "mailto:a@b.test", "http://[bad/", "http://", "a" * 5_000])
async def test_links_of_other_schemes_are_never_queued_whatever_the_base(tmp_path: Path, base: str) -> None:
    """F70."""
    async with LittleWeb() as web:
        web.page("a.test/", *NO_PAGES, head=f'<base href="{base}">' if base else "")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    assert web.requests == ["a.test/"]
    assert crawled.rows.keys() == {web.url("a.test/")}


async def test_a_link_of_a_megabyte_is_dropped_and_counted(tmp_path: Path) -> None:
    """F71."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/" + "x" * (1 << 20), "/" + "y" * 3_000, "a.test/1")
        web.page("a.test/1")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    assert web.requests == ["a.test/", "a.test/1"]
    assert len(crawled.rows) == 2
    assert crawled.status.skipped == {"too_long": 2}


async def test_impossible_host_names_never_reach_a_name_server(tmp_path: Path) -> None:
    """F72: ten thousand labels, a label of 64 characters, an empty label."""
    hosts = [
        ".".join(["a"] * 10_000),
        "x" * 64 + ".example",
        "a..example",
        ".example",
        "a.example..",
        "-" * 300 + ".example",
        "a b.example",
        "a%00b.example",
    ]
    loop = asyncio.get_running_loop()
    transport, asked = await loop.create_datagram_endpoint(Asked, local_addr=("127.0.0.1", 0))
    async with LittleWeb() as web:
        web.page("a.test/", *[f"http://{host}:{web.port}/" for host in hosts])
        server = f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
        crawled = await crawl(
            tmp_path / "c", settings(web, ["a.test/"], dns=DnsSettings(static={".test": web.address}, servers=[server], timeout=0.1))
        )
    transport.close()
    assert asked.n == 0
    assert crawled.rows.keys() == {web.url("a.test/")}
    assert sum(crawled.status.skipped.values()) == len(hosts)


class Asked(asyncio.DatagramProtocol):
    """A name server that counts questions and answers none."""

    n = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.n += 1
