"""When visits of a host are due: so many in each slice of time that none waits long for its turn.

A visit that is due waits behind those that were due before it. If all pages of a host were due together, the last would wait for a round,
in which the host visits each of them once, and pages would have to be due a round before their deadline: a host that can visit each page
but twice until then could give all of them one interval alone. So a time is given only where the host has room. With n visits due in a
slice, of which it can make k, those that wait at its end are

    W = max(0, W before + n - k)

and no time is given by which W exceeded a bound, in any slice to come. So no visit waits for longer than these take, and two slices. Where
a host can visit all of its pages within the longest interval there is room for each of them.

Pure. Memory: 5 bytes a slice that has visits, 128 of them at most but for pages that are gone. Time: 30 µs to look for room.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

SLICES: Final = 128  # of the longest interval
WAITING: Final = 0.25  # of a host's pages, that may wait for their turn at once; or as many as
WAITING_S: Final = 1 / 16  # of the longest interval can be visited in


class VisitLoad(msgspec.Struct, array_like=True):
    """How many visits are due in each slice of time."""

    slice_s: float = 0.0  # as long as the longest interval was when the first was given its time
    due: dict[int, int] = {}  # number of the slice since the epoch → visits

    def move(self, before: float, to: float) -> None:
        """Note that a visit is due at another time.

        Args:
            before: 0 if it is a new one.
            to: 0 if it is not made any more.
        """
        if before:
            at = int(before // self.slice_s)
            n = self.due.pop(at, 0) - 1
            if n > 0:
                self.due[at] = n
        if to:
            at = int(to // self.slice_s)
            self.due[at] = self.due.get(at, 0) + 1

    def room(self, now: float, gap_s: float, n_waiting: float) -> list[float]:
        """Return for each slice, from that of now on, how many more visits may be due in it.

        Args:
            gap_s: From one visit to the next.
            n_waiting: Visits that may wait for their turn at once.
        """
        first = int(now // self.slice_s)
        n = [self.due.get(first + i, 0) for i in range(SLICES)]
        n[0] = sum(due for at, due in self.due.items() if at <= first)
        made = [self.slice_s / gap_s] * SLICES
        made[0] = ((first + 1) * self.slice_s - now) / gap_s
        waiting, idle, w = [], [], 0.0
        for i in range(SLICES):
            w += n[i] - made[i]
            idle.append(max(0.0, -w))
            waiting.append(w := max(0.0, w))
        room, left = [0.0] * SLICES, math.inf
        for i in reversed(range(SLICES)):
            left = room[i] = min(n_waiting - waiting[i], left) + idle[i]
        return room

    def place(self, wanted: float, last: float, now: float, room: list[float]) -> float:
        """Return the time nearest to a wanted one at which there is room, later rather than sooner; `last` if there is none until then."""
        first, wanted = int(now // self.slice_s), min(wanted, last)
        at, end = int(wanted // self.slice_s) - first, min(SLICES - 1, int(last // self.slice_s) - first)
        for i in range(max(0, at), end + 1):
            if room[i] >= 1.0:
                return wanted if i == at else min(last, (first + i) * self.slice_s)
        for i in range(min(at, end), 0, -1):
            if room[i] >= 1.0:
                return (first + i) * self.slice_s
        return last
