"""Overrides: which of them apply to a URL, and which of several decides."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from thresher.config.errors import ConfigError
from thresher.config.load import load
from thresher.config.options import example, known, options
from thresher.config.override import OF_HOSTS, OF_SITES, WHOLE_CRAWL, why_whole
from thresher.config.settings import Override, Settings
from thresher.config.surt import from_surt
from thresher.crawler.core.model import Cause, Failed, Head
from thresher.crawler.core.overriding import Overriding, covers
from thresher.crawler.core.politeness import Pace, Rulebook
from thresher.crawler.core.ports import Entry, HostRecord, Lane
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


def settings(by_match: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Return a configuration with overrides: match → options by dotted key."""
    return Settings(overrides=[Override(match=match, options=dict(options)) for match, options in by_match.items()])


DOCS = settings(
    {
        "org,example)/docs/api": {"fetch.max_body": 3, "robots.meta": False},
        "example.org": {"fetch.max_body": 1, "limits.max_redirects": 1, "fetch.total_timeout": 9.0, "fetch.headers": {"X-A": "a"}},
        "https://example.org/docs/": {"limits.max_redirects": 2, "politeness.min_delay": 5.0, "fetch.headers": {"X-B": "b"}},
        "org,example,sub": {"politeness.min_delay": 7.0, "limits.max_pages_per_site": 3},
    }
)


def test_each_setting_is_taken_from_the_longest_match_that_has_it() -> None:
    of = Overriding(DOCS).of
    assert of("https://other.org/") is DOCS
    page = of("https://example.org/docs/api/x")
    assert (page.fetch.max_body, page.fetch.total_timeout, page.limits.max_redirects, page.robots.meta) == (3, 9.0, 2, False)
    assert page.fetch.headers == {"X-A": "a", "X-B": "b"}, "mappings are merged, as those of files are"
    other = of("http://example.org/docs/api")
    assert (other.fetch.max_body, other.limits.max_redirects, other.robots.meta) == (3, 1, False)
    assert of("https://sub.example.org/").limits.max_redirects == 1


def test_what_a_host_or_a_site_has_one_of_is_set_for_all_of_it() -> None:
    """An override of a prefix sets the pace of its whole host; an override of a subdomain cannot set what is one for the whole site."""
    overriding = Overriding(DOCS)
    paces = [
        overriding.of_host(queue).politeness.min_delay for queue in ("example.org", "sub.example.org", "other.org", "a.sub.example.org:81")
    ]
    assert paces == [5.0, 7.0, 1.0, 7.0]
    assert overriding.of_host("example.org").limits.max_pages_per_site is None
    whole = overriding.all_of("https://example.org/x")
    assert (whole.politeness.min_delay, whole.fetch.max_body, whole.limits.max_redirects) == (5.0, 1, 1)
    said = {one.key: (one.value, one.match) for one in overriding.said("https://sub.example.org/x")}
    assert said["politeness.min_delay"] == (7.0, "org,example,sub")
    assert said["fetch.max_body"] == (1, "example.org")
    assert "limits.max_pages_per_site" not in said


def test_a_thousand_overrides_are_not_looked_at_for_each_url() -> None:
    """The time of a look-up does not grow with the number of overrides."""
    many = {f"host{i}.example": {"limits.max_depth": i} for i in range(1_000)} | {"https://host7.example/x/": {"limits.max_depth": 99}}
    overriding = Overriding(settings(many))
    for text, depth in (("https://host7.example/", 7), ("https://host7.example/x/", 99), ("https://www.host8.example/", 8)):
        assert overriding.of(text).limits.max_depth == depth
    tried: list[str] = []

    def counted(rule: str, text: str, host: str) -> bool:
        tried.append(rule)
        return covers(rule, text, host)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thresher.crawler.core.overriding.covers", counted)
        overriding.of("https://host7.example/y")
    assert len(tried) == 2


