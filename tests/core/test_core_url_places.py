"""Facts of seeds, of the names and sites of hosts, and of keys."""

from __future__ import annotations

import pytest

from thresher.crawler.core.model import CrawlURL, Purpose, Reason
from thresher.crawler.core.url import (
    BadURL,
    URLRules,
    URLSpace,
    directory_depth,
    hostname_of,
    is_home,
    origin_of,
    port_of,
    queue_name,
    site_of,
)

SPACE = URLSpace(b"s" * 32, URLRules())

# -- seeds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("b.example/x", "https://b.example/x"),
        (" b.example\n", "https://b.example/"),
        ("b.example:80/x", "http://b.example/x"),
        ("//b.example/x", "https://b.example/x"),
        ("b.example:443/x", "https://b.example/x"),
        ("HTTPS://b.example", "https://b.example/"),
        ("http:b.example", "http://b.example/"),
        ("localhost", "https://localhost/"),
        ("[::1]/x", "https://[::1]/x"),
        ("127.0.0.1", "https://127.0.0.1/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("b.example/a:b@c", "https://b.example/a:b@c"),
    ],
)
def test_a_seed_without_a_scheme_means_https_unless_its_port_is_that_of_http(text: str, url: str) -> None:
    seed = SPACE.seed(text)
    assert seed.text == url
    assert (seed.seed_distance, seed.site_depth, seed.purpose) == (0, 0, Purpose.PAGE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.BAD_URL),
        ("  ", Reason.BAD_URL),
        ("/x", Reason.BAD_URL),
        ("#x", Reason.BAD_URL),
        ("me@b.example", Reason.BAD_URL),
        ("mailto:me@b.example", Reason.BAD_SCHEME),
        ("javascript:alert(1)", Reason.BAD_SCHEME),
        ("data:text/html,x", Reason.BAD_SCHEME),
        ("ftp://b.example", Reason.BAD_SCHEME),
        ("about:blank", Reason.BAD_SCHEME),
        (":80", Reason.BAD_SCHEME),
        ("two words", Reason.BAD_URL),
        ("b.example:8080", Reason.BAD_PORT),
        ("\x00\x01\xff\ud800", Reason.BAD_URL),
    ],
)
def test_a_seed_that_is_no_url_is_refused(text: str, reason: Reason) -> None:
    with pytest.raises(BadURL) as caught:
        SPACE.seed(text)
    assert caught.value.reason is reason


# -- names, sites and keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "origin", "hostname", "port", "queue", "site"),
    [
        ("https://www.a.example/x", "https://www.a.example", "www.a.example", 443, "a.example", "a.example"),
        ("http://a.example:8080/", "http://a.example:8080", "a.example", 8080, "a.example:8080", "a.example"),
        ("http://a.example:443/", "http://a.example:443", "a.example", 443, "a.example", "a.example"),
        ("http://[::1]:8080/x", "http://[::1]:8080", "::1", 8080, "[::1]:8080", "::1"),
        ("http://127.0.0.1/", "http://127.0.0.1", "127.0.0.1", 80, "127.0.0.1", "127.0.0.1"),
        ("https://www.github.io/", "https://www.github.io", "www.github.io", 443, "www.github.io", "www.github.io"),
        ("https://www.me.github.io/", "https://www.me.github.io", "www.me.github.io", 443, "me.github.io", "me.github.io"),
        ("https://co.uk/", "https://co.uk", "co.uk", 443, "co.uk", "co.uk"),
        ("https://localhost/", "https://localhost", "localhost", 443, "localhost", "localhost"),
        ("https://b.c.a.co.uk/", "https://b.c.a.co.uk", "b.c.a.co.uk", 443, "b.c.a.co.uk", "a.co.uk"),
    ],
)
def test_a_url_says_where_it_belongs(url: str, origin: str, hostname: str, port: int, queue: str, site: str) -> None:
    assert origin_of(url) == origin
    assert hostname_of(origin) == hostname
    assert port_of(origin) == port
    assert queue_name(origin) == queue
    assert site_of(hostname) == site


def test_directories_are_counted_and_home_pages_known() -> None:
    depths = {"/": 0, "/a": 0, "/a/": 1, "/a/b.html": 1, "/a/b/?x=/y/": 2, "/?a/b": 0}
    assert {path: directory_depth("https://a.example" + path) for path in depths} == depths
    assert [path for path in depths if is_home("https://a.example" + path)] == ["/"]
    assert not is_home("https://a.example/?")


def test_a_key_is_its_sites_key_and_its_own() -> None:
    url = SPACE.url("https://www.a.example/x", seed_distance=2, site_depth=1, hops=1, purpose=Purpose.PROBE, via=b"v" * 16)
    key = SPACE.key(url.text)
    assert url == CrawlURL(url.text, "a.example", "https://www.a.example", key, 2, 1, 1, Purpose.PROBE, b"v" * 16)
    assert len(key) == 16
    assert key[:8] == SPACE.site_key("a.example")
    assert SPACE.key("http://a.example/y")[:8] == key[:8]
    assert SPACE.key("http://a.example/y")[8:] != key[8:]


def test_one_queue_serves_http_https_www_and_bare_but_each_origin_has_its_own_robots() -> None:
    origins = ["http://a.example", "https://a.example", "http://www.a.example", "https://www.a.example"]
    assert len({SPACE.queue_key(origin) for origin in origins}) == 1
    assert len({SPACE.origin_key(origin) for origin in origins}) == 4
    assert {SPACE.queue_key(origin)[:8] for origin in origins} == {SPACE.site_key("a.example")}
    assert SPACE.queue_key("http://a.example:8080") != SPACE.queue_key("http://a.example")


def test_keys_depend_on_the_crawls_secret() -> None:
    other = URLSpace(b"t" * 32, URLRules())
    assert other.key("https://a.example/") != SPACE.key("https://a.example/")
    assert other.site_key("a.example") != SPACE.site_key("a.example")
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        URLSpace(b"short", URLRules())


def test_the_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.crawler.core.url.CACHE_HOSTS", 10)
    space = URLSpace(b"s" * 16, URLRules())
    for i in range(100):
        space.url(space.canonical(f"https://a{i}.example/"))
        assert len(space._origins) <= 10
        assert len(space._sites) <= 10
