"""The bytes of one answer are cut into their parts, and nothing is lost between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.http_message import split

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-ENCODING:  Chunked \r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"

CASES = [  # received, answers before the final one, body, payload, excess
    (SIZED + b"abcd", 0, b"abcd", b"abcd", b""),
    (SIZED + b"abcdHTTP/1.1 400", 0, b"abcd", b"abcd", b"HTTP/1.1 400"),
    (SIZED + b"ab", 0, b"ab", b"ab", b""),
    (b"HTTP/1.0 200 OK\n\nto the end", 0, b"to the end", b"to the end", b""),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", 0, b"", b"", b""),
    (b"HTTP/1.1 204 No\r\n\r\nrest", 0, b"", b"", b"rest"),
    (CHUNKED + b'3\r\nabc\r\nA ; x="\r\n0123456789\r\n0\r\n\r\n', 0, None, b"abc0123456789", b""),
    (CHUNKED + b"3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\nU: 2\r\n\r\nmore", 0, None, b"abcde", b"more"),
    (CHUNKED + b"3 \nabc\n0\n\nmore", 0, None, b"abc", b"more"),
    (CHUNKED + b"ffffff\r\nabc", 0, None, b"abc", b""),
    (CHUNKED + b"3\r\nabc\r\nxyz\r\n", 0, None, b"abc", b""),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED + b"abcd", 1, b"abcd", b"abcd", b""),
    (b"\r\n\r\nHTTP/1.1 103 A\r\nB: c\r\n\r\nHTTP/1.1 102 D\r\n\r\n" + SIZED + b"abcd", 2, b"abcd", b"abcd", b""),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 4\r\n\r\n1\r\nz\r\n0\r\n\r\n", 0, None, b"z", b""),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 4\r\n\r\nto the end", 0, b"to the end", b"to the end", b""),
]


@pytest.mark.parametrize(("received", "n_interim", "body", "payload", "excess"), CASES)
def test_each_framing_of_rfc_9112_ends_where_it_ends(
    received: bytes, n_interim: int, body: bytes | None, payload: bytes, excess: bytes
) -> None:
    """RFC 9112, 6.3: bodiless statuses, chunked before a length, a length, the end of the connection; cut and broken ones too."""
    message = split(received, n_interim)
    assert message.payload == payload
    assert message.excess == excess
    assert body is None or message.body == body
    assert message.is_chunked == (body is None)
    assert message.interim + message.head + message.body + message.excess == received


@pytest.mark.parametrize(
    "received",
    [
        CHUNKED + b"3" + b" " * 3_000_000 + b"x\r\nabc",
        CHUNKED + b"3;" + b" ;" * 1_500_000,
        CHUNKED + b"0\r\n" + b"a:\r\n" * 500_000,
        b"\r\n" * 1_500_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30_000 + b"\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\n" + b"Transfer-Encoding: " + b"," * 30_000 + b"\r\n\r\nbody",
        b"HTTP/1.1 200 OK\r\n" + b"Content-Length:" + b" " * 30_000 + b"x\r\n\r\nbody",
    ],
)
def test_nothing_takes_long_or_is_too_much(received: bytes) -> None:
    """If the time were quadratic, as a first draft was in spaces after a chunk's size, the first of these would take hours."""
    message = split(received, 20)
    assert message.interim + message.head + message.body + message.excess == received


@given(st.binary(max_size=200), st.integers(0, 3))
def test_no_bytes_are_an_error(received: bytes, n_interim: int) -> None:
    """Law: the settlement of a visit must not fail for what a server sends."""
    for start in (b"", CHUNKED, SIZED, b"HTTP/1.1 200 OK\r\n"):
        message = split(start + received, n_interim)
        assert message.interim + message.head + message.body + message.excess == start + received


def test_half_a_head_is_all_head() -> None:
    assert split(b"HTTP/1.1 200 OK\r\nA: b\r\n").head == b"HTTP/1.1 200 OK\r\nA: b\r\n"
    assert not split(b"HTTP/1.1 200 OK\r\nA: b\r\n").has_head
    assert split(b"").head == b""


@given(
    st.lists(st.sampled_from([CHUNKED, SIZED, b"\r\n", b"\n", b"3\r\nabc\r\n", b"0\r\n\r\n", b"zz", b"-1\r\n", b"\0", b" "])),
    st.integers(0, 3),
)
def test_the_parts_are_all_that_came(pieces: list[bytes], n_interim: int) -> None:
    """Law: the parts of any bytes, joined, are these bytes."""
    received = b"".join(pieces)
    message = split(received, n_interim)
    assert message.interim + message.head + message.body + message.excess == received
