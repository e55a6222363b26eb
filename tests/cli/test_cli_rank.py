"""`rank` on graph files and on a crawl: what it prints, in which order, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Ran
from small_store import NOW, SEED, SmallStore, build

from benchmarks.quality import real_order
from thresher.crawler.core.model import State
from thresher.crawler.graph.measures import captured

Thresher = Callable[..., Ran]

LINKS = "http://a.example/\thttp://b.example/\nhttp://b.example/x\thttp://a.example/\nhttp://c.example\thttps://www.a.example/q\n"


def rows(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "links.tsv").write_text(LINKS)
    return tmp_path / "links.tsv"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ranked") / "crawl"
    build(path)
    return path


def test_pages_come_best_first_with_mean_one(thresher: Thresher, graph: Path) -> None:
    found = rows(thresher("rank", graph))
    ranks = [row["pagerank"] for row in found]
    assert ranks == sorted(ranks, reverse=True)
    assert sum(ranks) / len(ranks) == pytest.approx(1)
    assert found[0]["url"] == "http://b.example/"
    assert (found[0]["in"], found[0]["out"]) == (1, 0)
    assert rows(thresher("rank", graph, "--top", 2)) == found[:2]


def test_hosts_and_sites_vote_once_for_each_other(thresher: Thresher, graph: Path) -> None:
    found = {row["host"]: row for row in rows(thresher("rank", graph, "--by", "host"))}
    assert {name: (row["in"], row["out"], row["urls"]) for name, row in found.items()} == {
        "a.example": (2, 1, 2),
        "b.example": (1, 1, 2),
        "c.example": (0, 1, 1),
    }
    assert [row["site"] for row in rows(thresher("rank", graph, "--by", "site", "--top", 1))] == ["a.example"]


def test_only_links_across_hosts_count_when_asked(thresher: Thresher, tmp_path: Path) -> None:
    (tmp_path / "farm").write_text("http://farm.example/1\thttp://farm.example/2\nhttp://farm.example/3\thttp://farm.example/2\n" + LINKS)
    every = {row["url"]: row["pagerank"] for row in rows(thresher("rank", tmp_path / "farm"))}
    remote = {row["url"]: row["pagerank"] for row in rows(thresher("rank", tmp_path / "farm", "--links", "remote"))}
    weighted = {row["url"]: row["pagerank"] for row in rows(thresher("rank", tmp_path / "farm", "--links", "weighted"))}
    farmed, alone = "http://farm.example/2", "http://farm.example/1"
    assert every[farmed] > 2 * every[alone]
    assert remote[farmed] == remote[alone]
    assert weighted.keys() == remote.keys()


def test_hits_are_added_when_asked(thresher: Thresher, graph: Path) -> None:
    assert {"hub", "authority"} <= rows(thresher("rank", graph, "--hits"))[0].keys()


def test_torn_lines_are_told_and_left_out(thresher: Thresher, tmp_path: Path) -> None:
    (tmp_path / "torn").write_bytes(b"a\tb\n\xff\tc\nb")
    ran = thresher("rank", tmp_path / "torn")
    assert {row["url"] for row in rows(ran)} == {"a", "b"}
    assert "2 lines are no links and were left out, the first is line 2" in ran.err


def test_a_crawl_is_ranked_with_what_it_only_saw(thresher: Thresher, crawl: Path) -> None:
    found = {row["url"]: row for row in rows(thresher("rank", crawl))}
    assert len(found) == 18
    assert found[SEED]["fetched"]
    assert not found["https://a.example/wait1"]["fetched"]
    assert found["https://a.example/new"]["in"] == 1  # the redirect


def test_collapsed_a_crawl_has_one_node_for_each_page(thresher: Thresher, crawl: Path) -> None:
    found = {row["url"] for row in rows(thresher("rank", crawl, "--collapse"))}
    gone = {f"https://a.example/{name}" for name in ("old", "copy", "gone", "error", "alias")}
    assert not found & gone
    assert {SEED, "https://a.example/page", "https://a.example/new", "https://a.example/wait1"} <= found


def test_the_measures_of_a_crawl_are_lines_with_their_names(thresher: Thresher, crawl: Path) -> None:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows(thresher("rank", crawl, "--measures")):
        found.setdefault(row.pop("measure"), []).append(row)
    assert found["graph"] == [{"nodes": 18, "links": 9, "fetches": 6}]
    assert found["captured"][-1]["of_fetches"] == 1.0
    assert found["captured_by_best_order"][-1]["of_rank"] == pytest.approx(found["captured"][-1]["of_rank"])
    assert 0 <= found["breadth_first_fidelity"][0]["share"] <= 1
    assert found["host_concentration"] == [{"n_hosts": 1, "largest_share": 1.0, "top_10_share": 1.0, "effective_hosts": 1.0}]
    assert set(found) > {"mean_rank_by_slice", "mean_slice_of_top", "overlap_with_earlier_graph"}


def test_a_crawl_s_order_is_held_against_others_over_the_same_graph(crawl: Path) -> None:
    """What `python -m benchmarks.quality.real_order` prints of each crawl."""
    found = real_order.read(crawl)
    shares = captured(found.ranks, found.order, real_order.SHARES)
    for name, others in found.curves.items():
        assert len(others) == len(real_order.SHARES), name
        assert others == sorted(others), name
    assert all(best >= share for best, share in zip(found.curves["best possible"], shares, strict=True))


REFUSED = {
    ("--by", "host", "--links", "remote"): "the option is for --by page",
    ("--collapse",): "expected the directory of a crawl",
    ("--measures",): "expected the directory of a crawl",
    ("--by", "host"): "expected URLs",
    ("--jump", "0"): "jump",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_makes_no_sense_ends_with_2_and_says_why(thresher: Thresher, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "graph").write_text("a\tb\n")
    ran = thresher("rank", tmp_path / "graph", *options)
    assert (ran.code, ran.out) == (2, "")
    assert REFUSED[options] in ran.err


def test_a_directory_without_a_crawl_is_no_crawl(thresher: Thresher, tmp_path: Path) -> None:
    assert thresher("rank", tmp_path).code == 2


# -- a crawl and its exported links


@pytest.fixture(scope="module")
def tangled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of two hosts that link to each other and to themselves, a redirect, and URLs that nothing links to."""
    path = tmp_path_factory.mktemp("tangled") / "crawl"
    small = SmallStore(path)
    urls = [small.url(text) for text in ("/", "/one", "/two", "https://b.example/", "/old", "/new", "/alone")]
    seqs = [small.known(url, State.DONE) for url in urls]
    for at, links in ((0, (0, 1, 3, 4)), (1, (0, 1)), (2, (2,)), (3, (0, 3, 5)), (5, (0,)), (6, ())):
        small.page(urls[at], links=tuple(sorted(seqs[to] for to in links)))
    small.store.tables.redirects.put(urls[4].key, urls[5].key, urls[5].text, 301, NOW)
    small.settle(urls[4])
    small.close()
    return path


