"""The file in which all agents of one machine keep the addresses that are in use: one row an address, mapped by every agent.

    hash of the address   8
    not before            8   no request may start before this time
    called for until      8   until then an agent waits for a connection, so that an idle one is closed for it
    turn                  8   whether this machine has its turn at the address (`NOT_OURS`, `OURS`, `ENDING`); if several machines crawl
    wanted until          8   until then an agent of this machine waits for the turn
    turn until            8   until then the turn lasts that this machine has, or had last
    requests in flight    64 × 2, a count for each agent
    open connections      64 × 2, likewise, idle connections among them

Times are seconds of the machine's monotonic clock; ends of turns are of the clock that counts suspensions, too. Two numbers of 8 bytes
follow the rows: how many times an address was newly wanted, and how many times one was called for. A process that looks for such addresses
reads all rows only if the number has grown. An agent may write its own counts at any time; for everything else it must hold the file's
lock.

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
        ("until", "f8"),
        ("in_flight", "u2", MOST_AGENTS),
        ("connections", "u2", MOST_AGENTS),
    ]
)
HEAD: Final = struct.Struct("=QddQdd")
COUNTS: Final = struct.Struct(f"={MOST_AGENTS}H")
COUNT: Final = struct.Struct("=H")
TIME: Final = struct.Struct("=d")
NUMBER: Final = struct.Struct("=Q")
NOT_BEFORE, CALLED, WANTED, UNTIL, IN_FLIGHT = 8, 16, 32, 40, HEAD.size  # offsets of these fields in a row, in bytes
CONNECTIONS = IN_FLIGHT + COUNTS.size
WANTS: Final = N_ROWS * ROW.itemsize  # offset of the two numbers after the rows
CALLS: Final = WANTS + NUMBER.size
SIZE: Final = CALLS + NUMBER.size

NOT_OURS, OURS, ENDING = range(3)  # values of `turn`; ENDING: no request may start, and the turn ends with the last one in flight


def create(path: Path) -> None:
    """Create the file for this run of the crawl, in place of an older one. No agent may have it open."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "wb", opener=private) as file:
        file.write(bytes(SIZE))  # as zeros, not as a hole: to write into a mapped hole on a full disk is a SIGBUS
