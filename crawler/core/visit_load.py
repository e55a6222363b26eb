"""Spreads the due visits of a host over time: so many in each slice that none waits long for its turn.

A due visit waits for those that were due before it. If all pages of a host were due together, the last would wait for a whole round, in
which each page is visited once, and pages would have to be due a round before their deadline: if the host can visit each page only twice
until then, all pages would have the same interval. So a time is only given where the host has room. With n visits due in a slice, and k
that can be made, the number of visits that wait at its end is

    W = max(0, W before + n - k)

No time is given for which W would exceed a bound in any future slice. So no visit waits longer than so many visits take, plus two slices.
If a host can visit all of its pages within the longest interval, there is room for each of them.

Pure. Memory: 5 bytes for each slice with visits, at most 128 slices except for pages that are gone. Time: 30 µs to look for room.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

SLICES: Final = 128  # of the longest interval
WAITING: Final = 0.25  # share of a host's pages that may wait for their turn at the same time; or as many as
WAITING_S: Final = 1 / 16  # can be visited in this share of the longest interval


class VisitLoad(msgspec.Struct, array_like=True):
    """How many visits are due in each slice of time."""

    slice_s: float = 0.0  # length of a slice, by the longest interval when the first visit got its time
    due: dict[int, int] = {}  # number of the slice since the epoch → visits

    def move(self, before: float, to: float) -> None:
        """Record that a visit is due at another time.

        Args:
            before: Its time until now, in seconds since the epoch; 0 for a new visit.
            to: Its new time; 0 if the visit is not made any more.
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
        """Return, for each slice from the present one on, how many more visits may be due in it.

        Args:
            gap_s: Seconds from one visit to the next.
            n_waiting: Most visits that may wait for their turn at the same time.
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
        """Return the time closest to `wanted` with room, preferably later; `last` if there is no room before it."""
        first, wanted = int(now // self.slice_s), min(wanted, last)
        at, end = int(wanted // self.slice_s) - first, min(SLICES - 1, int(last // self.slice_s) - first)
        for i in range(max(0, at), end + 1):
            if room[i] >= 1.0:
                return wanted if i == at else min(last, (first + i) * self.slice_s)
        for i in range(min(at, end), 0, -1):
            if room[i] >= 1.0:
                return (first + i) * self.slice_s
        return last
