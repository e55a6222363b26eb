"""A directory that no command owns: it ends when its command is gone, and grants nothing that could overlap with the next one's leases."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.cluster.lease import LEASE_S
from thresher.crawler.core.errors import StoreError, StoreLockedError
from thresher.crawler.machines import directory_file
from thresher.crawler.machines.directory import SPARE_S
from thresher.crawler.machines.directory_life import LOOK_S, DirectoryLife
from thresher.storage.lock import CrawlLock


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(directory_file, "_PATIENCE_S", 0.0)
    directory_file.create(tmp_path)
    return Clock()


def begun(path: Path, clock: Clock, run: str = "run") -> DirectoryLife:
    life = DirectoryLife(path, clock)
    assert life.order("begin", run, ["a"])
    return life


def passes(life: DirectoryLife, clock: Clock, seconds: int) -> bool:
    """Let time pass; return whether it is over."""
    for _ in range(seconds):
        clock.now += LOOK_S
        is_over = life.look()
    return is_over


def test_it_ends_when_its_command_is_silent_for_longer_than_a_lease(tmp_path: Path, clock: Clock) -> None:
    """Its lock is free then, and it grants nothing more, even if the command speaks again. Mutations: it keeps the lock; it answers on."""
    life = begun(tmp_path, clock)
    life.ask("join", "a", "first", "run")
    assert life.ask("renew", "a", "first", "run").is_granted
    assert not passes(life, clock, int(LEASE_S))
    with pytest.raises(StoreError, match="another process grants"):
        DirectoryLife(tmp_path, clock)
    assert passes(life, clock, 1)
    for what in ("begin", "keep", "stop"):
        with pytest.raises(LookupError, match="command is gone"):
            life.order(what, "run")
    for what in ("join", "renew"):
        refused = life.ask(what, "a", "first", "run")
        assert not refused.is_granted
        assert not refused.is_over, "the machine goes on when there is another directory"
    again = begun(tmp_path, clock, "another run")
    again.ask("join", "a", "second", "another run")
    assert not again.ask("renew", "a", "second", "another run").is_granted, "the first life may have a lease, as far as this one knows"
    clock.now += LEASE_S + SPARE_S
    again.order("keep", "another run")
    assert again.ask("renew", "a", "second", "another run").is_granted
    with pytest.raises(StoreError, match="another process grants"):
        DirectoryLife(tmp_path, clock)


def test_each_word_of_its_command_keeps_it(tmp_path: Path, clock: Clock) -> None:
    """But none of a command whose run does not count any more. Mutation: silence adds up."""
    life = begun(tmp_path, clock)
    for _ in range(5):
        assert not passes(life, clock, int(LEASE_S) - 1)
        assert life.order("keep", "run")
    assert not passes(life, clock, int(LEASE_S) - 1)
    assert not life.order("keep", "an earlier run")
    assert passes(life, clock, 2)


def test_a_command_that_was_suspended_with_it_may_speak_first(tmp_path: Path, clock: Clock) -> None:
    """Meanwhile nothing is granted. Mutation: silence is that of a clock which counts suspension."""
    life = begun(tmp_path, clock)
    life.ask("join", "a", "life", "run")
    assert not passes(life, clock, 2)
    clock.now += 60.0
    assert not life.look()
    assert not life.ask("renew", "a", "life", "run").is_granted
    assert life.order("keep", "run")
    assert life.ask("renew", "a", "life", "run").is_granted


def test_a_command_knows_at_once_whether_another_one_is_there(tmp_path: Path) -> None:
    """By the lock that it holds while it runs: what an earlier one has left may be ended if that can be taken."""
    first = CrawlLock(tmp_path / "command.lock")
    with pytest.raises(StoreLockedError, match=f"in use by process {os.getpid()}"):
        CrawlLock(tmp_path / "command.lock")
    first.release()
    CrawlLock(tmp_path / "command.lock").release()


_STEPS = st.lists(st.tuples(st.sampled_from(("begin", "kill", "look", "keep", "ask", "wait")), st.integers(0, 2)), max_size=50)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_no_two_lives_hold_a_lease_whatever_directory_is_left_over(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """Commands are killed and leave their directories, which are killed or end; three of them, and three lives of one machine."""
    path, clock = tmp_path_factory.mktemp("head"), Clock()
    directory_file.create(path)
    there: dict[int, DirectoryLife] = {}
    until: dict[int, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory_file, "_PATIENCE_S", 0.0)
        for what, n in steps:
            run = f"run {n}"
            match what:
                case "begin" if n not in there:
                    with suppress(StoreError):
                        there[n] = begun(path, clock, run)
                case "kill" if n in there:
                    end(there.pop(n))
                case "look" if n in there:
                    there[n].look(4.0)
                case "keep" if n in there:
                    with suppress(LookupError):
                        there[n].order("keep", run)
                case "ask" if n in there:
                    there[n].ask("join", "a", f"life {n}", run)
                    if there[n].ask("renew", "a", f"life {n}", run).is_granted:
                        until[n] = clock.now + LEASE_S
                case "wait":
                    clock.now += 4.0
            assert sum(clock.now < at for at in until.values()) <= 1, (what, n)
    for life in there.values():
        end(life)


def end(life: DirectoryLife) -> None:
    """Let its process end."""
    if not life._is_over:
        os.close(life._held)
        life._is_over = True
