"""Two agents, and what goes from the sites of one to those of the other: links, redirects with their targets, a robots.txt on another host,
probes.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import forking
import pytest
from harness import AGENT, CONTACT, ROOT, crawl, write_config
from raw_web import records
from witness import ReceivedRequest, Witness, links, page, text

from thresher.crawler.core.model import State
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.archive.cdxj import warc_files
from thresher.storage.archive.wacz import write_wacz
from thresher.storage.export.judged import standing
from thresher.storage.export.kinds import KINDS
from thresher.storage.shards import open_view
from thresher.storage.verify import verify

N_SITES = 8
SORRY = page("<title>Page not found</title>Sorry, the page that you asked for could not be found here. It may have been removed.")


def _crawl(tmp_path: Path, server: Witness, seeds: list[str], *, soft_error: str = "off", **changed: Any) -> None:
    """Crawl with two agents. changed: options by section, in place of these"""
    sections: dict[str, Any] = {
        "agents": 2,
        "filters": {"soft_error": {"mode": soft_error}},
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_wait": 5},
        "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0, "address_connections": 100},
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
        "dns": {"static": {".test": "127.0.0.1"}},
        "sitemaps": "off",
    }
    for section, options in changed.items():
        sections[section] = {**sections.get(section, {}), **options} if isinstance(options, dict) else options
    with crawl(tmp_path / "store", write_config(tmp_path, sections, seeds)) as life:
        assert life.end() == 0, life.said


def test_links_redirects_and_robots_txt_cross_between_agents_as_within_one(tmp_path: Path) -> None:
    """Every site's robots.txt redirects to another site; its pages link to the next site, one of them redirects in two hops to a third."""

    def answer(request: ReceivedRequest) -> bytes:
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
        _crawl(tmp_path, server, [server.url("s0.test")], soft_error="off")
        for i in range(N_SITES):
            assert sorted(server.paths(f"s{i}.test")) == ["/", "/away", "/robots.txt", "/yes"]
        assert server.paths("end.test").count("/end") == 1
        originals = [f"{server.url(f's{i}.test')}away" for i in range(N_SITES)]
        end = f"{server.url('end.test')}end"
    with open_view(tmp_path / "store") as view:
        space = URLSpace(view.secret, url_rules(view.settings))
        pairs = [view.tables.redirects.pair(space.key(url)) for url in originals]
    assert [(pair.target_text, pair.hops, pair.status) for pair in pairs if pair] == [(end, 2, 200)] * N_SITES
    assert verify(tmp_path / "store") == []


def _all_exports_have_the_label(store: Path) -> None:
    """Check that each row of these exports has the label of its seed, and that a WACZ file lists what sitemaps announce, too."""
    with open_view(store) as view:
        for kind, n in (("announced", N_SITES), ("requisites", 3 * N_SITES), ("sitemaps", N_SITES), ("urls", 3 * N_SITES)):
            chosen = KINDS[kind].choose(("label",))
            assert [chosen[0].of(row) for row in KINDS[kind].rows(view, frozenset(("label",)))] == ["museums"] * n
        assert write_wacz(view, warc_files(view), io.BytesIO(), software="test") == 2 * N_SITES  # what sitemaps announce, too


