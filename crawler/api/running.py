"""Crawl from Python: one agent in this process, on a store that the command line can read, resume and verify."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from thresher.config.errors import ConfigError
from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.core.errors import DiskError, ThresherError, UsageError
from thresher.crawler.core.model import Purpose
from thresher.crawler.ending import Ending
from thresher.crawler.process.snapshots import SnapshotTimer
from thresher.crawler.process.supervisor import write_status
from thresher.crawler.start.opening import check_seeds, create_store, n_agents, reconfigure, with_seeds
from thresher.crawler.status import Status
from thresher.filters.spec import FilterSpec
from thresher.storage.export.content import text_of
from thresher.storage.partitions import n_agents_of
from thresher.storage.records import PageRecord
from thresher.storage.store import Store

_log = logging.getLogger(__name__)
logging.getLogger("thresher").addHandler(logging.NullHandler())  # a script that sets up no logging gets no log

_GRACEFUL = (0, 3, 4)
_INTERRUPTED = 130
_PAGES = frozenset((Purpose.PAGE, Purpose.AUDIT, Purpose.ANNOUNCED, Purpose.REVISIT))
_SET = "--set "

OnPage = Callable[["CrawledPage"], Awaitable[object] | object]


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """How a crawl, or this part of one, ended.

    code: 0 done, 3 stopped and resumable, 4 done but too many requests failed: the exit codes of the command line.    why: in words
    """

    code: int
    why: str
    pages: int  # of the whole crawl
    new_pages: int  # of this run

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do, or a configured limit was reached."""
        return self.code in (0, 4)


class CrawledPage:
    """A page that was fetched, judged and committed. Its body and text are read when they are asked for: only inside `on_page`."""

    __slots__ = ("_store", "record", "visit")

    def __init__(self, store: Store, visit: int, record: PageRecord) -> None:
        self._store = store
        self.visit = visit
        self.record = record

    @property
    def url(self) -> str:
        return self.record.url

    @property
    def status(self) -> int:
        return self.record.status

    @property
    def title(self) -> str:
        return self.record.title

    @property
    def keep(self) -> bool:
        """Whether every filter in mode `enforce` keeps it."""
        return self.record.keep

    def body(self) -> bytes | None:
        """Return the body without content coding; None where it is not kept."""
        return self._store.tables.bodies.get(self.visit) if self.record.has_body else None

    def text(self) -> str | None:
        """Return the visible text; None where there is none, or the body is not kept."""
        body = self.body()
        return None if body is None else text_of(body, self.record, self._store.settings.identity.agent)

    def __repr__(self) -> str:
        return f"<CrawledPage {self.url} {self.status}>"


