"""Several agents end together and share a limit: the supervisor's decisions, which depend only on reports."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import msgspec
import pytest

from thresher.crawler.children.python import code, environment
from thresher.crawler.cluster.termination import TerminationDetector
from thresher.crawler.process.agent_life import AgentLife
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.status import AgentOrder, AgentReport
from thresher.crawler.terminal.progress import Silent


class FakeAgent:
    """Reports and obeys as an agent does. It fetches `todo` pages if it may, and reports them."""

    def __init__(self, todo: int = 0) -> None:
        self.todo = todo
        self.is_dry = False  # it was allowed to fetch, and had nothing to fetch
        self.report = AgentReport(sent={}, received={})

    def obey(self, order: AgentOrder) -> None:
        self.report.wave = order.wave or self.report.wave
        if order.grant:
            self.report.grant, self.report.may_have = order.grant, max(order.may_have, self.report.pages)

    def work(self) -> None:
        if self.todo and self.report.pages < self.report.may_have:
            self.report.pages, self.todo = self.report.pages + 1, self.todo - 1
        at_limit = self.report.pages >= self.report.may_have
        self.is_dry |= not at_limit and not self.todo
        self.report.idle = "nothing left" if self.is_dry else "limits.max_pages reached" if at_limit else ""


class Stage:
    """Fake agents and their supervisor; an order arrives when the test delivers it."""

    def __init__(self, agents: list[FakeAgent], max_pages: int | None = None) -> None:
        self.agents = agents
        self.orders: list[tuple[int, AgentOrder]] = []
        self.termination = TerminationDetector(len(agents), max_pages, lambda agent, order: self.orders.append((agent, order)))

    def deliver(self) -> None:
        for agent, order in self.orders:
            self.agents[agent].obey(order)
        self.orders.clear()

    def hear(self, agent: int) -> str:
        return self.termination.on_report(agent, msgspec.structs.replace(self.agents[agent].report))


def idle(**counts: dict[str, int]) -> FakeAgent:
    agent = FakeAgent()
    agent.report.idle = "nothing left"
    agent.report.sent, agent.report.received = counts.get("sent", {}), counts.get("received", {})
    return agent


def test_the_end_is_the_second_of_two_equal_waves() -> None:
    stage = Stage([idle(sent={"1": 4}, received={"1": 0}), idle(sent={"0": 0}, received={"0": 4})])
    assert [stage.hear(0), stage.hear(1)] == ["", ""]
    assert stage.hear(0) == "", "no answer to the wave yet"
    stage.deliver()
    assert [stage.hear(0), stage.hear(1)] == ["", "nothing left"]


def test_when_all_rest_their_tails_are_served_and_the_end_is_when_nobody_has_one() -> None:
    """Mutation: the crawl ended although filters still held URLs."""
    stage = Stage([idle(), idle()])
    stage.agents[1].report.has_tail = True
    stage.hear(0)
    stage.hear(1)
    stage.deliver()
    assert [stage.hear(0), stage.hear(1)] == ["", ""]
    assert [order.serve_tails for _, order in stage.orders] == [True, True]
    stage.agents[1].report.has_tail = False
    stage.orders.clear()
    stage.hear(0)
    stage.hear(1)
    stage.deliver()
    assert [stage.hear(0), stage.hear(1)][-1] == "nothing left"


def test_a_message_between_two_waves_puts_the_end_off() -> None:
    """Agent 0 is asked, then agent 1 sends it a message, and agent 1 is asked late: with one wave the crawl would end with work left."""
    stage = Stage([idle(sent={"1": 4}, received={"1": 0}), idle(sent={"0": 0}, received={"0": 4})])
    stage.hear(0)
    stage.hear(1)
    stage.deliver()
    stage.agents[0].report.received = {"1": 1}
    stage.agents[1].report.sent = {"0": 1}
    assert [stage.hear(0), stage.hear(1)] == ["", ""]
    stage.deliver()
    stage.hear(0)
    stage.hear(1)
    stage.deliver()
    assert [stage.hear(0), stage.hear(1)][-1] == "nothing left"


def test_no_end_while_a_message_is_on_its_way_or_an_agent_is_dead() -> None:
    stage = Stage([idle(sent={"1": 5}), idle(received={"0": 4})])
    for _ in range(4):
        assert stage.hear(0) == stage.hear(1) == ""
        stage.deliver()
    stage.agents[1].report.received = {"0": 5}
    stage.hear(1)
    stage.termination.on_start(0)
    stage.deliver()
    assert stage.hear(1) == "", "the other has not reported in its new life"


def test_a_shared_limit_is_reached_exactly_and_never_passed() -> None:
    """Agents with much, little and nothing to do; restarts; orders that come late. Mutation: pages are granted again before they are given
    back.
    """
    rng = random.Random(7)
    for _ in range(10):
        todo = [rng.choice((0, 3, 50, 400)) for _ in range(3)]
        most = rng.randint(1, 300)
        stage = Stage([FakeAgent(n) for n in todo], most)
        for _ in range(3000):
            agent = rng.randrange(3)
            for _ in range(rng.randint(0, 20)):
                stage.agents[agent].work()
            if rng.random() < 0.01:
                stage.agents[agent].report.may_have = stage.agents[agent].report.grant = 0
                stage.termination.on_start(agent)
            if rng.random() < 0.3:
                stage.deliver()
            stage.agents[agent].work()
            stage.hear(agent)
            assert sum(one.report.pages for one in stage.agents) <= most
        assert sum(one.report.pages for one in stage.agents) == min(most, sum(todo))


@pytest.mark.parametrize(("todo", "max_pages", "end"), [([0, 50], 33, "limits.max_pages"), ([20, 21], 42, "nothing left")])
def test_the_last_page_goes_to_one_who_has_work(todo: list[int], max_pages: int, end: str) -> None:
    """Agents report in step, as real ones do. Mutation: an agent without work was granted the page, gave it back, and was granted it again,
    for ever.
    """
    stage = Stage([FakeAgent(n) for n in todo], max_pages)
    whys = []
    for _ in range(40):
        for agent, fake in enumerate(stage.agents):
            for _ in range(5):
                fake.work()
            whys.append(stage.hear(agent))
            stage.deliver()
    assert sum(fake.report.pages for fake in stage.agents) == min(max_pages, sum(todo))
    assert any(end in why for why in whys)


class RestingAgent(FakeAgent):
    """Its only host rests: it has work, and does none for now."""

    def work(self) -> None:
        self.report.idle = ""


@pytest.mark.parametrize("resting", [0, 1, 2])
def test_the_last_page_does_not_go_back_to_one_whose_host_rests(resting: int) -> None:
    """Mutation: an agent gave its last page back for another one, was the first that wanted a page then, and was granted it again, for
    ever: the crawl waited for a host that refused connections, and computed all the while.
    """
    stage = Stage([RestingAgent(9) if agent == resting else FakeAgent(50) for agent in range(3)], 40)
    for _ in range(40):
        for agent, fake in enumerate(stage.agents):
            for _ in range(5):
                fake.work()
            stage.hear(agent)
            stage.deliver()
    assert sum(fake.report.pages for fake in stage.agents) == 40


_STOPPABLE = """
import json, select, sys
if sys.argv[1].endswith("agent-1"):
    sys.exit(%d)
