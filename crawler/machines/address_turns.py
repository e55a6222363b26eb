"""A machine's turns at the addresses that its agents request from: asked of the addresses' owners, renewed, and given back (turns.py).

The agents mark in the shared file which addresses they want (crawler/cluster/address_file.py); this process looks there, and writes into it
at which addresses requests may begin, and until when. It asks each owner in one call for all addresses; so it renews turns, too. A turn
that another machine waits for ends: no request begins, idle connections are closed, and when those in flight have ended and the delay of
the address is over, it is given back. So is one that was not used for some seconds.

A turn that could not be renewed is over at its end. The agents see that themselves, even if this process is dead: no request begins, and
those in flight are broken off. The address is wanted again only once nothing of that turn is left.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.cluster.address_file import CALLS, ENDING, N_ROWS, NOT_OURS, NUMBER, OURS, ROW, SIZE, WANTS
from thresher.crawler.cluster.lease import RENEW_S, boot_s
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall, owners_of

_LOOK_S: Final = 0.05
_TALK_S: Final = 0.5  # between two calls to an owner of turns that this machine has, or wants
_IDLE_S: Final = 10.0  # seconds for which a turn is kept that nobody here uses

AskTurns = Callable[[str, TurnsCall], Awaitable[TurnsAnswer]]
Rows = npt.NDArray[np.intp]


@dataclass(slots=True)
class _Owner:
    """An owner of addresses, as this machine has talked to it."""

    returned: set[int] = field(default_factory=set)  # given back here; the owner may not know it yet
    n_calls: int = 0
    n_wants: int = 0  # agents' wishes before the last call
    talked_at: float = -inf
    renewed_at: float = -inf
    is_asked: bool = False  # a call is under way


class AddressTurns:
    """The turns of one machine. Memory: the mapped file."""

    def __init__(self, path: Path, ask: AskTurns) -> None:
        """Open the shared file, which exists.

        Args:
            ask: Asks an owner; raises whatever the engine raises when it cannot be reached.
        """
        self.owners: list[str] = []  # the machines that own addresses now
        self._ask = ask
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._map = mmap.mmap(self._file, SIZE)
        self._rows: npt.NDArray[np.void] = np.frombuffer(self._map, dtype=ROW, count=N_ROWS)
        self._known: dict[str, _Owner] = {}
        self._calls: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Ask for what is wanted and give back what is not, until cancelled."""
        try:
            while True:
                await asyncio.sleep(_LOOK_S)
                for call in self.look():
                    task = asyncio.ensure_future(self._tried(call))
                    self._calls.add(task)
                    task.add_done_callback(self._calls.discard)
        finally:
            for task in (calls := [*self._calls]):
                task.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    def look(self) -> list[Coroutine[Any, Any, None]]:
        """End turns, and return a call for each owner to which there is something to say; a call raises what `ask` raises."""
        now, n_wants = time.monotonic(), int(NUMBER.unpack_from(self._map, WANTS)[0])
        self._give_back(now)
        due = {name: self._known.setdefault(name, _Owner()) for name in self.owners}
        due = {name: owner for name, owner in due.items() if self._is_due(owner, n_wants, now)}
        if not due:
            return []
        rows = self._rows
        held = np.flatnonzero(rows["turn"] != NOT_OURS)
        wanted = np.flatnonzero((rows["turn"] == NOT_OURS) & (rows["wanted"] > now))
        wanted = wanted[self._is_quiet(wanted, now)]
        calls = []
        for name, owner in due.items():
            owner.talked_at, owner.n_wants = now, n_wants
            ours, new = self._of(name, held), self._of(name, wanted)
            is_renewal = len(ours) and now >= owner.renewed_at + RENEW_S
            if is_renewal:
                owner.renewed_at = now
            if len(ours) or len(new) or owner.returned:
                owner.n_calls, owner.is_asked = owner.n_calls + 1, True
                names = self._names(np.concatenate((ours, new)) if is_renewal else new)
                calls.append(self._talk(name, owner, TurnsCall(owner.n_calls, names, [*owner.returned]), boot_s()))
        return calls

    def close(self) -> None:
        """Close the file."""
        del self._rows
        self._map.close()
        os.close(self._file)

    @staticmethod
    def _is_due(owner: _Owner, n_wants: int, now: float) -> bool:
        return not owner.is_asked and bool(owner.returned or owner.n_wants != n_wants or now >= owner.talked_at + _TALK_S)

    @staticmethod
    async def _tried(call: Coroutine[Any, Any, None]) -> None:
        with suppress(Exception):  # whatever it is: nothing was granted, and what is given back is said again
            await call

    async def _talk(self, name: str, owner: _Owner, call: TurnsCall, asked_at: float) -> None:
        try:
            answer = await self._ask(name, call)
        finally:
            owner.is_asked = False
        owner.returned.difference_update(call.returned)  # what was given back meanwhile is not granted, whatever the answer says
        self._take(owner, answer, asked_at + answer.lasts_s, time.monotonic())

    def _take(self, owner: _Owner, answer: TurnsAnswer, until: float, now: float) -> None:
        turn, ends = self._rows["turn"], self._rows["until"]
        with self._locked():
            granted = self._rows_of({*answer.granted} - owner.returned)
            held = granted[turn[granted] != NOT_OURS]
            new = granted[turn[granted] == NOT_OURS]
            new = new[self._is_quiet(new, now)]
            turn[new] = OURS
            ends[new] = until
            ends[held] = np.maximum(ends[held], until)
            recalled = self._rows_of(answer.recalled)
            self._end(recalled[turn[recalled] == OURS])
            kept = {*self._names(recalled[(turn[recalled] != NOT_OURS) | ~self._is_quiet(recalled, now)])}
            owner.returned.update({*answer.recalled} - kept)

    def _give_back(self, now: float) -> None:
        """End the turns that are not used; give back those that have ended, and forget those that could not be renewed."""
        rows = self._rows
        with self._locked():
            held = np.flatnonzero(rows["turn"] != NOT_OURS)
            over = rows["until"][held] <= boot_s()
            rows["turn"][held[over]] = NOT_OURS
            rows["called"][held[over]] = 0.0
            held = held[~over]
            is_ours = rows["turn"][held] == OURS
            self._end(held[is_ours & (rows["wanted"][held] + _IDLE_S < now)])
            ending = held[rows["turn"][held] == ENDING]
            is_quiet = self._is_quiet(ending, now)
            rows["turn"][ending[is_quiet]] = NOT_OURS
            rows["called"][ending[is_quiet]] = 0.0
            if not is_quiet.all():
                NUMBER.pack_into(self._map, CALLS, NUMBER.unpack_from(self._map, CALLS)[0] + 1)
            for name in self.owners:
                self._known.setdefault(name, _Owner()).returned.update(self._names(self._of(name, ending[is_quiet])))

    def _end(self, which: Rows) -> None:
        """Let no further request begin; agents close idle connections there, one each time they are called."""
        self._rows["turn"][which] = ENDING
        self._rows["called"][which] = inf

    def _is_quiet(self, which: Rows, now: float) -> npt.NDArray[np.bool_]:
        """Return for each row whether nothing is left of a turn there: no request, no connection, and the delay is over."""
        rows = self._rows
        in_use = rows["in_flight"][which].any(axis=1) | rows["connections"][which].any(axis=1)
        is_quiet: npt.NDArray[np.bool_] = ~(in_use | (rows["not_before"][which] > now))
        return is_quiet

    def _of(self, owner: str, which: Rows) -> Rows:
        """Return those of the rows whose addresses a machine owns."""
        return which[owners_of(self._rows["name"][which], self.owners) == self.owners.index(owner)] if len(which) else which

    def _rows_of(self, names: Collection[int]) -> Rows:
        return np.flatnonzero(np.isin(self._rows["name"], np.array([*names], dtype=np.uint64))) if names else np.empty(0, dtype=np.intp)

    def _names(self, which: Rows) -> list[int]:
        names: list[int] = self._rows["name"][which].tolist()
        return names

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
