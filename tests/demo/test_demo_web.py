"""The demo web is pure, and its truth is what a walker finds that knows nothing of plans."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import subprocess
import sys
import zlib
from collections import Counter, deque
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import pytest
from long import shortened

from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.demo.demo_settings import PROFILES, DemoSettings, profile
from thresher.crawler.demo.plan import PathKind
from thresher.crawler.demo.truth import Truth, split
from thresher.crawler.demo.web import Reply, Web

ROOT = Path(__file__).parents[2]
PORT = 8080
EVERYTHING = profile(
    "story",
    seed=7,
    charset_share=0.5,
    session_id_share=0.2,
    calendar_share=0.3,
    slow_host_share=0.2,
    n_farms=1,
    cross_site_share=0.3,
    size="mixed",
    redirect_hops=(1, 7),
)


class _Page(HTMLParser):
    """Links, canonical and robots of one page, by the standard library's parser."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hrefs: list[tuple[str, bool]] = []
        self.canonical = self.robots = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in found:
            self.hrefs.append((found["href"], "nofollow" not in found.get("rel", "")))
        if tag == "link" and found.get("rel") == "canonical":
            self.canonical = found["href"]
        if tag == "meta" and found.get("name") == "robots":
            self.robots = found["content"]


def _text(reply: Reply) -> str:
    headers = dict(reply.headers)
    body = zlib.decompress(reply.body, 31) if headers.get("content-encoding") == "gzip" else reply.body
    declared = re.search(r"charset=([\w-]+)", headers["content-type"]) or re.search(
        r"charset=\"?([\w-]+)", body[:300].decode("ascii", "replace")
    )
    return body.decode(declared[1] if declared else "utf-8")


def _canonical(base: str, href: str) -> str | None:
    parts = urlsplit(urldefrag(urljoin(base, href)).url)
    if parts.scheme != "http":
        return None
    query = f"?{parts.query}" if parts.query else ""
    return f"http://{parts.netloc.lower()}{quote(parts.path, safe='/%')}{query}"


class Walker:
    """Fetches all that plain allowed links and at most five redirects in a row lead to."""

    def __init__(self, web: Web, truth: Truth) -> None:
        self.web, self.truth = web, truth
        self.statuses: dict[str, int] = {}
        self.redirects: dict[str, str] = {}
        self.denied: set[str] = set()
        self.depths: dict[str, int] = {}
        self.bodies: dict[str, bytes] = {}
        self._robots: dict[str, RobotFileParser] = {}

    def walk(self) -> None:
        queue = deque((url, 0, 0) for url in self.web.seeds())
        while queue:
            url, depth, hops = queue.popleft()
            if url in self.statuses or url in self.denied or self.truth.in_trap(url):
                continue
            if not self._allows(url):
                self.denied.add(url)
                continue
            reply = self._fetch(url)
            self.statuses[url], self.depths[url], self.bodies[url] = reply.status, depth, reply.body
            headers = dict(reply.headers)
            if "location" in headers:
                self.redirects[url] = _canonical(url, headers["location"]) or ""
                if hops < 5:
                    queue.append((self.redirects[url], depth, hops + 1))
            elif reply.status == 200 and headers["content-type"].startswith("text/html") and headers.get("x-robots-tag") != "nofollow":
                queue.extend((link, depth + 1, 0) for link in self._links(url, reply))

    def _links(self, url: str, reply: Reply) -> list[str]:
        page = _Page(_text(reply))
        if "nofollow" in page.robots:
            return []
        return [link for href, follow in page.hrefs if follow and (link := _canonical(url, href)) is not None]

    def _fetch(self, url: str) -> Reply:
        host, path = split(url)
        for attempt in range(1, 5):
            reply = self.web.respond(host, path, attempt)
            if reply.status < 500:
                return reply
        raise AssertionError(f"{url} never recovers")

    def _allows(self, url: str) -> bool:
        host = split(url)[0]
        if host not in self._robots:
            parser, reply = RobotFileParser(), self.web.respond(host, "/robots.txt")
            text = "User-agent: *\nDisallow: /" if reply.status >= 500 else reply.body.decode() if reply.status == 200 else ""
            parser.parse(text.splitlines())
            self._robots[host] = parser
        return self._robots[host].can_fetch("thresher", url)


@pytest.mark.parametrize("demo_settings", shortened([profile("story"), EVERYTHING], 1), ids=["story", "everything"])
def test_truth_is_what_an_independent_walk_over_the_pages_finds(demo_settings: DemoSettings) -> None:
    web = Web(demo_settings, port=PORT)
    truth = web.truth()
    walker = Walker(web, truth)
    walker.walk()
    assert walker.statuses == {url: planted.status for url, planted in truth.urls.items()}
    assert walker.depths == {url: planted.depth for url, planted in truth.urls.items()}
    assert walker.redirects == truth.redirects()
    assert walker.denied == truth.denied
    assert truth.unfollowed.isdisjoint(walker.statuses)
    for copy, page in truth.copies().items():
        assert walker.bodies[copy] == web.respond(*split(page)).body, copy


