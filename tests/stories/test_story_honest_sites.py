"""The short form of `benchmarks.quality.honest_sites`: small honest sites of many kinds lose no page as an error by default."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from benchmarks.quality import small_hosts
from benchmarks.quality.honest_sites import (
    FAULTY,
    HOME,
    HONEST,
    NOTHING,
    Outcome,
    Reply,
    Server,
    Site,
    judge,
    number_of,
    numbered,
    run,
    words,
)
from thresher.config.settings import FilterSettings, SoftErrorSettings

SMALL_RECALL = 0.92  # of small sites: which answers come first decides of single pages, and 103 of 108 are found as a rule


async def test_no_page_of_an_honest_site_is_dropped_as_an_error_and_missing_pages_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before there were controls, three of four pages of sites with tracking parameters were lost. Mutation: no control of a parameter, of
    a path, or of the home page.
    """
    found = await run(tmp_path / "c", 8)
    assert len(HONEST) >= 12
    assert {row.name: row.lost for row in found if row.lost} == {}
    assert len(found) == 2 * (len(HONEST) + len(FAULTY))
    assert {row.name for row in found if row.n_missing - row.n_found > 2} == set(), "each kind is found, those without phrases too"
    assert judge(found, SMALL_RECALL) == 0
    assert "0 lost as errors" in capsys.readouterr().out


async def test_small_hosts_show_their_documents_as_early_as_without_filters(tmp_path: Path) -> None:
    """While few pages of a host are fetched, filters' own requests to it wait. Mutation: probes and canaries that do not wait."""
    plain = await small_hosts.made(tmp_path / "plain", 16, small_hosts.without_filters())
    default = await small_hosts.made(tmp_path / "default", 16, FilterSettings())
    assert small_hosts.judge(plain, default) == 0
    few = default._replace(requests=default.requests[len(default.requests) // 3 :])
    assert small_hosts.judge(plain, few) == 1, "a crawl that finds them later is told from it"


def test_the_bench_fails_if_a_page_is_lost_or_too_many_missing_ones_are_not_found() -> None:
    good = Outcome("good", 10, [], 0, 100, 100, 1)
    assert judge([good]) == 0
    assert judge([good, Outcome("lost", 10, ["http://a.test/1"], 0, 0, 0, 1)]) == 1
    assert judge([good, Outcome("missed", 10, [], 0, 100, 80, 1)]) == 1


def stubs(missing: Server) -> Server:
    """Serve pages that say that something is no longer available; `missing` answers URLs that do not exist."""

    def answer(path: str, query: dict[str, str], n: int) -> Reply:
        i = number_of(path, n, "/p")
        if path == "/":
            return HOME
        return Reply(f"Mug number {i} is no longer available. {words(path, 9)}", title="Mugs") if i >= 0 else missing(path, query, n)

    return answer


_turn = count()
ODD = ("?", "?&&", "?=", "??x=?", "?a", "?=v&=w", "?%00=%ff", "?" + "&".join(f"k{i}={'v' * i}" for i in range(60)))
HOSTILE = (
    Site("honest text as 404", numbered("/p{}"), stubs(lambda path, query, n: Reply(words(f"/p{next(_turn) % n}", 50), 404, "Mugs"))),
    Site("redirects without end", numbered("/p{}"), stubs(lambda path, query, n: Reply(status=302, location=f"{path}x"))),
    Site("errors", numbered("/p{}"), stubs(lambda path, query, n: Reply("internal server error", 500))),
    Site("another text each time", numbered("/p{}"), stubs(lambda path, query, n: Reply(words(f"{next(_turn)}", 40)))),
    Site("odd queries", lambda n: [f"/p{i % n}{odd}" for i, odd in enumerate(ODD)], stubs(lambda path, query, n: NOTHING)),
    Site(
        "places without end", numbered("/a{}/b/c/p"), lambda path, query, n: HOME if path == "/" else Reply(f"No longer available. {path}")
    ),
    Site("names like probes", lambda n: [f"/{'abcdefghijklmnopqrstuvwxy'[i:]}{'z' * i}" for i in range(n)], stubs(lambda *_: HOME)),
)


async def test_servers_that_answer_oddly_lose_no_page_and_cost_a_bounded_number_of_requests(tmp_path: Path) -> None:
    found = await run(tmp_path / "c", 8, HOSTILE)
    lost = {row.name: row.lost for row in found if row.lost}
    assert {name for name in lost if not name.startswith("places without end")} == set()
    assert all(row.n_probes <= SoftErrorSettings().max_probes for row in found if not row.name.startswith("names like probes"))