def test_every_pace_of_politeness_is_the_host_s_own() -> None:
    paces = {"politeness.dead_after": 2, "politeness.dead_wait": 7.0, "politeness.backoff_initial": 5.0, "politeness.jitter": 0.0}
    chosen = settings(
        {
            "org,example": {**paces, "limits.max_bytes_per_host": 10, "retry.max_tries": 1},
            "org,example,www)/x": {"politeness.dead_after": 3},
        }
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
    entry = Entry(Lane.FRESH, 0, 1, 0, url)
    assert pace.retry_at(entry, Cause.CONN_REFUSED, slowed, rules, 100.0) is None
    assert pace.retry_at(entry, Cause.CONN_REFUSED, slowed, general, 100.0) is not None
    assert pace.why_parked(HostRecord(name="a", site="a", n_bytes=11), rules, 0.0)
    assert not pace.why_parked(HostRecord(name="a", site="a", n_bytes=11), general, 0.0)


def test_every_option_may_differ_by_prefix_or_says_why_not() -> None:
    """Every name in the tables is an option or a section."""
    named = {*WHOLE_CRAWL, *OF_HOSTS, *OF_SITES}
    assert named <= {*known()}
    everywhere = [key for key in options() if not why_whole(key)]
    assert len(everywhere) > 100
    assert not [key for key in (*OF_HOSTS, *OF_SITES) if why_whole(key)]
    assert all(len(why.split()) > 2 for why in WHOLE_CRAWL.values())


def test_the_readme_lists_what_holds_for_the_whole_crawl() -> None:
    readme = (Path(__file__).parents[2] / "config" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \| (.+) \|$", readme, re.MULTILINE)
    listed = {name: why for names, why in rows for name in re.findall(r"[\w.]+", names)}
    assert listed == dict(WHOLE_CRAWL)


@pytest.mark.parametrize("key", sorted(key for key in options() if why_whole(key)))
def test_what_holds_for_the_whole_crawl_is_refused_with_the_reason(key: str, tmp_path: Any) -> None:
    field = options()[key]
    value = {"profile": "own-site", "archive.format": "warc", "fetch.client": "aiohttp"}.get(key) or example(field) or "x"
    value = "[]" if value.startswith("[") or "list" in str(field.type).lower() else "{}" if "Dict" in str(field.type) else value
    text = value
    for name in reversed(key.split(".")):
        text = f"{{{name}: {text}}}"
    path = tmp_path / "crawl.yaml"
    path.write_text(f"overrides: [{{match: a.example, {text[1:]}]\n")
    with pytest.raises(ConfigError) as caught:
        load([path])
    assert f"overrides[0].{key}: expected an option that may differ by prefix" in str(caught.value)
    assert why_whole(key) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "{match: 'org,example)/x', dead_aftr: 3}",
            r"crawl.yaml:2:\d+: overrides\[0\].dead_aftr: unknown key, did you mean politeness.dead",
        ),
        ("{match: 'org,example)/x', concurrency: 3}", r"overrides\[0\].concurrency: unknown key, did you mean fetch.concurrency"),
        ("{match: 'org,example)/x', filters: {dust: off}}", r"overrides\[0\].filters.dust: expected a mapping of options"),
        ("{match: 'org,example)/x', politeness: {jitter: 2}}", r"overrides\[0\].politeness.jitter: expected a number from 0 to 1"),
        ("{match: 'http://(org,example,', fetch: {max_body: 1}}", r"overrides\[0\].match: expected a domain or a URL prefix"),
        ("{match: 'org,,example)', fetch: {max_body: 1}}", r"overrides\[0\].match: expected a domain or a URL prefix"),
    ],
)
def test_a_wrong_key_or_match_is_named_with_its_line(line: str, said: str, tmp_path: Any) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text(f"overrides:\n- {line}\n")
    with pytest.raises(ConfigError, match=said):
        load([path])
