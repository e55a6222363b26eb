"""Politeness on 200 hosts, judged only by the server's log, while the agent is killed several times.

    python -m benchmarks.proofs.politeness_test [--min-delay 1] [--kills 3] [--seed 1] [--agents 1]

A made-up web with shared addresses, www and bare names, slow hosts, Crawl-delay and every kind of robots.txt is crawled to its end. Prints
each rule with the requests that broke it, and exits with 1 if a rule was broken. About a minute and a half.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "stories")]

from harness import AGENT, CONTACT, crawl, demo, options, write_config  # found where the suite finds it
from judging import crowded_addresses, crowded_queues, forbidden, n_gaps, short_gaps
from server_log import n_robots, refetches, shortest_gap

from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.web import Web
from thresher.crawler.version import VERSION

WEB: dict[str, Any] = {
    "n_sites": 85,
    "hosts_per_site": [2, 3],
    "pages_per_host": [4, 12],
    "n_seeds": 85,
    "fanout": 12,
    "crawl_delay_share": 0.25,
    "crawl_delay_s": [2, 3],
    "slow_host_share": 0.1,
    "slow_delay_s": [0.1, 0.5],
    "forward_share": 0.3,
    "shared_address_share": 0.5,
    "error_statuses": [500, 502],
}
ADDRESS_CONNECTIONS, ADDRESS_DELAY_S, CONCURRENCY = 4, 0.02, 128


class Seen(NamedTuple):
    """What the server saw of a crawl."""

    log: ServerLog
    web: Web
    kills: list[float]  # times, by the log's clock
    n_over: int  # requests for URLs that were requested before


def main() -> None:
    """Run the proof; exit 0 only if no rule was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proofs.politeness_test", description="Crawl 200 hosts politely and judge by the log."
    )
    parser.add_argument("--min-delay", type=float, default=1.0, help="seconds")
    parser.add_argument("--kills", type=int, default=3, help="of the agent, by SIGKILL, at random times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agents", type=int, default=1, help="that crawl together, each killed in its turn")
    options_ = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="politeness-") as name:
        seen = _crawl(Path(name), options_.min_delay, options_.kills, random.Random(options_.seed), options_.agents)
    sys.exit(1 if _judge(seen, options_.min_delay) else 0)


def _crawl(directory: Path, min_delay_s: float, n_kills: int, rng: random.Random, n_agents: int) -> Seen:
    """Crawl to the end, with this number of kills."""
    polite = {"min_delay": min_delay_s, "address_connections": ADDRESS_CONNECTIONS, "address_delay": ADDRESS_DELAY_S}
    with demo("story", directory, **WEB) as server:
        sections = options(server, politeness=polite, fetch={"concurrency": CONCURRENCY}, limits={"max_wait": 15.0})
        config = write_config(directory, {"agents": n_agents, **sections}, server.web.seeds())
        kills = []
        with crawl(directory / "store", config) as life:
            for i in range(n_kills):
                life.wait_for_requests(server, 150 + 300 * i + rng.randint(0, 150))
                kills.append(time.monotonic())
                life.signal_agent(signal.SIGKILL, rng.choice)
            code = life.end(900)
            assert code == 0, f"exit {code}: {life.said}"
        assert isinstance(server.web, Web)
        return Seen(server.read_log(), server.web, kills, refetches(server.read_log(), server.web.truth()).total())


def _judge(seen: Seen, min_delay_s: float) -> int:
    """Print each rule with the requests that broke it; return how many rules were broken."""
    log, web, kills, n_over = seen
    n_kills = len(kills)
    broken = {
        f"gaps ≥ {min_delay_s:g} s and ≥ Crawl-delay, of {n_gaps(log):,}": short_gaps(log, web, min_delay_s, kills),
        "one request at a time at a host queue": crowded_queues(log),
        f"an address: {ADDRESS_CONNECTIONS} at once, {ADDRESS_DELAY_S:g} s apart": crowded_addresses(
            log, ADDRESS_CONNECTIONS, ADDRESS_DELAY_S
        ),
        "robots.txt first at every origin": log.origins_without_robots_first(),
        "nothing that robots.txt forbids": forbidden(log, web),
        "name and contact on every request": sorted(log.agents() - {f"{AGENT}/{VERSION} (+{CONTACT})"}),
        "robots.txt once, and once more per kill at most": [host for host, n in n_robots(log).items() if n > 1 + n_kills],
        "no URL twice but for kills": [] if n_over <= n_kills * CONCURRENCY * 2 else [f"{n_over} requests"],
    }
    n_addresses = len(log.by(lambda request: request.address))
    print(f"{len(log.queues())} host queues at {n_addresses} addresses, {len(log):,} requests, {n_kills} kills")
    print(f"refetched: {n_over}, {n_over / max(1, n_kills):.1f} per kill; shortest gap {shortest_gap(log):.4f} s")
    for rule, found in broken.items():
        print(f"  {'broken' if found else 'kept  '}  {rule}" + (f": {len(found)}, as {found[0]}" if found else ""))
    return sum(bool(found) for found in broken.values())


if __name__ == "__main__":
    main()
