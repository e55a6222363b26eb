"""The link graph as other programs take it: edge list, graphs of hosts and sites, Parquet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Ran
from small_store import SmallStore

from thresher.crawler.core.model import State

Thresher = Callable[..., Ran]
LINKS = {
    ("https://a.example/", "https://a.example/x"),
    ("https://a.example/", "https://www.b.example/"),
    ("https://a.example/x", "https://www.b.example/"),
    ("https://www.b.example/", "https://deep.b.example/"),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "crawl"
    small = SmallStore(path)
    urls = [small.url(text) for text in ("https://a.example/", "https://a.example/x", "https://www.b.example/", "https://deep.b.example/")]
    for url in urls[:3]:
        small.known(url, State.DONE)
    small.known(urls[3])
    body = b"<a href=/x rel=nofollow>the <b>first</b></a><img src=/none><a href=//www.b.example/><img alt=picture></a>"
    small.page(urls[0], links=(2, 3), body=body)
    small.page(urls[1], links=(3,))
    small.page(urls[2], links=(4,))
    small.close()
    return path


def test_the_edge_list_is_what_rank_reads(thresher: Thresher, crawl: Path, tmp_path: Path) -> None:
    ran = thresher("export", crawl, "--what", "links", "--format", "tsv")
    assert {tuple(line.split("\t")) for line in ran.out.splitlines()} == LINKS
    (tmp_path / "edges").write_text(ran.out)
    of_list = [json.loads(line) for line in thresher("rank", tmp_path / "edges").out.splitlines()]
    of_crawl = [json.loads(line) for line in thresher("rank", crawl).out.splitlines()]
    assert {row["url"]: row["pagerank"] for row in of_list} == pytest.approx({row["url"]: row["pagerank"] for row in of_crawl})


def test_links_across_sites_are_marked_when_asked(thresher: Thresher, crawl: Path) -> None:
    ran = thresher("export", crawl, "--what", "links", "--fields", "source,target,cross_site")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert {(row["source"], row["target"]) for row in rows if row["cross_site"]} == {
        (source, target) for source, target in LINKS if ("a.example" in source) != ("a.example" in target)
    }


def test_what_a_page_says_of_its_links_is_read_when_asked(thresher: Thresher, crawl: Path) -> None:
    """Read from the stored body. If a filter has rewritten a link to another URL, the body does not have that URL, and nothing is known of
    it.
    """
    ran = thresher("export", crawl, "--what", "links", "--fields", "source,target,anchor,rel,element")
    told = {tuple(row.values())[:2]: tuple(row.values())[2:] for row in map(json.loads, ran.out.splitlines())}
    assert told == {
        ("https://a.example/", "https://a.example/x"): ("the first", "nofollow", "a"),
        ("https://a.example/", "https://www.b.example/"): ("picture", "", "a"),
        ("https://a.example/x", "https://www.b.example/"): (None, None, None),
        ("https://www.b.example/", "https://deep.b.example/"): (None, None, None),
    }


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("hostgraph", [("a.example", "b.example", 2), ("b.example", "deep.b.example", 1)]),
        ("sitegraph", [("a.example", "b.example", 2)]),
    ],
)
def test_hosts_and_sites_link_where_their_pages_do(
    thresher: Thresher, crawl: Path, what: str, expected: list[tuple[str, str, int]]
) -> None:
    rows = [json.loads(line) for line in thresher("export", crawl, "--what", what).out.splitlines()]
    assert [(row["source"], row["target"], row["links"]) for row in rows] == expected


def test_parquet_holds_the_same_rows(thresher: Thresher, crawl: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert thresher("export", crawl, "--what", "links", "--format", "parquet", "-o", tmp_path / "links.parquet").code == 0
    table = parquet.read_table(tmp_path / "links.parquet").to_pydict()
    assert set(zip(table["source"], table["target"], strict=True)) == LINKS
    assert thresher("export", crawl, "--what", "hostgraph", "--format", "parquet", "-o", tmp_path / "hosts.parquet").code == 0
    assert parquet.read_table(tmp_path / "hosts.parquet").to_pydict()["links"] == [2, 1]


def test_parquet_says_what_it_needs(thresher: Thresher, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to_stdout = thresher("export", crawl, "--what", "links", "--format", "parquet")
    assert (to_stdout.code, "Name a file or a folder with -o" in to_stdout.err) == (2, True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    without = thresher("export", crawl, "--what", "links", "--format", "parquet", "-o", tmp_path / "links")
    assert (without.code, "needs pyarrow, of the extra `parquet`" in without.err, "thresher[" in without.err) == (2, True, False)
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_that_knows_nothing_has_empty_graphs(thresher: Thresher, tmp_path: Path) -> None:
    SmallStore(tmp_path / "crawl").close()
    for what in ("links", "hostgraph", "sitegraph"):
        ran = thresher("export", tmp_path / "crawl", "--what", what)
        assert (ran.code, ran.out) == (0, "")