def test_an_archive_of_two_agents_keeps_a_payload_once_and_knows_the_seed_s_label_of_all(tmp_path: Path) -> None:
    """All sites show the same page with a picture on another site, name a sitemap on another site, and redirect to the next site."""

    def answer(request: ReceivedRequest) -> bytes:
        match request.host, request.path:
            case "pictures.test" | "maps.test", "/robots.txt":
                return text("", "404 Not Found")
            case host, "/robots.txt":
                return text(f"Sitemap: http://maps.test:{server.port}/{host}\n")
            case "maps.test", path:
                return text(f"http://{path[1:]}:{server.port}/announced\n")
            case host, "/announced":
                return page(host)
            case _, "/":
                return page("<img src=picture>" + links("/next"))
            case _, "/next":
                following = (int(request.host.removeprefix("s").removesuffix(".test")) + 1) % N_SITES
                return page("", "302 Found", f"location: http://s{following}.test:{server.port}/")
            case "pictures.test", _:
                return text(f"a picture of {request.path}")
            case _:
                return page("", "302 Found", f"location: http://pictures.test:{server.port}/{request.host}")

    with Witness(answer) as server:
        seed = server.url("s0.test")
        changed: dict[str, Any] = {
            "filters": {name: {"mode": "off"} for name in ("exact_duplicate", "near_replica", "dust")},
        }
        archive = {"format": "warc", "requisites": True}
        _crawl(tmp_path, server, [seed], archive=archive, labels={seed: "museums"}, sitemaps="robots", **changed)
        entries = [server.url(f"s{i}.test") for i in range(N_SITES)]
    found = records(tmp_path / "store")
    kinds = [record.kind for record in found if record.headers.get("WARC-Target-URI", [""])[0] in entries]
    assert (kinds.count("response"), kinds.count("revisit")) == (1, N_SITES - 1)
    said = [record.block for record in found if record.kind == "metadata"]
    assert len(said) == 8 * N_SITES + 2  # icons, too
    assert [block for block in said if b"label: museums" not in block] == []
    _all_exports_have_the_label(tmp_path / "store")
    done = forking.run(("forget", tmp_path / "store", f"s1.test:{server.port}"), cwd=ROOT, env=forking.clean_environment())
    assert done.returncode == 0, done.stderr
    targets = [record.headers.get("WARC-Target-URI", [""])[0] for record in records(tmp_path / "store")]
    assert [target for target in targets if target.startswith(entries[1])] == []
    assert len(targets) > 20 * N_SITES  # what the first agent wrote of other sites' URLs is there, too
    assert verify(tmp_path / "store") == []


def test_a_probe_is_followed_to_the_site_of_another_agent_and_its_answer_comes_back(tmp_path: Path) -> None:
    """On every site a URL that does not exist redirects to one host on another site. The page there looks like what these sites show for
    /docs/gone.
    """

    def answer(request: ReceivedRequest) -> bytes:
        match request.host, request.path:
            case _, "/robots.txt":
                return text("", "404 Not Found")
            case "lost.test", _:
                return SORRY
            case _, "/":
                return page(links("/docs/gone"))
            case _, "/docs/gone":
                return SORRY
            case _:
                return page("", "302 Found", f"location: http://lost.test:{server.port}/{request.host}")

    with Witness(answer) as server:
        _crawl(tmp_path, server, [server.url(f"s{i}.test") for i in range(N_SITES)], soft_error="enforce")
        assert sorted(server.paths("lost.test")) == sorted(["/robots.txt", *(f"/s{i}.test" for i in range(N_SITES))])
        gone = {f"{server.url(f's{i}.test')}docs/gone" for i in range(N_SITES)}
    with open_view(tmp_path / "store") as view:
        pages = {page.url: page for _, page in view.all_pages() if page.url in gone}
        said = [standing(page, view.tables.verdicts.revisions(page.key)) for page in pages.values()]
    assert [[verdict.reason for verdict, _ in verdicts if verdict.filter == "soft_error"] for verdicts in said] == [
        ["soft_error"]
    ] * N_SITES
    assert verify(tmp_path / "store") == []


@pytest.mark.parametrize("limits", [{}, {"max_pages": 10_000}], ids=["no budget", "a budget"])
def test_the_tails_of_both_agents_are_served_before_the_crawl_ends(tmp_path: Path, limits: dict[str, Any]) -> None:
    """URLs that only copies link to are held. Mutation: the supervisor gave no order to fetch them, and a crawl with a limit of pages ended
    without them.
    """
    same = "The same words for everybody here, and enough of them to be told apart from any other page. " * 3

    def answer(request: ReceivedRequest) -> bytes:
        number = request.host.removeprefix("s").removesuffix(".test")
        match request.path:
            case "/robots.txt":
                return text("", "404 Not Found")
            case "/":
                following = f"http://s{(int(number) + 1) % N_SITES}.test:{server.port}/"
                return page(links("/original", "/copy", following))
            case "/original" | "/copy":
                return page(f"{same} {links('/only' if request.path == '/copy' else '/')}")
            case _:
                return page(f"{request.host}{request.path}")

    with Witness(answer) as server:
        filters = {"exact_duplicate": {"max_links": 0}, "tail_yield": 0}
        _crawl(tmp_path, server, [server.url("s0.test")], filters=filters, limits=limits)
        for i in range(N_SITES):
            assert sorted(server.paths(f"s{i}.test")) == ["/", "/copy", "/only", "/original", "/robots.txt"]
    assert verify(tmp_path / "store") == []
    with open_view(tmp_path / "store") as view:
        assert not list(view.all_urls(State.HELD))
