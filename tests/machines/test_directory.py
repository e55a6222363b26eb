"""The directory grants leases to one life of a machine at a time, whatever dies, joins, comes late or comes twice; so with owners of
addresses.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.cluster.lease import LEASE_S, AgentLease
from thresher.crawler.core.errors import StoreError
from thresher.crawler.machines import directory_file
from thresher.crawler.machines.directory import SPARE_S, Directory, DirectoryAnswer, DirectoryState
from thresher.crawler.machines.turns import owners_of

MACHINES = ("a", "b")
NAMES = range(1, 7)  # of addresses
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("join", "ask", "answer", "restart", "leave", "wait", "keep", "begin", "stop")),
        st.sampled_from(MACHINES),
        st.integers(0, 3),
        st.floats(0, 15),
    ),
    max_size=60,
)


class _World:
    """Machines, their lives, and a directory on a disk; a life may get the answer to its request much later."""

    def __init__(self) -> None:
        self.now = 100.0
        self.disk = msgspec.json.encode(DirectoryState())
        self.leases: dict[tuple[str, str], AgentLease] = {}
        self.answers: dict[tuple[str, str], tuple[DirectoryAnswer, float]] = {}  # the last lease of each life, and its end
        self.granted: dict[int, dict[tuple[str, str], float]] = {name: {} for name in NAMES}  # ends of turns that a life may have granted
        self.asked: dict[tuple[str, str], float] = {}
        self.left: set[tuple[str, str]] = set()
        self.run = "run 0"
        self.start()

    def start(self) -> None:
        state = msgspec.json.decode(self.disk, type=DirectoryState)
        self.directory = Directory(state, self._save, self.now)

    def _save(self, state: DirectoryState) -> None:
        self.disk = msgspec.json.encode(state)

    def do(self, step: tuple[str, str, int, float]) -> None:
        what, machine, number, pause_s = step
        life = (machine, f"life {number}")
        match what:
            case "join" if life not in self.left:
                self.directory.join(*life, self.run)
            case "ask" if life not in self.left:
                self.asked.setdefault(life, self.now)
            case "answer" if life in self.asked:
                asked_at = self.asked.pop(life)
                answer = self.directory.renew(*life, self.run, self.now)
                if answer.is_granted and life not in self.left:
                    self.answers[life] = answer, asked_at + LEASE_S
                    self.leases.setdefault(life, AgentLease(lambda: self.now)).extend(asked_at + LEASE_S)
            case "restart":
                self.start()
            case "leave":
                self.left.add(life)  # its agents have ended
                self.directory.leave(*life)
            case "wait":
                self.now += pause_s
            case "keep":
                self.directory.keep(self.run, self.now)
            case "begin":
                self.run = f"run {number}"
                self.directory.begin(self.run, MACHINES, self.now)
            case "stop":
                self.directory.stop(self.run)

    def owners(self, name: int) -> list[tuple[str, str]]:
        """Return the lives that grant turns at an address now."""
        found = []
        for life, (answer, until) in self.answers.items():
            owner = answer.owners[owners_of(np.array([name], dtype=np.uint64), answer.owners)[0]]
            if owner == life[0] and answer.may_grant and self.now < until and life not in self.left:
                self.granted[name][life] = until
                found.append(life)
        return found

    def holders(self, machine: str) -> list[str]:
        return [life for (of, life), lease in self.leases.items() if of == machine and lease.is_held and (of, life) not in self.left]


@settings(max_examples=300, deadline=None)
@given(_STEPS)
def test_no_two_lives_of_a_machine_hold_a_lease_at_a_time(steps: list[tuple[str, str, int, float]]) -> None:
    """A directory that starts again grants nothing that could overlap with old leases; a life that joins waits until the one before it has
    ended.
    """
    world = _World()
    world.do(("begin", "a", 0, 0.0))
    for step in steps:
        world.do(step)
        for machine in MACHINES:
            assert len(world.holders(machine)) <= 1, f"{machine}: {world.holders(machine)} after {step}"


@settings(max_examples=300, deadline=None)
@given(_STEPS)
def test_no_machine_grants_turns_at_an_address_while_those_of_an_earlier_owner_may_last(steps: list[tuple[str, str, int, float]]) -> None:
    """P24: machines come and go, leave and return, in one run and from run to run. Mutations: one that comes back grants at once; a life
    that follows one that has left does; what a run before has granted is forgotten; who may not grant yet is not on disk.
    """
    world = _World()
    world.do(("begin", "a", 0, 0.0))
    for step in steps:
        world.do(step)
        for name in NAMES:
            for life in world.owners(name):
                lasting = [other for other, until in world.granted[name].items() if other != life and world.now < until]
                assert not lasting, f"{name}: {life} beside {lasting} after {step}"


def test_a_machine_that_is_away_for_longer_than_its_lease_owns_no_address_until_it_is_back() -> None:
    """And then for a lease's time it grants nothing. One that has not begun is waited for. Mutations: none is; it is never back."""
    directory, now = _directory(), 0.0
    for machine in MACHINES:
        directory.join(machine, "life", "run")

    def passes(seconds: float, *machines: str) -> list[DirectoryAnswer]:
        nonlocal now
        until = now + seconds
        while now < until:
            now += 2.0
            directory.keep("run", now)
            answers = [directory.renew(machine, "life", "run", now) for machine in machines]
        return answers

    assert passes(50.0, "a") == [DirectoryAnswer(is_granted=True, owners=["a", "b"], may_grant=True)]
    passes(20.0, "a", "b")
    assert passes(LEASE_S, "a")[0].owners == ["a", "b"]
    assert passes(4.0, "a") == [DirectoryAnswer(is_granted=True, owners=["a"], may_grant=True)]
    one, back = passes(2.0, "a", "b")
    assert (one.owners, back.owners) == (["a"], ["a", "b"])
    assert (one.may_grant, back.may_grant) == (True, False)
    assert not passes(LEASE_S, "a", "b")[1].may_grant
    assert [answer.may_grant for answer in passes(4.0, "a", "b")] == [True, True]


