"""One record of a WARC file [ISO 28500:2017, WARC 1.1] before it is written, and the format of its values."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec

RecordKind = Literal["warcinfo", "request", "response", "revisit", "metadata", "resource"]
HTTP_REQUEST: Final = "application/http;msgtype=request"
HTTP_RESPONSE: Final = "application/http;msgtype=response"
FIELDS: Final = "application/warc-fields"


class ArchiveRecord(msgspec.Struct, frozen=True):
    """The content of a record. The digest and length of its block are added when it is written."""

    kind: RecordKind
    id: str  # a UUID
    date: str  # in the format of `stamp`
    content_type: str
    block: bytes
    headers: list[tuple[str, str]]  # further ones, in order; ASCII


def sha1(data: bytes) -> bytes:
    """Return the SHA-1, 20 bytes, the digest that all programs support."""
    return hashlib.sha1(data, usedforsecurity=False).digest()


def labelled(digest: bytes) -> str:
    """Return a SHA-1 of 20 bytes in the format of WARC headers."""
    return "sha1:" + base64.b32encode(digest).decode()


def urn(record_id: str) -> str:
    """Return a record's id in the format of WARC headers."""
    return f"<urn:uuid:{record_id}>"


def stamp(at: float) -> str:
    """Return a time in the format of WARC-Date, "2026-11-23T12:00:00.000000Z".

    Args:
        at: Seconds since the Unix epoch.
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:26] + "Z"


def fields(pairs: list[tuple[str, str]]) -> bytes:
    """Return a block of `warc-fields`: a line per pair, in UTF-8. Nothing in a value can end its line."""
    return "".join(f"{name}: {_one_line(value)}\r\n" for name, value in pairs).encode("utf-8", "backslashreplace")


def _one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
