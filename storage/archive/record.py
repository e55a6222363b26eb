"""One record of a WARC file [ISO 28500:2017, WARC 1.1] before it is written, and how its values are spelt."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

RecordKind = Literal["warcinfo", "request", "response", "revisit", "metadata", "resource"]
HTTP_REQUEST: Final = "application/http;msgtype=request"
HTTP_RESPONSE: Final = "application/http;msgtype=response"
FIELDS: Final = "application/warc-fields"
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = [first + second for first in _BASE32 for second in _BASE32]
_SHIFTS: Final = range(150, -1, -10)


class ArchiveRecord(msgspec.Struct, frozen=True):
    """What a record says. Its block's digest and length are added when it is written."""

    kind: RecordKind
    id: str  # of a UUID
    date: str  # as `stamp` has it
    content_type: str
    block: bytes
    headers: list[tuple[str, str]]  # further ones, in order; ASCII


def sha1(data: bytes) -> bytes:
    """Return the SHA-1 of data, 20 bytes: the digest of WARC files that all programs can compare."""
    return hashlib.sha1(data, usedforsecurity=False).digest()


def labelled(digest: bytes) -> str:
    """Return a SHA-1 of 20 bytes as WARC headers have it, in Base32; in half of the time that the module base64 takes."""
    number = int.from_bytes(digest, "big")
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def urn(record_id: str) -> str:
    """Return a record's id as WARC headers have it."""
    return f"<urn:uuid:{record_id}>"


def stamp(at: float) -> str:
    """Return a time as WARC-Date has it, "2026-11-23T12:00:00.000000Z".

    Args:
        at: Seconds since the Unix epoch.
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:26] + "Z"


def fields(pairs: list[tuple[str, str]]) -> bytes:
    """Return a block of `warc-fields`: a line per pair, in UTF-8. Nothing in a value can end its line."""
    return "".join(f"{name}: {_one_line(value)}\r\n" for name, value in pairs).encode("utf-8", "backslashreplace")


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
