"""Faults in a process of thresher: kills at a step, broken designs, changed constants. The product has no code for them.

    CRAWL_CRASH_AT=name:count        the process kills itself by SIGKILL the `count`-th time it is at the point `name`
    CRAWL_CRASH_AT=name:count:file   the same, but once over all processes: only the process that can create the file kills itself
    CRAWL_CONSTANT=module:NAME:seconds   a constant of a module has another value, so that a wait is shorter
    CRAWL_BROKEN_DESIGN=split_txn        a group's new URLs are committed in a second transaction, after everything else
    CRAWL_BROKEN_DESIGN=dispatch_delete  a URL is deleted from its queue when it is handed out

A point is the start or the end of one function. The function is wrapped as soon as its module has been imported. `injecting.py` returns
the environment in which a process finds this file. A forked command (forking.py), whose modules are there already, calls `install`.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from operator import attrgetter
from threading import local
from types import ModuleType
from typing import Any, Final, NamedTuple

Function = Callable[..., Any]


class Point(NamedTuple):
    """Where a process can be killed."""

    module: str
    function: str
    is_after: bool
    within: str = ""  # only while this function of the same module is running in the same thread
    if_result: bool = False  # only after a call that returned a true value


_WRITER: Final = "thresher.storage.writer"
POINTS: Final = {
    "dispatched": Point("thresher.crawler.agent.leases", "Leases._take", is_after=True, if_result=True),
    "parsing": Point("thresher.crawler.page.batch_reader", "BatchReader._parse", is_after=False),
    "settled": Point("thresher.crawler.agent.agent", "Agent._settle", is_after=True),
    "before_results_commit": Point(_WRITER, "Writer._commit", is_after=False),
    "after_results_commit": Point(_WRITER, "Writer._commit_results", is_after=True),
    "before_state_commit": Point("thresher.storage.disk", "Disk._apply_all", is_after=True, within="Writer._commit_state"),
    "after_state_commit": Point(_WRITER, "Writer._commit_state", is_after=True),
    "before_map_resize": Point("thresher.storage.disk", "Disk._grow", is_after=False),
    "after_map_resize": Point("thresher.storage.disk", "Disk._grow", is_after=True),
    "in_archive": Point("thresher.storage.archive.files", "write_at", is_after=True),
    "after_archive": Point("thresher.storage.archive.files", "ArchiveWriter.append", is_after=True),
    "sent": Point("thresher.crawler.cluster.transport", "_Outgoing._send", is_after=True),
    "heard": Point("thresher.crawler.cluster.inbox", "Inbox.carry_out", is_after=False),
    "voided": Point("thresher.crawler.settlement.canaries", "Canaries.void", is_after=True),
    "again": Point("thresher.crawler.settlement.canaries", "Canaries.fetch_again", is_after=True),
    "merging": Point("thresher.crawler.agent.merging", "Merger._take", is_after=False),
    "moved": Point("thresher.storage.moving", "_commit", is_after=True),
    "forgetting": Point("thresher.storage.forget", "_commit", is_after=True),
    "forgotten": Point("thresher.storage.forget", "_delete", is_after=True),
    "blanking": Point("thresher.storage.archive.blanking", "write_at", is_after=True),
    "compacted": Point("thresher.storage.compacting", "_compact", is_after=True),
    "export_rename": Point("thresher.storage.export.target", "_put_in_place", is_after=False),
}

_running = local()
_deaths: list[_Death] = []


def install() -> None:
    """Put the faults that the environment asks for into their modules."""
    wrappers: list[tuple[str, str, Callable[[Function], Function]]] = []
    name, count, once, *_ = (*os.environ.get("CRAWL_CRASH_AT", "").split(":", 2), "", "")
    if name:
        point = POINTS[name]
        if point.within:
            wrappers.append((_WRITER, point.within, functools.partial(_noticed, point.within)))
        wrappers.append((point.module, point.function, functools.partial(_wrapped, point, _Death(int(count or 1), once))))
    if design := os.environ.get("CRAWL_BROKEN_DESIGN", ""):
        wrappers.append(DESIGNS[design])  # after the points, since the design calls them more often
    module, constant, value, *_ = (*os.environ.get("CRAWL_CONSTANT", "").split(":"), "", "")
    if module:
        wrappers.append((module, constant, functools.partial(_instead, float(value))))
    for of, function, wrap in wrappers:
        if of in sys.modules:
            replace(sys.modules[of], function, wrap)
    if wrappers:
        sys.meta_path.insert(0, _Injector(wrappers))


def begin_anew() -> None:
    """Count calls from the first again: this process was forked, and its parent's calls do not count."""
    for death in _deaths:
        death.begin_anew()


