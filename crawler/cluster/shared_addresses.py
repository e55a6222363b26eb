"""The addresses in use by all agents of one machine: who may start a request at one, decided in shared memory.

Names of several sites may lie on one address, and their sites belong to different agents. So that `politeness.address_connections` and
`address_delay` hold for all of them together, each address in use has a row in a file that every agent maps (address_file.py).

An agent that starts a request reserves it there under the file's lock: 5 µs. An agent that opens a connection does the same. If there are
already as many connections as are allowed, at least one of them is idle: requests are bounded by the same number, and this agent's request
has no connection yet. The agent then marks the address as "called for", and the agent with the idle connection closes it within 50 ms.

Where several machines crawl together, a request begins only while it is this machine's turn at the address. Agents mark the addresses that
they want; the machine asks their owners for turns, and gives them back (crawler/machines/address_turns.py). When a turn has come to its
end, nothing more is sent there and all connections to the address are closed: agents look right before each request, and twice a second.

The counts of an agent that died stay in the file; the supervisor sets them to zero. The hash of an address gives its place in the file. If
all rows near this place are in use, two addresses share one row, so fewer requests start at each of them; if several machines crawl
together, the second address waits for a row instead.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from pathlib import Path

import xxhash

from thresher.crawler.cluster.address_file import (
    CALLED,
    CALLS,
    CONNECTIONS,
    COUNT,
    COUNTS,
    HEAD,
    IN_FLIGHT,
    N_ROWS,
    NOT_BEFORE,
    NOT_OURS,
    NUMBER,
    OURS,
    ROW,
    SIZE,
    TIME,
    UNTIL,
    WANTED,
    WANTS,
)
from thresher.crawler.cluster.lease import boot_s

_PROBES = 16
_SIZE = ROW.itemsize
_CALLED_S = 0.2  # seconds for which an address stays called for
_WANTED_S = 1.0  # seconds for which an address stays wanted
_FULL_S = 0.02  # seconds until the next try at an address that other agents use up to its limit
_TURN_S = 0.05  # and at one where it is not this machine's turn


def strike(path: Path, agent: int) -> None:
    """Set the counts of an agent that has died to zero, if there is a file."""
    if path.exists():
        SharedAddresses(path, agent, connections=0, gap_s=0.0).close()


class SharedAddresses:
    """The file as one agent uses it: implements `core.ports.AddressUse` and `fetch.address_connections.ConnectionUse`."""

    def __init__(self, path: Path, me: int, *, connections: int, gap_s: float, takes_turns: bool = False) -> None:
        """Create the shared addresses.

        Args:
            connections: At one address, of all agents together.
            gap_s: Seconds between two starts of requests there.
            takes_turns: Whether other machines request, too, so that this one must have its turn at an address.
        """
        self._connections = connections
        self._gap_s = gap_s
        self._takes_turns = takes_turns
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._rows = mmap.mmap(self._file, SIZE)
        self._mine = IN_FLIGHT + me * COUNT.size
        self._opened = CONNECTIONS + me * COUNT.size
        self._in_flight: dict[str, list[int]] = {}  # address → offsets of the rows of its requests
        self._open: dict[str, list[int]] = {}  # the same for its connections
        self._last: dict[str, tuple[float, float]] = {}  # address → (its `not before` before the last start of a request, and after it)
        self._n_calls = self._number(CALLS)
        for mine in (self._mine, self._opened):
            for at in range(mine, WANTS, _SIZE):  # only this agent writes these counts
                if COUNT.unpack_from(self._rows, at)[0]:
                    COUNT.pack_into(self._rows, at, 0)

    def start(self, address: str, *, is_own: bool = False) -> float:
        """Reserve a request at the address.

        Args:
            is_own: Whether the request goes to the operator's own site: then it does not wait for the gap, and begins none.

        Returns:
            0.0 if it is reserved, else the seconds until the next try.
        """
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            now = time.monotonic()
            at = self._find(_name(address), now)
            if at < 0 or not self._has_turn(at, now):
                return _TURN_S
            (not_before,) = TIME.unpack_from(self._rows, at + NOT_BEFORE)
            if not_before > now and not is_own:
                return float(not_before) - now
            if sum(COUNTS.unpack_from(self._rows, at + IN_FLIGHT)) >= self._connections:
                return _FULL_S
            by = not_before if is_own else now + self._gap_s
            TIME.pack_into(self._rows, at + NOT_BEFORE, by)
            self._add(at + self._mine, 1)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._in_flight.setdefault(address, []).append(at)
        self._last[address] = (not_before, by)
        return 0.0

    def end(self, address: str, *, was_used: bool) -> None:
        """Release a reservation.

        Args:
            was_used: Whether a request was made. If not, and no other request has started since, the gap after this one is cancelled.
        """
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
            if TIME.unpack_from(self._rows, at + NOT_BEFORE)[0] == by:
                TIME.pack_into(self._rows, at + NOT_BEFORE, before)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def connect(self, address: str) -> bool:
        """Reserve a connection; return whether it is reserved.

        It is not if there are as many connections as allowed (the address is then marked as called for), or if this machine's turn at the
        address is over, or ends and this agent has no request in flight there.
        """
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            now = time.monotonic()
            at = self._find(_name(address), now)
            has_request = at >= 0 and COUNT.unpack_from(self._rows, at + self._mine)[0] and not self._is_over(at)
            if at < 0 or not (has_request or self._has_turn(at, now)):
                return False
            if sum(COUNTS.unpack_from(self._rows, at + CONNECTIONS)) >= self._connections:
                TIME.pack_into(self._rows, at + CALLED, now + _CALLED_S)
                self._count(CALLS)
                return False
            self._add(at + self._opened, 1)
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._open.setdefault(address, []).append(at)
        return True

    def disconnect(self, address: str) -> None:
        """Release the reservation of a connection."""
        places = self._open[address]
        self._add(places.pop() + self._opened, -1)
        if not places:
            del self._open[address]

    def may_use(self, address: str) -> bool:
        """Return whether a request may be sent on a connection to the address: not once this machine's turn there is over."""
        places = self._open.get(address)
        return places is not None and not self._is_over(places[-1])

    def over(self) -> set[str]:
        """Return the addresses at which this agent has connections or requests although this machine's turn there is over."""
        used = (self._open | self._in_flight).items() if self._takes_turns else ()
        return {address for address, places in used if self._is_over(places[-1])}

    def has_calls(self) -> bool:
        """Return whether any agent has called for a connection since this method was last called."""
        before, self._n_calls = self._n_calls, self._number(CALLS)
        return before != self._n_calls

    def is_called_for(self, address: str) -> bool:
        """Return whether this agent has a connection at the address and another agent waits for one there."""
        called: float = TIME.unpack_from(self._rows, self._open[address][-1] + CALLED)[0] if address in self._open else 0.0
        return called > time.monotonic()

    def close(self) -> None:
        """Unmap and close the file."""
        self._rows.close()
        os.close(self._file)

    def _has_turn(self, at: int, now: float) -> bool:
        """Return whether it is this machine's turn at a row's address; mark that it is in use, or wanted."""
        if not self._takes_turns:
            return True
        *_, turn, wanted, _ = HEAD.unpack_from(self._rows, at)
        TIME.pack_into(self._rows, at + WANTED, now + _WANTED_S)
        if turn == NOT_OURS and wanted <= now:
            self._count(WANTS)
        return bool(turn == OURS) and not self._is_over(at)

    def _is_over(self, at: int) -> bool:
        """Return whether the turn at a row's address has come to its end, whatever the row says of it."""
        return self._takes_turns and bool(TIME.unpack_from(self._rows, at + UNTIL)[0] <= boot_s())

    def _number(self, at: int) -> int:
        return int(NUMBER.unpack_from(self._rows, at)[0])

    def _count(self, at: int) -> None:
        NUMBER.pack_into(self._rows, at, self._number(at) + 1)

    def _add(self, at: int, n: int) -> None:
        COUNT.pack_into(self._rows, at, COUNT.unpack_from(self._rows, at)[0] + n)

    def _find(self, name: int, now: float) -> int:
        """Return where the address's row begins. A row that is not in use becomes its row; without one it shares another's.

        Where machines take turns, nothing is shared: -1.
        """
        free = -1
        for n in range(name, name + _PROBES):
            at = n % N_ROWS * _SIZE
            found, not_before, _, turn, wanted, _ = HEAD.unpack_from(self._rows, at)
            if found == name:
                return at
            if free < 0 and max(not_before, wanted) <= now and turn == NOT_OURS and not any(self._rows[at + IN_FLIGHT : at + _SIZE]):
                free = at
        if free < 0:
            return -1 if self._takes_turns else name % N_ROWS * _SIZE
        HEAD.pack_into(self._rows, free, name, 0.0, 0.0, NOT_OURS, 0.0, 0.0)
        return free


def _name(address: str) -> int:
    return xxhash.xxh3_64_intdigest(address.encode()) or 1
