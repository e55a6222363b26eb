"""The last message of each sender that the last snapshot of a shard has. Senders keep later messages.

A restored shard needs the later messages again. SHARD/kept.json is written once the snapshot is complete, and never says more than it has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from thresher.storage.durable import replace_file

FILE: Final = "kept.json"
Kept = dict[int, int]  # sender → number of its last message in the snapshot


def write_marks(shard: Path, kept: Kept) -> None:
    """Write the marks of a shard's snapshot."""
    replace_file(shard / FILE, msgspec.json.encode(kept))


class Marks:
    """The marks of one shard's snapshot; the file is read again when it has changed."""

    def __init__(self, shard: Path) -> None:
        self._path = shard / FILE
        self._read_at = 0  # the file's time when it was read
        self._kept: Kept = {}

    def kept(self, sender: int) -> int:
        """Return the number of the last message of a sender that the snapshot has, 0 if there is none."""
        try:
            at = self._path.stat().st_mtime_ns
            if at != self._read_at:
                self._kept, self._read_at = msgspec.json.decode(self._path.read_bytes(), type=Kept), at
        except (OSError, msgspec.MsgspecError):
            return 0
        return self._kept.get(sender, 0)
