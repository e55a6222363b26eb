"""The writer thread: the only one that commits.

One group at a time, in this order, each step durable before the next: records of the archive, if there is one → results (append-only)
→ the log of skipped URLs → state, whose transaction also moves the watermark that makes the others count. After a kill in between, opening
the store cuts off what is after the watermark.

If the disk is full or failing, the same rows are tried again, with growing pauses, for a bounded time; then the store is broken, as also
when this thread dies: every later call raises. Nothing is dropped.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Thread
from typing import cast

import lmdb
from backports import zstd

from thresher.crawler.core.errors import ThresherError
from thresher.storage.archive.files import ArchiveWriter, Packed
from thresher.storage.disk import Disk, Write
from thresher.storage.faults import as_ours, is_disk
from thresher.storage.freed_memory import FreedMemory
from thresher.storage.overlay import Group, Layer
from thresher.storage.packing import pack_skips, pack_u64
from thresher.storage.records import ARCHIVE_END, PLACE, ArchiveEnd
from thresher.storage.schema import BODIES, CAPTURES, META, RESULTS, ROBOTS_FILES, STATE, TABLES, Archived, Meta, Raw
from thresher.storage.segments import SegmentWriter

_PACKED = frozenset((BODIES, ROBOTS_FILES))  # tables with values that are compressed, or left to the archive
_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 5.0
_CHECK_READERS_EVERY = 256

Job = tuple[Group, "Future[None]"]


class Writer:
    """Commits groups handed over by `submit`; `on_commit` is called in its thread once a group is durable and readable."""

    def __init__(
        self,
        disk: Disk,
        segments: SegmentWriter,
        archive: ArchiveWriter | None,
        *,
        compression_level: int,
        patience_s: float,
        on_commit: Callable[[], None],
    ) -> None:
        self.error: ThresherError | None = None  # set once, never cleared
        self.trouble = ""  # the disk's error while it is tried again
        self.cpu_s = 0.0  # CPU seconds of this thread
        self._disk = disk
        self._segments = segments
        self._archive = archive
        self._level = compression_level
        self._patience_s = patience_s
        self._on_commit = on_commit
        self._n_commits = 0
        self._freed = FreedMemory()
        self._closing = Event()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="thresher-writer", daemon=True)
        self._thread.start()

    def submit(self, group: Group) -> Future[None]:
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # a waiting caller may be cancelled, the commit not
        self._jobs.put((group, future))
        return future

    def check(self) -> None:
        """Raise the error that broke this store, if there is one."""
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self._closing.set()
        self._jobs.put(None)
        self._thread.join()
        self._segments.close()
        if self._archive is not None:
            self._archive.close()

    def _run(self) -> None:
        _yield_the_core()
        try:
            self._work()
        finally:
            if self.error is None:
                self.error = ThresherError("the store's writer thread is gone; what was committed is safe: run `resume`")

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            group, future = job
            try:
                self._persist(group)
            except BaseException as error:  # noqa: BLE001 - the edge of the thread: whatever it was, it must reach the caller, who waits for the future
                self.error = as_ours(error)
                future.set_exception(self.error)
                return
            self.cpu_s = time.thread_time()
            self._on_commit()
            future.set_result(None)
            del job, group, future  # the rows are on disk
            self._freed.give_back()

    def _persist(self, group: Group) -> None:
        """Commit a group; try again while the disk refuses it."""
        work = _Work(group, self._level)
        if self._archive is not None:
            work.packed = self._archive.pack(group.archive)
        wait_s, deadline = _FIRST_WAIT_S, time.monotonic() + self._patience_s
        while True:
            try:
                self._commit(work)
                break
            except (lmdb.Error, OSError) as error:
                if not is_disk(error) or time.monotonic() + wait_s > deadline or self._closing.is_set():
                    raise
                self.trouble = str(error)
            self._closing.wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        self.trouble = ""
        self._disk.renew()
        self._n_commits += 1
        if self._n_commits % _CHECK_READERS_EVERY == 0:
            self._disk.check_readers()

    def _commit(self, work: _Work) -> None:
        if work.packed and work.archive_end is None and self._archive is not None:
            work.archive_end, places = self._archive.append(work.packed)
            work.results.append(Write(CAPTURES, [], {pack_u64(visit): PLACE.encode(place) for visit, place in places}))
        self._commit_results(work)
        state = work.state
        if work.lines:
            work.skips_end = work.skips_end or self._segments.append(work.lines)
            state = [*state, Write(META, [], {Meta.SKIPS: pack_skips(*work.skips_end)})]
        if work.archive_end is not None:
            state = [*state, Write(META, [], {Meta.ARCHIVE: ARCHIVE_END.encode(work.archive_end)})]
        self._commit_state(state)

    def _commit_results(self, work: _Work) -> None:
        if work.results and not work.results_written:
            self._disk.commit(RESULTS, work.results)
        work.results_written = True

    def _commit_state(self, writes: list[Write]) -> None:
        self._disk.commit(STATE, writes)


def _yield_the_core() -> None:
    """Ask the kernel not to interrupt other threads for this one whenever it wakes: Linux's SCHED_BATCH, at an unchanged share of the CPU.

    Every call into LMDB and zstd releases the interpreter's lock and takes it again. If both threads share a core, threads could change at
    each of these: three times a page, which took 8 % of all CPU time (`thresher bench crawl`).
    """
    if hasattr(os, "sched_setscheduler"):
        with contextlib.suppress(OSError):  # a sandbox may forbid it; nothing but time is lost
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class _Work:
    """A group in the form for the disk: sorted once and compressed once, however often it is tried."""

    def __init__(self, group: Group, level: int) -> None:
        self.lines = group.lines
        compressor = zstd.ZstdCompressor(level)
        self.results_written = False
        self.skips_end: tuple[int, int] | None = None
        self.packed: Packed = []
        self.archive_end: ArchiveEnd | None = None
        self.results = list(_writes(group.layers, RESULTS, compressor))
        self.state = list(_writes(group.layers, STATE, compressor))


def _writes(layers: dict[str, Layer], env: str, compressor: zstd.ZstdCompressor) -> Iterator[Write]:
    for table, layer in layers.items():
        if TABLES[table].env != env or not layer.rows:
            continue
        rows = layer.rows
        if table not in _PACKED and None not in rows.values():
            # no pair for each row: while they wait, the garbage collector would walk them
            yield Write(table, [], cast("dict[bytes, bytes]", {key: rows[key] for key in sorted(rows)}))
            continue
        write = Write(table, [], {})
        for key in sorted(rows):
            value = rows[key]
            if value is None:
                write.deletes.append(key)
            elif type(value) is not Archived:
                write.puts[key] = compressor.compress(value, zstd.ZstdCompressor.FLUSH_FRAME) if type(value) is Raw else value
        yield write
