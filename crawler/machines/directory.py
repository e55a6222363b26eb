"""Which life of which machine may request now: grants leases, never to two lives of one machine at a time.

A machine that takes part has a life: one start of what runs there (machine.py), under a name drawn at random. The engine may let two lives
of a machine run side by side, as when a network was cut and heals. So a life joins once, which ends the claim of the life before it, and is
granted leases from when the last one of that life is over for certain. And no life of a run is granted one before those of all earlier
runs are over.

    RUN   from `begin` of a run of the crawl until its `stop`, and only while its supervisor is heard
    STOP  nothing is granted

What is promised does not hang on this process: its state is on disk before it answers. When it starts again, it does not know when it last
granted a lease, and takes every machine for one that was granted one just then. A life that has had a lease goes on at once, since no other
life of its machine can have one; any other life waits until such a lease would be over.

With each lease it names the machines that own addresses (turns.py): all of the run, but those without a lease. A machine whose lease is
over for certain is none any more; then what it has granted is over, too. One that comes back is one again, and all hear of it with their
next lease. It may grant nothing before every lease is over with which an earlier owner of its addresses did.

Pure: the time is an argument, in seconds of a clock that counts suspensions, too. Memory: 100 bytes a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import Literal

import msgspec

from thresher.crawler.cluster.lease import LEASE_S

SPARE_S = 2.0  # for clocks that run at different speeds, and a request that was about to begin
_START_S = 60.0  # from the beginning of a run, for which a machine is waited for that has had no lease


class Claim(msgspec.Struct, forbid_unknown_fields=True):
    """The life of a machine that may ask for leases."""

    life: str  # "": the last one has given its lease back
    has_had_one: bool = False


class DirectoryState(msgspec.Struct, forbid_unknown_fields=True):
    """What is kept on disk."""

    phase: Literal["RUN", "STOP"] = "STOP"
    run: str = ""  # whose orders count
    claims: dict[str, Claim] = {}  # by machine, of this run
    is_alone: bool = True  # no earlier run can have a lease
    owners: list[str] = []  # machines of the run that own addresses
    returned: list[str] = []  # of them, those that may not grant yet


class DirectoryAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What the directory says to a life that joins, or asks for a lease."""

    is_granted: bool = False
    why: str = ""  # why not
    is_over: bool = False  # this life will never be granted one again
    owners: list[str] = []  # machines that own addresses
    may_grant: bool = False  # turns at the addresses that this one owns


class Directory:
    """Decides; `save` keeps its state."""

    def __init__(self, state: DirectoryState, save: Callable[[DirectoryState], None], now: float) -> None:
        """Take up the state.

        Args:
            save: Puts the state on disk before it returns.
        """
        self._state = state
        self._save = save
        self._any_until = now + LEASE_S + SPARE_S  # no lease that was granted before this start lasts longer
        self._until: dict[str, float] = {}  # by machine, the same for those that were granted since
        self._free_at = {machine: -inf if claim.has_had_one else self._any_until for machine, claim in state.claims.items()}
        self._run_from = -inf if state.is_alone else self._any_until  # then all leases of earlier runs are over
        self._grants_from = dict.fromkeys(state.returned, self._any_until)
        self._all_start_by = self._any_until
        self._heard_at = now  # of the run's supervisor

    def begin(self, run: str, machines: Collection[str], now: float) -> None:
        """Let a run of the crawl be the one that counts. An earlier one is refused from now on.

        Args:
            machines: All that take part in it.
        """
        self._heard_at = now
        state = self._state
        if (state.phase, state.run) != ("RUN", run):
            before = [self._until.get(machine, self._any_until) for machine, claim in state.claims.items() if claim.life]
            self._run_from = max([self._run_from, *before])
            self._until, self._free_at, self._grants_from = {}, {}, {}
            self._all_start_by = now + _START_S
            state.phase, state.run, state.claims, state.is_alone = "RUN", run, {}, state.is_alone and not before
            state.owners, state.returned = sorted({*machines}), []
            self._save(state)

    def keep(self, run: str, now: float) -> bool:
        """Take a sign of life of a run's supervisor; return whether the run still counts."""
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
        """Let a life be the one of its machine that may ask for leases."""
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
        """Answer a life that asks for a lease of `LEASE_S` from when it asked, which was not after `now`."""
        if refused := self._refusal(run):
            return refused
        claim = self._state.claims.get(machine)
        if claim is None or claim.life != life:
            return DirectoryAnswer(why=f"another life of {machine} has taken its place", is_over=True)
        if now - self._heard_at > LEASE_S:
            return DirectoryAnswer(why=f"the crawl's supervisor has not been heard for {LEASE_S:.0f} s")
        if now < self._run_from:
            return DirectoryAnswer(why="an earlier run of the crawl may still have a lease")
        if now < self._free_at[machine]:
            return DirectoryAnswer(why=f"an earlier life of {machine} may still have a lease")
        is_new = not claim.has_had_one
        claim.has_had_one = self._state.is_alone = True
        if self._settle_owners(machine, now) or is_new:
            self._save(self._state)
        self._until[machine] = now + LEASE_S + SPARE_S
        return DirectoryAnswer(is_granted=True, owners=[*self._state.owners], may_grant=machine not in self._state.returned)

    def leave(self, machine: str, life: str) -> None:
        """Take the lease back from a life whose agents have all ended."""
        claim = self._state.claims.get(machine)
        if claim is not None and claim.life == life and (claim.has_had_one or self._free_at[machine] == -inf):
            self._state.claims[machine] = Claim("")
            self._grants_from[machine] = self._until.get(machine, self._any_until)  # others may still have turns that it has granted
            self._state.returned = [*self._grants_from]
            self._save(self._state)

    def _may_have_lease(self, machine: str, now: float) -> bool:
        return now < self._until.get(machine, self._any_until)

    def _settle_owners(self, machine: str, now: float) -> bool:
        """Name those that own addresses from now on, for a machine that gets a lease; return whether anything has changed."""
        state, before = self._state, ([*self._state.owners], [*self._state.returned])
        if now >= self._all_start_by:
            state.owners = [other for other in state.owners if other == machine or self._may_have_lease(other, now)]
        if machine not in state.owners:
            state.owners = sorted([*state.owners, machine])
            self._grants_from[machine] = now + LEASE_S + SPARE_S
        self._grants_from = {other: at for other, at in self._grants_from.items() if other in state.owners and now < at}
        state.returned = [*self._grants_from]
        return (state.owners, state.returned) != before

    def _refusal(self, run: str) -> DirectoryAnswer | None:
        if self._state.phase != "RUN":
            return DirectoryAnswer(why="the crawl was stopped", is_over=True)
        if run != self._state.run:
            return DirectoryAnswer(why="another run of the crawl has begun", is_over=True)
        return None
