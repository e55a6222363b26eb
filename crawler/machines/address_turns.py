"""A machine's turns at the addresses that its agents request from: asked for at the head, and given back (turns.py).

The agents mark in the shared file which addresses they want (crawler/cluster/address_file.py); this process looks there, and writes into it
at which addresses requests may begin. A turn that another machine waits for ends: no request begins, idle connections are closed, and when
those in flight have ended and the delay of the address is over, it is given back. So is one that was not used for some seconds.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.cluster.address_file import CALLS, ENDING, N_ROWS, NOT_OURS, NUMBER, OURS, ROW, SIZE, WANTS
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall

_LOOK_S: Final = 0.05
_TALK_S: Final = 0.5  # between two calls while it has turns that others may wait for
_IDLE_S: Final = 10.0  # seconds for which a turn is kept that nobody here uses

AskTurns = Callable[[TurnsCall], Awaitable[TurnsAnswer]]


class AddressTurns:
    """The turns of one machine. Memory: the mapped file."""

    def __init__(self, path: Path, ask: AskTurns) -> None:
        """Open the shared file, which exists.

        Args:
            ask: Raises whatever the engine raises when the directory cannot be reached.
        """
        self._ask = ask
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._map = mmap.mmap(self._file, SIZE)
        self._rows: npt.NDArray[np.void] = np.frombuffer(self._map, dtype=ROW, count=N_ROWS)
        self._returned: set[int] = set()  # that the directory may not know yet
        self._n_wants = 0
        self._talked_at = -inf
        self._talking = asyncio.Lock()  # one call at a time

    async def run(self) -> None:
        """Ask for what is wanted and give back what is not, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with suppress(Exception):  # whatever it is: nothing was granted, and what is given back is said again
                await self.look()

    async def look(self) -> None:
        """Do so once; raises what `ask` raises."""
        self._returned.update(self._give_back(time.monotonic()))
        if self._returned or self._wants() != self._n_wants or time.monotonic() >= self._talked_at + _TALK_S:
            async with self._talking:
                await self._talk()

    async def declare(self) -> None:
        """Say which turns this machine has, before it takes a lease from a directory that may not know; raises what `ask` raises."""
        async with self._talking:
            held = self._names(self._rows["turn"] != NOT_OURS)
            answer = await self._ask(TurnsCall(returned=[*self._returned], held=held))
            self._returned.clear()
            with self._locked():
                self._rows["turn"][np.isin(self._rows["name"], _hashes(answer.lost))] = NOT_OURS

    def close(self) -> None:
        """Close the file."""
        del self._rows
        self._map.close()
        os.close(self._file)

    async def _talk(self) -> None:
        self._n_wants, self._talked_at = self._wants(), time.monotonic()
        wanted = self._names((self._rows["turn"] == NOT_OURS) & (self._rows["wanted"] > self._talked_at))
        if wanted or self._returned or np.any(self._rows["turn"] == OURS):
            returned = {*self._returned}
            answer = await self._ask(TurnsCall(wanted, [*returned]))
            self._returned -= returned
            self._take(answer)

    def _take(self, answer: TurnsAnswer) -> None:
        names, turn = self._rows["name"], self._rows["turn"]
        with self._locked():
            granted = _hashes(answer.granted)
            turn[np.isin(names, granted) & (turn == NOT_OURS)] = OURS
            self._returned.update(np.setdiff1d(granted, names).tolist())  # no agent has wanted it for so long that its row is another's
            recalled = _hashes(answer.recalled)
            self._end(np.isin(names, recalled) & (turn == OURS))
            self._returned.update(np.setdiff1d(recalled, names[turn != NOT_OURS]).tolist())

    def _give_back(self, now: float) -> list[int]:
        """End the turns that are not used; return the addresses of those that have ended."""
        rows = self._rows
        with self._locked():
            self._end((rows["turn"] == OURS) & (rows["wanted"] + _IDLE_S < now))
            ending = np.flatnonzero(rows["turn"] == ENDING)
            if not len(ending):
                return []
            is_busy = rows["in_flight"][ending].any(axis=1) | rows["connections"][ending].any(axis=1) | (rows["not_before"][ending] > now)
            quiet = ending[~is_busy]
            rows["turn"][quiet] = NOT_OURS
            rows["called"][quiet] = 0.0
            if is_busy.any():
                NUMBER.pack_into(self._map, CALLS, NUMBER.unpack_from(self._map, CALLS)[0] + 1)
            return self._names(quiet)

    def _end(self, which: npt.NDArray[np.bool_]) -> None:
        """Let no further request begin; agents close idle connections there, one each time they are called."""
        self._rows["turn"][which] = ENDING
        self._rows["called"][which] = inf

    def _wants(self) -> int:
        return int(NUMBER.unpack_from(self._map, WANTS)[0])

    def _names(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> list[int]:
        names: list[int] = self._rows["name"][which].tolist()
        return names

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def _hashes(names: Collection[int]) -> npt.NDArray[np.uint64]:
    return np.array([*names], dtype=np.uint64)
