"""Group commit from the event loop: decides when a group closes, and handles the end of its commit.

A group closes at once when nothing else is ready to run, else after `store.commit_interval`, `commit_visits` or `commit_bytes`. One commit
runs at a time, on the store's writer thread; visits that settle meanwhile join the next group, which closes by the same rule: groups that
close as soon as the writer is free are small, and write the same pages of the store again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import ParamSpec

from thresher.config.settings import StoreSettings
from thresher.storage.store import Store

P = ParamSpec("P")
_GROUPS_BEHIND = 1  # groups that may wait while another is written; with more, fetching pauses, since rows take memory


class Committer:
    """Closes groups and reports a failed commit once."""

    def __init__(
        self,
        store: Store,
        settings: StoreSettings,
        *,
        clock: Callable[[], float],
        on_failure: Callable[[BaseException], None],
        on_commit: Callable[[], None],
        is_idle: Callable[[], bool] = lambda: True,
        catch_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Create it; it belongs to the running loop.

        Args:
            is_idle: Returns whether no visit is under way that could join the open group.
            catch_up: Writes the ends of visits whose ends are not written yet.
        """
        self._store = store
        self._settings = settings
        self._clock = clock
        self._on_failure = on_failure
        self._on_commit = on_commit
        self._is_idle = is_idle
        self._catch_up = catch_up
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.broken = False  # a commit has failed, or a visit is half written: no further commit is made

    @property
    def behind(self) -> bool:
        """Whether the writer is so far behind that no new request should start."""
        return (
            self._store.pending_visits >= _GROUPS_BEHIND * self._settings.commit_visits
            or self._store.pending_bytes >= _GROUPS_BEHIND * self._settings.commit_bytes
        )

    def whole(self, write: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call `write`, which writes visits, after the ends of earlier visits are written.

        If it raises, a visit may be half written: then nothing is committed any more by this process.
        """
        self._catch_up()
        self.guard(write, *args, **kwargs)

    def guard(self, write: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call `write` as `whole` does, but leave the ends of earlier visits as they are."""
        try:
            write(*args, **kwargs)
        except BaseException:
            self.broken = True
            raise

    def on_settled(self) -> None:
        """Close the open group, or let its time begin: visits may have joined it."""
        if self._store.committing:
            return
        full = self._store.pending_visits >= self._settings.commit_visits or self._store.pending_bytes >= self._settings.commit_bytes
        if full or self._is_idle():
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._settings.commit_interval, self.flush)

    def flush(self) -> None:
        """Close the open group, if there is one and no commit is running."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._store.pending_visits and not self._store.committing and not self.broken:
            self._catch_up()
            self._store.flush(self._clock()).add_done_callback(self._written)

    async def drain(self) -> None:
        """Commit everything that has settled, unless a commit fails."""
        while not self.broken and (self._store.pending_visits or self._store.committing):
            if not self._store.committing:
                self._catch_up()
                await asyncio.wrap_future(self._store.flush(self._clock()))
            else:
                await asyncio.sleep(0.001)

    def _written(self, done: Future[None]) -> None:
        """Handle the end of a commit, in the writer's thread: pass it on to the loop, unless the loop is closed."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_written, done)

    def _on_written(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            self.broken = True
            self._on_failure(error)
            return
        self._on_commit()
        self.on_settled()