def test_truth_speaks_of_urls_in_the_crawlers_own_canonical_form() -> None:
    truth = Web(EVERYTHING, port=PORT).truth()
    space = URLSpace(b"demo" * 4, URLRules(ports=None))
    urls = {*truth.urls, *truth.denied, *truth.unfollowed, *truth.cut}
    assert any(not url.isascii() or "%" in url for url in urls)
    assert {space.canonical(url) for url in urls} == urls


def test_everything_is_planted_in_the_demo() -> None:
    truth = Web(profile("demo", n_sites=60, pages_per_host=(5, 40))).truth()
    planted = {found.kind for found in truth.urls.values()} | {trap.kind for trap in truth.traps}
    endless = {PathKind.CALENDAR, PathKind.SESSION}
    assert (
        planted
        >= {
            PathKind.PAGE,
            PathKind.COPY,
            PathKind.NEAR_COPY,
            PathKind.VARIANT,
            PathKind.REDIRECT,
            PathKind.GONE,
            PathKind.FAULT,
            PathKind.ASSET,
            PathKind.DEAD_END,
        }
        | endless
    )
    assert truth.denied
    assert truth.unfollowed
    assert truth.cut


def test_the_kill_web_is_finite_and_all_of_its_3000_pages_can_be_reached() -> None:
    web = Web(PROFILES["kill"])
    truth = web.truth()
    assert len(truth.of_kind(PathKind.PAGE)) == 3000
    assert not truth.traps
    assert {split(url)[0] for url in truth.urls} == set(web.hosts())


def _digest(web: Web, urls: list[str]) -> str:
    digest = hashlib.sha256()
    for url in urls:
        digest.update(repr(web.respond(*split(url))).encode())
    return digest.hexdigest()


@pytest.mark.long
def test_a_reply_depends_on_the_url_alone_not_on_what_was_asked_before_or_in_which_process() -> None:
    urls = list(Web(EVERYTHING, port=PORT).truth().urls)[::3]
    here = _digest(Web(EVERYTHING, port=PORT), urls)
    backwards = Web(EVERYTHING, port=PORT, cache_bytes=0)
    for url in reversed(urls):
        backwards.respond(*split(url))
    assert _digest(backwards, urls) == here
    program = (
        "import sys; sys.path[:0] = ['tests', 'tests/demo']; from test_demo_web import EVERYTHING, PORT, Web, _digest\n"
        "print(_digest(Web(EVERYTHING, port=PORT), list(Web(EVERYTHING, port=PORT).truth().urls)[::3]))"
    )
    elsewhere = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    assert elsewhere.stdout.strip() == here


def test_another_seed_is_another_web() -> None:
    assert Web(profile("story")).hosts() != Web(profile("story", seed=1)).hosts()


@pytest.mark.parametrize(("name", "n_bytes", "n_links"), [("bench_median", 25_000, 60), ("bench_small", 4_000, 15)])
def test_every_page_of_the_benchmark_has_the_same_size_and_number_of_links(name: str, n_bytes: int, n_links: int) -> None:
    web = Web(PROFILES[name], port=PORT)
    hosts = web.hosts()
    assert len(hosts) == len(web.seeds()) == 2000
    own = total = 0
    for host in hosts[::400]:
        home = web.respond(host, "/")
        inner = [
            split(url)[1]
            for href, _ in _Page(_text(home)).hrefs
            if (url := _canonical(f"http://{host}:{PORT}/", href)) and split(url)[0] == host
        ]
        for path in ["/", *inner[:10]]:
            reply = web.respond(host, path)
            urls = [
                url
                for href, _ in _Page(_text(reply)).hrefs
                if (url := _canonical(f"http://{host}:{PORT}{path}", href)) and "#top" not in href
            ]
            assert (reply.status, len(reply.body), len(urls)) == (200, n_bytes, n_links), path
            assert len(set(urls)) > 0.7 * n_links
            own += sum(split(url)[0] == host for url in urls)
            total += len(urls)
    assert own > 0.75 * total


@pytest.mark.parametrize(("name", "n_bytes", "n_links", "n_new"), [("bench_median", 25_000, 60, 39), ("bench_small", 4_000, 15, 10)])
def test_a_web_of_new_links_teaches_so_many_urls_a_page_and_never_ends(name: str, n_bytes: int, n_links: int, n_new: int) -> None:
    """Mutation: the numbers of two pages' links overlap; the pages of the finite tree alone are found."""
    web = Web(replace(PROFILES[name], new_links=n_new, n_sites=4, n_seeds=8), port=PORT)
    host, paths = web.hosts()[3], ["/"]
    known = {f"http://{host}:{PORT}/"}
    fresh = []
    for path in paths:
        reply = web.respond(host, path)
        urls = {
            url for href, _ in _Page(_text(reply)).hrefs if (url := _canonical(f"http://{host}:{PORT}{path}", href)) and "#top" not in href
        }
        assert (reply.status, len(reply.body)) == (200, n_bytes), path
        assert len(urls) > 0.8 * n_links
        new = sorted(url for url in urls - known if split(url)[0] == host)
        fresh.append(len(new))
        known |= urls
        if len(paths) < 60:
            paths += [split(url)[1] for url in new][:9]
    assert fresh[0] >= n_new
    assert min(fresh[1:]) == n_new
    assert max(fresh[1:]) <= n_new + 1