@pytest.mark.parametrize("restarts", [(), ("before",), ("after",), ("before", "after")])
def test_no_lease_of_a_run_is_granted_while_one_of_an_earlier_run_may_last(restarts: tuple[str, ...]) -> None:
    """Also to another machine, and if the directory is started again. Mutations: only those of the same machine count; they are forgotten
    when the directory is started again.
    """
    directory = _directory()
    directory.join("b", "life", "run")
    assert directory.renew("b", "life", "run", 5.0).is_granted
    directory = _another(directory._state, 5.5) if "before" in restarts else directory
    directory.begin("another", ["a"], 6.0)
    directory = _another(directory._state, 6.5) if "after" in restarts else directory
    directory.join("a", "another life", "another")
    over = {"after": 6.5, "before": 5.5, "": 5.0}[restarts[-1] if restarts else ""] + LEASE_S + SPARE_S
    directory.keep("another", over)
    assert not directory.renew("a", "another life", "another", over - 0.1).is_granted
    assert directory.renew("a", "another life", "another", over).is_granted


def test_who_may_not_grant_yet_may_not_either_when_the_directory_was_started_again_just_now() -> None:
    """Mutation: it is not kept."""
    directory = _directory()
    directory.join("a", "life", "run")
    directory.join("b", "life", "run")
    directory.keep("run", 100.0)
    assert directory.renew("a", "life", "run", 100.0).owners == ["a"]
    assert not directory.renew("b", "life", "run", 100.0).may_grant
    again = _another(directory._state, 101.0)
    assert not again.renew("b", "life", "run", 101.0).may_grant
    again.keep("run", 110.0)
    assert again.renew("b", "life", "run", 101.0 + LEASE_S + SPARE_S).may_grant


def test_a_life_that_follows_one_that_has_left_grants_nothing_while_turns_that_this_one_granted_may_last() -> None:
    """Its own requests are over, but others' may go on. Mutation: it grants at once."""
    directory = _directory()
    directory.join("a", "first", "run")
    assert directory.renew("a", "first", "run", 0.0).may_grant
    directory.leave("a", "first")
    directory.join("a", "second", "run")
    answer = directory.renew("a", "second", "run", 1.0)
    assert answer.is_granted
    assert not answer.may_grant
    directory.keep("run", 10.0)
    assert not directory.renew("a", "second", "run", LEASE_S + SPARE_S - 0.1).may_grant
    assert directory.renew("a", "second", "run", LEASE_S + SPARE_S).may_grant


