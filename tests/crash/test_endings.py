"""Every way in which a crawl can end, with real processes and signals: exit codes, what is kept, and that `resume` continues."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forking_agents import planted
from forking_stopping import forking_stopping_demos
from harness import (
    ROOT,
    Findings,
    children,
    crawl,
    demo,
    differences,
    findings,
    free_port,
    options,
    resume,
    status,
    until,
    wait_until,
    write_config,
)
from injecting import crash_at
from long import shortened
from server_log import n_robots, refetches, shortest_gap, unlabelled
from signalling import SIGNALS_ITSELF
from stopping_demo import stopping_demo

from thresher.config.load import load
from thresher.crawler.core.model import Flag, State
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.start.opening import create_store
from thresher.crawler.status import Status
from thresher.storage.packing import pack_u64
from thresher.storage.schema import META, Meta
from thresher.storage.store import PATIENCE_S, Store
from thresher.storage.verify import verify
from thresher.storage.view import View

WEB: dict[str, Any] = {"n_sites": 3, "hosts_per_site": [2, 2], "pages_per_host": [10, 10], "n_seeds": 2}
DELAY_S = 0.04
SILENCE_S = 8.0  # far longer than an agent that gets little of a busy machine is silent
NOTHING: tuple[list[str], list[str], list[str]] = ([], [], [])


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(autouse=True)
def forked() -> Iterator[None]:
    """Start no interpreter for agents of a supervisor in this process, nor for servers that stop."""
    with forking_stopping_demos():
        yield


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[ServerProcess]:
    with demo("kill", tmp_path, port=port, **WEB) as running:
        yield running


def paced(server: ServerProcess, delay_s: float = DELAY_S) -> dict[str, Any]:
    """Settings of a crawl that takes a second or two, so that it can be stopped in the middle."""
    observe = {name: {"mode": "observe"} for name in ("path_trap", "exact_duplicate", "soft_error", "pattern_yield")}
    return options(server, politeness={"min_delay": delay_s}, filters=observe)


@pytest.fixture
def config(server: ServerProcess, tmp_path: Path) -> Path:
    return write_config(tmp_path, paced(server), server.web.seeds())


@pytest.fixture
def store(config: Path, tmp_path: Path) -> Path:
    """A store in which nothing has been crawled yet."""
    create_store(tmp_path / "store", load([config]).settings)
    return tmp_path / "store"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, port: int) -> Findings:
    """What an uninterrupted crawl finds."""
    directory = tmp_path_factory.mktemp("whole")
    with (
        demo("kill", directory, port=port, **WEB) as server,
        crawl(directory / "store", write_config(directory, paced(server, 0.0), server.web.seeds())) as life,
    ):
        assert life.end() == 0, life.said
    return findings(directory / "store")


class Display:
    """Keeps what the supervisor notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def update(self, status: Status) -> None:
        pass

    def note(self, message: str) -> None:
        self.notes.append(message)


def agent(code: str) -> tuple[str, ...]:
    """Return the command of an agent in which `code` runs first; it calls `main`."""
    return planted(textwrap.dedent(code))


# -- signals --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_agents", shortened([1, 2], 1))
def test_a_signal_stops_gracefully_and_resume_finds_the_rest(tmp_path: Path, port: int, whole: Findings, n_agents: int) -> None:
    """F82, P1, P40, P55: exit 3, twice; nothing is requested twice, not even robots.txt, and the delay also holds from before a stop to
    after it.
    """
    store = tmp_path / "store"
    with stopping_demo("kill", tmp_path, 30, 60, port=port, **WEB) as server:
        config = write_config(tmp_path, paced(server), server.web.seeds())
        with crawl(store, config, "--set", f"agents={n_agents}") as life:
            assert life.stop(server, 30, signal.SIGINT) == 3
            assert "thresher resume" in life.said
        assert verify(store) == []
        assert findings(store).n_queued > 0
        with resume(store) as life:
            assert life.stop(server, 60, signal.SIGTERM) == 3
        with resume(store) as life:
            assert life.end() == 0, life.said
    assert differences(whole, findings(store)) == NOTHING
    log = server.read_log()
    assert refetches(log, unlabelled(server.web).truth()) == {}
    assert set(n_robots(log).values()) == {1}
    assert shortest_gap(log) >= DELAY_S - 0.001


