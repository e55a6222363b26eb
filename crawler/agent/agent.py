"""The agent: one event loop that turns leases into visits and visits into commits.

A fixed number of workers takes leases (leases.py); no task is created per fetch. `_dispatch` hands leases to idle workers, and one timer
calls it when the next host is ready. The agent owns its parts; they do not know the agent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.agent.announcer import Announcer
from thresher.crawler.agent.batch_settler import BatchSettler
from thresher.crawler.agent.brakes import Brakes
from thresher.crawler.agent.figures import Figures
from thresher.crawler.agent.idleness import Idleness
from thresher.crawler.agent.last_requisites import LastRequisites
from thresher.crawler.agent.leases import Leases
from thresher.crawler.agent.limits import CrawlLimits
from thresher.crawler.agent.name_lookups import Lookups
from thresher.crawler.agent.preparation import prepare
from thresher.crawler.agent.stop import Stop
from thresher.crawler.agent.suspension import SuspensionDetector
from thresher.crawler.agent.tail_turns import TailTurns
from thresher.crawler.agent.wiring import assemble, frontier_of
from thresher.crawler.clock import Clock
from thresher.crawler.cluster.inbox import Inbox
from thresher.crawler.cluster.member import Member, Team
from thresher.crawler.core.errors import DiskError, ThresherError
from thresher.crawler.core.model import Cause, Failed
from thresher.crawler.ending import Ending, finished
from thresher.crawler.fetch.request_log import RequestLog
from thresher.crawler.journeys import make_journey
from thresher.crawler.page.loop_watch import LoopWatch
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.settlement.totals import Totals
from thresher.crawler.start.rounds import keep_schedule
from thresher.crawler.status import AgentOrder, AgentReport, StateName, Status
from thresher.crawler.visit import Visit
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store

_GRACE_S = 10.0  # seconds that requests in flight have after a stop or at a limit
_TROUBLE_S = 2.0  # seconds that a disk that refuses writes has, once a stop has begun
_GENTLE = (0, 3, 4)  # exit codes of endings that let requests in flight finish
_STARVED_S = 0.05
_TICK_S = 0.5


class Agent:
    """Crawls the sites whose state lies in its store, in one process."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        settings: Settings,
        *,
        report: Callable[[Status], None],
        filters: Sequence[FilterSpec] | None = None,
        team: Team | None = None,
        left_behind: Status | None = None,
    ) -> None:
        """Put the parts together; inside a running event loop.

        Args:
            directory: The directory of the shard.
            filters: Used in place of the registry's.
            team: What several agents share; None: this agent is alone.
        """
        self._directory = directory
        self._store = store
        self._settings = settings
        self._report = report
        self._clock = Clock(store.clock)
        self._started_at = self._clock()
        keep_schedule(store, self._started_at)  # before any part reads the newest round
        self._context = assemble(directory, store, settings, self._clock, team=team, filters=filters)
        self._frontier = frontier_of(store, self._context, self._started_at)
        self._settler = Settler(store, self._frontier, self._context, Totals(store.counters))
        on_failure, on_commit, is_idle = self._on_commit_failure, self._on_commit, self._is_idle
        self._committer = Committer(
            store, settings.store, clock=self._clock, on_failure=on_failure, on_commit=on_commit, is_idle=is_idle, catch_up=self._catch_up
        )
        self._announcer = Announcer(self._settler, self._committer, self._clock)
        self._brakes = Brakes(directory, settings, store, self._committer)
        self._requests = RequestLog(settings.log.requests)
        self._suspensions = SuspensionDetector()
        self._watch = LoopWatch(self._context.batch_reader.step, self._context.batch_reader.isolate)
        self._make_workers_parts()
        self._figures = Figures(self._settler.totals, self._frontier, began_at=self._started_at, is_one_of_several=team is not None)
        self._prepared = False
        self._inbox = Inbox(store, self._frontier, self._context, self._settler)
        self._member = self._join(team) if team is not None else None
        self._watch_for_the_end(left_behind)

    def _make_workers_parts(self) -> None:
        """Make the parts that give leases and addresses to workers, and take what they have found."""
        self._leases = Leases(
            self._frontier, self._clock, why_not=self._why_throttled, wake=self._dispatch, must_wait=lambda: self._batch_settler.has_late
        )
        joined = self._context.batch_reader.hands_out
        self._batch_settler = BatchSettler(self._settler, self._committer, is_joined=joined, wake=self._dispatch, fail=self._leases.fail)
        self._context.panel.lessons.catch_up = self._batch_settler.catch_up
        self._context.batch_reader.must_pause = lambda: self._batch_settler.owns_round
        self._lookups = Lookups(
            self._frontier, self._context.resolver, self._clock, on_failure=self._on_lookup_failure, on_end=self._on_lookup_done
        )

    def _watch_for_the_end(self, left_behind: Status | None) -> None:
        """Make the parts that know whether anything is left to do, and whether a limit is reached."""
        totals, clock = self._settler.totals, self._clock
        self._stop = Stop()
        self._idleness = Idleness(self._settings, self._frontier, self._context.studies, self._announcer, clock)
        self._tails = TailTurns(self._settler.tail_service, self._committer, clock)
        self._last = LastRequisites(self._settler.requisites, self._frontier, self._leases.in_flight, clock)
        self._limits = CrawlLimits(
            self._store, self._settings.limits, totals, clock, self._started_at, left_behind=left_behind, member=self._member
        )

    def _join(self, team: Team) -> Member:
        """Become one of several agents."""
        self._frontier.share(team.addresses)

        def carry_out(sender: int, message: bytes) -> None:
            self._committer.whole(self._inbox.carry_out, sender, message, self._clock())

        return Member(self._directory, self._store, team, carry_out, self._committer, on_failure=self._on_commit_failure)

    async def run(self) -> Ending:
        """Crawl until nothing is due, a limit is reached or `stop` is called; everything that has settled is committed then."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            studying = group.create_task(self._context.studies.run(self._on_finding))
            ticker = group.create_task(self._tick())  # from the start: the supervisor gets statuses during a long preparation, too
            await prepare(
                self._store, self._context, self._settler, self._inbox, self._committer, self._frontier, stopping=self._stop.begun.is_set
            )
            self._prepared = True
            announcing = group.create_task(self._announcer.run(self._on_tick))
            talking = [group.create_task(self._member.run(self._on_tick))] if self._member is not None else []
            workers = [group.create_task(self._work()) for _ in range(self._settings.fetch.concurrency)]
            self._dispatch()
            await self._stop.begun.wait()
            for task in (*talking, announcing):
                task.cancel()
            await self._wind_down(workers)
            for task in (*workers, *self._lookups.tasks, ticker, studying):
                task.cancel()
        ending = self._stop.ending
        assert ending is not None
        self._publish("failed" if ending.code not in (0, 3, 4) else "stopped" if ending.code == 3 else "done")
        return ending

    def obey(self, order: AgentOrder) -> None:
        """Carry out an order of the supervisor of several agents."""
        if self._member is not None and not order.end:
            self._member.obey(order, self._settler.totals.pages + len(self._leases.in_flight))
            if order.serve_tails and self._stop.ending is None and not self._serve_tails():
                self._on_tick()
            self._dispatch()
            self._publish("crawling" if self._leases.in_flight else "waiting")
        elif order.end:
            self._stop.begin(Ending(order.code, order.end))

    def stop(self, why: str) -> None:
        """Begin a graceful stop: no new request; the crawl can be resumed."""
        self._stop.begin(Ending(3, why))

    @property
    def stopping(self) -> bool:
        """Whether a stop has begun."""
        return self._stop.ending is not None

    def leave(self, code: int, why: str) -> None:
        """End at once: commit what has settled, abandon requests in flight."""
        self._stop.overrule(Ending(code, why))

    async def close(self) -> None:
        """Close connections and child processes. The store is closed by the code that opened it."""
        await self._context.fetcher.close()
        await self._context.parser.close()
        await self._context.resolver.close()
        for part in (self._context.suspects, self._requests, self._watch):
            part.close()

    async def _work(self) -> None:
        """Take leases one after another; the only coroutine that fetches."""
        while True:
            lease = await self._leases.next()
            try:
                began = self._suspensions.now()
                made = await make_journey(lease, self._context)
                made.outcome = self._suspensions.excuse(made.outcome, began)
                now = self._clock()
                self._settle(made, now)
            finally:
                del self._leases.in_flight[lease.queue]
                if self._stop.ending is not None and not self._leases.in_flight:
                    self._stop.quiet.set()
            if made.outcome is not None:
                self._requests.write(made.outcome, now)
            self._committer.on_settled()
            self._lookups.start(self._group)
            if made.outcome is None:
                await asyncio.sleep(0)  # a visit may have awaited nothing; a thousand of them in a row must not hold the loop
            elif isinstance(made.outcome, Failed) and made.outcome.cause is Cause.NO_DESCRIPTORS:
                self._brakes.starve(len(self._leases.in_flight) + 1)
                await asyncio.sleep(_STARVED_S)  # no file descriptor is free: answers must be read before connections close

    def _settle(self, made: Visit, now: float) -> None:
        """Write what a visit has found."""
        self._leases.dry = None
        self._tails.on_settled()
        with self._context.suspects.watching(made.lease.entry.url.key):
            self._batch_settler.settle(made, now)
        self._announcer.on_settled()

    def _catch_up(self) -> None:
        self._batch_settler.catch_up()

    def _dispatch(self) -> None:
        """Give idle workers the URLs that may be requested now; end the crawl if nothing is left."""
        if self._batch_settler.gathers:
            return
        self._batch_settler.catch_up()
        self._leases.hand_out()
        self._lookups.start(self._group)
        self._check_end()

    def _why_throttled(self) -> str:
        """Return why no request may start now, or ""."""
        if self._stop.ending is not None:
            return "stopping"
        if self._member is not None and (why := self._member.why_paused):
            return why
        if why := self._brakes.why(len(self._leases.in_flight)):
            return why
        limit = self._limits.reached(in_flight=len(self._leases.in_flight))
        return self._last.but(limit, self._limits.reached) if limit else ""

    def _check_end(self) -> None:
        """End the crawl when a limit is reached, even with requests in flight, or when nothing is due within `limits.max_wait`."""
        if self._stop.ending is not None:
            return
        self._use_pause()
        if self._member is not None:
            return
        limit = self._limits.reached(in_flight=0)
        if limit and not self._last.are_lacking(limit):
            self._stop.begin(Ending(0, f"{limit} reached"))
            return
        is_busy = self._leases.in_flight or self._lookups.tasks or self._why_throttled()
        if is_busy or not (why := self._idleness.why(self._leases.wait)):
            return
        if limit:
            self._stop.begin(Ending(0, self._last.ending(limit, why)))
        elif not self._serve_tails():
            self._finish(why)

    def _serve_tails(self) -> bool:
        """Let hosts that have nothing else continue with held URLs; return whether any host has one."""
        if not self._tails.serve():
            return False
        asyncio.get_running_loop().call_soon(self._on_tick)
        return True

    def _use_pause(self) -> None:
        """Fetch held URLs while no page of a continuous crawl is due."""
        is_pause = self._idleness.is_pause(self._leases.wait) and self._tails.may_have_any
        if is_pause and not (self._leases.in_flight or self._lookups.tasks or self._why_throttled()):
            self._serve_tails()

    def _why_done(self) -> str:
        """Return why one of several agents has nothing to do until a message comes; "" if it has work, or work that is not committed."""
        is_busy = self._stop.ending is not None or self._leases.in_flight or self._lookups.tasks or not self._prepared
        if is_busy or self._store.pending_visits or self._store.committing:
            return ""
        if (limit := self._limits.reached(in_flight=0)) and not self._last.are_lacking(limit):
            return (self._idleness.why(self._leases.dry) if self._leases.dry is not None else "") or f"{limit} reached"
        return "" if self._why_throttled() else self._idleness.why(self._leases.wait)

    def _finish(self, why: str) -> None:
        """End the crawl, since nothing is left to do."""
        status = self._figures.now(self._clock(), n_in_flight=len(self._leases.in_flight))
        held_up = Counter(host.state for host in self._frontier.hosts(status.at) if host.state != "in delay")
        status.hosts_held_up = dict(held_up.most_common())
        self._stop.begin(
            finished(why, status, answered_before=self._figures.answered_before, max_error_rate=self._settings.limits.max_error_rate)
        )

    async def _wind_down(self, workers: list[asyncio.Task[None]]) -> None:
        """Give requests in flight some seconds to finish, then commit what has settled."""
        assert self._stop.ending is not None
        if self._leases.in_flight and self._stop.ending.code in _GENTLE:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_S):
                    await self._stop.quiet.wait()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await self._commit_rest()

    async def _commit_rest(self) -> None:
        """Commit what has settled; stop trying after some seconds if the disk refuses."""
        try:
            async with asyncio.timeout(_TROUBLE_S if self._store.trouble else _GRACE_S):
                await self._committer.drain()
        except TimeoutError:
            trouble = self._store.trouble or f"no commit in {_GRACE_S:.0f} s"
            why = f"the disk refuses writes: {trouble}. What was committed is safe: make room, then resume"
            self._stop.overrule(Ending(DiskError.exit_code, why))

    def _on_finding(self, who: str, site: bytes, finding: bytes) -> None:
        """Let a filter learn from the finding of a study, then look for work: the filter may have asked for requests."""
        if self._stop.ending is not None:
            return
        self._committer.whole(self._settler.on_study_end, who, site, finding, self._clock())
        self._on_tick()

    def _is_idle(self) -> bool:
        return not self._leases.in_flight

    def _on_commit(self) -> None:
        if self._member is not None:
            self._member.on_commit()
        self._dispatch()

    def _on_tick(self) -> None:
        """Look for work after a name look-up, a study or a message of another agent has changed something."""
        self._leases.dry = None
        self._committer.on_settled()
        self._dispatch()

    def _on_commit_failure(self, error: BaseException) -> None:
        """End with the store's error, even if another ending had begun. Requests in flight are abandoned: they could not be written."""
        code = error.exit_code if isinstance(error, ThresherError) else 1
        self._stop.overrule(Ending(code, str(error) or repr(error)))

    def _on_lookup_failure(self, hostname: str, cause: Cause, detail: str, now: float) -> None:
        self._committer.whole(self._settler.unresolvable, hostname, cause, detail, now)

    def _on_lookup_done(self) -> None:
        if not self._stop.begun.is_set():
            self._on_tick()

    async def _tick(self) -> None:
        """Twice a second: publish the status, watch the disk, look again for work."""
        loop = asyncio.get_running_loop()
        while True:
            planned = loop.time() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self._brakes.look(max(0.0, loop.time() - planned), is_behind=self._context.batch_reader.is_behind)
            self._suspensions.look()
            self._requests.flush()
            if self._member is not None:
                self._hang_up(self._member)
            self._dispatch()
            self._publish("crawling" if self._leases.in_flight else "waiting")

    def _hang_up(self, member: Member) -> None:
        """Break off what this agent may not request any more, when several machines crawl."""
        if member.has_lost_lease():
            self._context.fetcher.hang_up()
        elif over := member.over():
            self._context.fetcher.hang_up(over)

    def _publish(self, state: StateName) -> None:
        status = self._figures.to_publish(self._clock(), n_in_flight=len(self._leases.in_flight))
        status.state = "stopping" if state in ("crawling", "waiting") and self._stop.ending else state
        waits_for = "" if state == "crawling" else self._leases.wait.why or self._frontier.why(status.at)
        status.why = self._stop.ending.why if self._stop.ending else self._brakes.disk_trouble() or waits_for
        if self._member is not None and isinstance(status, AgentReport):
            status.idle = self._why_done() if self._member.is_quiet else ""
            is_over = bool(self._limits.reached(in_flight=0))
            status.has_tail = not is_over and self._tails.has_any
            status.answered_before = self._figures.answered_before
            self._member.fill(status)
        self._report(status)
