"""A tombstone has the length of what it replaces, to the byte, and is a record that any program reads."""

from __future__ import annotations

import gzip
import io

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.blanking import tombstone

AROUND_BLOCKS = [n * 65_540 + 18 + d for n in (1, 2, 3) for d in range(-8, 9)]


@pytest.mark.parametrize("n_bytes", [*range(230, 700), 1_000, 9_999, 10_300, *AROUND_BLOCKS, 5_000_000])
def test_a_tombstone_is_as_long_as_it_has_to_be(n_bytes: int) -> None:
    made = tombstone(n_bytes, 123_456, 1_800_000_000.0)
    assert len(made) == n_bytes
    record = gzip.decompress(made)
    assert record.startswith(b"WARC/1.1\r\nWARC-Type: metadata\r\n")
    assert b"\r\n\r\nvisit: 123456\r\nforgotten: 2027-01-15T08:00:00.000000Z\r\n" in record
    assert b"Target-URI" not in record


def test_other_programs_read_past_it() -> None:
    stream = io.BytesIO(tombstone(300, 1, 0.0) + tombstone(70_000, 2, 0.0) + tombstone(500, 3, 0.0))
    found = list(ArchiveIterator(stream))
    assert [record.record_type for record in found] == [WarcRecordType.metadata] * 3


def test_what_is_too_short_is_said() -> None:
    with pytest.raises(StoreError, match="too few for a tombstone"):
        tombstone(100, 1, 0.0)