@pytest.mark.parametrize(("number", "code"), shortened([(signal.SIGINT, 130), (signal.SIGTERM, 143)], 1))
def test_a_second_signal_ends_the_crawl_at_once(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """F82: requests in flight are given up, and their URLs stay queued."""
    with stopping_demo("kill", tmp_path, 12, **WEB) as server:  # requests in flight are not answered then
        store = tmp_path / "store"
        with crawl(store, write_config(tmp_path, paced(server, 0.0), server.web.seeds())) as life:
            assert life.wait_for_requests(server, 12)
            wait_until(lambda: not life.running or status(store)["in_flight"] > 0)
            life.signal(number)
            wait_until(lambda: not life.running or status(store)["state"] == "stopping")
            assert life.running, life.said
            life.signal(number)
            assert life.end() == code
    assert verify(store) == []


# -- stores that cannot be used --------------------------------------------------------------------------------------------------------


def test_a_second_crawler_on_a_store_in_use_is_turned_away(tmp_path: Path) -> None:
    """F90: exit 5, for `resume` and for the same `crawl` again; the first goes on."""
    store = tmp_path / "store"
    with stopping_demo("kill", tmp_path, 3, **WEB) as server:
        config = write_config(tmp_path, paced(server), server.web.seeds())
        with crawl(store, config) as first:
            assert first.wait_for_requests(server, 3)
            for second in (resume, lambda where: crawl(where, config)):
                with second(store) as life:
                    assert life.end() == 5, life.said
                    assert f"in use by process {first.agent()}" in life.said
            assert first.stop(server, 3, signal.SIGTERM) == 3


def _cut(store: Path) -> None:
    os.truncate(store / "state" / "data.mdb", 3 * 4096)


def _zero(store: Path) -> None:
    with (store / "results" / "data.mdb").open("r+b") as file:
        file.write(bytes(8192))


def _age(store: Path) -> None:
    with Store.open(store, None, 0.0) as opened:
        opened.put(META, Meta.VERSION, pack_u64(99))


@pytest.mark.parametrize("damage", [_cut, _zero, _age])
def test_a_damaged_store_is_refused_with_exit_6(store: Path, damage: Any) -> None:
    """F88: truncated, meta pages overwritten, of another version."""
    damage(store)
    with resume(store) as life:
        assert life.end() == 6
        assert str(store) in life.said


def test_what_a_killed_creation_left_is_no_crawl(server: ServerProcess, config: Path, tmp_path: Path) -> None:
    """F81: `crawl` starts anew in what a killed creation left, but not in a crawl."""
    store = tmp_path / "store"
    for name in ("state", "results", "skipped"):
        (store / name).mkdir(parents=True)
    with crawl(store, config, "--set", "limits.max_pages=3") as life:
        assert life.end() == 0, life.said
    with crawl(store, config) as life:
        assert life.end() == 2
        assert "holds a crawl already" in life.said


# -- a disk that is full ---------------------------------------------------------------------------------------------------------------


def _limit(store: Path, more_bytes: int) -> str:
    size = max((store / env / "data.mdb").stat().st_size for env in ("state", "results"))
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size + more_bytes}, {resource.RLIM_INFINITY}))\n"


def test_a_full_disk_is_exit_74_and_resume_finds_the_rest(store: Path, whole: Findings) -> None:
    """F86: what was committed is kept, and nothing is lost."""
    code = asyncio.run(Supervisor(store, Display(), agent=agent(_limit(store, 40_000) + "main(patience_s=0.5)")).run())
    assert code == 74
    assert "the disk refuses" in status(store)["why"]
    assert verify(store) == []
    assert findings(store).n_queued > 0
    assert asyncio.run(Supervisor(store, Display(), agent=agent("main()")).run()) == 0
    assert differences(whole, findings(store)) == NOTHING


def test_a_disk_is_tried_again_for_ten_seconds_and_not_for_a_minute() -> None:
    """F86: the tests around this one set other patiences, so that none depends on how fast something happens."""
    assert PATIENCE_S == 10.0


async def _ended(supervisor: Supervisor, store: Path, meanwhile: Callable[[], None]) -> int:
    """Crawl until the disk is full, do something, and wait for the end; return the exit code."""
    running = asyncio.ensure_future(supervisor.run())
    await until(lambda: running.done() or "refuses writes" in status(store)["why"])
    assert not running.done()
    meanwhile()
    async with asyncio.timeout(600):
        return await running


