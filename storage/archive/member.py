"""The bytes of a record: formatted by FastWARC, compressed by ISA-L as a gzip member of its own.

ISA-L packs HTML of 25 KB in 65 µs to 6.9 KB; zlib's fastest level takes 242 µs and 7.1 KB, its usual one 534 µs and 6.1 KB, zlib-ng's
110 µs and 8.6 KB, or 364 µs and 6.1 KB (`python -m benchmarks.speed.archiving`). Memory: three times the block.
"""

from __future__ import annotations

import io
from typing import Final

from fastwarc.warc import WarcRecord, WarcRecordType
from isal import isal_zlib

from thresher.storage.archive.record import ArchiveRecord, labelled, sha1, urn

_LEVEL: Final = 1  # ISA-L has levels 0 to 3
_GZIP: Final = 31  # zlib's number for gzip around the largest window


def member(record: ArchiveRecord) -> bytes:
    """Return a record as a gzip member."""
    packed: bytes = isal_zlib.compress(plain(record), _LEVEL, _GZIP)
    return packed


def plain(record: ArchiveRecord) -> bytes:
    """Return a record as it is before it is packed."""
    made = WarcRecord()
    made.init_headers(getattr(WarcRecordType, record.kind))
    headers = made.headers
    headers["WARC-Date"] = record.date
    headers["WARC-Record-ID"] = urn(record.id)
    for name, value in record.headers:
        headers.append(name, value)
    headers.append("WARC-Block-Digest", labelled(sha1(record.block)))
    headers.append("Content-Type", record.content_type)
    made.set_bytes_content(record.block)
    raw = io.BytesIO()
    made.write(raw)
    return raw.getvalue()
