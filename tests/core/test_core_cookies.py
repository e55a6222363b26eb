"""Cookies of one chain of redirects, by the sections of RFC 6265."""

from __future__ import annotations

import pytest

from thresher.crawler.core.cookies import Chain, ChainCookies, parse_cookie

NOW = 1_800_000_000.0
PAGE = "https://www.shop.example.co.uk/a/b?c"


def sent(line: str, url: str = PAGE, *, to: str = PAGE) -> str:
    chain = Chain()
    chain.take(url, [line], NOW)
    return chain.header(to)


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("a=b", "a=b"),
        ("  a = b c ; Secure", "a=b c"),
        ('a="b"', 'a="b"'),
        ("a=b=c", "a=b=c"),
        ("a=", "a="),
        ("just-a-value", "just-a-value"),
        ("=v", "v"),
        ("", ""),
        (";", ""),
        ("a=b\r\nSet-Cookie: x=y", ""),
        ("a=b\0", ""),
        ("a=é", ""),
        ("a=" + "b" * 5_000, ""),
        ("a=b; Max-Age=0", ""),
        ("a=b; Max-Age=-1", ""),
        ("a=b; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=b"),  # 5.3, 3: Max-Age decides
        ("a=b; Expires=Thu, 01-Jan-1970 00:00:00 GMT", ""),
        ("a=b; Expires=Thu, 01 Jan 2099 00:00:00 GMT", "a=b"),
        ("a=b; Expires=soon", "a=b"),
        ("a=b; HttpOnly; SameSite=Strict; Priority=High", "a=b"),
    ],
)
def test_set_cookie_is_read_as_5_2_has_it(line: str, header: str) -> None:
    assert sent(line) == header


@pytest.mark.parametrize(
    ("domain", "to", "is_sent"),
    [
        ("", "https://www.shop.example.co.uk/", True),
        ("", "https://shop.example.co.uk/", False),
        ("", "https://x.www.shop.example.co.uk/", False),
        ("example.co.uk", "https://other.example.co.uk/", True),
        (".Example.co.uk", "https://example.co.uk/", True),
        ("example.co.uk", "https://badexample.co.uk/", False),
        ("co.uk", "https://www.shop.example.co.uk/", False),
        ("uk", "https://www.shop.example.co.uk/", False),
        ("evil.test", "https://evil.test/", False),
        ("sub.www.shop.example.co.uk", "https://www.shop.example.co.uk/", False),
    ],
)
def test_domains_match_as_5_1_3_has_it_and_none_spans_sites(domain: str, to: str, is_sent: bool) -> None:
    line = f"a=b; Path=/; Domain={domain}" if domain else "a=b; Path=/"
    assert (sent(line, to=to) == "a=b") is is_sent


@pytest.mark.parametrize(
    ("path", "to", "is_sent"),
    [
        ("/a", "/a/x", True),
        ("/a", "/a", True),
        ("/a", "/a?q", True),
        ("/a", "/ab", False),
        ("/a/", "/a", False),
        ("nonsense", "/a/x", True),  # the default path of /a/b is /a
        ("", "/x", False),
    ],
)
def test_paths_match_as_5_1_4_has_it(path: str, to: str, is_sent: bool) -> None:
    assert (sent(f"a=b; Path={path}", to="https://www.shop.example.co.uk" + to) == "a=b") is is_sent


def test_a_secure_cookie_is_set_and_sent_by_https_alone() -> None:
    plain = PAGE.replace("https:", "http:")
    assert sent("a=b; Secure") == "a=b"
    assert sent("a=b; Secure", to=plain) == ""
    assert sent("a=b; Secure", plain) == ""
    assert sent("__Host-a=b; Secure; Path=/") == "__Host-a=b"
    assert sent("__Host-a=b; Secure; Path=/; Domain=example.co.uk") == ""
    assert sent("__Secure-a=b") == ""


def test_a_bare_address_has_no_subdomains() -> None:
    assert sent("a=b; Path=/", "http://10.0.0.1/", to="http://10.0.0.1/") == "a=b"
    assert sent("a=b; Path=/; Domain=0.0.1", "http://10.0.0.1/", to="http://9.0.0.1/") == ""


def test_a_later_cookie_of_the_same_name_replaces_the_first_and_longer_paths_go_first() -> None:
    chain = Chain()
    chain.take(PAGE, ["a=1; Path=/", "a=2; Path=/", "a=3; Path=/a"], NOW)
    assert chain.header(PAGE) == "a=3; a=2"
    assert chain.n_changes == 3
    chain.take(PAGE, ["a=2; Path=/"], NOW)
    assert chain.n_changes == 3  # nothing new


def test_a_circle_is_gone_round_again_only_while_it_learns() -> None:
    jars = ChainCookies()
    assert jars.on_redirect("https://a.test/", "https://a.test/", ["seen=1"], NOW, at_most=5)
    assert jars.header("https://a.test/") == "seen=1"
    assert not jars.on_redirect("https://a.test/", "https://a.test/", ["seen=1"], NOW, at_most=5)
    endless = ChainCookies()
    rounds = 0
    while endless.on_redirect("https://a.test/", "https://a.test/", [f"n={rounds}"], NOW, at_most=5):
        rounds += 1
    assert rounds == 5


def test_one_chain_knows_nothing_of_another_and_few_are_kept() -> None:
    jars = ChainCookies()
    for i in range(1_500):
        jars.on_redirect(f"https://a.test/{i}", f"https://a.test/to/{i}", [f"n={i}; Path=/"], NOW, at_most=5)
    assert jars.header("https://a.test/to/1499") == "n=1499"
    assert jars.header("https://a.test/to/0") == ""
    assert jars.header("https://a.test/other") == ""
    jars.on_end("https://a.test/to/1499")
    assert jars.header("https://a.test/to/1499") == ""


@pytest.mark.parametrize("line", ["a=b;" + "x;" * 50_000, ";" * 100_000, "=" * 100_000, "a=b; Max-Age=" + "9" * 90_000])
def test_hostile_headers_cost_little(line: str) -> None:
    parse_cookie(line, PAGE, NOW)
