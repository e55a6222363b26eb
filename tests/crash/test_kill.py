"""F81: whatever kills the crawl, and whenever, nothing is lost, nothing is fetched without need, and no delay of a host is cut short.

The long form, 20 seeds on all 3,000 pages: `python -m benchmarks.proofs.kill_test`.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness import Findings, crawl, demo, options, write_config
from killing import Bench, bench, torment, unreached
from replaying import misremembered
from server_log import shortest_gap

from thresher.crawler.demo.plan import PathKind
from thresher.storage.partitions import read_partitions, shard_paths
from thresher.storage.schema import MEMORY
from thresher.storage.view import View

SMALL: dict[str, Any] = {"n_sites": 4, "pages_per_host": [16, 24]}  # 8 hosts, some 240 URLs
KILLS = 3


@pytest.fixture(scope="module")
def web() -> Bench:
    return bench(**SMALL)


@pytest.fixture(scope="module")
def reference(web: Bench, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """An uninterrupted crawl, which finds all planted pages."""
    found, truth = web.reference(tmp_path_factory.mktemp("reference"))
    assert [url for url in unreached(found, truth) if truth.urls[url].kind is not PathKind.ASSET] == []
    return found


@pytest.mark.parametrize(("seed", "agents", "kills"), [(1, 1, KILLS), (3, 2, 3)])
def test_killed_again_and_again_a_crawl_finds_what_an_uninterrupted_one_finds(
    web: Bench, reference: Findings, tmp_path: Path, seed: int, agents: int, kills: int
) -> None:
    """F81, F82, P55: SIGKILL of supervisor or an agent, fail points, SIGTERM, SIGINT twice, SIGSTOP; several agents find the same."""
    tally = torment(replace(web, agents=agents), tmp_path, seed, kills, reference, first_point="settled:20")
    assert tally.faults() == []
    assert tally.n_kills > 0


@pytest.mark.parametrize(
    ("design", "point", "counts"),
    [
        ("dispatch_delete", "settled", (70, 50, 30, 90, 60, 40)),  # a URL leaves its queue when a lease is given
        (
            "split_txn",
            "after_state_commit",
            (11, 13, 9, 15, 7, 17, 21),
        ),  # new URLs have a transaction of their own; the kill comes between the two
    ],
)
def test_a_broken_design_is_found_out(
    web: Bench, reference: Findings, tmp_path: Path, design: str, point: str, counts: tuple[int, ...]
) -> None:
    """F81: the kill test notices a broken design, in several tries.

    One kill is not enough: nothing may be in flight then, a lost URL may be found again on another page, and on a fast machine a crawl has
    few commits.
    """
    for count in counts:
        tally = torment(web, tmp_path / str(count), 1, 1, reference, design=design, first_point=f"{point}:{count}")
        if tally.n_kills and (tally.missing or tally.other):
            return
    pytest.fail(f"{design} loses URLs and was not found out")


def test_a_restart_does_not_let_a_host_off_its_delay(tmp_path: Path) -> None:
    """P55, P1: after a kill and a restart within the delay, the crawl still waits for the rest of it at every host, and keeps their
    robots.txt.
    """
    delay_s = 1.2
    with demo("kill", tmp_path, **{**SMALL, "n_seeds": 12}) as server:
        sections = options(server, politeness={"min_delay": delay_s})
        with crawl(tmp_path / "store", write_config(tmp_path, sections, server.web.seeds())) as life:
            assert life.wait_for_requests(server, 12), life.said
            life.signal_agent(signal.SIGKILL)
            assert life.wait_for_requests(server, 30), life.said
            life.signal(signal.SIGTERM)
            assert life.end() == 3
        log = server.read_log()
    assert shortest_gap(log) >= delay_s - 0.001
    assert min(len(requests) for requests in log.queues().values()) >= 2
    assert log.origins_without_robots_first() == []


@pytest.mark.parametrize("agents", [1, 3])
def test_under_kills_what_filters_learned_is_what_the_journal_says(tmp_path: Path, agents: int) -> None:
    """F81: with filters that enforce, the stored memories equal those that a replay of the journal gives; of each shard, if a resume has
    changed the number of agents.
    """
    web = bench(mode="enforce", agents=agents, **SMALL)
    tally = torment(web, tmp_path, 4, 3, None)
    assert tally.faults() == []
    store, n_rows = tmp_path / "store", 0
    for agent, path in enumerate(shard_paths(store)):
        with View(path) as view:
            assert misremembered(view, tmp_path / f"replayed-{agent}", read_partitions(store), agent) == []
            n_rows += sum(1 for _ in view.rows(MEMORY))
    assert n_rows > 100
