"""The head's record of hosts with long back-offs: the machine that takes over a lost machine's hosts requests none of them earlier
(losing.py).

Agents report back-offs with their status, so the record is a second or two late. It is one file on the head's disk, replaced while the
crawl runs. Memory and disk: 200 bytes for each host that backs off now.
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
    """The hosts of a crawl that back off."""

    def __init__(self, directory: Path) -> None:
        """Read the record of an earlier run.

        Raises:
            StoreError: If the file is damaged.
        """
        self._path = directory / FILE
        self._by_host = {one.name: one for one in read(directory)}
        self._is_saved = True

    def note(self, back_offs: Collection[BackOff]) -> None:
        """Record the back-offs that an agent has reported."""
        if back_offs:
            self._by_host |= {one.name: one for one in back_offs}
            self._is_saved = False

    def save(self) -> None:
        """Write the record to disk, without back-offs that are over."""
        if not self._is_saved:
            now = time.time()
            self._by_host = {name: one for name, one in self._by_host.items() if one.until > now}
            replace_file(self._path, msgspec.json.encode([*self._by_host.values()]) + b"\n")
            self._is_saved = True

    async def run(self) -> None:
        """Save every few seconds until cancelled, and once at the end."""
        try:
            while True:
                await asyncio.sleep(_SAVE_S)
                with suppress(OSError):  # a full disk: try again in two seconds
                    self.save()
        finally:
            with suppress(OSError):
                self.save()


def read(directory: Path) -> list[BackOff]:
    """Return the recorded back-offs, [] if there is no record.

    Raises:
        StoreError: If the file is damaged.
    """
    path = directory / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[BackOff])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: expected a list of hosts that rest: {error}. Delete it if no machine of this crawl is lost") from None