class Crawl:
    """A crawl in a directory, a new one or one to continue. Nothing is written before `run`."""

    def __init__(
        self,
        directory: str | Path,
        seeds: Iterable[str] = (),
        *,
        config: str | Path | Sequence[str | Path] | Mapping[str, Any] = (),
        settings: Settings | None = None,
        specs: Sequence[FilterSpec] | None = None,
        **options: Any,
    ) -> None:
        """Create the crawl; it begins with `run`.

        Args:
            directory: The directory of the crawl; one that holds a crawl is resumed, with these options and further seeds.
            config: YAML files, or the sections themselves as a mapping; options win over it.
            settings: A complete configuration with its seeds; must be given without `seeds`, `config` and options.
            specs: Filters in place of the configured ones.
            options: Sections of the configuration, for example limits={"max_pages": 100} or filters={"dust": {"mode": "off"}}.
        """
        assert settings is None or not (seeds or config or options), "settings are whole"
        self._settings = settings
        self.directory = Path(directory).absolute()  # wherever its pages' readers change to
        self._seeds = [seeds] if isinstance(seeds, str) else list(seeds)
        sections, files = (config, ()) if isinstance(config, Mapping) else ({}, [config] if isinstance(config, str | Path) else config)
        self._configs = [str(path) for path in files]
        self._sets = [*_sets(sections), *_sets(options)]
        self._specs = specs
        self._agent: Agent | None = None
        self._stop_asked = ""

    async def run(self, *, on_page: OnPage | None = None, on_status: Callable[[Status], object] | None = None) -> CrawlEnd:
        """Crawl until nothing is due, a limit is reached, or `stop` is called; everything that was settled is committed then.

        Args:
            on_page: Called once with each page after it has been committed, in order; a coroutine is awaited, and the crawl goes on
                meanwhile. An exception that it raises stops the crawl, and is raised here. It is not called for pages that an earlier
                process committed before it was killed: read these from the store.
            on_status: Called about twice a second with the same numbers that `thresher status` prints.

        Raises:
            UsageError: If the crawl cannot begin.
            ConfigError: If the configuration is wrong.
            StoreError: If the store is damaged.
            DiskError: If the disk is full or refuses writes.
        """
        if self._agent is not None:
            raise UsageError(f"{self.directory}: this crawl is running already")
        if self._settings is None:
            await asyncio.to_thread(self._prepare)
        elif not (self.directory / "state").is_dir():
            Store.create(self.directory, self._settings, time.time()).close()
        with Store.open(self.directory, self._settings, time.time()) as store:
            ending, status = await self._crawl(store, on_page, on_status)
            store.close(commit=ending.code != DiskError.exit_code)
        write_status(self.directory, status)
        if ending.code == _INTERRUPTED:
            raise KeyboardInterrupt
        if ending.code not in _GRACEFUL:
            raise _error_of(ending)
        return CrawlEnd(ending.code, ending.why, status.pages, status.run_pages)

    def stop(self, why: str = "stopped by its caller") -> None:
        """Begin a graceful stop: no new request; `run` returns when those in flight have ended. Call it in the thread of the event loop."""
        self._stop_asked = why
        if self._agent is not None:
            self._agent.stop(why)

    def interrupt(self) -> None:
        """Do what Ctrl-C does: the first call stops gracefully, the second at once, and `run` raises KeyboardInterrupt. Call it where
        `stop` may be.
        """
        if self._stop_asked and self._agent is not None:
            self._agent.leave(_INTERRUPTED, "forced by Ctrl-C")
        self.stop("stopped by Ctrl-C")

    def _prepare(self) -> None:
        """Create the store; if there is one, change it to the options and add the seeds."""
        try:
            if (self.directory / "state").is_dir():
                reconfigure(self.directory, self._seeds, (), self._configs, self._sets)
                _require_one(n_agents_of(self.directory), self.directory)
                return
            settings = load(self._configs, sets=self._sets, environ=os.environ).settings
            if settings.agents == "auto":
                settings = msgspec.structs.replace(settings, agents=1)
            _require_one(n_agents(settings), self.directory)
            begun = with_seeds(settings, self._seeds, ())
            check_seeds(begun.settings)
            create_store(self.directory, begun.settings, begun.found.bare)
        except ConfigError as error:
            raise ConfigError(str(error).replace(_SET, "")) from None

    async def _crawl(self, store: Store, on_page: OnPage | None, on_status: Callable[[Status], object] | None) -> tuple[Ending, Status]:
        told = Status()
        telling = _Telling(store, on_page, self.stop)

        def report(status: Status) -> None:
            nonlocal told
            told = msgspec.structs.replace(status)
            telling.look()
            if on_status is not None:
                on_status(told)

        agent = self._agent = Agent(self.directory, store, store.settings, report=report, filters=self._specs)
        try:
            if self._stop_asked:
                agent.stop(self._stop_asked)
            async with SnapshotTimer(self.directory, store.settings.snapshots, _log.warning).running():
                ending = await agent.run()
                await telling.finish()
        finally:
            telling.cancel()
            self._agent, self._stop_asked = None, ""
            await agent.close()
        return ending, told


