"""Whose turn it is at each address on which sites of several machines lie: one machine's at a time.

Names of many sites lie on one address, a shared server or a node of a CDN, and their sites belong to agents of several machines.
`politeness.address_connections` and `address_delay` hold for all of them, since only the machine that has the turn at an address begins
requests there. It keeps its turn until another wants one, for `TURN_S` at least; then it begins no more, and gives the turn back when its
requests have ended, its connections are closed and the delay is over. Who has waited longest is next.

A turn is worth as much as the lease of its machine (directory.py): when that is over, so is the turn.

Pure: the time is an argument, in seconds. Memory: 250 bytes an address that is in use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import msgspec

TURN_S: Final = 5.0
_WAITS_S: Final = 2.0  # for which a wish counts that is not said again


class TurnsCall(msgspec.Struct, forbid_unknown_fields=True):
    """What a machine says of its turns. Addresses are the xxh3-64 hashes of their text."""

    wanted: list[int] = []
    returned: list[int] = []
    held: list[int] | None = None  # all that it has: said before it takes a lease from a directory that may not know


class TurnsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What the directory says to that."""

    granted: list[int] = []
    recalled: list[int] = []  # others wait for these
    lost: list[int] = []  # of those that it said it has


@dataclass(slots=True)
class _Turn:
    machine: str
    since: float


class Turns:
    """The turns of one crawl."""

    def __init__(self, may_have_any: Collection[str], until: float, *, has_lease: Callable[[str, float], bool]) -> None:
        """Begin without any turn known.

        Args:
            may_have_any: The machines that an earlier directory may have given turns; no turn is given before all have said which.
            until: When those of machines that did not say so are over.
            has_lease: Whether a machine may have a lease at a time.
        """
        self._silent = {*may_have_any}
        self._silent_until = until
        self._has_lease = has_lease
        self._turns: dict[int, _Turn] = {}
        self._waiting: defaultdict[int, dict[str, float]] = defaultdict(dict)  # until when each machine's wish counts; the first is next

    def exchange(self, machine: str, call: TurnsCall, now: float) -> TurnsAnswer:
        """Take what a machine with a lease says."""
        lost = [] if call.held is None else self._adopt(machine, call.held, now)
        for name in call.returned:
            if (turn := self._turns.get(name)) is not None and turn.machine == machine:
                del self._turns[name]
        for name in call.wanted:
            self._waiting[name][machine] = now + _WAITS_S
        granted = [name for name in call.wanted if self._grant(name, machine, now)]
        recalled = [name for name in self._waiting if self._is_recalled(name, machine, now)]
        return TurnsAnswer(granted, recalled, lost)

    def end(self, machine: str) -> None:
        """Take all turns of a machine back: none of its requests is under way."""
        self._turns = {name: turn for name, turn in self._turns.items() if turn.machine != machine}
        self._silent.discard(machine)

    def _adopt(self, machine: str, held: list[int], now: float) -> list[int]:
        """Let a machine go on with the turns that it has, but for those that are another's by now: return these."""
        lost = [name for name in held if (turn := self._of(name, now)) is not None and turn.machine != machine]
        since = {name: turn.since for name, turn in self._turns.items() if turn.machine == machine}
        self.end(machine)
        self._turns |= {name: _Turn(machine, since.get(name, now)) for name in {*held} - {*lost}}
        return lost

    def _of(self, name: int, now: float) -> _Turn | None:
        """Return the turn at an address, unless it is over."""
        turn = self._turns.get(name)
        return turn if turn is not None and self._has_lease(turn.machine, now) else None

    def _grant(self, name: int, machine: str, now: float) -> bool:
        """Give a machine the turn if it has it already, or if nobody has it and nobody waits for longer."""
        turn = self._of(name, now)
        if turn is None and now >= self._silent_until:
            self._silent.clear()
        if turn is not None and turn.machine != machine:
            return False
        if turn is None and (self._silent or self._next(name, now) != machine):
            return False
        self._forget(name, machine)
        if turn is None:
            self._turns[name] = _Turn(machine, now)
        return True

    def _next(self, name: int, now: float) -> str | None:
        """Return who has waited longest; wishes that were not said again are forgotten."""
        waiting = self._waiting.get(name, {})
        for machine in [machine for machine, until in waiting.items() if until < now]:
            self._forget(name, machine)
        return next(iter(self._waiting.get(name, {})), None)

    def _forget(self, name: int, machine: str) -> None:
        if waiting := self._waiting.get(name):
            waiting.pop(machine, None)
            if not waiting:
                del self._waiting[name]

    def _is_recalled(self, name: int, machine: str, now: float) -> bool:
        turn = self._turns.get(name)
        if turn is None or turn.machine != machine or now < turn.since + TURN_S:
            return False
        return any(other != machine and until >= now for other, until in self._waiting[name].items())
