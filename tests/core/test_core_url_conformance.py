"""Spec tests: the URL standard's, Unicode's and the public suffix list's own vectors, with exact lists of where we differ.

Two layers are judged: ada alone, which must agree with every vector, and our canonical form, which differs on purpose. An
unexpected agreement fails as an unexpected difference does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ada_url
import pytest

from thresher.crawler.core.model import Reason
from thresher.crawler.core.url import BadURL, URLRules, URLSpace, hostname_of, origin_of, site_of

DATA = Path(__file__).parents[2] / "../shared/data/conformance"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared conformance vectors are not beside the repository")

SPACE = URLSpace(b"k" * 16, URLRules(ports=None, max_length=1 << 20, max_path_segments=1 << 20))


def cases(name: str) -> list[dict[str, Any]]:
    return [case for case in json.loads((DATA / name).read_text()) if isinstance(case, dict)]


def whatwg(text: str, base: str | None = None) -> str | None:
    try:
        return str(ada_url.join_url(base, text) if base else ada_url.normalize_url(text))
    except ValueError:
        return None


def canonical(text: str, base: str | None = None) -> str | Reason:
    try:
        return SPACE.canonical(text, base or "")
    except BadURL as error:
        return error.reason


def without_userinfo(href: str) -> str:
    return re.sub(r"//[^/]*@", "//", href)


# -- wpt-urltestdata.json: where our canonical form of an http(s) URL is not the standard's without its fragment --------------

# User name and password are dropped: they are never sent.
USERINFO = {
    ("http://user:pass@foo:21/bar;par?b#c", "http://example.org/foo/bar"),
    ("https://test:@test", None),
    ("http://a:b@c:29/d", "http://example.org/foo/bar"),
    ("http://é@é", None),
    ("http://é@example.com", None),
    ("http://&a:foo(b]c@d:2/", "http://example.org/foo/bar"),
    ("http://::@c@d:2", "http://example.org/foo/bar"),
    ("http://foo.com:b@d/", "http://example.org/foo/bar"),
    ("http://a:b@c\\", None),
    ("http://%25DOMAIN:foobar@foodomain.com/", None),
    ("http:a:b@www.example.com", None),
    ("http:/a:b@www.example.com", None),
    ("http://a:b@www.example.com", None),
    ("http::b@www.example.com", None),
    ("http:/:b@www.example.com", None),
    ("http://:b@www.example.com", None),
    ("http:a:@www.example.com", None),
    ("http:/a:@www.example.com", None),
    ("http://a:@www.example.com", None),
    ("http://www.@pple.com", None),
    ("http://foo:\U0001f4a9@example.com/bar", "http://other.com/"),
    ("http://\U0001f600x@host/", None),
    ("http://a:\U0001f600x@host/", None),
    ("http://\U0001f600@host/", None),
    ("https://@test@test@example:800/", "http://doesnotmatter/"),
    ("https://@@@example", "http://doesnotmatter/"),
    ("http://`{}:`{}@h/`{}?`{}", "http://doesnotmatter/"),
    ("/some/path", "http://user@example.org/smth"),
    ("", "http://user:pass@example.org:21/smth"),
    ("/some/path", "http://user:pass@example.org:21/smth"),
    ("https://user:pass[\x7f@foo/bar", "http://example.org"),
}
# Escapes get the one spelling of RFC 3986 6.2.2; the standard leaves them as written.
RESPELT = {
    "/a%2fc": "http://example.org/a%2Fc",
    "/a/%2f/c": "http://example.org/a/%2F/c",
    "http://example.com/foo/%2e%2": "http://example.com/foo/%2E%2",  # a stray "%": upper case only
    "http://example.com/foo/%2e./%2e%2e/.%2e/%2e.bar": "http://example.com/..bar",
    "http://example.com/foo%41%7a": "http://example.com/fooAz",
    "http://example.com/foo%00%51": "http://example.com/foo%00Q",
    "http://example.com/%3A%3a%3C%3c": "http://example.com/%3A%3A%3C%3C",
    "http://www/foo%2Ehtml": "http://www/foo.html",
}
REFUSED = {
    # Nothing listens on port 0.
    "http://f:0/c": Reason.BAD_PORT,
    "http://f:00000000000000/c": Reason.BAD_PORT,
    # Labels that begin with "xn--" and are not Punycode: the standard lets ASCII pass unread.
    "http://a.b.c.xn--pokxncvks": Reason.BAD_URL,
    "http://10.0.0.xn--pokxncvks": Reason.BAD_URL,
    "http://a.b.c.XN--pokxncvks": Reason.BAD_URL,
    "http://a.b.c.Xn--pokxncvks": Reason.BAD_URL,
    "http://10.0.0.XN--pokxncvks": Reason.BAD_URL,
    "http://10.0.0.xN--pokxncvks": Reason.BAD_URL,
    "https://xn--/": Reason.BAD_URL,
    # Empty labels, and characters that no host name has: DNS cannot hold them.
    "http://./": Reason.BAD_URL,
    "http://../": Reason.BAD_URL,
    "http://foo.09..": Reason.BAD_URL,
    "http://!\"$&'()*+,-.;=_`{}~/": Reason.BAD_URL,
}


def test_ada_parses_every_case_of_the_url_standard_as_expected() -> None:
    wrong = [c for c in cases("wpt-urltestdata.json") if whatwg(c["input"], c.get("base")) != (None if c.get("failure") else c["href"])]
    assert wrong == []


def test_the_canonical_form_differs_from_the_url_standard_exactly_where_listed() -> None:
    """F73, S10, S11."""
    seen_userinfo, seen_respelt, seen_refused = set(), {}, {}
    for case in cases("wpt-urltestdata.json"):
        href = case.get("href", "")
        if not href.startswith(("http:", "https:")):
            continue
        got, want = canonical(case["input"], case.get("base")), href.partition("#")[0]
        if isinstance(got, Reason):
            seen_refused[case["input"]] = got
        elif got != want and got == without_userinfo(want):
            seen_userinfo.add((case["input"], case.get("base")))
        elif got != want:
            seen_respelt[case["input"]] = got
    assert seen_userinfo == USERINFO
    assert seen_respelt == RESPELT
    assert seen_refused == REFUSED


def test_what_the_url_standard_refuses_and_every_other_scheme_is_refused() -> None:
    """S10."""
    others = [c for c in cases("wpt-urltestdata.json") if not c.get("href", "").startswith(("http:", "https:"))]
    accepted = [c["input"] for c in others if not isinstance(canonical(c["input"], c.get("base")), Reason)]
    assert accepted == []
    assert len(others) > 600


# -- wpt-toascii.json and wpt-IdnaTestV2.json -----------------------------------------------------------------------------------

LONG = "x01234567890123456789012345678901234567890123456789012345678901"
LONG_NAME = ".".join(["01234567890123456789012345678901234567890123456789"] * 4 + ["0123456789012345678901234567890123456789012345678"])
TOASCII_REFUSED = {
    # Empty labels.
    "x..xn--zca",
    "x..ß",
    # Invalid Punycode, or Punycode of what no name may contain.
    "xn--a",
    "xn--a.xn--zca",
    "xn--1ug.example",
    "xn--a-yoc",
    "xn--zn7c.com",
    "xn--0.com",
    # A character that no host name has.
    "xn--ls8h=",
    # Labels over 63 characters.
    LONG + "x",
    LONG + "†",
    LONG + "x.xn--zca",
    LONG + "x.ß",
    # Names over 253 characters.
    LONG_NAME + ".x",
    LONG_NAME + ".xn--zca",
    LONG_NAME + ".ß",
}


def domains(name: str) -> list[dict[str, Any]]:
    return [case for case in cases(name) if case["input"]]  # "https:///x" is no URL with an empty host but "https://x/"


def host_by_ada(domain: str) -> str | None:
    href = whatwg(f"https://{domain}/x")
    return None if href is None else href.removeprefix("https://").removesuffix("/x")


def host_by_us(domain: str) -> str | None:
    url = canonical(f"https://{domain}/x")
    return None if isinstance(url, Reason) else url.removeprefix("https://").removesuffix("/x")


@pytest.mark.parametrize("name", ["wpt-toascii.json", "wpt-IdnaTestV2.json"])
def test_ada_turns_every_domain_of_the_vectors_into_ascii_as_expected(name: str) -> None:
    assert [c["input"] for c in domains(name) if host_by_ada(c["input"]) != c["output"]] == []


def why_no_host(case: dict[str, Any]) -> str:
    """Say by the vectors' own words alone why a domain that the URL standard accepts is none of ours, "" if it is one.

    The vectors' comments carry Unicode's status codes; those marked "ignored" the URL standard overlooks, the others only for
    domains that are ASCII already, whose Punycode it leaves unread.
    """
    host = case["output"].removesuffix(".")
    labels = host.split(".")
    codes = [code for code in case.get("comment", "").split("; ") if code and "ignored" not in code]
    if "" in labels:
        return "empty label"
    if len(host) > 253 or any(len(label) > 63 for label in labels):
        return "too long"
    if re.search(r"[^a-z0-9._-]", host):
        return "character"
    return "punycode" if codes else ""


def test_our_hosts_are_what_unicode_calls_valid_and_dns_can_hold() -> None:
    """F73: of 2,670 domains, 1,795 come out as the vectors say (77 of them without their last dot); the rest is refused, as counted."""
    counts: dict[str, int] = {}
    wrong = []
    for case in domains("wpt-IdnaTestV2.json"):
        why = "" if case["output"] is None else why_no_host(case)
        want = None if why or case["output"] is None else case["output"].removesuffix(".")
        if host_by_us(case["input"]) != want:
            wrong.append(case)
        counts[why] = counts.get(why, 0) + 1
    assert wrong == []
    assert counts == {"": 1795, "punycode": 687, "empty label": 119, "too long": 46, "character": 23}


def test_our_hosts_differ_from_the_to_ascii_vectors_exactly_where_listed() -> None:
    """F72, F73."""
    differing = {c["input"]: host_by_us(c["input"]) for c in domains("wpt-toascii.json") if host_by_us(c["input"]) != c["output"]}
    assert differing == dict.fromkeys(TOASCII_REFUSED)


# -- wpt-percent-encoding.json ------------------------------------------------------------------------------------------------


def test_a_query_is_percent_encoded_in_utf_8() -> None:
    """The vectors' other encodings are not offered: a page's charset is not known where a link is read, and servers expect UTF-8."""
    for case in cases("wpt-percent-encoding.json"):
        assert canonical(f"https://a.example/?{case['input']}") == f"https://a.example/?{case['output']['utf-8']}"


# -- psl-test_psl.txt ---------------------------------------------------------------------------------------------------------


def psl_cases() -> list[tuple[str, str | None]]:
    found = re.findall(r"^checkPublicSuffix\('(.+)', (null|'.+')\);", (DATA / "psl-test_psl.txt").read_text(), re.MULTILINE)
    return [(domain, None if want == "null" else want.strip("'")) for domain, want in found]


def host(domain: str) -> str:
    return hostname_of(origin_of(SPACE.canonical(f"https://{domain}/")))


def test_the_registrable_domain_is_the_public_suffix_lists() -> None:
    """Where the list names none (a public suffix itself), the host is its own site; a leading dot is no host name."""
    n_sites = 0
    for domain, want in psl_cases():
        if domain.startswith("."):
            assert canonical(f"https://{domain}/") is Reason.BAD_URL
            continue
        assert site_of(host(domain)) == host(want or domain)
        n_sites += 1
    assert n_sites == 73


# -- naughty-strings.json -----------------------------------------------------------------------------------------------------


def test_naughty_strings_become_canonical_urls_or_are_refused() -> None:
    """F70."""
    accepted = 0
    for text in json.loads((DATA / "naughty-strings.json").read_text()):
        for base in ("", "https://a.example/x/?q"):
            url = canonical(text, base)
            if isinstance(url, Reason):
                continue
            accepted += 1
            assert url.isascii()
            assert url.isprintable()
            assert " " not in url
            assert canonical(url) == url
    assert accepted > 500
