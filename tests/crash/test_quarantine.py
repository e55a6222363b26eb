"""Work that kills its agent costs one or two restarts; then it is quarantined, reported, and tried again when the operator asks."""

from __future__ import annotations

import asyncio
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from forking_agents import planted
from harness import Findings, demo, differences, findings, free_port, options, write_config
from long import shortened

from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.cli import thresher as group
from thresher.crawler.cluster.address_file import create as create_addresses
from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.ownership import Ownership, divided
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.supervisor import Supervisor, write_status
from thresher.crawler.start.opening import create_store, reconfigure
from thresher.crawler.status import Status
from thresher.crawler.terminal.progress import headline
from thresher.storage.partitions import ADDRESSES, Partitions, channels_path, ranges_of, shard_path, write_partitions
from thresher.storage.records import QuarantineRecord
from thresher.storage.shards import open_view
from thresher.storage.store import Store
from thresher.storage.verify import verify

WEB: dict[str, Any] = {"n_sites": 6, "hosts_per_site": [1, 1], "pages_per_host": [8, 8], "n_seeds": 6}
SECRET = bytes(range(1, 33))  # with it each of two agents has some of the sites
OBSERVE = {name: {"mode": "observe"} for name in ("path_trap", "exact_duplicate", "soft_error")}
NOTHING: tuple[list[str], list[str], list[str]] = ([], [], [])
POISON = """
    import os, signal, sys
    from pathlib import Path
    from thresher.crawler.settlement.settler import Settler
    before, mark = Settler.admit_foreign, Path(sys.argv[1]) / "poison"
    def poisoned(self, source, sifted, gift, now, *, is_redirect):
        number = self._store.tables.channels.received(1 - self._context.ownership.me) + 1
        if not mark.exists():
            mark.write_text(str(number))
        before(self, source, sifted, gift, now, is_redirect=is_redirect)
        if int(mark.read_text()) == number:
            {kills}
    Settler.admit_foreign = poisoned
    """
RAISES, DIES = "raise RuntimeError('planted')", "os.kill(os.getpid(), signal.SIGSEGV)"


class Display:
    """Keeps the supervisor's notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def update(self, status: Status) -> None:
        pass

    def note(self, message: str) -> None:
        self.notes.append(message)


def agent(code: str = "") -> tuple[str, ...]:
    """Return the command of an agent in which `code` runs first."""
    return planted(textwrap.dedent(code) + "\nmain()")


async def run(store: Path, n_agents: int, command: tuple[str, ...] | None = None) -> tuple[int, Supervisor]:
    """Run the crawl until it ends."""
    if n_agents > 1:
        create_addresses(channels_path(store) / ADDRESSES)
    with open_view(store) as view:
        settings = view.settings
    supervisor = Supervisor(store, Display(), n_agents=n_agents, settings=settings, agent=command or agent())
    return await supervisor.run(), supervisor


def create(server: ServerProcess, directory: Path, n_agents: int = 2, **limits: int) -> Path:
    """Make a store in which nothing has been crawled yet."""
    sections = {**options(server, filters=OBSERVE, limits=limits), "agents": n_agents}
    settings, store = load([write_config(directory, sections, server.web.seeds())]).settings, directory / "store"
    for k in range(n_agents):
        Store.create(shard_path(store, k), settings, 1.0, secret=SECRET).close()
    if n_agents > 1:
        write_partitions(store, Partitions(n_agents, ranges_of(divided(n_agents))))
    space = URLSpace(SECRET, url_rules(settings))
    owners = Ownership(divided(2), 0)
    assert {owners.owner(space.key(seed)) for seed in settings.seeds} == {0, 1}
    return store


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, port: int) -> Findings:
    """What one agent finds without a kill."""
    directory = tmp_path_factory.mktemp("whole")
    with demo("kill", directory, port=port, **WEB) as server:
        store = create(server, directory, 1)
        assert asyncio.run(run(store, 1))[0] == 0
    return findings(store)


def thresher(*words: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(group, [*map(str, words)])


@pytest.mark.parametrize(("kills", "deaths"), shortened([(DIES, 2), (RAISES, 1)], 1))
def test_a_message_that_kills_its_receiver_is_quarantined_and_done_when_it_is_offered_again(
    tmp_path: Path, whole: Findings, port: int, kills: str, deaths: int
) -> None:
    """Each agent's first message of links kills its receiver while it is carried out. The crawl goes on without the message; when the
    message is offered again, the crawl finds everything.

    Mutation: no message was ever quarantined, and the agents were given up after three deaths.
    """
    with demo("kill", tmp_path, port=port, **WEB) as server:
        store = create(server, tmp_path)
        code, supervisor = asyncio.run(run(store, 2, agent(POISON.format(kills=kills))))
        assert code == 0
        assert supervisor.status.restarts == 2 * deaths
        assert supervisor.status.quarantined == {"links": 2}
        assert "quarantined: " in supervisor.status.why
        assert verify(store) == []
        shown = thresher("quarantine", store, "--json")
        rows = [json.loads(line) for line in shown.stdout.splitlines()]
        assert [row["what"] for row in rows] == ["links"] * len(rows)
        assert all(("planted" if kills is RAISES else "gone 2 times") in row["why"] for row in rows)
        assert "links" in thresher("status", store).stdout
        offered = thresher("quarantine", store, "--again")
        assert "offered again" in offered.stderr
        assert asyncio.run(run(store, 2))[0] == 0
        assert thresher("quarantine", store, "--json").stdout == ""
        assert differences(whole, findings(store)) == NOTHING
        assert verify(store) == []


@pytest.mark.parametrize("foreign", [1, 2])
def test_a_death_that_others_brought_does_not_keep_work_from_being_quarantined(tmp_path: Path, foreign: int) -> None:
    """Three deaths without a page, two of them by the same work: the next life quarantines it. Mutation: exit 1, and a second `resume` is
    needed.
    """
    Store.create(tmp_path, Settings(), 0.0).close()
    supervisor = Supervisor(tmp_path, Display(), agent=agent(WORKS_AND_DIES.format(foreign=foreign)))
    assert asyncio.run(supervisor.run()) == 0
    assert supervisor.status.restarts == 3


WORKS_AND_DIES = """
import os, signal, sys, time
from pathlib import Path
from thresher.crawler.children.crash_suspects import Suspects, message_work
from thresher.storage.store import Store

