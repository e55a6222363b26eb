"""Packs and unpacks rows of fixed layout (drawn in storage/schema.py): numbers, seen rows, queue rows, due rows, headers of memories,
links.

Numbers in keys are big-endian, so that keys sort as numbers do. Time: 0.2 to 0.5 µs each.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import Purpose, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.native import NATIVE, native

_U64 = struct.Struct(">Q")
_I64 = struct.Struct(">q")
_F64 = struct.Struct(">d")
_SEEN = struct.Struct(">BBBBHHQQ")
_QUEUE_KEY = struct.Struct(">16sBQQ")
_WAITING = struct.Struct(">IHBBHH")
_DUE = struct.Struct(">Q16s")
_MEMORY = struct.Struct(">fI")
_SKIPS = struct.Struct(">QQ")
_U16_MAX: Final = 0xFFFF
_U64_MAX: Final = (1 << 64) - 1

pack_u64 = _U64.pack
pack_i64 = _I64.pack


def unpack_u64(value: bytes) -> int:
    return int(_U64.unpack(value)[0])


def unpack_i64(value: bytes) -> int:
    return int(_I64.unpack(value)[0])


def pack_f64(number: float) -> bytes:
    return _F64.pack(number)


def unpack_f64(value: bytes) -> float:
    return float(_F64.unpack(value)[0])


def pack_skips(segment: int, n_bytes: int) -> bytes:
    return _SKIPS.pack(segment, n_bytes)


def unpack_skips(value: bytes) -> tuple[int, int]:
    segment, n_bytes = _SKIPS.unpack(value)
    return segment, n_bytes


def microseconds(seconds: float) -> int:
    """Return a time as the whole number that is in keys; the same float always gives the same number."""
    if seconds <= 0:
        return 0
    return min(round(seconds * 1e6), _U64_MAX) if seconds < 1e13 else _U64_MAX


# seen --------------------------------------------------------------------------------------------------------------------------------

# Codes are positions: append a new reason at the end, never move one.
REASONS: Final = (
    *(Reason.BAD_URL, Reason.BAD_SCHEME, Reason.BAD_PORT, Reason.TOO_LONG, Reason.TOO_MANY_SEGMENTS, Reason.OUT_OF_SCOPE),
    *(Reason.EXCLUDED, Reason.DEPTH_LIMIT, Reason.NOFOLLOW, Reason.LINK_LIMIT, Reason.PATH_TRAP, Reason.PREFIX_BUDGET),
    *(Reason.BAD_TYPE, Reason.TOO_LARGE, Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE, Reason.CRAWL_DELAY_TOO_LONG),
    *(Reason.DUPLICATE_CONTENT, Reason.REWRITTEN, Reason.HELD_BY_FILTER, Reason.REFUSED_BY_FILTER, Reason.HOST_BUDGET),
    *(Reason.SITE_BUDGET, Reason.SITE_HOST_LIMIT, Reason.HOST_DEAD, Reason.REDIRECT_LIMIT, Reason.REDIRECT_INVALID),
    *(Reason.QUARANTINED, Reason.UNSAFE, Reason.SOFT_ERROR, Reason.WALLED, Reason.NEAR_REPLICA, Reason.MIRROR, Reason.NO_HTTPS),
    *(Reason.ANNOUNCED_TYPE, Reason.NOT_ITS_HOST, Reason.SITEMAP_LIMIT),
    Reason.SUDDEN_LOSS,
    Reason.FORGOTTEN,
    *(Reason.REQUISITE, Reason.REQUISITE_LIMIT),
)
SEEN_ROW: Final = np.dtype(
    [
        *(("state", "u1"), ("reason", "u1"), ("worth_purpose", "u1"), ("hops", "u1"), ("site_depth", ">u2"), ("seed_distance", ">u2")),
        *(("seq", ">u8"), ("visit", ">u8")),
    ]
)  # `pack_seen` for many rows at a time
_CODE_OF: Final[dict[Reason | None, int]] = {None: 0, **{reason: code for code, reason in enumerate(REASONS, 1)}}
REASON_OF: Final[tuple[Reason | None, ...]] = (None, *REASONS)  # by code
STATE_OF: Final[tuple[State | None, ...]] = (None, *State)  # by code; no row has state 0
PURPOSES: Final = tuple(Purpose)


def pack_seen(row: SeenRow) -> bytes:
    """Return state 1 ‖ reason 1 ‖ worth and purpose 1 (5 and 3 bits) ‖ hops 1 ‖ site_depth 2 ‖ seed_distance 2 ‖ seq 8 ‖ visit 8.

    Depths are cut at 65,535. A requisite has no such row, since its purpose does not fit into three bits.
    """
    state, reason, site_depth, seed_distance, hops, purpose, seq, visit, worth = row
    depth, distance = min(site_depth, _U16_MAX), min(seed_distance, _U16_MAX)
    return _SEEN.pack(state, _CODE_OF[reason], worth << 3 | purpose, min(hops, 255), depth, distance, seq, visit)


def pack_new(keys: Sequence[bytes], depths: Sequence[int], like: SeenRow) -> dict[bytes, bytes]:
    """Return {key: `pack_seen`} of new URLs; their numbers follow that of `like`, from which they otherwise differ only in their depths."""
    head = pack_seen(like)[: -2 * _U64.size]
    heads = {depth: head[:4] + min(depth, _U16_MAX).to_bytes(2, "big") + head[6:] for depth in set(depths)}
    return new_rows(keys, depths, heads, like.seq)


def new_rows_in_python(keys: Sequence[bytes], depths: Sequence[int], heads: dict[int, bytes], first: int) -> dict[bytes, bytes]:
    """Return {key: row of `seen`}: the head by its depth, its number, and no visit."""
    never = bytes(_U64.size)
    return {key: heads[depth] + pack_u64(seq) + never for seq, (key, depth) in enumerate(zip(keys, depths, strict=True), first)}


new_rows = native.new_rows if NATIVE else new_rows_in_python


def unpack_seen(value: bytes) -> SeenRow:
    state, reason, purpose, hops, site_depth, seed_distance, seq, visit = _SEEN.unpack(value)
    found = STATE_OF[state]
    assert found is not None, f"state 0 in a row of seen: {value.hex()}"
    fields = found, REASON_OF[reason], site_depth, seed_distance, hops, PURPOSES[purpose & 7], seq, visit, purpose >> 3
    return tuple.__new__(SeenRow, fields)  # the same as a call of SeenRow, in a third less time; it is done for each known link


_SHARD_BIT: Final = 56


def moved_visit(visit: int, shard: int) -> int:
    """Return a visit of this shard as a row of `seen` in another shard has it: the upper byte is the shard's number plus 1."""
    return visit | (shard + 1) << _SHARD_BIT if 0 < visit < 1 << _SHARD_BIT else visit


