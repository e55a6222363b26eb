"""An answer, a finding or a message that kills the agent is quarantined by the next agent process. It is carried out when the operator
offers it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from little_web import SECRET, LittleWeb, crawl, settings
from planted import PageScript, SeenAnswer

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.agent.preparation import prepare
from thresher.crawler.core.effects import Request
from thresher.crawler.core.messages import encode
from thresher.crawler.core.model import Mode, Purpose
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.spec import FilterSpec
from thresher.storage.records import QuarantineRecord
from thresher.storage.store import Store
from thresher.storage.tables.channels import received_durably
from thresher.storage.verify import verify
from thresher.storage.view import View

SITE = bytes(range(8))


class Frail(PageScript):
    """A prober that raises an exception in the middle of each answer, until it is mended."""

    is_mended = False

    def on_answer(self, reduced: SeenAnswer, memory: Memory, /) -> Effects:
        if not self.is_mended:
            memory.put(bytes(8) + b"half", b"done")
            raise RuntimeError("planted")
        return super().on_answer(reduced, memory)


async def test_an_answer_that_kills_the_agent_is_quarantined_and_requested_again_when_it_is_offered(tmp_path: Path) -> None:
    """Mutation: the next process let the filter learn from the answer again."""
    path = tmp_path / "c"
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        web.page("a.test/1")
        web.page("a.test/probe")
        prober = Frail("prober", asks={web.url("a.test/"): (Request(web.url("a.test/probe"), Purpose.PROBE),)})
        specs = [FilterSpec("prober", Mode.ENFORCE, page=prober, prober=prober)]
        with pytest.raises(ExceptionGroup):
            await crawl(path, settings(web, ["a.test/"]), specs)
        crawled = await crawl(path, settings(web, ["a.test/"]), specs)
        assert crawled.status.quarantined == {"answers to requests of prober": 1}
        assert set(crawled.pages) == {web.url("a.test/"), web.url("a.test/1")}
        (record,) = _offered(path)
        assert record.why == "RuntimeError: planted"
        prober.is_mended = True
        n_before = web.requests.count("a.test/probe")
        assert (await crawl(path, settings(web, ["a.test/"]), specs)).status.quarantined == {}
        assert web.requests.count("a.test/probe") == n_before + 1
    assert [answer.url for answer in prober.answers] == [web.url("a.test/probe")]
    with View(path) as view:
        assert view.tables.memory("prober").get(bytes(8) + b"half") is None


class Pupil:
    """A background learner that raises an exception over a finding, or while it gathers material."""

    name = "pupil"
    study = "none:none"
    finding_type = str

    def __init__(self) -> None:
        self.is_mended = False
        self.findings: list[str] = []

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        yield b""

    def on_finding(self, site: bytes, finding: str, memory: Memory, /) -> Effects:
        if not self.is_mended:
            raise RuntimeError("planted")
        self.findings.append(finding)
        return NO_EFFECTS


async def _life(path: Path, spec: FilterSpec, do: Callable[[Agent], None]) -> None:
    """Begin an agent, let it do something, and end it."""
    chosen = Settings()
    exists = (path / "state").exists()
    with Store.open(path, chosen, 0.0) if exists else Store.create(path, chosen, 0.0, secret=SECRET) as store:
        agent = Agent(path, store, chosen, report=lambda _: None, filters=[spec])
        try:
            async with asyncio.TaskGroup() as agent._group:
                await prepare(store, agent._context, agent._settler, agent._inbox, agent._committer, agent._frontier, stopping=lambda: True)
                do(agent)
        finally:
            await agent.close()
    assert verify(path) == []


def _offered(path: Path) -> list[QuarantineRecord]:
    """Offer all that is quarantined again; return it."""
    with Store.open(path, None, 0.0) as store:
        rows = store.tables.quarantine.all()
        for key, record in rows:
            store.tables.quarantine.offer(key, record)
    return [record for _, record in rows]


async def test_a_finding_that_kills_the_agent_is_quarantined_not_studied_again_and_done_when_it_is_offered(tmp_path: Path) -> None:
    pupil, path = Pupil(), tmp_path / "c"
    spec = FilterSpec("pupil", Mode.ENFORCE, learner=pupil)

    def study(agent: Agent) -> None:
        agent._on_finding("pupil", SITE, b"\xa4rule")

    with pytest.raises(ExceptionGroup):
        await _life(path, spec, study)
    await _life(path, spec, study)
    (record,) = _offered(path)
    assert (record.what, record.why, record.payload) == ("findings of pupil", "RuntimeError: planted", b"\xa4rule")

    def ask(agent: Agent) -> None:
        agent._context.studies.ask("pupil", SITE)
        assert not agent._context.studies.busy

    with pytest.raises(ExceptionGroup):
        await _life(path, spec, ask)  # it is offered, and kills the agent once more
    await _life(path, spec, ask)
    assert [record.offered for record in _offered(path)] == [False]
    pupil.is_mended = True
    await _life(path, spec, lambda _: None)
    assert pupil.findings == ["rule"]
    assert _offered(path) == []


async def test_what_cannot_be_read_is_quarantined_in_the_visit_that_acknowledges_it(tmp_path: Path) -> None:
    """The agent does not die of such a message. Mutation: the watermark was moved in a visit of its own."""
    path = tmp_path / "c"

    def hear(agent: Agent) -> None:
        before = agent._store.pending_visits
        agent._inbox.carry_out(3, encode((99, "nonsense")), 1.0)
        assert agent._store.pending_visits == before + 1

    await _life(path, FilterSpec("none", Mode.ENFORCE), hear)
    (record,) = _offered(path)
    assert (record.what, record.sender, record.number, record.why.split(":")[0]) == ("unreadable messages", 3, 1, "cannot be read")
    with Store.open(path, None, 0.0) as store:
        assert received_durably(store, 3) == 1