def ranks_of(ran: Ran) -> dict[str, float]:
    return {row["url"]: row["pagerank"] for row in rows(ran)}


@pytest.mark.parametrize("self_links", [(), ("--self-links",)])
@pytest.mark.parametrize("level", ["page", "host"])
def test_a_crawl_and_its_exported_links_have_the_same_ranks(
    thresher: Thresher, tangled: Path, tmp_path: Path, self_links: tuple[str, ...], level: str
) -> None:
    """Seen to fail: redirects counted as links in the crawl, links of a page to itself in the file, and no option changed that."""
    file, name = tmp_path / "links.tsv", level.replace("page", "url")
    assert thresher("export", tangled, "--what", "links", "--format", "tsv", "-o", file).code == 0

    def ranks(source: Path, *flags: str) -> dict[str, float]:
        found = rows(thresher("rank", source, "--linked", "--by", level, *self_links, *flags))
        return {row[name]: row["pagerank"] for row in found} | {f"in {row[name]}": row["in"] for row in found}

    of_links = ranks(file)
    assert of_links == pytest.approx(ranks(tangled, "--no-redirects"))
    with file.open("a") as out:
        out.write(thresher("export", tangled, "--what", "redirects", "--fields", "url,to", "--format", "tsv").out)
    assert ranks(file) == pytest.approx(ranks(tangled))
    assert (ranks(file) != of_links) == (level == "page")


def test_self_links_and_redirects_are_said_and_both_offered(thresher: Thresher, tangled: Path, graph: Path) -> None:
    said = thresher("rank", tangled).err
    assert "1 redirects count (--no-redirects)" in said
    assert "4 links of a page to itself do not count (--self-links)" in said
    other = thresher("rank", tangled, "--no-redirects", "--self-links")
    assert "1 redirects do not count (--redirects)" in other.err
    assert "4 links of a page to itself count (--no-self-links)" in other.err
    assert len({tuple(ranks_of(thresher("rank", tangled, *flags)).values()) for flags in ((), ("--self-links",), ("--no-redirects",))}) == 3
    with graph.open("a") as file:
        file.write("http://a.example/\thttp://a.example/\n")
    assert "1 links of a page to itself do not count (--self-links)" in thresher("rank", graph).err
    assert ranks_of(thresher("rank", graph)) != ranks_of(thresher("rank", graph, "--self-links"))
    assert thresher("rank", tangled, "--collapse", "--self-links").code == 2


def test_linked_leaves_out_what_no_link_joins(thresher: Thresher, tangled: Path) -> None:
    every, linked = rows(thresher("rank", tangled)), rows(thresher("rank", tangled, "--linked"))
    assert {row["url"].removeprefix("https://a.example") for row in every} - {
        row["url"].removeprefix("https://a.example") for row in linked
    } == {"/two", "/alone"}
    assert {row["url"] for row in linked} == {row["url"] for row in every if row["in"] or row["out"]}
    assert {row["url"]: (row["in"], row["out"], row["fetched"]) for row in linked}.items() <= {
        row["url"]: (row["in"], row["out"], row["fetched"]) for row in every
    }.items()
    assert sum(row["pagerank"] for row in linked) == pytest.approx(len(linked))
    assert rows(thresher("rank", tangled, "--linked", "--measures"))[0]["nodes"] == len(linked)
