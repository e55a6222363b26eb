"""The kill test: a crawl is killed again and again, and an oracle compares its results with those of an uninterrupted crawl.

Kills come at random times and at fail points: SIGKILL to the supervisor or an agent; an agent that kills itself at a step of a commit, of a
message, or of a move of partitions; SIGTERM; SIGINT twice; SIGSTOP and SIGCONT. After each life the store is verified and the crawl
resumed, until it ends.

The oracle compares sets of (URL, state, reason, status, sha256 of the body, failure, redirect target): in a finite web, without limits, and
with filters that depend on order in mode `observe`, neither order nor kills may change any of it. The server's log shows the rest: no URL
is requested more often than kills explain, no host sooner than its delay, robots.txt once.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from harness import (
    Finding,
    Findings,
    Life,
    Options,
    Tail,
    crawl,
    demo,
    differences,
    findings,
    free_port,
    options,
    resume,
    send,
    wait_until,
    write_config,
)
from injecting import crash_at
from server_log import n_robots, refetches, shortest_gap

from thresher.crawler.core.errors import StoreError
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.demo.truth import Truth
from thresher.storage.verify import verify
from thresher.storage.view import View

POINTS = (
    *("dispatched", "parsing", "settled"),
    *("before_results_commit", "after_results_commit", "before_state_commit", "after_state_commit"),
)
ARCHIVE_POINTS = ("in_archive", "after_archive")
LANE_POINTS = ("sent", "heard", "moved")
MIN_DELAY_S = 0.02
CONCURRENCY = 16
GROUP = 128  # store.commit_visits, its default
TOLERANCE_S = 0.001

_ACTIONS = {
    "kill the supervisor": 30,
    "kill the agent": 25,
    "crash at a point": 20,
    "SIGTERM": 9,
    "SIGINT twice": 9,
    "SIGSTOP": 7,
}
_KILLS = ("kill the supervisor", "kill the agent", "crash at a point", "SIGINT twice")  # kills that may cause refetches
_OWN_ENDS = {"SIGTERM": (0, 3), "SIGINT twice": (0, 3, 130)}
_MOST_LIVES_MORE = 10  # lives that end without a kill, or have no process to kill
_STRIDE = 80  # most requests between two kills, if their total is not known
_EARLY = 0.15  # share of the kills within a second of the start, maybe before the first request


@dataclass
class Tally:
    """The kills of a crawl, and its results."""

    seed: int
    n_agents: int = 1
    kills: Counter[str] = field(default_factory=Counter)
    n_lives: int = 0
    problems: list[str] = field(default_factory=list)  # of `verify`, after any life
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    n_queued: int = 0
    n_refetched: int = 0
    n_robots_refetched: int = 0
    shortest_gap_s: float = inf
    n_urls: int = 0
    wall_s: float = 0.0

    @property
    def n_kills(self) -> int:
        return sum(self.kills[action] for action in _KILLS)

    @property
    def bound(self) -> int:
        """How many refetches the kills explain: for each, the requests in flight and one group of commits."""
        return self.n_kills * self.n_agents * (CONCURRENCY + GROUP)

    def faults(self) -> list[str]:
        """Return a message for each fault; [] if the crawl lost nothing and was polite."""
        found = {
            "verify": self.problems,
            "missing": self.missing,
            "extra": self.extra,
            "told otherwise": self.other,
            "stored twice": self.twice,
            "queued in the end": [str(self.n_queued)] if self.n_queued else [],
            "refetches": [f"{self.n_refetched} > {self.bound}"] if self.n_refetched > self.bound else [],
            "gap": [f"{self.shortest_gap_s:.4f} s"] if self.shortest_gap_s < MIN_DELAY_S - TOLERANCE_S else [],
        }
        return [f"{what}: {len(items)}, as {items[0]}" for what, items in found.items() if items]


@dataclass(frozen=True)
class Bench:
    """A web, its port, and the settings of crawls: one reference run, then any number of runs under kills."""

    profile: str
    changes: dict[str, object]
    port: int
    mode: str = "observe"  # of the filters whose verdicts depend on order
    agents: int = 1
    archives: bool = False

    def serve(self, directory: Path) -> ServerProcess:
        directory.mkdir(parents=True, exist_ok=True)
        return demo(self.profile, directory, port=self.port, **self.changes)

    def config(self, server: ServerProcess, directory: Path) -> Path:
        return write_config(directory, self.options(server), server.web.seeds())

    def options(self, server: ServerProcess) -> Options:
        tells = ("near_replica",) if self.agents > 1 else ()  # of every page to another agent
        filters = {name: {"mode": self.mode} for name in ("path_trap", "exact_duplicate", "soft_error", "pattern_yield", *tells)}
        pace, fetch = {"min_delay": MIN_DELAY_S}, {"concurrency": CONCURRENCY}
        archive = {"archive": {"format": "warc", "max_file": 1 << 20}} if self.archives else {}
        return {"agents": self.agents, **archive, **options(server, politeness=pace, fetch=fetch, filters=filters)}

    def reference(self, directory: Path) -> tuple[Findings, Truth]:
        """Crawl without a kill."""
        with self.serve(directory) as server, crawl(directory / "store", self.config(server, directory)) as life:
            code = life.end()
            assert code == 0, f"exit {code}: {life.said}"
            truth = server.web.truth()
        assert isinstance(truth, Truth)
        assert verify(directory / "store") == []
        log = ServerLog.read(directory / "server.log")
        assert not refetches(log, truth), "a crawl that nobody killed asked twice"
        return findings(directory / "store"), truth


def bench(profile: str = "kill", *, mode: str = "observe", agents: int = 1, **changes: object) -> Bench:
    """Return a bench on a port of its own, so that every run sees the same URLs."""
    return Bench(profile, changes, free_port(), mode, agents)


def torment(
    where: Bench, directory: Path, seed: int, most_kills: int, reference: Findings | None, *, design: str = "", first_point: str = ""
) -> Tally:
    """Crawl to the end under kills, and judge.

    design: a broken design, which the test must notice.    first_point: fail point of the first life, by default a random one.
    """
    rng, tally, store = random.Random(seed), Tally(seed, where.agents), directory / "store"
    stride = 2 * len(reference.urls) // (most_kills + 1) if reference else _STRIDE  # so that kills are spread over the whole crawl
    began = time.monotonic()
    with where.serve(directory) as server:
        config, tail = where.config(server, directory), Tail(server)
        while True:
            tally.n_lives += 1
            points = POINTS + LANE_POINTS * (where.agents > 1) + ARCHIVE_POINTS * where.archives
            point = first_point if tally.n_lives == 1 and first_point else _point(rng, tally, most_kills, points)
            crashed = directory / f"crashed-{tally.n_lives}"
            environ = crash_at(point, once=crashed, design=design)
            with _begin(store, config, environ, _change(rng, where.agents)) as life:
                expected = _live(life, tail, rng, tally, most_kills - bool(point), stride)
                code = life.end()
            tally.kills["crash at a point"] += crashed.exists()
            if crashed.exists() and where.agents > 1:
                # if the number of agents changes, the command commits too: when it moves partitions, and before that in a child
                expected = (*expected, -signal.SIGKILL, 128 + signal.SIGKILL)
            tally.problems += verify(store) if _is_store(store) else []
            assert design or code in expected, f"seed {seed}, life {tally.n_lives}: exit {code}, expected {expected}: {life.said}"
            if code == 0 or tally.n_lives > most_kills + _MOST_LIVES_MORE:
                break
        truth = server.web.truth()
    assert isinstance(truth, Truth)
    _judge(tally, directory, reference, truth)
    tally.wall_s = time.monotonic() - began
    return tally


def _is_store(store: Path) -> bool:
    try:
        View(store).close()
    except StoreError:
        return False
    return True


def _change(rng: random.Random, agents: int) -> list[str]:
    """If there are several agents, their number can change from life to life."""
    return ["--set", f"agents={rng.choice([agents, agents, agents - 1, agents + 1])}"] if agents > 1 else []


def _begin(store: Path, config: Path, environ: dict[str, str], more: list[str]) -> Life:
    return resume(store, *more, **environ) if _is_store(store) else crawl(store, config, **environ)


def _point(rng: random.Random, tally: Tally, most_kills: int, points: tuple[str, ...]) -> str:
    """Choose a fail point for a life, or none."""
    if tally.n_kills >= most_kills or rng.randrange(100) >= _ACTIONS["crash at a point"]:
        return ""
    return f"{rng.choice(points)}:{rng.randint(2, 12)}"  # the first commit of a life is by the command, which has no supervisor


def _live(life: Life, tail: Tail, rng: random.Random, tally: Tally, most_kills: int, stride: int) -> tuple[int, ...]:
    """Kill processes of one life until it ends, or leave it alone; return the exit codes that are right for it."""
    actions = [name for name in _ACTIONS if name != "crash at a point"]
    while tally.n_kills < most_kills:
        action = rng.choices(actions, [_ACTIONS[name] for name in actions])[0]
        if rng.random() < _EARLY:
            pause_s = rng.random()
            began = time.monotonic()
            wait_until(lambda: not life.running or time.monotonic() > began + pause_s)  # noqa: B023 - called here and now
        else:
            at = tail.count() + rng.randint(1, stride)
            wait_until(lambda: not life.running or tail.count() >= at)  # noqa: B023 - called here and now
        if not life.running:
            break
        tally.kills[action] += _do(action, life, rng)
        if action == "kill the supervisor":
            return (-signal.SIGKILL, 0, 1)
        if action in _OWN_ENDS:
            return _OWN_ENDS[action]
    return (0, 1)  # 1: three deaths without a page between them


def _do(action: str, life: Life, rng: random.Random) -> bool:
    """Do one of the kills; return whether there was a process for it."""
    match action:
        case "kill the supervisor":
            life.signal(signal.SIGKILL)
        case "kill the agent":
            return life.signal_agent(signal.SIGKILL, rng.choice)
        case "SIGTERM":
            life.wait_for_agent()  # before that, Python itself may handle the signal
            life.signal(signal.SIGTERM)
        case "SIGINT twice":
            life.wait_for_agent()
            life.signal(signal.SIGINT)
            life.signal(signal.SIGINT)
        case "SIGSTOP":
            stopped: list[int] = []

            def chosen(pids: list[int]) -> int:
                stopped.append(rng.choice(pids))
                return stopped[0]

            if not life.signal_agent(signal.SIGSTOP, chosen):
                return False
            time.sleep(rng.uniform(0.02, 0.3))  # the process sleeps: that is the fault
            send(stopped[0], signal.SIGCONT)
    return True


def _judge(tally: Tally, directory: Path, reference: Findings | None, truth: Truth) -> None:
    found, log = findings(directory / "store"), ServerLog.read(directory / "server.log")
    if reference is not None:
        tally.missing, tally.extra, tally.other = differences(reference, found)
    tally.twice, tally.n_queued, tally.n_urls = found.twice, found.n_queued, len(found.urls)
    again = refetches(log, truth)
    tally.n_refetched, tally.shortest_gap_s = again.total(), shortest_gap(log)
    tally.n_robots_refetched = sum(n - 1 for n in n_robots(log).values())


def unreached(found: Findings, truth: Truth) -> dict[str, Finding | None]:
    """Return the planted URLs that a crawl has not settled."""
    known = {url: found.urls.get(url) for url in truth.urls}
    return {url: finding for url, finding in known.items() if finding is None or finding.state not in ("DONE", "REFUSED")}
