"""The decoder against well-formed, broken and hostile streams, by any slicing."""

from __future__ import annotations

import gzip
import random
import sys
import zlib
from collections.abc import Callable, Iterable

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.model import Cause, Flag
from thresher.crawler.fetch.content_coding import MAX_MEMBERS, BodyDecoder, DecodeError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"".join(b"<p>line %d of a page</p>\n" % i for i in range(2000))
MIB = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,  # raw, and a name in another case
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstd.compress,
}


def decode(encoding: str, data: bytes, *, max_bytes: int = 10 * MIB, slices: Iterable[int] = ()) -> tuple[bytes, set[Flag], bool]:
    """Decode `data` in pieces of the sizes `slices` and a rest; return the body, the flags, and whether it was complete."""
    decoder = BodyDecoder(encoding, max_bytes)
    position = 0
    for size in slices:
        if not decoder.feed(data[position : position + size]):
            return decoder.body, decoder.flags, True
        position += size
    is_open = decoder.feed(data[position:])
    is_whole = decoder.is_whole()
    return decoder.body, decoder.flags, is_whole or not is_open


def failure(encoding: str, data: bytes) -> tuple[Cause, bytes]:
    decoder = BodyDecoder(encoding, 10 * MIB)
    with pytest.raises(DecodeError) as caught:
        decoder.feed(data)
    return caught.value.cause, decoder.body


@pytest.mark.parametrize("encoding", CODINGS)
def test_every_coding_is_undone(encoding: str) -> None:
    """F32: x-gzip is gzip. F37: raw deflate is deflate."""
    assert decode(encoding, CODINGS[encoding](TEXT)) == (TEXT, set(), True)


@pytest.mark.parametrize("encoding", ["", "identity", " Identity ", ",", "none"])
def test_an_identity_body_is_left_alone(encoding: str) -> None:
    assert decode(encoding, TEXT) == (TEXT, set(), True)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CODINGS)), st.binary(max_size=3000), st.lists(st.integers(0, 200), max_size=30))
def test_slicing_changes_nothing(encoding: str, data: bytes, slices: list[int]) -> None:
    assert decode(encoding, CODINGS[encoding](data), slices=slices)[::2] == (data, True)


@pytest.mark.parametrize("encoding", CODINGS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_stream_that_does_not_end_is_not_whole(encoding: str, share: float) -> None:
    """F34"""
    packed = CODINGS[encoding](TEXT)
    body, flags, is_whole = decode(encoding, packed[: int(len(packed) * share)])
    assert TEXT.startswith(body)
    assert (flags, is_whole) == (set(), False)


@pytest.mark.parametrize("encoding", CODINGS)
def test_an_empty_body_is_whole_whatever_its_header_says(encoding: str) -> None:
    assert decode(encoding, b"") == (b"", set(), True)


@pytest.mark.parametrize("encoding", CODINGS)
@pytest.mark.parametrize("slices", [(), (10,), (1,) * 40])
def test_what_follows_the_end_is_dropped_and_flagged(encoding: str, slices: tuple[int, ...]) -> None:
    """F35: trailing garbage."""
    assert decode(encoding, CODINGS[encoding](TEXT) + b"<!-- garbage -->", slices=slices) == (TEXT, {Flag.TRAILING_GARBAGE}, True)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_zero_padding_is_no_garbage(encoding: str) -> None:
    assert decode(encoding, CODINGS[encoding](TEXT) + bytes(700)) == (TEXT, set(), True)


@pytest.mark.parametrize("packed", [gzip.compress(TEXT), zlib.compress(TEXT)], ids=["gzip", "deflate"])
def test_a_wrong_checksum_costs_no_content(packed: bytes) -> None:
    """F35: bad CRC."""
    encoding = "gzip" if packed[:2] == b"\x1f\x8b" else "deflate"
    spoilt = packed[:-5] + bytes([packed[-5] ^ 0xFF]) + packed[-4:] if encoding == "gzip" else packed[:-1] + bytes([packed[-1] ^ 0xFF])
    assert decode(encoding, spoilt) == (TEXT, {Flag.BAD_CHECKSUM}, True)


def test_a_wrong_zstd_checksum_costs_no_content() -> None:
    packed = zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1})
    assert decode("zstd", packed[:-1] + bytes([packed[-1] ^ 0xFF])) == (TEXT, {Flag.BAD_CHECKSUM}, True)


def test_a_wrong_length_is_a_wrong_checksum() -> None:
    """F35: the last four bytes of gzip."""
    packed = gzip.compress(TEXT)
    assert decode("gzip", packed[:-1] + b"\xff") == (TEXT, {Flag.BAD_CHECKSUM}, True)


