"""Grants leases, without which no machine requests; never to two lives of one machine at a time.

A life of a machine is one start of its process (machine.py), with a random name. Two lives of a machine may run at the same time, for
example when a network was cut and works again. So each life joins once: this ends the claim of the life before it. The new life gets leases
only when the last lease of the old one is certainly over.

    RUN   from `begin` of a run of the crawl until its `stop`, and only while its supervisor gives signs of life
    STOP  nothing is granted

The guarantee survives this process: its state is on disk before it answers. After a restart it does not know when it last granted leases,
so it assumes that every machine got one just then. A life that had a lease goes on at once, since no other life of its machine can have
one; any other life waits until such a lease would be over.

Pure: the time is an argument, in seconds of a clock that counts suspensions, too. Memory: 100 bytes a machine.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Literal

import msgspec

from thresher.crawler.cluster.lease import LEASE_S

SPARE_S = 2.0  # seconds of reserve: clocks may run at different speeds, and a request may be about to begin


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """The life of a machine that may ask for leases."""

    life: str  # "": the last life has given its lease back
    has_had_one: bool = False


class DirectoryState(msgspec.Struct, forbid_unknown_fields=True):
    """The state on disk."""

    phase: Literal["RUN", "STOP"] = "STOP"
    run: str = ""  # the run whose orders count
    claims: dict[str, Claim] = {}  # by machine


class DirectoryAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """The directory's answer to a life that joins, or asks for a lease."""

    is_granted: bool = False
    why: str = ""  # why it was refused
    is_over: bool = False  # this life will never get a lease again


class Directory:
    """Decides about leases."""

    def __init__(self, state: DirectoryState, save: Callable[[DirectoryState], None], now: float) -> None:
        """Create the directory from its state.

        Args:
            save: Writes the state to disk before it returns.
            now: Seconds of a clock that counts suspensions, too.
        """
        self._state = state
        self._save = save
        self._any_until = now + LEASE_S + SPARE_S  # no lease that was granted before this start lasts longer than this
        self._until: dict[str, float] = {}  # machine → end of the last lease that was granted since
        self._free_at = {machine: -inf if claim.has_had_one else self._any_until for machine, claim in state.claims.items()}
        self._heard_at = now  # last sign of life of the run's supervisor

    def begin(self, run: str, now: float) -> None:
        """Make this run of the crawl the one that counts. Earlier runs are refused from now on."""
        self._heard_at = now
        if (self._state.phase, self._state.run) != ("RUN", run):
            self._state.phase, self._state.run = "RUN", run
            self._save(self._state)

    def keep(self, run: str, now: float) -> bool:
        """Record a sign of life of a run's supervisor; return whether the run still counts."""
        if self._refusal(run) is not None:
            return False
        self._heard_at = now
        return True

    def stop(self, run: str) -> None:
        """End a run: nothing is granted any more."""
        if self._refusal(run) is None:
            self._state.phase = "STOP"
            self._save(self._state)

    def join(self, machine: str, life: str, run: str) -> DirectoryAnswer:
        """Make this life the one of its machine that may ask for leases."""
        if refused := self._refusal(run):
            return refused
        claim = self._state.claims.get(machine)
        if claim is None or claim.life != life:
            was_left = claim is None or not claim.life
            self._free_at[machine] = -inf if was_left else max(self._free_at[machine], self._until.get(machine, self._any_until))
            self._state.claims[machine] = Claim(life)
            self._save(self._state)
        return DirectoryAnswer(is_granted=True)

    def renew(self, machine: str, life: str, run: str, now: float) -> DirectoryAnswer:
        """Answer a life that asks for a lease. The lease lasts `LEASE_S` seconds from when the life asked, which was not after `now`."""
        if refused := self._refusal(run):
            return refused
        claim = self._state.claims.get(machine)
        if claim is None or claim.life != life:
            return DirectoryAnswer(why=f"another life of {machine} has taken its place", is_over=True)
        if now - self._heard_at > LEASE_S:
            return DirectoryAnswer(why=f"the crawl's supervisor has not been heard for {LEASE_S:.0f} s")
        if now < self._free_at[machine]:
            return DirectoryAnswer(why=f"an earlier life of {machine} may still have a lease")
        if not claim.has_had_one:
            claim.has_had_one = True
            self._save(self._state)
        self._until[machine] = now + LEASE_S + SPARE_S
        return DirectoryAnswer(is_granted=True)

    def leave(self, machine: str, life: str) -> None:
        """Take back the lease of a life whose agents have all ended."""
        claim = self._state.claims.get(machine)
        if claim is not None and claim.life == life and (claim.has_had_one or self._free_at[machine] == -inf):
            self._state.claims[machine] = Claim("")
            self._save(self._state)

    def _refusal(self, run: str) -> DirectoryAnswer | None:
        if self._state.phase != "RUN":
            return DirectoryAnswer(why="the crawl was stopped", is_over=True)
        if run != self._state.run:
            return DirectoryAnswer(why="another run of the crawl has begun", is_over=True)
        return None
