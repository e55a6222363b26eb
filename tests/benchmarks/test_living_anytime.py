"""`python -m benchmarks.living anytime`: its arithmetic, and once from end to end on a tiny site."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import NamedTuple

import pytest
from forking_agents import forking_commands
from tiny_site import N_PAGES, SITE, serving_tiny

from benchmarks.living import __main__ as living
from benchmarks.living.anytime import main, one_run, reordered
from benchmarks.living.crawls import enforced
from benchmarks.living.curve import Curve, CurveRequest, Run, compared, missed, near_lost, tail_start
from benchmarks.living.early import below, crawled, found
from benchmarks.living.folders import kind, site_of
from benchmarks.living.folders import main as main_of_folders
from benchmarks.living.recordings import Recording, record, recorded
from benchmarks.living.replayed import main as main_of_replays
from benchmarks.living.replayed import measure as replayed_measure
from benchmarks.living.sites import SITES


class Kept(NamedTuple):
    """The tiny site's recording, and the folder where it is."""

    directory: Path
    made: Recording


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Record the tiny site once for several tests, which only read it."""
    directory = tmp_path_factory.mktemp("kept")
    with forking_commands(), serving_tiny(directory) as place:
        return Kept(directory, record(SITE, place, directory))


def run(documents: str, *, n_bytes: int = 1) -> Run:
    """Return a crawl with a request a second; each letter is a document, `-` an answer that brought none."""
    return Run([CurveRequest(f"u{n}", "page", n_bytes, float(n), letter.strip("-")) for n, letter in enumerate(documents)])


def curve(plain: str, found: str, clusters: dict[str, int] | None = None) -> Curve:
    return compared("a", run(plain), run(found), clusters or {})


def test_a_curve_counts_documents_by_shares_of_the_plain_crawls_requests() -> None:
    found = curve("a-b-c-d-e-f-g-h-i-j-", "abcdefghij")
    assert (found.plain, found.found, found.oracle) == ([1, 3, 5, 8, 10], [2, 5, 10, 10, 10], [2, 5, 10, 10, 10])
    assert found.gains == pytest.approx((log(2), log(2)))
    assert missed([found]) == []


def test_equal_bytes_are_another_measure_than_equal_requests() -> None:
    large = compared("a", run("abcdefgh" * 5), run("abcdefgh", n_bytes=40), {})
    assert large.found_by_bytes == [1, 1, 1, 1, 1]
    assert large.found == [4, 8, 8, 8, 8]


def test_near_copies_count_once_so_that_a_crawl_may_keep_one_of_them() -> None:
    found = curve("aAbB", "a-b-", {"a": 1, "A": 1, "b": 2, "B": 2})
    assert found.plain == found.found == [1, 1, 1, 2, 2]
    assert (found.oracle[-1], found.lost, found.near, found.documents) == (2, 0, 2, 4)


def test_a_tail_costs_what_comes_after_its_start() -> None:
    assert run("ab--c-").after(2) == (4, 4.0, 1)
    assert run("ab").after(2) == (0, 0.0, 0)


def test_a_tail_starts_where_audits_prevail_for_good() -> None:
    purposes = ["page", "audit", "page", "page", "audit", "audit", "page", "audit"]
    assert tail_start(Run([CurveRequest(f"u{n}", purpose, 1, float(n)) for n, purpose in enumerate(purposes)])) == 4
    assert tail_start(run("abc")) == 3


def test_each_goal_that_is_missed_is_named() -> None:
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    slow = "".join(f"{letter}-" for letter in letters)
    none, late = curve(slow, slow), curve(letters, "-" * 300 + letters[:100])
    assert missed([none]) == ["0% of the oracle's gain over all sites, goal 75%", "a: 0% of the oracle's gain, goal 50%"]
    assert any("0 documents for plain's 40 at 10% of its requests" in words for words in missed([late]))
    assert missed([curve(letters, letters[:-3])]) == ["a: lost 3 of 400, goal 0.5%", "lost 3 of 400 over all sites, goal 0.1%"]


def test_a_lost_document_of_whose_cluster_another_was_kept_has_a_near_copy() -> None:
    assert near_lost({"a", "b", "c"}, {"k", "m"}, {"a": 1, "k": 1, "b": 2}) == (2, 1)


def test_a_tiny_site_is_crawled_both_ways_and_nothing_is_lost(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with forking_commands(), serving_tiny(tmp_path) as place:
        found = one_run(SITE, place, tmp_path, [], 0.0, 1)
    assert (found.documents, found.lost, found.near) == (N_PAGES, 0, 0)
    assert found.plain[-1] == N_PAGES
    assert found.n_plain > N_PAGES
    told = capfd.readouterr().out
    assert "lost 0 (+0 near) of 16" in told
    assert "barren before the tail" in told


@pytest.mark.parametrize("name", SITES)
def test_every_site_has_a_word_for_every_url_that_a_crawl_may_ask_for(name: str) -> None:
    paths = ("/", "/robots.txt", "/sitemap.xml", "/a/b/c/?x=1;y=2&z", "//", "/index.php?title=Special:Log/x&action=history", "/?p=")
    for path in paths:
        assert isinstance(SITES[name].kind(f"http://{SITES[name].hosts[0]}:80{path}"), str)


def test_every_living_site_has_a_name_an_address_and_hosts_of_its_own() -> None:
    addresses, hosts = [site.address for site in SITES.values()], [host for site in SITES.values() for host in site.hosts]
    assert len(SITES) >= 8
    assert len(set(addresses)) == len(SITES)
    assert len(set(hosts)) == len(hosts)


def test_an_unknown_filter_and_an_unknown_site_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--filters", "nonsense"]) == 2
    assert "no filter: nonsense" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["nowhere"])
    assert {"anytime", "early", "folders", "record", "replay", "sitemaps", "walls"} == set(living._COMMANDS)


def test_texts_of_the_same_words_in_another_order_are_near_copies() -> None:
    """Two orders of a list join the clusters that each was in; how often a word stands there counts. Mutation: sets of words."""
    texts = {"a": "x y z", "b": "z y x", "c": "x y", "d": "y x", "e": "x y y"}
    found = reordered({"a": 4, "p": 4, "b": 7, "q": 7}, texts)
    assert found["a"] == found["b"] == found["p"] == found["q"] != found["c"] == found["d"]
    assert "e" not in found


def test_a_recording_is_crawled_again_with_filters_and_nothing_is_lost(kept: Kept, capfd: pytest.CaptureFixture[str]) -> None:
    """Mutation: replays had the recorded crawl's own filters, which are all off: nothing was drawn late."""
    made = kept.made
    read = recorded(kept.directory, [SITE.name]).values()
    assert [(one.run.documents, one.clusters) for one in read] == [(made.run.documents, made.clusters)]
    found = replayed_measure(SITE, made, kept.directory / SITE.name, ["filters.pattern_yield.barren=2"], "1")
    assert (found.documents, found.lost, found.near) == (N_PAGES, 0, 0)
    assert N_PAGES < found.n_requests <= found.n_plain == len(made.requests)
    assert found.tail[0] > 0
    told = capfd.readouterr().out
    assert "lost 0 (+0 near) of 16" in told
    assert "not replayed: 1 of plain's requests, 1 in its first half" in told  # the sitemap that is not there
    assert main_of_replays([str(kept.directory)]) == 2


