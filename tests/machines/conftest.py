"""What tests of machines share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from forking_agents import forking_their_agents
from two_machines import SHORT_LEASE_S

from thresher.crawler.machines import address_turns as address_turns_module
from thresher.crawler.machines import directory as directory_module
from thresher.crawler.machines import losing as losing_module
from thresher.crawler.machines import machine as machine_module
from thresher.crawler.machines import turns as turns_module


@pytest.fixture
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make leases short."""
    for module in (machine_module, directory_module, losing_module):
        monkeypatch.setattr(module, "LEASE_S", SHORT_LEASE_S)
    for module in (machine_module, address_turns_module):
        monkeypatch.setattr(module, "RENEW_S", 0.2)
    for module in (directory_module, turns_module):
        monkeypatch.setattr(module, "SPARE_S", 0.5)
    monkeypatch.setattr(turns_module, "TURN_S", 0.8)
    monkeypatch.setattr(address_turns_module, "_TALK_S", 0.05)


@pytest.fixture
def forked_agents() -> Iterator[None]:
    """Let the supervisor of a test fork its agents."""
    with forking_their_agents():
        yield


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT stop this process, even if a shell has started the tests in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
