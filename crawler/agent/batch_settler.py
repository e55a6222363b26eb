"""Settles visits in batches for the agent's workers: the ends of a few are written together (crawler/settlement/late_visits.py).

They wait until there are `_TOGETHER`, or no journey goes on at once that could join them. No lease is taken meanwhile; then the workers
that have made them get theirs one after the other. Both happen in a round of the loop of their own, so that it stays short: no page is
read and no journey goes on in it that could wait (`owns_round`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import Visit

_TOGETHER: Final = 16  # with 8, what filters learn late takes 7 % more time; with 32, 3 % less


class BatchSettler:
    """Settles the visits of one agent."""

    def __init__(
        self,
        settler: Settler,
        committer: Committer,
        *,
        is_joined: Callable[[], bool],
        wake: Callable[[], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Create it.

        Args:
            is_joined: Returns whether journeys go on in the next round of the loop whose pages are read.
            wake: Catches up, and gives leases to idle workers.
            fail: Ends the workers by an error.
        """
        self._settler = settler
        self._committer = committer
        self._is_joined = is_joined
        self._wake = wake
        self._fail = fail
        self._is_planned = False
        self.owns_round = False  # whether visits end in the next round of the loop

    @property
    def has_late(self) -> bool:
        """Whether the end of a visit is not written yet."""
        return self._settler.n_late > 0

    @property
    def gathers(self) -> bool:
        """Whether more visits may join those whose ends are not written yet; `wake` is called afterwards."""
        return 0 < self._settler.n_late < _TOGETHER and self._is_planned and self._is_joined()

    def settle(self, visit: Visit, now: float) -> None:
        """Write what a visit has found."""
        self._committer.guard(self._settler.settle_soon, visit, now)
        if self.has_late and not self._is_planned:
            self._is_planned = True
            asyncio.get_running_loop().call_soon(self._look)

    def catch_up(self) -> None:
        """Write the ends of all visits."""
        if self.has_late:
            try:
                self._committer.guard(self._settler.catch_up)
            except BaseException as error:
                self._fail(error)
                raise

    def _look(self) -> None:
        """Catch up in the next round of the loop, unless more visits may join in that one."""
        self.owns_round = not self.gathers
        asyncio.get_running_loop().call_soon(self._end if self.owns_round else self._look)

    def _end(self) -> None:
        self._is_planned = self.owns_round = False
        self._wake()
