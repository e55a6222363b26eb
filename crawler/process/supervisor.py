"""The supervisor: starts each agent in a process of its own, shows their progress, and restarts one on its own disk when it dies or hangs.

An agent dies when it is killed or crashes. It hangs when it has sent no status for 30 s; until its first status it has 2 min, since a large
store takes time to open. Either way it is started again, after a growing pause. Progress means one more page, or one more piece of work
that is known to kill agents (crawler/children/crash_suspects.py). An agent that dies three times in a minute without progress ends the
crawl with exit 1; the state is safe. Exit codes that an agent chooses itself (done, stopped, locked, disk full …) are never followed by a
restart.

A crawl of one agent ends when that agent does. If there are several, an agent that has nothing to do is idle; when all are idle
(crawler/cluster/termination.py) the supervisor orders them to end. If an agent ends before, the others are ordered to stop, with its
reason, and the most serious exit code becomes the crawl's. For an agent that has sent no status, the crawl's status has what its shard has
committed.

SIGINT, SIGTERM and SIGHUP are passed on: the first stops gracefully, the second at once. Agents that still run 10 s after the second
signal, or at a third, are killed; what they had not committed is fetched again.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.children import python
from thresher.crawler.cluster.shard import left_behind
from thresher.crawler.cluster.termination import LIMITS, TerminationDetector
from thresher.crawler.core.errors import StoreError
from thresher.crawler.ending import Ending, finished
from thresher.crawler.error_log import NAME
from thresher.crawler.process.places import AgentPlaces, Away, Life, ThisMachine
from thresher.crawler.status import AgentOrder, AgentReport, StateName, Status, merged
from thresher.storage.private import private

SILENCE_S = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGENT = tuple(python.command("thresher.crawler.process.agent_process"))
_GRAVEST = (1, 2, 6, 5, 74, 143, 130, 129, 3, 4, 0)  # exit codes, most serious first
_FORCED_S = 10.0
_ENDED = ("done", "stopped", "failed")
_ENDS_WELL = (0, 3, 4)
_FAULTS = {
    2: "its configuration cannot be used",
    5: "its store is in use by another process",
    6: "its store is damaged or of another version",
    74: "the disk refuses writes",
}
_DEATHS = 3
_DEATHS_WITHIN_S = 60.0
# signals that kill a process which followed a pointer out of a damaged page
_BY_DAMAGE = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL))


class Display(Protocol):
    """Shows progress."""

    def update(self, status: Status) -> None: ...

    def note(self, message: str) -> None: ...


class Supervisor:
    """One crawl's processes."""

    def __init__(
        self,
        directory: Path,
        display: Display,
        *,
        n_agents: int = 1,
        settings: Settings | None = None,
        settle: bool = False,
        silence_s: float = SILENCE_S,
        agent: Sequence[str] = AGENT,
        places: AgentPlaces | None = None,
        without_agent: Status | None = None,
    ) -> None:
        """Create the supervisor; `run` starts the agents.

        Args:
            directory: The directory of the crawl.
            display: Shows progress.
            n_agents: The number of agents.
            settings: The crawl's configuration; only needed for several agents.
            settle: Whether to fetch nothing, and to end once all messages between agents are carried out.
            silence_s: Seconds without a status after which an agent counts as hanging.
            agent: The command that starts an agent; its shard is added as an argument.
            places: Where the agents run, if not all on this machine.
            without_agent: The status of shards that no longer have an agent, if not all shards are on this machine.
        """
        self._settle = settle
        self._directory = directory
        self._display = display
        self._n_agents = n_agents
        self._limits = (settings or Settings()).limits
        self._places = places or ThisMachine(directory, agent, silence_s=silence_s, settle=settle)
        self._lives: dict[int, Life] = {}
        self._reports: dict[int, AgentReport] = {}  # agent → its newest report
        self._counted: dict[int, Status] = {}  # agent → the counts of its shard when it was started
        self._signals: list[int] = []
        self._stop: Ending | None = None  # the order to the other agents once one has ended
        self._fault = ""  # why the crawl has ended, if no agent could report it
        self._unreadable: set[int] = set()  # agents whose stores are damaged
        self._deaths: dict[int, deque[float]] = {k: deque(maxlen=_DEATHS) for k in range(n_agents)}
        self._left_behind = left_behind(directory) if without_agent is None else without_agent
        self._termination = TerminationDetector(n_agents, self._most_pages(), self._tell)
        self._end: Ending | None = None
        self._n_restarts = 0
        self.status = Status()

    def _most_pages(self) -> int | None:
        """Return how many pages all agents together may fetch; None: any number."""
        if self._settle:
            return 0
        return None if self._limits.max_pages is None else max(0, self._limits.max_pages - self._left_behind.pages)

    async def run(self) -> int:
        """Crawl to the end; return the exit code."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # under nohup SIGHUP stays ignored
                loop.add_signal_handler(number, self._on_signal, number)
        codes = await asyncio.gather(*(self._keep(agent) for agent in range(self._n_agents)))
        code = min(codes, key=_GRAVEST.index)
        if self._reports or code in (
            1,
            StoreError.exit_code,
        ):  # else no agent has worked, and another process may own the file
            await self._conclude(code)
        return code

    async def _conclude(self, code: int) -> None:
        """Write how the crawl has ended. The counts of agents that died before their last status are read from their shards."""
        was_said = [report.state for report in self._reports.values()]
        await self._survey("stopped")
        status = self.status
        if self._end is not None and code == self._end.code:
            status.why = self._end.why
        elif code not in _ENDS_WELL and code < 128 and "failed" not in was_said:
            status.state, status.why = "failed", self._fault
        elif self._signals and not status.why:  # every agent died before it could report the stop
            status.why = f"{'forced' if code > 128 else 'stopped'} by {signal.Signals(self._signals[-1]).name}"
        elif self._stop is not None and not status.why:  # so did all that were ordered to stop
            status.why = self._stop.why
        write_status(self._directory, status)

    async def _survey(self, state: StateName) -> None:
        """Bring the status of the crawl up to date.

        Args:
            state: The state of agents that ended without a last status.
        """
        for agent in range(self._n_agents):
            report = self._reports.get(agent)
            if report is not None and report.state in _ENDED:
                continue
            last = None
            if agent not in self._unreadable:
                with suppress(StoreError, Away):
                    last = await self._places.counted(agent, state)
            if last is not None:
                self._counted[agent] = last
                self._reports.pop(agent, None)
            elif report is not None:  # the shard cannot be read: only its last status is known
                report.state, report.why = state, ""
        self._merge()

    def _merge(self) -> None:
        known: dict[int, Status] = {**self._counted, **self._reports}
        self.status = merged(list(known.values()), self._left_behind)
        self.status.restarts = self._n_restarts

    @property
    def was_signalled(self) -> bool:
        """Whether a signal to stop has arrived."""
        return bool(self._signals)

    async def _keep(self, agent: int) -> int:
        """Start an agent, and restart it until it ends for good; return its last exit code."""
        while True:
            try:
                code = await self._once(agent)
            except Away as away:
                self._on_away(agent, str(away))
                continue
            if code is not None:
                break
        if code == StoreError.exit_code:
            self._unreadable.add(agent)
        if code not in _ENDS_WELL:
            self._fault = self._fault or f"{self._name(agent)} ended with exit {code}: {_FAULTS.get(code, 'it was forced to')}"
        if self._end is None:
            self._stop_the_others(agent, code)
        return code

    async def _once(self, agent: int) -> int | None:
        """Start an agent and wait for its end; return its exit code, None if it must be started again."""
        if not await self._places.ready(agent, self._is_over):
            return self._end.code if self._end is not None else 3
        before = await self._places.progress(agent)
        self._reports.pop(agent, None)
        with suppress(StoreError):
            self._counted[agent] = await self._places.counted(agent, "starting")
        life = self._lives[agent] = self._places.life(agent, lambda what: self._note(agent, what))
        self._termination.on_start(agent)
        code = await life.run(self._signals, lambda report: self._on_report(agent, report))
        await self._places.strike(agent)
        if code in _GRAVEST and code != 1:
            return code
        if self._signals:  # signals killed it before it could handle them
            return 3 if len(self._signals) <= 1 else 128 + self._signals[-1]
        final = await self._on_death(agent, code, before)
        return 3 if final is None and self._stop is not None else final

    def _on_away(self, agent: int, why: str) -> None:
        """Handle that an agent's machine cannot be reached: its hosts wait, and its last report still counts."""
        self._termination.on_start(agent)
        self._note(agent, f"cannot be reached: {why}. Its hosts wait")
        if (report := self._reports.get(agent)) is not None and report.state not in _ENDED:
            report.state, report.why, report.in_flight, report.away = "waiting", why, 0, 1
            self._merge()
            write_status(self._directory, self.status)

    def _is_over(self) -> bool:
        """Return whether no agent may be started any more."""
        return bool(self._signals or self._stop or self._end)

    async def _on_death(self, agent: int, code: int, before: int) -> int | None:
        """Handle the death of an agent: wait and return None if it must be started again, else return the exit code. The operator is told.

        Args:
            before: The agent's progress (cluster/shard.py) when it was started.
        """
        how = f"{how_ended(code)}, {self._directory / NAME} says more"
        if -code in _BY_DAMAGE and await self._is_damaged(agent):  # checked before this process itself reads the store
            return StoreError.exit_code
        if self._may_restart(agent, progressed=await self._places.progress(agent) > before):
            pause = 0.2 * 2 ** len(self._deaths[agent])
            self._note(agent, f"died ({how}); it is restarted on its own disk in {pause:.1f} s")
            self._n_restarts += 1
            self.status.restarts = self._n_restarts
            await asyncio.sleep(pause)
            return None
        if await self._is_damaged(agent):
            return StoreError.exit_code
        died = f"died {_DEATHS} times without progress (last {how})"
        self._fault = self._fault or f"{self._name(agent)} {died}; the state is safe"
        self._note(agent, f"{died}; the state is safe: `thresher resume` goes on")
        return 1

    async def _is_damaged(self, agent: int) -> bool:
        """Return whether the store of an agent that died is damaged; if so, tell the operator, and read nothing from that store any
        more.
        """
        found = await self._places.damage(agent)
        if found:
            self._fault = self._fault or found
            self._note(agent, f"cannot go on: {found}")
        return bool(found)

    def _stop_the_others(self, agent: int, code: int) -> None:
        """Order the others to stop: an agent has ended without an order, and no other agent can crawl its sites."""
        self.give_over(self._fault if code not in _ENDS_WELL else f"{self._name(agent)} has ended (exit {code})", but=agent)

    def give_over(self, why: str, *, but: int = -1) -> None:
        """Order all agents to stop gracefully, unless they have the order already.

        Args:
            but: An agent that has ended.
        """
        if self._stop is not None or self._signals or self._end is not None:
            return
        self._stop = Ending(3, why)
        for agent in self._lives:
            if agent != but:
                self._tell(agent, AgentOrder(end=self._stop.why, code=self._stop.code))

    def _name(self, agent: int) -> str:
        return "the agent" if self._n_agents == 1 else f"agent {agent}"

    def _note(self, agent: int, what: str) -> None:
        self._display.note(f"{self._name(agent)} {what}")

    def _on_report(self, agent: int, report: AgentReport) -> None:
        self._reports[agent] = report
        self._merge()
        write_status(self._directory, self.status)
        self._display.update(self.status)
        if (end := self._end or self._stop) is not None:
            self._tell(agent, AgentOrder(end=end.why, code=end.code))  # it was started after the order had been given
        elif self._n_agents > 1 and not self._signals:
            self._consider_end(self._termination.on_report(agent, report))

    def _consider_end(self, why: str) -> None:
        """End the crawl if no agent has anything to do, or at a limit that counts for all agents together; requests may be in flight.

        Args:
            why: The reason given by the TerminationDetector, "" if there is work left.
        """
        max_bytes, max_pages, max_time = self._limits.max_bytes, self._limits.max_pages, self._limits.max_time
        if max_bytes is not None and self.status.wire_bytes >= max_bytes:
            self._end = Ending(0, "limits.max_bytes reached")
        elif max_time is not None and max(report.running_s for report in self._reports.values()) >= max_time:
            self._end = Ending(0, "limits.max_time reached")
        elif why and max_pages is not None and self.status.pages >= max_pages:
            self._end = Ending(0, "limits.max_pages reached")
        elif why and any(report.idle.startswith(LIMITS) for report in self._reports.values()):
            self._end = Ending(0, why)
        elif why:
            before = self._left_behind.pages + self._left_behind.redirects
            before += sum(report.answered_before for report in self._reports.values())
            self._end = finished(why, self.status, answered_before=before, max_error_rate=self._limits.max_error_rate)
        if self._end is not None:
            for other in self._lives:
                self._tell(other, AgentOrder(end=self._end.why, code=self._end.code))

    def _tell(self, agent: int, order: AgentOrder) -> None:
        self._lives[agent].order(order)

    def _on_signal(self, number: int) -> None:
        self._signals.append(number)
        for life in self._lives.values():
            life.signal(number)
        if len(self._signals) == 2:
            asyncio.get_running_loop().call_later(_FORCED_S, self._kill)
        elif len(self._signals) > 2:
            self._kill()

    def _kill(self) -> None:
        for life in self._lives.values():
            life.signal(signal.SIGKILL)

    def _may_restart(self, agent: int, *, progressed: bool) -> bool:
        now, deaths = time.monotonic(), self._deaths[agent]
        if progressed:
            deaths.clear()
        deaths.append(now)
        return len(deaths) < _DEATHS or now - deaths[0] > _DEATHS_WITHIN_S


def how_ended(code: int) -> str:
    """Return a text for the exit code of a process."""
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def write_status(directory: Path, status: Status) -> None:
    """Replace DIR/status.json, which `thresher status` reads while a crawl runs; on a full disk the file is overwritten in place."""
    temporary, place = directory / "status.json.tmp", directory / "status.json"
    text = msgspec.json.encode({"pid": os.getpid()} | msgspec.to_builtins(status))
    with suppress(OSError):
        try:
            with open(temporary, "wb", opener=private) as file:
                file.write(text)
            temporary.replace(place)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                with place.open("r+b") as file:
                    file.write(text)
                    file.truncate()
