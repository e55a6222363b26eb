"""The law of the channels: every committed message is carried out once, in order, whichever agent dies, and whenever."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from ends import EXPECTED, End


async def test_every_message_is_carried_out_once_and_in_order_whoever_dies(tmp_path: Path) -> None:
    """Mutations: what is not on disk is acknowledged; what is not on disk is sent; a window forgets what it has sent."""
    rng, ends = random.Random(3), [End(tmp_path, 0), End(tmp_path, 1)]
    for end in ends:
        end.begin()
    n_deaths = 0
    async with asyncio.timeout(600):
        while not all(end.is_done for end in ends):
            end = rng.choice(ends)
            end.send(rng.randint(0, 20))
            if rng.random() < 0.6:
                await end.commit()
            elif rng.random() < 0.5:
                await end.die()
                end.begin()
                n_deaths += 1
            await asyncio.sleep(rng.choice((0, 0, 0.002, 0.01)))
            assert all(one.received() == EXPECTED[: len(one.received())] for one in ends)
    assert n_deaths > 5
    for end in ends:
        await end.commit()
        await end.die()
        assert end.failures == []


async def test_a_shard_older_than_the_others_is_told_and_not_crawled_on(tmp_path: Path) -> None:
    """One shard was restored from a backup: the other has received messages that the restored one does not know it sent."""
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
