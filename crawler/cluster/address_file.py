"""The file in which all agents of one machine keep the addresses that are in use: one row an address, mapped by every agent.

    hash of the address 8 ‖ not before 8 (seconds of the machine's monotonic clock) ‖ called for until 8 (of the same)
    ‖ turn 8 ‖ wanted until 8 (of the same) ‖ 64 × requests in flight 2, one count for each agent
    ‖ 64 × open connections 2, idle ones among them

After the rows: how often an address was newly wanted 8 ‖ how often one was called for 8. Who looks for either goes through the rows only
when its number has changed. Whoever writes anything but its own counts holds the file's lock.

Memory: 2.5 MB.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import numpy as np

from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.storage.private import private

N_ROWS: Final = 8192
ROW: Final = np.dtype(
    [
        ("name", "u8"),
        ("not_before", "f8"),
        ("called", "f8"),
        ("turn", "u8"),
        ("wanted", "f8"),
        ("in_flight", "u2", MOST_AGENTS),
        ("connections", "u2", MOST_AGENTS),
    ]
)
HEAD: Final = struct.Struct("=QddQd")
COUNTS: Final = struct.Struct(f"={MOST_AGENTS}H")
COUNT: Final = struct.Struct("=H")
TIME: Final = struct.Struct("=d")
NUMBER: Final = struct.Struct("=Q")
NOT_BEFORE, CALLED, WANTED, IN_FLIGHT = 8, 16, 32, HEAD.size  # where they begin in a row
CONNECTIONS = IN_FLIGHT + COUNTS.size
WANTS: Final = N_ROWS * ROW.itemsize  # where the two numbers after the rows lie
CALLS: Final = WANTS + NUMBER.size
SIZE: Final = CALLS + NUMBER.size

NOT_OURS, OURS, ENDING = range(3)  # a turn; ending: no request may begin, and those in flight are waited for


def create(path: Path) -> None:
    """Create the file for this run of the crawl, in place of an older one. No agent may have it open."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "wb", opener=private) as file:
        file.write(bytes(SIZE))  # as zeros, not as a hole: to write into a mapped hole on a full disk is a SIGBUS
