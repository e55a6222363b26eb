"""The life of one machine, without agents: what it asks the directory is answered at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from thresher.crawler.core.ownership import divided
from thresher.crawler.machines.directory import DirectoryAnswer
from thresher.crawler.machines.machine import Machine
from thresher.crawler.machines.supervision import Begin
from thresher.crawler.machines.turns import TurnsAnswer, TurnsCall
from thresher.crawler.version import VERSION
from thresher.storage.partitions import Partitions, ranges_of


@pytest.mark.parametrize("n_steps", range(8))
async def test_it_ends_whenever_it_is_cancelled_while_its_lease_is_renewed(tmp_path: Path, n_steps: int) -> None:
    """Mutation: `_keep_lease` awaits with `asyncio.wait_for`, which loses a cancellation that comes as the answer does (Python 3.11)."""
    running: asyncio.Task[None]

    async def ask(what: str, _life: str) -> DirectoryAnswer:
        if what == "renew":
            running.cancel()
            for _ in range(n_steps):
                await asyncio.sleep(0)
        return DirectoryAnswer(is_granted=True)

    async def ask_turns(_owner: str, _life: str, _call: TurnsCall) -> TurnsAnswer:
        raise AssertionError("there is no other machine")

    async def send(_to: str, _parcel: bytes) -> bytes:
        raise AssertionError("there is no other machine")

    table = msgspec.json.encode(Partitions(1, ranges_of(divided(1)), machines=["a"]))
    (tmp_path / "channels").mkdir()
    begin = Begin("a", str(tmp_path), table, b"t" * 32, "run", settle=False, version=VERSION, address_delay=0.2)
    running = asyncio.ensure_future(Machine(begin, ask=ask, ask_turns=ask_turns, send=send).run())
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(600):
            await running
