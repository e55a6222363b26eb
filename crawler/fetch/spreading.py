"""Spreads what follows from answers over rounds of the event loop, so that each round stays short.

Many answers may arrive in one round: at the start of a crawl, those of hundreds of robots.txt. What follows from one takes about a
millisecond, and nothing else runs during a round.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

_ROUND_S: Final = 0.004  # seconds after which no further answer goes on in the same round


class Spreader:
    """Lets journeys go on in the order of their answers. Make it inside the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._full_at = 0.0  # when no further journey goes on in this round; 0: none has yet

    async def pass_on(self) -> None:
        """Wait until a journey may go on."""
        while self._is_full():  # noqa: ASYNC110 - a round of the loop is what is waited for
            await asyncio.sleep(0)

    def _is_full(self) -> bool:
        now = time.perf_counter()
        if not self._full_at:
            self._full_at = now + _ROUND_S
            self._loop.call_soon(self._on_round)
        return now >= self._full_at

    def _on_round(self) -> None:
        self._full_at = 0.0