def is_elsewhere(visit: int) -> bool:
    """Return whether a row of `seen` names the shard of its visit."""
    return visit >> _SHARD_BIT != 0


def visit_of(visit: int, shard: int) -> tuple[int, int]:
    """Return (the visit that a row of `seen` in this shard names, the shard with its results)."""
    there = visit >> _SHARD_BIT
    return (visit & (1 << _SHARD_BIT) - 1, there - 1) if there else (visit, shard)


def visits_of(visits: npt.NDArray[np.int64], shard: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return `visit_of` for many visits: (the visits, the shards with their results)."""
    there = visits >> _SHARD_BIT
    return visits & (1 << _SHARD_BIT) - 1, np.where(there > 0, there - 1, shard)


# queue and due -----------------------------------------------------------------------------------------------------------------------


class QueueKey(NamedTuple):
    queue: bytes
    lane: int
    rank: int
    seq: int


class PackedUrl(NamedTuple):
    """One URL of a row of `queue`."""

    past: int  # its number minus the number in the row's key
    attempt: int
    purpose: int
    hops: int
    site_depth: int
    seed_distance: int


WAITING_BYTES: Final = _WAITING.size
pack_queue_key = _QUEUE_KEY.pack


def unpack_queue_key(key: bytes) -> QueueKey:
    return QueueKey._make(_QUEUE_KEY.unpack(key))


def pack_waiting(past: int, attempt: int, purpose: int, hops: int, site_depth: int, seed_distance: int) -> bytes:
    return _WAITING.pack(past, attempt, purpose, min(hops, 255), min(site_depth, _U16_MAX), min(seed_distance, _U16_MAX))


def unpack_waiting(value: bytes) -> list[PackedUrl]:
    """Return the URLs of a row of `queue`, sorted by number."""
    return [*map(PackedUrl._make, _WAITING.iter_unpack(value))]


def pack_due(due: float, queue: bytes) -> bytes:
    return pack_u64(microseconds(due)) + queue


def unpack_due(key: bytes) -> tuple[float, bytes]:
    micros, queue = _DUE.unpack(key)
    return micros / 1e6, queue


# memory ------------------------------------------------------------------------------------------------------------------------------

MEMORY_HEADER: Final = _MEMORY.size


def pack_memory(weight: float, touched: int, value: bytes) -> bytes:
    return _MEMORY.pack(weight, touched & 0xFFFFFFFF) + value


def unpack_memory(value: bytes) -> tuple[float, int]:
    """Return (weight, touched) of a row of `memory`; its value starts at `MEMORY_HEADER`."""
    weight, touched = _MEMORY.unpack_from(value)
    return weight, touched


# links -------------------------------------------------------------------------------------------------------------------------------


def pack_links_in_python(seqs: Iterable[int]) -> bytes:
    """Return sorted, distinct numbers from 1 as differences, seven bits a byte, the lower first; all bytes but a number's last have bit 7.

    A loop, since numpy takes three times as long for the 60 links of an ordinary page (15 µs instead of 5 µs). In C: 1 µs.
    """
    packed, before = bytearray(), 0
    for seq in seqs:
        step, before = seq - before, seq
        while step > 127:
            packed.append(step & 127 | 128)
            step >>= 7
        packed.append(step)
    return bytes(packed)


_CUT_LINKS: Final = "a row of links ends within a number"
pack_links = native.steps if NATIVE else pack_links_in_python


def unpack_few_links(value: bytes) -> list[int]:
    """Return the numbers of one row; raises `ValueError` if it ends within a number. Time: 60 ns a byte, where numpy takes 70 µs a row."""
    seqs: list[int] = []
    seq = step = shift = 0
    for byte in value:
        if byte > 127:
            step |= (byte & 127) << shift
            shift += 7
        else:
            seq += step | byte << shift
            seqs.append(seq)
            step = shift = 0
    if shift:
        raise ValueError(_CUT_LINKS)
    return seqs


def unpack_links(values: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return ([n_rows] count of numbers of each row, [n] the numbers of all rows, one row after the other).

    Raises `ValueError` on a row that ends within a number. Time: 15 ns a byte.
    """
    ends = np.cumsum([len(value) for value in values], dtype=np.int64)
    packed = np.frombuffer(b"".join(values), dtype=np.uint8)
    lasts = np.flatnonzero(packed < 128)
    counts = np.diff(np.searchsorted(lasts, ends), prepend=0)
    if len(packed) == 0:
        return counts, np.zeros(0, dtype=np.int64)
    if not (packed[ends[ends > 0] - 1] < 128).all():
        raise ValueError(_CUT_LINKS)
    starts = np.append(0, lasts[:-1] + 1)
    places = np.arange(len(packed)) - np.repeat(starts, lasts - starts + 1)
    steps = np.add.reduceat((packed & 127).astype(np.int64) << (7 * places), starts)
    sums = np.cumsum(steps)
    before = np.append(0, sums)[np.cumsum(counts) - counts]
    return counts, sums - np.repeat(before, counts)