def _directory(now: float = 0.0, state: DirectoryState | None = None) -> Directory:
    directory = Directory(state or DirectoryState(), lambda _: None, now)
    directory.begin("run", MACHINES, now)
    return directory


def _another(state: DirectoryState, now: float) -> Directory:
    """Return what another process makes of a directory's state."""
    return Directory(msgspec.json.decode(msgspec.json.encode(state), type=DirectoryState), lambda _: None, now)


def test_a_new_life_waits_until_the_lease_of_the_last_one_is_over_for_certain() -> None:
    directory = _directory()
    directory.join("a", "first", "run")
    assert directory.renew("a", "first", "run", 0.0).is_granted
    directory.join("a", "second", "run")
    refused = directory.renew("a", "first", "run", 1.0)
    assert not refused.is_granted
    assert refused.is_over
    directory.keep("run", 9.0)
    assert not directory.renew("a", "second", "run", LEASE_S + SPARE_S - 0.1).is_granted
    assert directory.renew("a", "second", "run", LEASE_S + SPARE_S).is_granted


def test_a_life_that_has_left_is_followed_at_once() -> None:
    directory = _directory()
    directory.join("a", "first", "run")
    assert directory.renew("a", "first", "run", 0.0).is_granted
    directory.leave("a", "first")
    directory.join("a", "second", "run")
    assert directory.renew("a", "second", "run", 0.1).is_granted


def test_after_a_restart_the_known_life_goes_on_at_once_and_another_waits() -> None:
    kept = DirectoryState()
    directory = _directory(state=kept)
    directory.join("a", "first", "run")
    directory.join("b", "first", "run")
    assert directory.renew("a", "first", "run", 0.0).is_granted
    again = Directory(kept, lambda _: None, 50.0)
    assert again.renew("a", "first", "run", 50.0).is_granted
    assert not again.renew("b", "first", "run", 50.0).is_granted, "a life of b before it may have been granted one"


def test_nothing_is_granted_while_no_supervisor_is_heard_and_after_a_stop() -> None:
    directory = _directory()
    directory.join("a", "life", "run")
    assert not directory.renew("a", "life", "run", LEASE_S + 0.1).is_granted
    directory.keep("run", 20.0)
    assert directory.renew("a", "life", "run", 20.0).is_granted
    directory.stop("run")
    assert directory.renew("a", "life", "run", 20.0).is_over


def test_another_run_ends_the_one_before() -> None:
    directory = _directory()
    directory.begin("another", MACHINES, 1.0)
    assert not directory.keep("run", 1.0)
    assert directory.join("a", "life", "run").is_over


def test_its_state_is_on_disk_before_it_answers_and_one_process_alone_may_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory_file.create(tmp_path)
    held = directory_file.hold(tmp_path)
    monkeypatch.setattr(directory_file, "_PATIENCE_S", 0.0)
    with pytest.raises(StoreError, match="another process grants"):
        directory_file.hold(tmp_path)
    directory = Directory(directory_file.read(tmp_path), lambda state: directory_file.write(tmp_path, state), 0.0)
    directory.begin("run", MACHINES, 0.0)
    directory.join("a", "life", "run")
    assert directory.renew("a", "life", "run", 0.0).is_granted
    found = directory_file.read(tmp_path)
    assert (found.phase, found.run, found.claims["a"].life, found.claims["a"].has_had_one) == ("RUN", "run", "life", True)
    os.close(held)
    os.close(directory_file.hold(tmp_path))
    (tmp_path / "directory.json").write_bytes(b"{}]")
    with pytest.raises(StoreError, match="expected a list of the machines that may make requests"):
        directory_file.read(tmp_path)


def test_a_lease_is_counted_from_before_it_was_asked_for_and_ends_by_itself() -> None:
    now = 5.0
    lease = AgentLease(lambda: now)
    assert not lease.is_held
    lease.extend(5.0 + LEASE_S)
    lease.extend(6.0)  # an older one that comes late
    assert lease.is_held
    now = 5.0 + LEASE_S
    assert not lease.is_held
