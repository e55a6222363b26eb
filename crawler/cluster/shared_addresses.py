"""The addresses in use by all agents of one machine: shared memory decides which agent may start a request at an address.

Several sites may lie on one address and belong to different agents. So that `politeness.address_connections` and
`address_delay` hold for all agents together, each address in use has a row in a file that every agent maps:

    hash of the address 8 ‖ not before 8 (seconds of the machine's monotonic clock) ‖ called for until 8 (of the same)
    ‖ 64 × requests in flight 2, one count for each agent ‖ 64 × open connections 2, idle ones among them

An agent reserves there each request that it starts and each connection that it opens, under the file's lock (5 µs). If there are
already as many connections as are allowed, one of them must be idle, since requests are bounded by the same number. The agent then marks
the address as "called for", and the agent with the idle connection closes it within 50 ms. The last 8 bytes of the file count such
calls: an agent looks through its addresses only when that number has changed.

The counts of an agent that died stay in the file; the supervisor sets them to zero. If the table is full around an address's place, two
addresses share one row, and get fewer requests than they could.

Memory: 2.3 MB in all.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import time
from pathlib import Path

import xxhash

from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.storage.private import private

_N_ROWS = 8192
_PROBES = 16
_HEAD = struct.Struct("=Qdd")
_COUNTS = struct.Struct(f"={MOST_AGENTS}H")
_CONNECTIONS = _HEAD.size + _COUNTS.size  # where the counts of connections begin in a row
_ROW = _CONNECTIONS + _COUNTS.size
_COUNT = struct.Struct("=H")
_CALLS = struct.Struct("=Q")
_SIZE = _N_ROWS * _ROW + _CALLS.size
_CALLED_S = 0.2  # seconds for which an address stays called for
_FULL_S = 0.02  # seconds until the next try at an address that other agents use up to its limit


def create(path: Path) -> None:
    """Create the file for this run of the crawl, in place of an older one. No agent may have it open."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with open(path, "wb", opener=private) as file:
        file.write(bytes(_SIZE))  # write zeros, not a hole: writing into a mapped hole of a file gives a SIGBUS when the disk is full


def strike(path: Path, agent: int) -> None:
    """Set the counts of an agent that has died to zero, if there is a file."""
    if path.exists():
        SharedAddresses(path, agent, connections=0, gap_s=0.0).close()


class SharedAddresses:
    """One agent's hold on the file: implements `core.ports.AddressUse` and `fetch.address_connections.ConnectionUse`."""

    def __init__(self, path: Path, me: int, *, connections: int, gap_s: float) -> None:
        """Create the shared addresses.

        Args:
            connections: Most connections at one address, of all agents together.
            gap_s: Seconds between two starts of requests there.
        """
        self._connections = connections
        self._gap_s = gap_s
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._rows = mmap.mmap(self._file, _SIZE)
        self._mine = _HEAD.size + me * _COUNT.size
        self._opened = _CONNECTIONS + me * _COUNT.size
        self._in_flight: dict[str, list[int]] = {}  # address → where the row of each of its requests begins
        self._open: dict[str, list[int]] = {}  # and of each of its connections
        self._last: dict[str, tuple[float, float]] = {}  # address → "not before" as it was until the last start, and as that start set it
        self._n_calls = self._calls()
        for mine in (self._mine, self._opened):
            for at in range(mine, _N_ROWS * _ROW, _ROW):  # only our own counts
                if _COUNT.unpack_from(self._rows, at)[0]:
                    _COUNT.pack_into(self._rows, at, 0)

    def start(self, address: str, *, is_own: bool = False) -> float:
        """Reserve a request at the address. Return 0.0 if it was reserved, else the seconds until the next try.

        Args:
            is_own: Whether the site is the operator's own: then the gap does not apply.
        """
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            now = time.monotonic()
            at = self._find(_name(address), now)
            name, not_before, called = _HEAD.unpack_from(self._rows, at)
            if not_before > now and not is_own:
                return float(not_before) - now
            if sum(_COUNTS.unpack_from(self._rows, at + _HEAD.size)) >= self._connections:
                return _FULL_S
            by = not_before if is_own else now + self._gap_s
            _HEAD.pack_into(self._rows, at, name, by, called)
            self._add(at + self._mine, 1)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._in_flight.setdefault(address, []).append(at)
        self._last[address] = (not_before, by)
        return 0.0

    def end(self, address: str, *, was_used: bool) -> None:
        """End the reservation of a request. If no request was made and none has started since, the gap that it began is removed, too."""
        places = self._in_flight[address]
        at = places.pop()
        before, by = self._last[address]
        if not places:
            del self._in_flight[address], self._last[address]
        self._add(at + self._mine, -1)
        if was_used:
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            name, not_before, called = _HEAD.unpack_from(self._rows, at)
            if not_before == by:
                _HEAD.pack_into(self._rows, at, name, before, called)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def connect(self, address: str) -> bool:
        """Reserve a connection and return True; if there are as many as allowed, mark the address as called for and return False."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            now = time.monotonic()
            at = self._find(_name(address), now)
            name, not_before, _ = _HEAD.unpack_from(self._rows, at)
            if sum(_COUNTS.unpack_from(self._rows, at + _CONNECTIONS)) >= self._connections:
                _HEAD.pack_into(self._rows, at, name, not_before, now + _CALLED_S)
                _CALLS.pack_into(self._rows, _N_ROWS * _ROW, self._calls() + 1)
                return False
            self._add(at + self._opened, 1)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._open.setdefault(address, []).append(at)
        return True

    def disconnect(self, address: str) -> None:
        """End the reservation of a connection."""
        places = self._open[address]
        self._add(places.pop() + self._opened, -1)
        if not places:
            del self._open[address]

    def has_calls(self) -> bool:
        """Return whether any agent has called for a connection since this method was last called."""
        before, self._n_calls = self._n_calls, self._calls()
        return before != self._n_calls

    def is_called_for(self, address: str) -> bool:
        """Return whether this agent has a connection at the address and another agent waits for one there."""
        called: float = _HEAD.unpack_from(self._rows, self._open[address][-1])[2] if address in self._open else 0.0
        return called > time.monotonic()

    def close(self) -> None:
        """Unmap and close the file."""
        self._rows.close()
        os.close(self._file)

    def _calls(self) -> int:
        return int(_CALLS.unpack_from(self._rows, _N_ROWS * _ROW)[0])

    def _add(self, at: int, n: int) -> None:
        _COUNT.pack_into(self._rows, at, _COUNT.unpack_from(self._rows, at)[0] + n)

    def _find(self, name: int, now: float) -> int:
        """Return where the row of an address begins. It takes a row that is not in use; if there is none, it shares the row of another
        address.
        """
        free = -1
        for n in range(name, name + _PROBES):
            at = n % _N_ROWS * _ROW
            found, not_before, _ = _HEAD.unpack_from(self._rows, at)
            if found == name:
                return at
            if free < 0 and not_before <= now and not any(self._rows[at + _HEAD.size : at + _ROW]):
                free = at
        if free < 0:
            return name % _N_ROWS * _ROW
        _HEAD.pack_into(self._rows, free, name, 0.0, 0.0)
        return free


def _name(address: str) -> int:
    return xxhash.xxh3_64_intdigest(address.encode()) or 1
