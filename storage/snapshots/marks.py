"""Up to which message of each sender the last snapshot of a shard goes. Senders keep what comes after.

A shard that is restored needs it again. SHARD/kept.json is written once the snapshot is there, and says at most what that holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from thresher.storage.durable import replace_file

FILE: Final = "kept.json"
Kept = dict[int, int]  # by sender


def write_marks(shard: Path, kept: Kept) -> None:
    """Say what a shard's snapshot holds."""
    replace_file(shard / FILE, msgspec.json.encode(kept))


class Marks:
    """What the snapshot of one shard holds, read again when it has changed."""

    def __init__(self, shard: Path) -> None:
        self._path = shard / FILE
        self._read_at = 0  # the file's time
        self._kept: Kept = {}

    def kept(self, sender: int) -> int:
        """Return the number of the last message of a sender that the snapshot holds, 0 if there is none."""
        try:
            at = self._path.stat().st_mtime_ns
            if at != self._read_at:
                self._kept, self._read_at = msgspec.json.decode(self._path.read_bytes(), type=Kept), at
        except (OSError, msgspec.MsgspecError):
            return 0
        return self._kept.get(sender, 0)