shard, work = Path(sys.argv[1]), message_work(1, 1)
lives = shard / "lives"
lives.write_text(lives.read_text() + "x" if lives.exists() else "x")
if len(lives.read_text()) == {foreign}:
    os.kill(os.getpid(), signal.SIGKILL)
with Store.open(shard, None, time.time()) as store:
    suspects = Suspects(shard, store.tables)
    if suspects.accuse():
        store.end_visit()
        store.flush(time.time()).result()
        suspects.acquit()
    if suspects.guilty(work) is None:
        with suspects.trying(work):
            os.kill(os.getpid(), signal.SIGKILL)
sys.exit()
"""


def test_when_an_agent_dies_for_good_the_status_says_so_with_the_figures_of_the_store(tmp_path: Path) -> None:
    """In a resumed crawl one agent dies before it reports. Seen to fail: "stopped by SIGINT", "Crawl crawling", the pages of only one
    shard.
    """
    with demo("kill", tmp_path, **WEB) as server:
        store = create(server, tmp_path, max_pages=20)
        assert asyncio.run(run(store, 2))[0] == 0
        reconfigure(store, (), (), (), ("limits.max_pages=500", "politeness.min_delay=0.5"))
        code, supervisor = asyncio.run(run(store, 2, agent("import os, sys\nif sys.argv[1].endswith('agent-1'):\n    os._exit(9)")))
    assert code == 1
    status = supervisor.status
    died = f"agent 1 died 3 times without progress (last exit 9, {store / 'errors.log'} says more); the state is safe"
    assert (status.state, status.why) == ("failed", died)
    assert str(headline(status)) == f"Crawl failed: {status.why}"
    with open_view(store) as view:
        n_pages = sum(1 for _ in view.all_pages())
    told = json.loads(thresher("status", store, "--json").stdout)
    assert status.pages == told["pages"] == n_pages >= 20
    assert "SIGINT" not in str(told)


def test_a_status_that_nobody_lived_to_bring_up_to_date_has_the_figures_of_the_store(tmp_path: Path) -> None:
    """The supervisor was killed: its last status is older than the last commit."""
    with demo("kill", tmp_path, **WEB) as server:
        store = create(server, tmp_path, 1, max_pages=20)
        _, supervisor = asyncio.run(run(store, 1))
    supervisor.status.state, supervisor.status.pages = "crawling", 7
    write_status(store, supervisor.status)
    assert json.loads(thresher("status", store, "--json").stdout)["pages"] == 20


def test_what_is_quarantined_in_a_shard_without_an_agent_is_the_first_one_s(tmp_path: Path) -> None:
    """Otherwise it could never be tried again. Mutation: it stayed in its shard."""
    store, record = tmp_path / "store", QuarantineRecord("message", "links", 1.0, "planted", payload=b"x", sender=0, number=3)
    create_store(store, Settings(agents=2))
    with Store.open(shard_path(store, 1), None, 0.0) as opened:
        key = opened.tables.quarantine.add(1, record)
    reshard(store, 1)
    with Store.open(store, None, 0.0) as opened:
        assert opened.tables.quarantine.all() == [(key, record)]
    assert verify(store) == []
