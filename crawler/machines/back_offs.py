"""What the head keeps of hosts that rest long: who takes over a lost machine's hosts asks none of them earlier (losing.py).

Agents tell it with their reports, so it is a second or two behind them. One file on the head's disk, replaced while the crawl runs;
200 bytes a host that rests now, on disk and in memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from thresher.crawler.core.back_off import BackOff
from thresher.crawler.core.errors import StoreError
from thresher.storage.durable import replace_file

FILE: Final = "back_offs.json"
_SAVE_S: Final = 2.0


class BackOffBook:
    """The hosts of a crawl that rest."""

    def __init__(self, directory: Path) -> None:
        """Read what an earlier run has kept; raises StoreError."""
        self._path = directory / FILE
        self._by_host = {one.name: one for one in read(directory)}
        self._is_saved = True

    def note(self, back_offs: Collection[BackOff]) -> None:
        """Take what an agent has told."""
        if back_offs:
            self._by_host |= {one.name: one for one in back_offs}
            self._is_saved = False

    def save(self) -> None:
        """Put it on the disk, without those that are over."""
        if not self._is_saved:
            now = time.time()
            self._by_host = {name: one for name, one in self._by_host.items() if one.until > now}
            replace_file(self._path, msgspec.json.encode([*self._by_host.values()]) + b"\n")
            self._is_saved = True

    async def run(self) -> None:
        """Save every few seconds until cancelled, and then."""
        try:
            while True:
                await asyncio.sleep(_SAVE_S)
                with suppress(OSError):  # a full disk: again in two seconds
                    self.save()
        finally:
            with suppress(OSError):
                self.save()


def read(directory: Path) -> list[BackOff]:
    """Return what is kept, [] of a crawl of which nothing is; raises StoreError."""
    path = directory / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[BackOff])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: expected which hosts rest: {error}. Delete it if no machine of this crawl is lost") from None