why = ""
while not why:
    print("{}", flush=True)
    while select.select([0], [], [], 0.02)[0]:
        why = json.loads(sys.stdin.readline()).get("end") or why
        if why:
            break
print(json.dumps({"state": "stopped", "why": why, "pages": 7}), flush=True)
sys.exit(3)
"""


@pytest.mark.parametrize(("ends_with", "code"), [(74, 74), (5, 5), (9, 1), (0, 3)])
async def test_if_one_agent_ends_for_good_the_others_are_stopped_and_the_gravest_code_counts(
    tmp_path: Path, ends_with: int, code: int
) -> None:
    """A full disk, a lock, three deaths in a row (9 is no exit code of ours), an end without an order. Mutation: the crawl never ends.

    The status says what happened. Seen to fail: "stopped by SIGINT", and the state of a dead agent's last report.
    """
    command = (sys.executable, "-S", "-c", _STOPPABLE % ends_with)
    supervisor = Supervisor(tmp_path, Silent(sys.stderr), n_agents=2, agent=command)
    assert await supervisor.run() == code
    status = supervisor.status
    assert status.restarts == (2 if ends_with == 9 else 0)
    assert (status.state, status.pages) == ("failed" if ends_with else "stopped", 7)
    assert status.why.startswith("agent 1 ")
    assert str(ends_with) in status.why


async def test_an_order_to_an_agent_that_has_just_closed_its_end_is_lost_with_it() -> None:
    """The pipe may be closed before its death is known. Mutation: the order was written to the closed pipe, which raised an exception."""
    child = await asyncio.create_subprocess_exec(*code("import sys; sys.stdin.read()"), stdin=asyncio.subprocess.PIPE, env=environment())
    assert child.stdin is not None
    life = AgentLife((), silence_s=1.0, note=print)
    life._process = child
    child.stdin.close()
    life.order(AgentOrder(wave=1))
    await child.wait()