def test_a_full_disk_pauses_the_crawl_until_there_is_room(store: Path, server: ServerProcess, whole: Findings) -> None:
    """F86: no request meanwhile, a message in the status, and the crawl goes on by itself."""
    n_before = 0

    def make_room() -> None:
        nonlocal n_before
        n_before = len(server.read_log())
        resource.prlimit(children(os.getpid())[-1], resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    patient = agent(_limit(store, 40_000) + "main(patience_s=600)")
    assert asyncio.run(_ended(Supervisor(store, Display(), agent=patient), store, make_room)) == 0
    assert differences(whole, findings(store)) == NOTHING
    assert len(server.read_log()) > n_before
    assert refetches(server.read_log(), unlabelled(server.web).truth()) == {}


def test_a_crawl_that_waits_for_the_disk_can_be_stopped(store: Path) -> None:
    """F82, F86: the stop does not wait for the disk's whole patience."""
    supervisor = Supervisor(store, Display(), agent=agent(_limit(store, 40_000) + "main(patience_s=600)"))
    assert asyncio.run(_ended(supervisor, store, lambda: os.kill(os.getpid(), signal.SIGTERM))) == 74
    assert verify(store) == []


# -- an agent that fails ---------------------------------------------------------------------------------------------------------------


def test_an_agent_that_hangs_is_killed_and_started_again(store: Path, whole: Findings) -> None:
    """F81, F82: SIGSTOP beyond the silence that the supervisor allows."""
    display = Display()
    hangs = agent(f"once = {str(store / 'hung')!r}\n" + SIGNALS_ITSELF.format(n=5, number="SIGSTOP") + "main()")
    supervisor = Supervisor(store, display, silence_s=SILENCE_S, agent=hangs)
    assert asyncio.run(supervisor.run()) == 0
    assert any("silent" in note for note in display.notes)
    assert supervisor.status.restarts >= 1  # more, if the machine keeps an agent silent
    assert differences(whole, findings(store)) == NOTHING


def test_a_supervisor_that_slept_does_not_take_it_for_a_hang(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F14: after a suspension the clock is an hour ahead, and nothing was read from the agent for that hour.

    Mutation: silence is the time since the agent's last line.
    """
    real, ahead_s = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead_s[0])

    class Suspends(Display):
        """The machine is suspended for an hour when the agent's first report arrives."""

        def update(self, status: Status) -> None:
            ahead_s[0] = 3600.0

    display = Suspends()
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # it takes its time from `time.monotonic`, uvloop does not
        assert runner.run(Supervisor(store, display, silence_s=600.0).run()) == 0
    assert ahead_s[0]
    assert display.notes == []


@pytest.mark.parametrize("step", ["_write", "on_learned"])
def test_an_exception_in_a_settlement_loses_nothing(store: Path, tmp_path: Path, whole: Findings, step: str) -> None:
    """F81, F83: the visit is half written when the exception ends the agent; none of it may be committed, however long the end takes.

    It may come when a page is written, or when the ends of several visits are.
    """
    code = f"""
        import asyncio
        from pathlib import Path
        from thresher.crawler.agent.agent import Agent
        from thresher.crawler.settlement.pages import PageSettlement
        once, settle, left = Path({str(tmp_path / "once")!r}), PageSettlement.{step}, [20]
        def fail(self, *of):
            left[0] -= 1
            if left[0] == 0 and not once.exists():
                once.touch()
                raise RuntimeError("planted")
            settle(self, *of)
        async def linger(self):
            await asyncio.sleep(0.5)
        PageSettlement.{step}, Agent.close = fail, linger
        main()
        """
    supervisor = Supervisor(store, Display(), agent=agent(code))
    assert asyncio.run(supervisor.run()) == 0
    assert supervisor.status.restarts == 1
    assert verify(store) == []
    assert differences(whole, findings(store)) == NOTHING


def test_a_writer_that_dies_ends_the_agent(store: Path) -> None:
    """F84: exit 1; the crawl never goes on without being saved."""
    code = """
        from thresher.storage.writer import Writer
        commit, left = Writer._commit, [4]
        def fail(self, work):
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("planted")
            commit(self, work)
        Writer._commit = fail
        main()
        """
    with subprocess.Popen([*agent(code), str(store)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(600) == 1
    assert verify(store) == []


def test_a_page_that_killed_its_process_is_counted_and_parsed_apart(store: Path, tmp_path: Path, whole: Findings) -> None:
    """F65, F69: one crash while parsing: the agent is restarted, the page is a suspect, and it is stored."""
    with resume(store, **crash_at("parsing:5", once=tmp_path / "crashed")) as life:
        assert life.end() == 0, life.said
    assert (tmp_path / "crashed").exists()
    with View(store) as view:
        assert [record.crashes for _, record in view.tables.suspects.all()] == [1]
    assert differences(whole, findings(store)) == NOTHING


def test_a_page_that_killed_three_processes_is_kept_unparsed(store: Path, server: ServerProcess) -> None:
    """F69: there is no fourth parse."""
    with Store.open(store, None, 0.0) as opened:
        seed = URLSpace(opened.secret, URLRules(ports=None)).seed(server.web.seeds()[0])
        for _ in range(3):
            opened.tables.suspects.add_crash(seed.key)
    with resume(store, "--set", "limits.max_pages=1") as life:
        assert life.end() == 0, life.said
    with View(store) as view:
        (page,) = [page for _, page in view.all_pages() if page.key == seed.key]
        assert Flag.PARSE_SKIPPED in page.flags
        assert page.has_body
        assert len(list(view.all_urls(State.DONE))) == 1


def test_a_jump_of_the_wall_clock_neither_hurries_nor_stalls_the_crawl(store: Path, server: ServerProcess, whole: Findings) -> None:
    """F93: one life on the real clock, one a day ahead, one on the real clock again, which is then a day behind the store's."""
    stops = f"once = {str(store / 'unused')!r}\n" + SIGNALS_ITSELF.format(n=10, number="SIGTERM")
    ahead = "import time\nreal = time.time\ntime.time = lambda: real() + 86_400\n"
    for code in (stops, stops + ahead):
        (store / "unused").unlink(missing_ok=True)
        assert asyncio.run(Supervisor(store, Display(), agent=agent(code + "main()")).run()) == 3
    assert asyncio.run(Supervisor(store, Display(), agent=agent("main()")).run()) == 0
    assert differences(whole, findings(store)) == NOTHING
    assert shortest_gap(server.read_log()) >= DELAY_S - 0.001
    assert verify(store) == []