def test_a_fault_fails_as_often_as_planted_then_shows_its_page() -> None:
    web = Web(replace(PROFILES["story"], error_share=0.3, error_tries=(1, 3), retry_after_s=2), port=PORT)
    faults = web.truth().of_kind(PathKind.FAULT)
    assert {fault.tries for fault in faults} == {1, 2, 3}
    for fault in faults:
        replies = [web.respond(*split(fault.url), attempt) for attempt in range(1, fault.tries + 2)]
        assert [reply.status for reply in replies] == [fault.error] * fault.tries + [200]
        assert (dict(replies[0].headers).get("retry-after") == "2") == (fault.error == 503)


@pytest.mark.long
def test_sessions_calendars_and_farms_never_end() -> None:
    web = Web(EVERYTHING, port=PORT)
    traps = web.traps()
    assert {trap.kind for trap in traps} == {PathKind.SESSION, PathKind.CALENDAR, PathKind.FARM}
    for trap in traps:
        url = f"http://{trap.host if trap.kind is not PathKind.FARM else 'x' + trap.host}:{PORT}" + (
            "/calendar/2024/01/" if trap.kind is PathKind.CALENDAR else "/"
        )
        seen = set()
        for _ in range(50):
            seen.add(url)
            reply = web.respond(*split(url))
            assert reply.status == 200, url
            found = [_canonical(url, href) or "" for href, _ in _Page(_text(reply)).hrefs]
            url = next(link for link in found if link.startswith("http") and trap.holds(*split(link)) and link not in seen)
        assert len(seen) == 50


def test_a_near_copy_differs_from_its_page_and_shares_most_of_its_text() -> None:
    web = Web(replace(PROFILES["story"], near_duplicate_share=0.3, charset_share=0, gzip_share=0), port=PORT)
    for near in web.truth().of_kind(PathKind.NEAR_COPY):
        copy, page = (web.respond(*split(url)).body.split() for url in (near.url, near.same_as))
        assert copy != page
        assert (Counter(copy) & Counter(page)).total() > 0.9 * len(page)


def test_no_two_pages_of_the_tree_have_the_same_body() -> None:
    web = Web(PROFILES["story"], port=PORT)
    pages = web.truth().of_kind(PathKind.PAGE)
    assert len({web.respond(*split(page.url)).body for page in pages}) == len(pages)


def test_hosts_live_on_loopback_some_sites_spread_over_addresses_and_some_share_one() -> None:
    web = Web(PROFILES["demo"])
    addresses = web.static_dns()
    assert set(addresses) == set(web.hosts())
    assert all(ipaddress.ip_address(address) in ipaddress.ip_network("127.0.0.0/8") for address in addresses.values())
    sites_of: dict[str, set[str]] = {}
    addresses_of: dict[str, set[str]] = {}
    for name, address in addresses.items():
        site = ".".join(name.split(".")[-2:])
        sites_of.setdefault(address, set()).add(site)
        addresses_of.setdefault(site, set()).add(address)
    assert any(len(sites) > 1 for sites in sites_of.values())
    assert any(len(several) > 1 for several in addresses_of.values())
    assert len(web.hosts()) > 300


def test_the_farm_is_a_suffix_of_static_dns() -> None:
    assert ".farm0.test" in Web(PROFILES["spam"]).static_dns()


def test_unknown_hosts_and_paths_are_404() -> None:
    web = Web(PROFILES["story"])
    host = web.hosts()[0]
    assert [
        web.respond(*place).status for place in (("nobody.example", "/"), (host, "/nothing-99999.html"), (host, "/?sid=1"), (host, "/²"))
    ] == [404] * 4


def test_pages_compress_like_text() -> None:
    body = Web(PROFILES["bench_median"]).respond(Web(PROFILES["bench_median"]).hosts()[0], "/").body
    assert 2.5 < len(body) / len(zlib.compress(body, 6)) < 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"broken_share": 2}, "broken_share: expected a share"),
        ({"pages_per_host": (9, 3)}, "pages_per_host: expected a range"),
        ({"size": "huge"}, "size: expected one of"),
        ({"n_sites": 0}, "at least 1"),
        ({"robots_closed_share": 0.9, "robots_broken_share": 0.9}, "sum of at most 1"),
        ({"bogus": 1}, "unknown option 'bogus'"),
    ],
)
def test_a_wrong_knob_is_refused_with_words(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        profile("story", **changes)


def test_an_unknown_profile_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match="story"):
        profile("fairy-tale")