def flushed(encoding: str, data: bytes) -> bytes:
    """Return a stream that holds `data` and goes on."""
    if encoding == "br":
        squeeze = brotli.Compressor(quality=1)
        return bytes(squeeze.process(data) + squeeze.flush())
    if encoding == "zstd":
        return zstd.ZstdCompressor().compress(data, zstd.ZstdCompressor.FLUSH_BLOCK)
    deflate = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return deflate.compress(data) + deflate.flush(zlib.Z_FULL_FLUSH)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("n_before", [0, 700, 900_000])
def test_a_broken_stream_yields_what_came_before_the_fault(encoding: str, n_before: int) -> None:
    before = random.Random(1).randbytes(n_before) + TEXT
    assert failure(encoding, flushed(encoding, before) + b"\xff" * 300) == (Cause.BAD_ENCODING, before)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_past_the_first_mib_a_fault_costs_a_slice(encoding: str) -> None:
    before = random.Random(1).randbytes(1_200_000) + TEXT
    cause, body = failure(encoding, flushed(encoding, before) + b"\xff" * 300)
    assert cause is Cause.BAD_ENCODING
    assert before.startswith(body)
    assert len(body) >= 1_000_000


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "zstd"])
@pytest.mark.parametrize("plain", [b"<p>plain", b"\x1e", b"\x1f", b"\x28\xb5\x2f", b"\x1f\x8c" * 9, TEXT])
def test_a_body_without_magic_number_is_taken_as_it_is(encoding: str, plain: bytes) -> None:
    """F36"""
    assert decode(encoding, plain) == (plain, {Flag.NOT_ENCODED}, True)
    assert decode(encoding, plain, slices=[1] * min(len(plain), 20)) == (plain, {Flag.NOT_ENCODED}, True)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,br", "compress", "sdch", "gzip;q=1", "identity, deflate, zstd"])
def test_what_cannot_be_undone_is_kept_as_it_came_and_flagged(encoding: str) -> None:
    """F31, F33"""
    packed = gzip.compress(gzip.compress(TEXT))
    assert decode(encoding, packed) == (packed, {Flag.UNSUPPORTED_ENCODING}, True)


def test_members_are_joined_up_to_the_limit() -> None:
    assert decode("gzip", gzip.compress(TEXT) + gzip.compress(b"more")) == (TEXT + b"more", set(), True)
    assert decode("gzip", gzip.compress(b"x") * MAX_MEMBERS) == (b"x" * MAX_MEMBERS, set(), True)
    assert decode("zstd", zstd.compress(b"x") * 3, slices=[1] * 20) == (b"xxx", set(), True)


def test_500_000_members_are_too_many() -> None:
    """F30"""
    cause, body = failure("gzip", gzip.compress(b"x") * 500_000)
    assert (cause, body) == (Cause.BAD_ENCODING, b"x" * MAX_MEMBERS)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_recognised_by_its_ratio(encoding: str) -> None:
    """F27, F28, F29: nothing of it is kept."""
    assert failure(encoding, CODINGS[encoding](bytes(20 * MIB))) == (Cause.BOMB, b"")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_small_body_may_be_as_dense_as_it_likes(encoding: str) -> None:
    assert decode(encoding, CODINGS[encoding](bytes(MIB))) == (bytes(MIB), set(), True)


@pytest.mark.parametrize("encoding", CODINGS)
def test_the_cap_cuts_what_is_decoded(encoding: str) -> None:
    body, flags, _ = decode(encoding, CODINGS[encoding](TEXT), max_bytes=1000)
    assert (body, flags) == (TEXT[:1000], {Flag.TRUNCATED_SIZE})


@pytest.mark.parametrize("window_log", [24, 27])
def test_a_zstd_window_over_8_mib_is_refused(window_log: int) -> None:
    """F29: RFC 9659."""
    squeeze = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window_log})
    assert failure("zstd", squeeze.compress(b"x" * 1000) + squeeze.flush())[0] is Cause.BAD_ENCODING


def test_a_zstd_window_of_2_gib_is_refused() -> None:
    """F29: the frame header says 2^31, no memory is asked for."""
    assert failure("zstd", b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00")[0] is Cause.BAD_ENCODING


def test_a_zstd_window_of_8_mib_is_allowed() -> None:
    squeeze = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 23})
    assert decode("zstd", squeeze.compress(TEXT) + squeeze.flush()) == (TEXT, set(), True)
