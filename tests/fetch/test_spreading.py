"""Answers that arrive together go on over several rounds of the loop, in their order."""

from __future__ import annotations

import asyncio
import time

from thresher.crawler.fetch.spreading import Spreader

_WORK_S = 0.0015
_ROUND_S = 0.004


async def test_answers_that_arrive_together_leave_rounds_to_others() -> None:
    """Mutations: all went on in one round; the last that came went on first."""
    spreader, done, round_of, n_rounds = Spreader(), [], {}, 0

    async def answer(i: int) -> None:
        await spreader.pass_on()
        done.append(i)
        round_of[i] = n_rounds
        busy_until = time.perf_counter() + _WORK_S
        while time.perf_counter() < busy_until:
            pass

    answers = [asyncio.create_task(answer(i)) for i in range(30)]
    while not all(one.done() for one in answers):
        n_rounds += 1
        await asyncio.sleep(0)
    assert done == [*range(30)]
    most = max(sum(at == n for at in round_of.values()) for n in range(n_rounds + 1))
    assert 1 <= most <= _ROUND_S / _WORK_S + 1
