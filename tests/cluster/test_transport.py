"""The law of the channels: every message that was committed is carried out once, in order, whoever dies and whenever."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.cluster.transport import PeerTransport
from thresher.crawler.core.ownership import Ownership, divided
from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.schema import RULES
from thresher.storage.store import Store

N_MESSAGES = 250


class End:
    """One agent's end: a real store and real sockets; what it carries out is a list in its store, committed with the watermark."""

    def __init__(self, directory: Path, me: int) -> None:
        self.directory = directory
        self.me = me
        self.path = directory / f"shard-{me}"
        self.written = 0  # messages that it has put into its outbox and committed
        Store.create(self.path, Settings(), 0.0).close()
        self.failures: list[Exception] = []

    def begin(self) -> None:
        self.store = Store.open(self.path, None, 0.0)
        ownership = Ownership(divided(2), self.me)
        self.channels = PeerTransport(
            self.directory, self.store, ownership, carry_out=self._carry_out, behind=lambda: False, failed=self.failures.append
        )
        self.task = asyncio.ensure_future(self.channels.run(lambda: None))

    def _carry_out(self, sender: int, message: bytes) -> None:
        n = unpack_u64(self.store.get(RULES, b"n") or bytes(8)) + 1
        self.store.put(RULES, b"n", pack_u64(n))
        self.store.put(RULES, b"at" + pack_u64(n), message)
        self.store.tables.channels.hear(sender)
        self.store.end_visit()

    def send(self, n: int) -> None:
        """Write up to n messages more, each with its number."""
        for _ in range(n):
            number = self.store.tables.channels.sent(1 - self.me) + 1
            if number <= N_MESSAGES:
                self.store.tables.channels.send(1 - self.me, b"%d" % number)
                self.store.end_visit()

    async def commit(self) -> None:
        await asyncio.wrap_future(self.store.flush())
        self.channels.on_commit()

    async def die(self) -> None:
        """Lose what is not committed, as a kill does."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        for _ in range(4):
            await asyncio.sleep(0)  # for the connections, which were told to end
        self.store.close(commit=False)

    def received(self) -> list[bytes]:
        n = unpack_u64(self.store.get(RULES, b"n") or bytes(8))
        return [self.store.get(RULES, b"at" + pack_u64(i)) or b"" for i in range(1, n + 1)]


async def test_every_message_is_carried_out_once_and_in_order_whoever_dies(tmp_path: Path) -> None:
    """Broken by acknowledging what is not on disk, by sending what is not, and by a window that forgets what it sent."""
    rng, ends = random.Random(3), [End(tmp_path, 0), End(tmp_path, 1)]
    for end in ends:
        end.begin()
    expected = [b"%d" % n for n in range(1, N_MESSAGES + 1)]
    n_deaths = 0
    async with asyncio.timeout(600):
        while not all(end.received() == expected and end.store.tables.channels.sent(1 - end.me) == N_MESSAGES for end in ends):
            end = rng.choice(ends)
            end.send(rng.randint(0, 20))
            if rng.random() < 0.6:
                await end.commit()
            elif rng.random() < 0.5:
                await end.die()
                end.begin()
                n_deaths += 1
            await asyncio.sleep(rng.choice((0, 0, 0.002, 0.01)))
            assert all(one.received() == expected[: len(one.received())] for one in ends)
    assert n_deaths > 5
    for end in ends:
        await end.commit()
        await end.die()
        assert end.failures == []


async def test_a_shard_older_than_the_others_is_told_and_not_crawled_on(tmp_path: Path) -> None:
    """One shard was restored from a backup: the other has had messages that it never sent."""
    ends = [End(tmp_path, 0), End(tmp_path, 1)]
    ends[1].begin()
    ends[1].store.tables.channels.hear(0)
    await ends[1].commit()
    ends[0].begin()
    async with asyncio.timeout(600):
        while not ends[0].failures:  # noqa: ASYNC110 - no event comes from a connection
            await asyncio.sleep(0.01)
    assert "one shard is older than the others" in str(ends[0].failures[0])
    for end in ends:
        await end.die()