class _Telling:
    """Calls `on_page` for committed pages, one after another."""

    def __init__(self, store: Store, on_page: OnPage | None, stop: Callable[[str], None]) -> None:
        self._store, self._on_page, self._stop = store, on_page, stop
        self._next = store.visit
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    def look(self) -> None:
        """Begin to call for pages committed since the last call, unless calls are still being made."""
        if self._on_page is not None and self._error is None and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._tell())

    async def finish(self) -> None:
        """Call for the rest; raises what a call has raised."""
        if self._task is not None:
            await self._task
        if self._on_page is not None and self._error is None:
            await self._tell()
        if self._error is not None:
            raise self._error

    def cancel(self) -> None:
        """Make no further call: the store is about to be closed."""
        if self._task is not None:
            self._task.cancel()

    async def _tell(self) -> None:
        assert self._on_page is not None
        end = self._store.first_uncommitted
        while self._next < end and (found := self._store.tables.pages.since(self._next)):
            for visit, record in found:
                if visit >= end:
                    break
                self._next = visit + 1
                if record.purpose in _PAGES and not await self._call(CrawledPage(self._store, visit, record)):
                    return
            else:
                continue
            break
        self._next = max(self._next, end)

    async def _call(self, page: CrawledPage) -> bool:
        assert self._on_page is not None
        try:
            said = self._on_page(page)
            if inspect.isawaitable(said):
                await said
        except Exception as error:  # noqa: BLE001 - the caller's own code: the crawl ends, and the caller gets it
            self._error = error
            self._stop(f"on_page raised {type(error).__name__}")
            return False
        return True


def crawl(
    seeds: Iterable[str],
    directory: str | Path,
    *,
    config: str | Path | Sequence[str | Path] | Mapping[str, Any] = (),
    on_page: OnPage | None = None,
    on_status: Callable[[Status], object] | None = None,
    **options: Any,
) -> CrawlEnd:
    """Crawl from the seeds into a directory and return how it ended: for scripts and notebooks. Arguments: `Crawl` and `Crawl.run`.

    Ctrl-C stops gracefully, and the code is 3: the same call continues the crawl later. A second Ctrl-C raises KeyboardInterrupt.
    Where an event loop runs already, as in a notebook, the crawl has a thread of its own, in which `on_page` is called.
    """
    job = Crawl(directory, seeds, config=config, **options)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(job, on_page, on_status, hears=threading.current_thread() is threading.main_thread())
    return _apart(job, on_page, on_status)


def _run(job: Crawl, on_page: OnPage | None, on_status: Callable[[Status], object] | None, *, hears: bool) -> CrawlEnd:
    """Run a crawl in an event loop of its own.

    Args:
        hears: Whether this thread is the one that receives signals.
    """

    async def whole() -> CrawlEnd:
        loop = asyncio.get_running_loop()
        if hears:
            loop.add_signal_handler(signal.SIGINT, job.interrupt)
        return await job.run(on_page=on_page, on_status=on_status)

    before = signal.getsignal(signal.SIGINT) if hears else None
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(whole())
    finally:
        if hears:
            signal.signal(signal.SIGINT, before)


def _apart(job: Crawl, on_page: OnPage | None, on_status: Callable[[Status], object] | None) -> CrawlEnd:
    """Run a crawl in a new thread; Ctrl-C in this thread stops it."""
    found: list[CrawlEnd | BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def whole() -> CrawlEnd:
        loops.append(asyncio.get_running_loop())
        return await job.run(on_page=on_page, on_status=on_status)

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found.append(runner.run(whole()))
        except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
            found.append(error)

    thread = threading.Thread(target=work, name="thresher", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            for loop in loops:
                loop.call_soon_threadsafe(job.interrupt)
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _sets(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield options in the form of `--set`: a.b=value. Values are JSON, which is also YAML in flow style."""
    for name, value in options.items():
        if isinstance(value, Mapping) and value and all(map(str.isidentifier, value)):
            yield from _sets(value, f"{prefix}{name}.")
        else:
            plain = list(value) if isinstance(value, tuple | set | frozenset) else value
            yield f"{prefix}{name}={json.dumps(plain, default=str, ensure_ascii=False)}"


def _require_one(n: int, directory: Path) -> None:
    if n > 1:
        raise UsageError(f"agents: expected 1, since the crawl runs in this process; found {n}. `thresher resume {directory}` runs several")


def _error_of(ending: Ending) -> ThresherError:
    """Return the exception for an ending that was not graceful."""
    kinds = {kind.exit_code: kind for kind in ThresherError.__subclasses__()}
    return kinds.get(ending.code, ThresherError)(ending.why)