class _Death:
    """Kills this process at the call with a given number."""

    def __init__(self, count: int, once: str) -> None:
        self._count = self._left = count
        self._once = once
        _deaths.append(self)

    def begin_anew(self) -> None:
        self._left = self._count

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0 and self._is_first():
            os.kill(os.getpid(), signal.SIGKILL)

    def _is_first(self) -> bool:
        if not self._once:
            return True
        try:
            os.close(os.open(self._once, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        return True


def _wrapped(point: Point, reached: Callable[[], None], function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        counts = not point.within or point.within in getattr(_running, "names", ())
        if counts and not point.is_after:
            reached()
        result = function(*args, **kwargs)
        if counts and point.is_after and (not point.if_result or result is not None):
            reached()
        return result

    return wrapper


def _noticed(name: str, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before = getattr(_running, "names", ())
        _running.names = (*before, name)
        try:
            return function(*args, **kwargs)
        finally:
            _running.names = before

    return wrapper


def _instead(value: float, _: object) -> Any:
    """Return the value that replaces a constant."""
    return value


def _split_txn(commit_state: Function) -> Function:
    """Commit new URLs in a second transaction: a kill between the two loses them."""

    def commit_in_two(writer: Any, writes: list[Any]) -> None:
        from thresher.storage.disk import Write
        from thresher.storage.schema import QUEUE, SEEN, URLS

        early, late = [write for write in writes if write.table not in (SEEN, URLS, QUEUE)], []
        for write in (write for write in writes if write.table in (SEEN, URLS, QUEUE)):
            known = writer._disk.get_many(write.table, [*write.puts])
            late.append(Write(write.table, [], {key: value for key, value in write.puts.items() if key not in known}))
            early.append(Write(write.table, write.deletes, {key: value for key, value in write.puts.items() if key in known}))
        commit_state(writer, early)
        commit_state(writer, late)

    return commit_in_two


def _dispatch_delete(take: Function) -> Function:
    """Remove a URL from its queue before it is fetched: a kill before the visit is settled loses it."""

    def take_and_delete(leases: Any) -> Any:
        lease = take(leases)
        if lease is not None:
            agent = leases._why_not.__self__
            agent._store.tables.queues.delete(lease.queue, lease.entry)
            agent._store.end_visit()
            agent._committer.flush()
        return lease

    return take_and_delete


DESIGNS: Final = {
    "split_txn": (_WRITER, "Writer._commit_state", _split_txn),
    "dispatch_delete": ("thresher.crawler.agent.leases", "Leases._take", _dispatch_delete),
}


class _Injector(MetaPathFinder):
    """Wraps functions of modules as soon as these have been imported."""

    def __init__(self, wrappers: list[tuple[str, str, Callable[[Function], Function]]]) -> None:
        self._wrappers = wrappers

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        wrappers = [(function, wrap) for module, function, wrap in self._wrappers if module == fullname]
        if not wrappers:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for finder in others if (found := finder.find_spec(fullname, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                for function, wrap in wrappers:
                    replace(module, function, wrap)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # the code of this one module is changed
        return spec


def replace(module: ModuleType, function: str, wrap: Callable[[Function], Function]) -> None:
    """Replace a function, or a class's method, by what `wrap` makes of it; AttributeError if it does not exist."""
    *owner, name = function.split(".")
    place = attrgetter(*owner)(module) if owner else module
    setattr(place, name, wrap(getattr(place, name)))
