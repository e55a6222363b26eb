"""A redirect loop is called a loop wherever redirects are shown, and no other chain is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from small_store import NOW, SmallStore

from thresher.crawler.core.model import State

CHAINS = {  # original → target
    "/a": "/b",
    "/b": "/c",
    "/c": "/a",
    "/into": "/a",
    "/self": "/self",
    "/open": "/waits",
    **{f"/long{n}": f"/long{n + 1}" for n in range(7)},
    "/old": "/new",
}
ENDS = {
    "/a": ("loop", 3),
    "/b": ("loop", 3),
    "/into": ("loop", 4),
    "/self": ("loop", 1),
    "/open": ("open", 1),
    "/long0": ("too_long", 7),
    "/bad": ("no_url", 1),
    "/old": ("settled", 1),
}


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with chains of every kind."""
    path = tmp_path_factory.mktemp("loops") / "crawl"
    small = SmallStore(path)
    urls = {name: small.url(name) for pair in CHAINS.items() for name in pair}
    for name, url in urls.items():
        small.known(url, State.QUEUED if name in ("/waits", "/long7") else State.DONE)
    for name, target in CHAINS.items():
        small.store.tables.redirects.put(urls[name].key, urls[target].key, urls[target].text, 302, NOW)
        small.settle(urls[name])
    bad = small.url("/bad")
    small.known(bad, State.DONE)
    small.store.tables.redirects.put(bad.key, b"", "javascript:void(0)", 302, NOW)
    small.page(urls["/new"])
    small.store.tables.redirects.put_pair(urls["/old"].key, urls["/new"].key, urls["/new"].text, 1, 200)
    small.close()
    return path


def test_the_export_says_how_each_chain_stands(looping: Path, thresher: Command) -> None:
    """Seen to fail: loops had `final: null`, as chains have that wait."""
    rows = {row["url"].removeprefix("https://a.example"): row for row in map(json.loads, rows_of(thresher, looping))}
    assert {name: (rows[name]["end"], rows[name]["hops"]) for name in ENDS} == ENDS
    assert {name for name, row in rows.items() if row["final"] is not None} == {"/old"}
    (line,) = [row for row in rows_of(thresher, looping, "--fields", "end,url") if row.endswith('/self"}')]
    assert json.loads(line)["end"] == "loop"


def rows_of(thresher: Command, crawl: Path, *flags: str) -> list[str]:
    ran = thresher("export", crawl, "--what", "redirects", *flags)
    assert (ran.code, ran.err) == (0, "")
    return list(ran.out.splitlines())


@pytest.mark.parametrize("name", ["/a", "/into", "/self"])
def test_explain_calls_a_loop_a_loop(name: str, looping: Path, thresher: Command) -> None:
    told = json.loads(thresher("explain", looping, f"https://a.example{name}", "--json").out)
    assert told["end_of_chain"] == {"url": None, "hops": ENDS[name][1], "status": None, "end": "loop"}
    assert "that is a loop" in told["answer"]
    assert "a loop, which meets a URL again" in thresher("explain", looping, f"https://a.example{name}").out


def test_explain_calls_nothing_else_a_loop(looping: Path, thresher: Command) -> None:
    for name in ("/open", "/long0", "/bad", "/old"):
        ran = thresher("explain", looping, f"https://a.example{name}")
        assert (ran.code, "loop" in ran.out) == (0, False)
    assert "too long" in thresher("explain", looping, "https://a.example/long0").out


def test_soft_errors_leaves_loops_out_and_says_so(looping: Path, thresher: Command) -> None:
    ran = thresher("soft-errors", looping)
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert "left out 5 redirects that go round in a loop (first: https://a.example/" in ran.err


def test_a_crawl_of_loops_alone_is_no_bad_log(tmp_path: Path, thresher: Command) -> None:
    small = SmallStore(tmp_path / "crawl")
    url = small.url("/self")
    small.known(url, State.DONE)
    small.store.tables.redirects.put(url.key, url.key, url.text, 302, NOW)
    small.settle(url)
    small.close()
    ran = thresher("soft-errors", tmp_path / "crawl")
    assert (ran.code, ran.out) == (0, "")
    assert "left out 1 redirects that go round in a loop" in ran.err
