"""Counts different things in a cell of at most 4,096 bytes: exactly below 512, as a HyperLogLog from there.

A thing is 8 bytes of a hash. A cell is plain bytes; its length shows its form:

    0 … 4,088 B   up to 511 hashes, 8 bytes each, in order of arrival: exact, and a hash seen before changes nothing
    4,096 B       2^12 registers, one byte each: the largest rank (leading zeros + 1) of the lower 52 bits of all hashes whose
                  upper 12 bits are the register's number. Registers depend on the set of hashes alone, not on order or repetition.

The registers are read by Ertl's improved estimator (New cardinality estimation algorithms for HyperLogLog sketches, arXiv:1702.01284,
alg. 6): unbiased from small to large counts, without thresholds or tables. Standard error 1.04 / 2^6 = 1.6 %, .0071 in log10 units; the
count never falls while things are added.

Counts are exact up to 511, since 511 hashes take no more room than the registers, and most hosts and targets of a crawl stay below.
Time: 1 µs to add, 15 µs to count registers.
"""

from __future__ import annotations

import math

import numpy as np

EMPTY = b""
EXACT = 511  # different things that a cell counts exactly
ERROR_LOG10 = 0.0071  # standard error of log10 of a count above EXACT
_HASH = 8
_P = 12
_M = 1 << _P
_Q = 64 - _P


def is_cell(cell: bytes) -> bool:
    """Return whether bytes may be a cell."""
    if len(cell) == _M:
        return max(cell) <= _Q + 1
    return len(cell) <= EXACT * _HASH and len(cell) % _HASH == 0


def add(cell: bytes, thing: bytes) -> bytes:
    """Return the cell with a thing added: the same object if that changes nothing.

    Args:
        thing: 8 bytes of a hash.
    """
    if len(cell) == _M:
        return _add_to_registers(cell, thing)
    if _has(cell, thing):
        return cell
    if len(cell) < EXACT * _HASH:
        return cell + thing
    hashes = np.frombuffer(cell + thing, dtype=">u8")
    return _registers_of(hashes.astype(np.uint64))


def union(cell: bytes, other: bytes) -> bytes:
    """Return the cell with all that was added to another: the same object if that changes nothing."""
    if len(other) < _M:
        for at in range(0, len(other), _HASH):
            cell = add(cell, other[at : at + _HASH])
        return cell
    if len(cell) < _M:
        return union(other, cell)
    registers = np.maximum(np.frombuffer(cell, dtype=np.uint8), np.frombuffer(other, dtype=np.uint8)).tobytes()
    return cell if registers == cell else registers


def count(cell: bytes) -> int:
    """Return how many different things were added; above `EXACT` an estimate, never below `EXACT` + 1."""
    if len(cell) < _M:
        return len(cell) // _HASH
    return max(EXACT + 1, round(_estimate(np.bincount(np.frombuffer(cell, dtype=np.uint8), minlength=_Q + 2))))


def _has(cell: bytes, thing: bytes) -> bool:
    at = cell.find(thing)
    while at % _HASH and at > 0:  # a match that begins inside a hash is not a match
        at = cell.find(thing, at + 1)
    return at >= 0


def _add_to_registers(cell: bytes, thing: bytes) -> bytes:
    number = int.from_bytes(thing, "big")
    register = number >> _Q
    rank = _Q + 1 - (number & ((1 << _Q) - 1)).bit_length()
    if cell[register] >= rank:
        return cell
    return cell[:register] + bytes((rank,)) + cell[register + 1 :]


def _registers_of(hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> bytes:
    cell = bytearray(_M)
    for number in hashes.tolist():
        register = number >> _Q
        cell[register] = max(cell[register], _Q + 1 - (number & ((1 << _Q) - 1)).bit_length())
    return bytes(cell)


def _estimate(histogram: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Return the estimated count from how many registers hold each rank, 0 … 53 [ERT17, alg. 6]."""
    of_rank = histogram.tolist()
    z = _M * _tau(1.0 - of_rank[_Q + 1] / _M)
    for rank in range(_Q, 0, -1):
        z = 0.5 * (z + of_rank[rank])
    z += _M * _sigma(of_rank[0] / _M)
    return _M * _M / (2.0 * math.log(2.0) * z)


def _sigma(x: float) -> float:
    if x == 1.0:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x *= x
        before = z
        z += x * y
        y += y
    return z


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    y, z, before = 1.0, 1.0 - x, -1.0
    while z != before:
        x = math.sqrt(x)
        before = z
        y *= 0.5
        z -= (1.0 - x) ** 2 * y
    return z / 3.0
