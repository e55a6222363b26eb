"""Several agents at one address: together they never have more connections, or shorter delays, than one agent may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from thresher.crawler.cluster import shared_addresses
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.shared_addresses import SharedAddresses

GAP_S = 0.2


class FakeTime:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(shared_addresses, "time", fake)
    return fake


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create(tmp_path / "channels" / "addresses")
    return tmp_path / "channels" / "addresses"


@pytest.fixture
def agents(path: Path) -> Iterator[list[SharedAddresses]]:
    opened = [SharedAddresses(path, me, connections=2, gap_s=GAP_S) for me in (0, 1)]
    yield opened
    for one in opened:
        one.close()


def test_the_gap_counts_for_all(time: FakeTime, agents: list[SharedAddresses]) -> None:
    one, other = agents
    assert one.start("127.0.0.1") == 0.0
    assert other.start("127.0.0.1") == pytest.approx(GAP_S)
    assert other.start("127.0.0.2") == 0.0
    time.now += GAP_S
    assert other.start("127.0.0.1") == 0.0


def test_so_do_the_connections_and_those_of_an_agent_that_died_are_struck(
    time: FakeTime, agents: list[SharedAddresses], path: Path
) -> None:
    one, other = agents
    for agent in agents:
        assert agent.start("a") == 0.0
        time.now += GAP_S
    assert one.start("a") > 0.0
    other.end("a", was_used=True)
    assert one.start("a") == 0.0
    time.now += GAP_S
    assert other.start("a") > 0.0
    again = SharedAddresses(path, 0, connections=2, gap_s=GAP_S)
    assert other.start("a") == 0.0
    again.close()


def test_a_reservation_that_was_not_used_leaves_no_gap(time: FakeTime, agents: list[SharedAddresses]) -> None:
    one, other = agents
    assert one.start("a") == 0.0
    one.end("a", was_used=False)
    assert other.start("a") == 0.0


def test_where_rows_are_short_addresses_share_one(time: FakeTime, agents: list[SharedAddresses]) -> None:
    """Each connection is given back in the row in which it was reserved, so that all are free at the end."""
    one, _ = agents
    started = [name for name in map(str, range(20_000)) if one.start(name) == 0.0]
    assert 8192 <= len(started) < 2 * 8192 + 1
    for name in started:
        one.end(name, was_used=True)
    time.now += GAP_S
    assert one.start("another") == 0.0
