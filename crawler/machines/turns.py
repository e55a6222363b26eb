"""Whose turn it is at the addresses that this machine owns: one machine's at a time at each.

Names of many sites lie on one address, a shared server or a node of a CDN, and their sites belong to agents of several machines.
`politeness.address_connections` and `address_delay` hold for all of them, since only the machine that has the turn at an address begins
requests there. Who may give it is the owner of the address, one of the crawl's machines (`owners_of`).

A turn is a lease. It lasts for as long as the owner's own lease when it was granted (directory.py), counted by its taker from before it
asked, and is renewed by asking again. So it ends for its taker before it ends here; and when an owner has lost its lease, all of its turns
are over. A taker that is cut off from the owner breaks off its requests at the address when its turn ends (address_turns.py), and the owner
gives the turn to another once that and the delay of the address are over for certain.

A machine keeps its turn until another wants one, for `TURN_S` at least; then it begins no more, and gives the turn back when its requests
have ended, its connections are closed and the delay is over. Who has waited longest is next.

Pure: the time is an argument, in seconds of a clock that counts suspensions. Memory: 300 bytes an address that is in use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.machines.directory import SPARE_S, DirectoryAnswer

TURN_S: Final = 5.0
_WAITS_S: Final = 2.0  # for which a wish counts that is not said again


class TurnsCall(msgspec.Struct, forbid_unknown_fields=True):
    """What a machine says to an owner of addresses. Addresses are the xxh3-64 hashes of their text."""

    number: int  # increases; a call that arrives after a later one is refused
    wanted: list[int] = []  # and those that it has, to renew them
    returned: list[int] = []


class TurnsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What the owner says to that."""

    lasts_s: float  # from before it was asked
    granted: list[int] = []
    recalled: list[int] = []  # others wait for these


@dataclass(slots=True)
class _Turn:
    life: str  # of a machine
    since: float
    until: float = -inf  # then it is over for certain, and so is the delay after the last request


class Turns:
    """The turns that one life of an owner has granted; those of an earlier life are over, since that one's lease is."""

    def __init__(self, machine: str, delay_s: float) -> None:
        """Begin without any turn, and without a lease.

        Args:
            machine: The owner.
            delay_s: Seconds between two requests at an address.
        """
        self._machine = machine
        self._delay_s = delay_s
        self._lease = DirectoryAnswer()
        self._until = self._swept_at = -inf
        self._from = inf  # then a new turn may be granted
        self._turns: dict[int, _Turn] = {}
        self._waiting: defaultdict[int, dict[str, float]] = defaultdict(dict)  # until when each life's wish counts; the first is next
        self._numbers: dict[str, int] = {}  # of the last call of each life

    def take_lease(self, lease: DirectoryAnswer, until: float, now: float) -> None:
        """Take the owner's new lease. If it says that others own addresses than before, no new turn is granted for the delay of an address,
        since a request by a turn of an earlier owner may have begun just before.
        """
        if (lease.owners, lease.may_grant) != (self._lease.owners, self._lease.may_grant):
            self._from = now + self._delay_s
        self._lease, self._until = lease, until

    def exchange(self, life: str, call: TurnsCall, now: float) -> TurnsAnswer:
        """Take what a life of a machine says.

        Raises:
            LookupError: If the owner may not grant any turn now, or if a later call has come before.
        """
        if now >= self._until or not self._lease.may_grant:
            raise LookupError(f"machine {self._machine} has no lease with which it may grant turns")
        if call.number <= self._numbers.get(life, 0):
            raise LookupError("a later call has come before")
        self._numbers[life] = call.number
        self._sweep(now)
        for name in call.returned:
            if (turn := self._turns.get(name)) is not None and turn.life == life:
                del self._turns[name]
        granted = [name for name in self._owned(call.wanted) if self._grant(name, life, now)]
        recalled = [name for name in self._waiting if self._is_recalled(name, life, now)]
        return TurnsAnswer(self._until - now, granted, recalled)

    def _owned(self, names: list[int]) -> list[int]:
        """Return those of the addresses that this machine owns; who asks may have an older lease."""
        machines = self._lease.owners
        owners = owners_of(np.array(names, dtype=np.uint64), machines)
        return [name for name, owner in zip(names, owners, strict=True) if machines[owner] == self._machine]

    def _grant(self, name: int, life: str, now: float) -> bool:
        """Renew a turn, or give it if nobody has it and nobody waits for longer."""
        turn = self._turns.get(name)
        if turn is None or now >= turn.until or turn.life != life:
            self._waiting[name][life] = now + _WAITS_S
            is_free = (turn is None or now >= turn.until) and now >= self._from
            if not is_free or self._next(name, now) != life:
                return False
            turn = self._turns[name] = _Turn(life, now)
            self._forget(name, life)
        turn.until = max(turn.until, self._until + SPARE_S + self._delay_s)
        return True

    def _next(self, name: int, now: float) -> str | None:
        """Return who has waited longest; wishes that were not said again are forgotten."""
        waiting = self._waiting.get(name, {})
        for life in [life for life, until in waiting.items() if until < now]:
            self._forget(name, life)
        return next(iter(self._waiting.get(name, {})), None)

    def _forget(self, name: int, life: str) -> None:
        if waiting := self._waiting.get(name):
            waiting.pop(life, None)
            if not waiting:
                del self._waiting[name]

    def _is_recalled(self, name: int, life: str, now: float) -> bool:
        turn = self._turns.get(name)
        if turn is None or turn.life != life or now < turn.since + TURN_S:
            return False
        return any(other != life and until >= now for other, until in self._waiting[name].items())

    def _sweep(self, now: float) -> None:
        """Now and then forget turns and wishes that are over."""
        if now >= self._swept_at + LEASE_S:
            self._swept_at = now
            self._turns = {name: turn for name, turn in self._turns.items() if now < turn.until}
            for name in [*self._waiting]:
                self._next(name, now)


def owners_of(names: npt.NDArray[np.uint64], machines: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return which machine owns each address: the one with the highest hash of both. One that goes, or comes, changes no other's.

    Args:
        names: The hashes of the addresses.
    """
    scores = []
    for machine in machines:
        mixed = names ^ np.uint64(xxhash.xxh3_64_intdigest(machine.encode()))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        scores.append(mixed ^ (mixed >> np.uint64(31)))
    highest: npt.NDArray[np.intp] = np.argmax(np.array(scores), axis=0)
    return highest
