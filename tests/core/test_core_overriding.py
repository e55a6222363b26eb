"""Overrides: what covers a URL, and which of several decides."""

from __future__ import annotations

import random
from typing import Any

import pytest

from thresher.config.errors import ConfigError
from thresher.config.load import load
from thresher.config.settings import Override, Settings
from thresher.config.surt import from_surt
from thresher.crawler.core.model import Cause, Failed, Head
from thresher.crawler.core.overriding import Overriding, covers
from thresher.crawler.core.politeness import Pace, Rulebook
from thresher.crawler.core.ports import HostRecord
from thresher.crawler.core.url import URLRules, URLSpace, origin_of


@pytest.mark.parametrize(
    ("surt", "rule"),
    [
        ("org,example", "example.org"),
        ("org,example,", "example.org"),
        ("(org,example,", "example.org"),
        ("org,example)", "//example.org/"),
        ("org,example)/docs", "//example.org/docs"),
        ("(org,example,)/docs?a=b", "//example.org/docs?a=b"),
        ("org,example:8080)/x", "//example.org:8080/x"),
        ("http://(org,example,www,)/docs", "http://www.example.org/docs"),
        ("https://(org,example)/", "https://example.org/"),
        ("example.org", "example.org"),
        ("https://example.org/docs/", "https://example.org/docs/"),
        ("localhost", "localhost"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_surt_prefix_means_a_domain_or_the_beginning_of_a_url(surt: str, rule: str) -> None:
    assert from_surt(surt) == rule


@pytest.mark.parametrize(
    ("match", "url", "does"),
    [
        ("org,example", "https://a.example.org/x", True),
        ("org,example", "https://badexample.org/", False),
        ("org,example)/docs", "https://example.org/docs/1", True),
        ("org,example)/docs", "http://www.example.org/docs", True),
        ("org,example)/docs", "http://a.example.org/docs", False),
        ("org,example)/docs", "http://example.org/other", False),
        ("org,example)/docs", "http://example.org:8080/docs", False),
        ("https://(org,example,)/docs", "http://example.org/docs", False),
        ("org,example)/docs", "http://evil.test//example.org/docs", False),
    ],
)
def test_what_an_override_covers(match: str, url: str, does: bool) -> None:
    assert covers(Override(match=match).rule, url, origin_of(url)) is does


def settings(*overrides: dict[str, Any]) -> Settings:
    return Settings(overrides=[Override(**override) for override in overrides])


def test_each_setting_is_taken_from_the_longest_match_that_has_it() -> None:
    of = Overriding(
        settings(
            {"match": "org,example)/docs/api", "max_body": 3, "meta": False},
            {"match": "example.org", "max_body": 1, "max_redirects": 1, "total_timeout": 9.0},
            {"match": "https://example.org/docs/", "max_redirects": 2},
        )
    ).of
    assert of("https://other.org/") == settings(
        {"match": "org,example)/docs/api", "max_body": 3, "meta": False},
        {"match": "example.org", "max_body": 1, "max_redirects": 1, "total_timeout": 9.0},
        {"match": "https://example.org/docs/", "max_redirects": 2},
    )
    page = of("https://example.org/docs/api/x")
    assert (page.fetch.max_body, page.fetch.total_timeout, page.limits.max_redirects, page.robots.meta) == (3, 9.0, 2, False)
    other = of("http://example.org/docs/api")
    assert (other.fetch.max_body, other.limits.max_redirects, other.robots.meta) == (3, 1, False)
    assert of("https://sub.example.org/").limits.max_redirects == 1


def test_every_pace_of_politeness_is_the_host_s_own() -> None:
    chosen = settings(
        {"match": "org,example", "dead_after": 2, "dead_wait": 7.0, "backoff_initial": 5.0, "jitter": 0.0, "max_bytes": 10},
        {"match": "org,example,www)/x", "dead_after": 3},
    )
    book, pace = Rulebook(chosen), Pace(chosen, random.Random(0))
    rules, general = book.of("a.example.org"), book.of("other.org")
    assert book.of("example.org").politeness.dead_after == 3
    record = HostRecord(name="a.example.org", site="example.org", failures=2)
    assert pace.is_dead(record, rules)
    assert not pace.is_dead(record, general)
    pace.park_dead(record, rules, 100.0)
    assert record.parked_until == 107.0
    space = URLSpace(bytes(16), URLRules(ports=None))
    url = space.url("http://a.example.org/")
    slowed = HostRecord(name="a.example.org", site="example.org")
    pace.respond(slowed, rules, Failed(url, Cause.HTTP_429, "", 0.1, head=Head(url, 429, (), "", 0.1)), 100.0, excused=False)
    assert slowed.backoff_until == 105.0
    assert pace.why_parked(HostRecord(name="a", site="a", n_bytes=11), rules, 0.0)
    assert not pace.why_parked(HostRecord(name="a", site="a", n_bytes=11), general, 0.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{match: 'org,example)/x', dead_aftr: 3}", r"crawl.yaml:2:\d+: overrides\[0\].dead_aftr: unknown key, did you mean dead_after"),
        ("{match: 'org,example)/x', concurrency: 3}", r"overrides\[0\].concurrency: unknown key"),
        ("{match: 'org,example)/x', filters: {dust: {mode: off}}}", r"overrides\[0\].filters.dust: expected text, got a mapping"),
        ("{match: 'org,example)/x', jitter: 2}", r"overrides\[0\].jitter: expected a number from 0 to 1"),
        ("{match: 'http://(org,example,', max_body: 1}", r"overrides\[0\].match: expected a domain or a URL prefix"),
        ("{match: 'org,,example)', max_body: 1}", r"overrides\[0\].match: expected a domain or a URL prefix"),
    ],
)
def test_a_wrong_key_or_match_is_named_with_its_line(line: str, said: str, tmp_path: Any) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text(f"overrides:\n- {line}\n")
    with pytest.raises(ConfigError, match=said):
        load([path])
