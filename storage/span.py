"""A span of a crawl's results: from the end of an earlier export to the last commit.

The position of a shard is read in one transaction from values that grow with its commits: the numbers of its visits and of its URLs, the
end of its log of skipped URLs, and its clock (later commits have no earlier times). So consecutive spans neither overlap nor leave anything
out, even if the crawl goes on meanwhile. A cursor is the end of a span, as text; it belongs to one crawl, and to one number of agents,
since a change of this gives new numbers.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from thresher.crawler.core.errors import StoreError, UsageError
from thresher.storage.packing import unpack_f64, unpack_skips, unpack_u64
from thresher.storage.schema import META, Meta
from thresher.storage.tables import Tables

START: Final = "start"
_CRAWL: Final = 4  # bytes that identify a crawl


class Shard(Protocol):
    """The values that are read from a shard; implemented by `View`."""

    path: Path
    tables: Tables

    @property
    def secret(self) -> bytes: ...
    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]: ...


class ShardPosition(msgspec.Struct, array_like=True, frozen=True):
    """The position of one shard."""

    visit: int = 0  # number of the next visit
    seq: int = 0  # number of the next new URL
    clock: float = 0.0
    segment: int = 0  # of the log of skipped URLs
    n_bytes: int = 0
    last: bytes = b""  # the beginning of the key of the last URL: shows whether numbers are still the same


class Span(NamedTuple):
    """All rows from one position up to another."""

    start: ShardPosition
    end: ShardPosition

    def has(self, at: float) -> bool:
        """Return whether a row that was written at this time belongs to the span."""
        return self.start.clock < at <= self.end.clock


def spans_since(views: Sequence[Shard], cursor: str) -> list[Span]:
    """Return the span of each shard since a cursor.

    Raises:
        UsageError: If it is not a cursor of this crawl.
    """
    ends = [_point(view) for view in views]
    if cursor == START:
        return [Span(ShardPosition(), end) for end in ends]
    crawl, starts = _decoded(cursor)
    if crawl != _name(views[0]):
        raise UsageError("--since: a cursor of another crawl. Give the one that an export of this crawl ended with, or `start`")
    if len(starts) != len(ends) or not all(_is_of(start, view) for start, view in zip(starts, views, strict=True)):
        raise UsageError(
            "--since: since this cursor was made, the crawl was divided anew among its agents, so its rows have other numbers. "
            "Export once more from `start`"
        )
    return [Span(start, end) for start, end in zip(starts, ends, strict=True)]


def cursor_after(views: Sequence[Shard], spans: list[Span]) -> str:
    """Return the cursor for the next export."""
    encoded = msgspec.msgpack.encode((_name(views[0]), [span.end for span in spans]))
    return urlsafe_b64encode(encoded).decode().rstrip("=")


def _decoded(cursor: str) -> tuple[bytes, list[ShardPosition]]:
    try:
        encoded = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.msgpack.decode(encoded, type=tuple[bytes, list[ShardPosition]])
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise UsageError(f"--since: expected `start` or the cursor that an earlier export ended with, found {cursor[:80]!r}") from None


def _name(view: Shard) -> bytes:
    return view.secret[:_CRAWL]


def _point(view: Shard) -> ShardPosition:
    names = (Meta.NEXT_VISIT, Meta.NEXT_SEQ, Meta.CLOCK, Meta.SKIPS)
    visit, seq, clock, skips = view.get_many(META, names)  # values of one commit
    if visit is None or seq is None or clock is None or skips is None:
        raise StoreError(f"{view.path}: its table `meta` is incomplete. Restore this directory from a backup")
    segment, n_bytes = unpack_skips(skips)
    return ShardPosition(unpack_u64(visit), unpack_u64(seq), unpack_f64(clock), segment, n_bytes, _last(view, unpack_u64(seq)))


def _last(view: Shard, seq: int) -> bytes:
    """Return the beginning of the key of the last URL with a lower number. Requests are left out: they lose their numbers when they end."""
    while (found := view.tables.urls.before(seq)) is not None:
        seq, url = found
        if view.tables.requests.requester(seq) is None:
            return url.key[:8]
    return b""


def _is_of(point: ShardPosition, view: Shard) -> bool:
    return _last(view, point.seq) == point.last