def test_a_folder_is_a_site_and_one_that_is_recorded_is_not_crawled_again(kept: Kept, capfd: pytest.CaptureFixture[str]) -> None:
    """Apache is not needed here: the tiny site's recording has the folder's name. Mutation: a wrong folder was served all the same."""
    at = str(kept.directory)
    assert main_of_folders([at, f"{at}/nowhere/Tiny=0"]) in {0, 1}
    assert "lost 0 (+0 near) of 16" in capfd.readouterr().out
    assert main_of_folders([at, f"{at}/nowhere", f"{at}/a/tiny", f"{at}/b/tiny"]) == 2
    told = capfd.readouterr().err
    assert f"{at}/nowhere: not a folder" in told
    assert "tiny: 2 folders have this name" in told
    site = site_of(Path("/usr/share/doc/A manual"), "/index.html")
    assert (site.name, site.hosts, site.seed) == ("a-manual", ("a-manual.example",), "/index.html")
    assert kind("http://a-manual.example/en/part/one/page.html") == "/en/part"


def test_the_beginning_of_a_recorded_site_is_crawled_plainly_and_with_filters(kept: Kept, tmp_path: Path) -> None:
    """Mutation: requests beyond the budget were counted."""
    with forking_commands(), serving_tiny(tmp_path) as place:
        runs = [crawled(SITE, place, tmp_path / name, [*of, "limits.max_pages=6"]) for name, of in (("p", enforced(())), ("f", ()))]
    made = kept.made
    n = found(runs[0], 6, made.clusters)
    assert 3 <= n <= 6
    assert found(runs[0], 3, made.clusters) < n
    whole = found(made.run, 1_000, made.clusters)
    assert below([made.run], [made.run], [6, 1_000], made.clusters) == []
    assert below([made.run], runs[1:], [6, 1_000], made.clusters) == [f"{found(runs[1], 1_000, made.clusters)} documents for {whole}"]
