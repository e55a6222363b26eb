"""The story of a URL in the corners: learned refusals, audits, robots.txt in every standing, long queues, broken chains, respelled URLs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.config.load import load
from thresher.config.settings import FilterSettings, Override, PathTrapSettings, ScopeSettings, Settings
from thresher.crawler.core.model import Fetched, Head, Reason, State
from thresher.crawler.core.robots import RobotsRecord, file_hash
from thresher.crawler.core.url import BadURL, URLRules, URLSpace
from thresher.crawler.explain.explain import Explainer, without_store
from thresher.crawler.explain.spelling import steps
from thresher.crawler.explain.story import Story
from thresher.crawler.settlement.page_record import unread_page
from thresher.filters.panel import Panel
from thresher.filters.registry import specs
from thresher.storage.view import View

sys.path.append(str(Path(__file__).parent / "cli"))
from small_store import NOW, SEED, SmallStore

SPACE = URLSpace(bytes(16), URLRules(ports=None, strip_params=("utm_*", "sid")))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallStore]:
    made = SmallStore(
        tmp_path, Settings(seeds=[SEED], filters=FilterSettings(audit_share=0.0, path_trap=PathTrapSettings(max_per_prefix=2)))
    )
    yield made
    made.store.close()


def told(small: SmallStore, url: str, settings: Settings | None = None, now: float = NOW) -> Story:
    small.close()
    with View(small.store.path) as view:
        return Explainer(view, settings or view.settings, now).story(url)


def robots(small: SmallStore, kind: Any, body: bytes = b"", **record: float) -> None:
    times = {"fetched_at": NOW, "expires_at": NOW + 100} | record
    name = file_hash(body) if kind == "rules" else b""
    made = RobotsRecord("https://a.example", kind, times["fetched_at"], times["expires_at"], 200, name)
    small.store.tables.robots.put(small.space.origin_key("https://a.example"), made, body)


def fill_a_directory(small: SmallStore) -> None:
    """Let the path trap learn that two URLs of one shape are errors."""
    panel = Panel(specs(small.settings, small.settings.seeds), small.store.tables.memory, audit_share=0.0)
    for name in ("/d/1", "/d/2"):
        missing = Fetched(small.url(name), Head(small.url(name), 404, (), "127.0.0.1", 0.01), b"", 0, 0.02)
        panel.learn(panel.unread(unread_page(missing)))


def test_a_filter_that_learns_is_asked_with_its_memory_as_it_is(small: SmallStore) -> None:
    fill_a_directory(small)
    story = told(small, "https://a.example/d/3")
    assert story.today is not None
    assert story.today.outcome == "be held (path_trap; by path_trap https://a.example/d/#)"
    learned = [ruling for ruling in story.today.rulings if ruling.gate == "learned"]
    assert [(ruling.by, ruling.answer) for ruling in learned if ruling.answer != "pass"] == [("path_trap", "held")]


def test_what_an_observing_filter_would_refuse_is_told_and_does_not_count(small: SmallStore) -> None:
    fill_a_directory(small)
    watching = Settings(seeds=[SEED], filters=FilterSettings(audit_share=0.0, path_trap=PathTrapSettings(mode="observe", max_per_prefix=2)))
    story = told(small, "https://a.example/d/3", watching)
    assert story.today is not None
    learned = [ruling for ruling in story.today.rulings if ruling.gate == "learned"]
    assert [(ruling.mode, ruling.answer) for ruling in learned if ruling.answer != "pass"] == [("observe", "prefix_budget")]
    assert story.today.outcome.startswith("be queued")


def test_a_seed_is_asked_of_the_static_gate_alone(small: SmallStore) -> None:
    fill_a_directory(small)
    wide = Settings(seeds=[SEED, "https://a.example/d/3"], scope=ScopeSettings(type="host"))
    story = told(small, "https://a.example/d/3", wide)
    assert story.today is not None
    assert {ruling.gate for ruling in story.today.rulings} == {"static"}


REFUSED = "be queued and fail when its turn comes: blocked_address ({}; fetch.allow_addresses, profile)"
FETCHED = "be queued and fetched if robots.txt"


@pytest.mark.parametrize(
    ("url", "options", "outcome"),
    [
        ("http://10.1.2.3/", (), REFUSED.format("10.1.2.3: private")),
        ("http://[::1]/", (), REFUSED.format("::1: loopback")),
        ("http://[::ffff:7f00:1]/", (), REFUSED.format("::ffff:7f00:1: loopback")),
        ("http://0x7f.1/", (), REFUSED.format("127.0.0.1: loopback")),
        ("http://169.254.169.254/", ("fetch.allow_addresses=[169.254.0.0/16]",), REFUSED.format("169.254.169.254: cloud metadata")),
        ("http://10.1.2.3/", ("fetch.allow_addresses=[10.0.0.0/8]",), FETCHED),
        ("http://93.184.216.34/", (), FETCHED),
        ("http://b.example/", ("dns.static={b.example: 192.168.0.1}",), REFUSED.format("192.168.0.1: private")),
        ("http://www.b.example/", ("dns.static={.b.example: 192.168.0.1}",), REFUSED.format("192.168.0.1: private")),
        ("http://b.example/", ("dns.static={b.example: 93.184.216.34}",), FETCHED),
        ("http://b.example/", (), FETCHED),  # it would have to be looked up
        ("http://10.1.2.3:8000/", ("profile=own-site", "own_site.pinned={'10.1.2.3:8000': 10.1.2.3}"), FETCHED),
        (
            "http://10.1.2.3:80/",
            ("profile=own-site", "own_site.pinned={'10.1.2.3:8000': 10.1.2.3}"),
            REFUSED.format("10.1.2.3: private"),
        ),
    ],
)
def test_an_address_that_is_known_without_a_question_is_judged_as_the_guard_would(
    url: str, options: tuple[str, ...], outcome: str, small: SmallStore
) -> None:
    chosen = load([], sets=["identity.contact=me@example.org", "scope.type=any", *options]).settings
    story = told(small, url, chosen)
    assert story.today is not None
    assert story.today.outcome.startswith(outcome)
    alone = without_store(url, chosen).today
    assert alone is not None
    assert alone.outcome.startswith(outcome if outcome is not FETCHED else "pass every gate")


@pytest.mark.parametrize(
    ("kind", "body", "expires_in", "outcome"),
    [
        ("rules", b"User-agent: *\nDisallow: /x", 100, "robots.txt denies it"),
        ("rules", b"User-agent: *\nAllow: /x", 100, "fetched in its turn"),
        ("rules", b"User-agent: *\nDisallow: /x", -1, "the last one that was read denies it"),
        ("allow", b"", 100, "fetched in its turn"),
        ("unreachable", b"", 100, "nothing is fetched before 2023-11-14T22:15:00"),
        ("unreachable", b"", -1, "which would be fetched first, allows it"),
    ],
)
def test_robots_txt_is_told_in_every_standing(kind: str, body: bytes, expires_in: float, outcome: str, small: SmallStore) -> None:
    robots(small, kind, body, expires_at=NOW + expires_in)
    story = told(small, "https://a.example/x")
    assert story.today is not None
    assert outcome in story.today.outcome


def test_a_site_whose_robots_txt_is_not_obeyed_is_told_so(small: SmallStore) -> None:
    robots(small, "rules", b"User-agent: *\nDisallow: /")
    settings = Settings(seeds=[SEED], overrides=[Override(match="a.example", obey_robots=False)])
    story = told(small, "https://a.example/x", settings)
    assert story.today is not None
    assert story.today.robots is not None
    assert (story.today.robots.standing, story.today.robots.detail) == ("allowed", "robots.txt is not obeyed for this URL")


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        (
            {"parked": "host_budget"},
            "its host is parked by host_budget (limits.max_pages_per_host, limits.max_bytes_per_host) until the configuration changes",
        ),
        ({"parked": "host_dead", "parked_until": NOW - 1}, "it is the next of its host"),
        ({"backoff_until": NOW + 60, "next_at": NOW + 60}, "answered 429 or 503: nothing before 2023-11-14T22:14:20"),
        ({"next_at": NOW + 60}, "its host is in its delay (min_delay 1 s) until 2023-11-14T22:14:20"),
        ({}, "it is the next of its host"),
    ],
)
def test_why_a_url_waits_is_what_holds_it_longest(clock: dict[str, object], why: str, small: SmallStore) -> None:
    url = small.url("/x")
    small.known(url)
    for name, value in clock.items():
        setattr(small.host(url), name, value)
    assert why in told(small, url.text).answer


def test_a_url_deep_in_a_long_queue_is_found_without_counting(small: SmallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.crawler.explain.explain._MOST_AHEAD", 3)
    for n in range(5):
        small.known(small.url(f"/{n}"))
    story = told(small, "https://a.example/4")
    assert story.waiting is not None
    assert story.waiting.ahead is None
    assert "more than 3 URLs of its host come first" in story.answer


def test_a_url_that_left_its_queue_a_moment_ago_is_being_fetched(small: SmallStore) -> None:
    small.store.tables.seen.add(small.url("/x"), State.QUEUED, None, NOW)
    assert "It is just being fetched." in told(small, "https://a.example/x").answer


def test_a_chain_that_bites_its_tail_ends(small: SmallStore) -> None:
    for name, via in (("/a", "/b"), ("/b", "/a"), ("/self", "/self"), ("/lost", "/nowhere")):
        small.known(small.url(name, via=via), State.REFUSED, Reason.HOST_BUDGET)
    small.close()
    with View(small.store.path) as view:
        explainer = Explainer(view, view.settings, NOW)
        assert [hop.url for hop in explainer.story("https://a.example/a").chain] == ["https://a.example/b"]
        assert explainer.story("https://a.example/self").chain == []
        assert explainer.story("https://a.example/lost").chain == []


URLS = st.text("abCü%2e7E/.\\?#&=@: \t", max_size=25).map(lambda rest: f"hTTp://A.example{rest}") | st.sampled_from(
    [
        "a.example",
        "//a.example/x",
        " https:a.example ",
        "http://u:p@A.example.:80/../%7e?sid=1&utm_x=2#f",
        "http://0x7f.1/",
        "http://[::1]:80/",
    ]
)


@settings(max_examples=100, deadline=None)
@given(URLS)
def test_the_named_steps_lead_to_the_canonical_form(text: str) -> None:
    """Law: the last step's result is the canonical form, no step leaves its text as it was, and a canonical form needs none."""
    try:
        canonical = SPACE.seed(text).text
    except BadURL:
        return
    found = steps(text, canonical)
    results = [text, *(step.result for step in found)]
    assert results[-1] == canonical
    assert all(before != after for before, after in pairwise(results))
    assert steps(canonical, canonical) == []
