"""The channel ends of two agents, with real stores and real sockets; what carries the bytes between them is under test."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from pathlib import Path

from thresher.config.settings import Settings
from thresher.crawler.cluster.transport import PeerTransport
from thresher.crawler.core.ownership import Ownership, divided
from thresher.storage.packing import pack_u64, unpack_u64
from thresher.storage.schema import RULES
from thresher.storage.store import Store

N_MESSAGES = 250


async def close_sockets() -> None:
    """Close the connections that have ended, as the kernel does for a process that is killed.

    A connection that asyncio accepts while its server closes has no owner: its socket stays open until the garbage collector finds it, and
    the caller would wait for an answer.
    """
    for _ in range(4):
        await asyncio.sleep(0)
    gc.collect()


class End:
    """One agent's end: a real store and real sockets. It carries out a message by adding it to a list in its store, in one commit with the
    watermark.
    """

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
            self.directory, self.store, ownership, carry_out=self._carry_out, behind=lambda: False, on_failure=self.failures.append
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
        """Lose everything that is not committed, as at a kill."""
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        await close_sockets()
        self.store.close(commit=False)

    def received(self) -> list[bytes]:
        n = unpack_u64(self.store.get(RULES, b"n") or bytes(8))
        return [self.store.get(RULES, b"at" + pack_u64(i)) or b"" for i in range(1, n + 1)]

    @property
    def is_done(self) -> bool:
        """Whether all messages were sent, and those of the other carried out, in order."""
        return self.received() == EXPECTED and self.store.tables.channels.sent(1 - self.me) == N_MESSAGES


EXPECTED = [b"%d" % n for n in range(1, N_MESSAGES + 1)]
