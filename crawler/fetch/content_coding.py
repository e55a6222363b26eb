"""Decodes content codings safely against hostile servers: bounded, incremental, and it checks where a stream ends.

The usual libraries decode a body of a megabyte into a gigabyte without a check, and return half a stream as if it were whole. Here wire
bytes go in by slices and content comes out by steps. After each step three things are checked: the cap on the content, the ratio (more than
200 to 1 after the first MiB is a bomb), the number of members.

    identity            as it is
    gzip, x-gzip        members, at most 100 [RFC 1952]; a body without the magic number is kept as it is, and flagged
    deflate             zlib [RFC 1950], or raw [RFC 1951] as some servers send it
    br                  [RFC 7932]
    zstd                frames, at most 100, window at most 8 MiB [RFC 8878, RFC 9659]; without magic number as gzip
    any other, several  not decoded, flagged: one layer is what we offer in Accept-Encoding

Data after the end of a stream are dropped and flagged; zero padding is dropped without a flag. A wrong checksum or length has a flag of its
own: the content is there, but may not be what was sent. A broken stream gives the content before the fault: the slice with the fault is
decoded again byte by byte.

Time: 55 µs for 25 KB of gzipped HTML, 48 of them zlib's. Memory: the content, and the first MiB as received.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

import brotli

from thresher.crawler.core.model import Cause, Flag

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
ARCHIVABLE = "gzip, deflate, br"  # the codings that programs which replay archives can decode
MAX_RATIO = 200
RATIO_FROM = 1 << 20  # bytes of content before the ratio counts
MAX_MEMBERS = 100
_SLICE = 8 << 10  # wire bytes fed at once: few, so that the ratio is known precisely
_STEP = 256 << 10  # content bytes taken at once
_REPLAYABLE = 1 << 20  # wire bytes kept to find the last good byte of a broken stream
_WINDOW_LOG = 23  # 8 MiB

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHECKSUM_FAULTS = ("incorrect data check", "incorrect length check", "doesn't match checksum")


class DecodeError(Exception):
    """The body cannot be decoded by the coding that its header names."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


class _Stream(Protocol):
    """One compressed stream: a gzip member, a zstd frame, …"""

    def decode(self, data: bytes, at_most: int, /) -> bytes: ...

    @property
    def pending(self) -> bool:  # there is more content without further data
        ...

    @property
    def ended(self) -> bool: ...

    @property
    def rest(self) -> bytes:  # data past the end
        ...


class _Inflate:
    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self._is_full = False

    def decode(self, data: bytes, at_most: int) -> bytes:
        tail = self._zlib.unconsumed_tail
        content = self._zlib.decompress(tail + data if tail else data, at_most)
        self._is_full = len(content) == at_most  # zlib may hold back a match that did not fit
        return content

    @property
    def pending(self) -> bool:
        return self._is_full and not self._zlib.eof

    @property
    def ended(self) -> bool:
        return self._zlib.eof

    @property
    def rest(self) -> bytes:
        return self._zlib.unused_data


class _Deflate:
    """zlib or raw deflate; the first two bytes decide which."""

    def __init__(self) -> None:
        self._start = b""
        self._inflate: _Inflate | None = None

    def decode(self, data: bytes, at_most: int) -> bytes:
        if self._inflate is None:
            data = self._start + data
            if len(data) < 2:
                self._start = data
                return b""
            is_zlib = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._inflate = _Inflate(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        return self._inflate.decode(data, at_most)

    @property
    def pending(self) -> bool:
        return self._inflate is not None and self._inflate.pending

    @property
    def ended(self) -> bool:
        return self._inflate is not None and self._inflate.ended

    @property
    def rest(self) -> bytes:
        return self._inflate.rest if self._inflate is not None else b""


class _Brotli:
    """brotli. The library raises an error for data after the end; decoding again byte by byte finds the end."""

    rest = b""

    def __init__(self) -> None:
        self._brotli = brotli.Decompressor()
        self._is_full = False

    def decode(self, data: bytes, at_most: int) -> bytes:
        content: bytes = self._brotli.process(data, output_buffer_limit=at_most)
        self._is_full = len(content) >= at_most or not self._brotli.can_accept_more_data()
        return content

    @property
    def pending(self) -> bool:
        return self._is_full and not self._brotli.is_finished()

    @property
    def ended(self) -> bool:
        return bool(self._brotli.is_finished())


class _Zstd:
    def __init__(self) -> None:
        self._zstd = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})

    def decode(self, data: bytes, at_most: int) -> bytes:
        return self._zstd.decompress(data, at_most)

    @property
    def pending(self) -> bool:
        return not self._zstd.needs_input and not self._zstd.eof

    @property
    def ended(self) -> bool:
        return self._zstd.eof

    @property
    def rest(self) -> bytes:
        return self._zstd.unused_data


_CODINGS: dict[str, tuple[Callable[[], _Stream], bytes]] = {  # coding → (function that makes a stream, its magic number)
    "gzip": (lambda: _Inflate(16 + zlib.MAX_WBITS), _GZIP_MAGIC),
    "x-gzip": (lambda: _Inflate(16 + zlib.MAX_WBITS), _GZIP_MAGIC),
    "deflate": (_Deflate, b""),
    "br": (_Brotli, b""),
    "zstd": (_Zstd, _ZSTD_MAGIC),
}
_FAULTS = (zlib.error, brotli.error, zstd.ZstdError)


class BodyDecoder:
    """Decodes one body: feed it until it wants no more, ask `is_whole` at the end of the response, then take `body` and `flags`."""

    def __init__(self, content_encoding: str, max_bytes: int, sink: Callable[[bytes], object] | None = None) -> None:
        """Create the body decoder.

        Args:
            content_encoding: All values of the header, joined by commas.
            max_bytes: Most bytes of decoded content that are kept.
            sink: Called with each piece of content; then `body` has only the last part.
        """
        self._sink = sink
        self.flags: set[Flag] = set()
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._n_out = 0
        self._n_in = 0
        self._make, self._magic = self._choose(content_encoding) if content_encoding else (None, b"")
        self._stream: _Stream | None = None  # stream of the current member
        self._history: list[bytes] | None = []  # wire bytes of the current member; None once they are too many to decode again
        self._n_members = 0
        self._held = b""  # data that may be the start of a magic number
        self._is_past_end = False

    def _choose(self, content_encoding: str) -> tuple[Callable[[], _Stream] | None, bytes]:
        layers = [layer for name in content_encoding.split(",") if (layer := name.strip().lower()) not in ("", "identity", "none")]
        if not layers:
            return None, b""
        if len(layers) == 1 and layers[0] in _CODINGS:
            return _CODINGS[layers[0]]
        self.flags.add(Flag.UNSUPPORTED_ENCODING)
        return None, b""

    @property
    def body(self) -> bytes:
        """The content so far."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def feed(self, data: bytes) -> bool:
        """Decode wire bytes. Return whether more are wanted: False once the content is cut at the cap.

        Raises:
            DecodeError: If the body cannot be decoded.
        """
        if self._sink is not None and self._parts:
            self._sink(self.body)
            self._parts.clear()
        if self._make is None:
            return self._keep(data)
        if self._is_past_end:
            return True  # read to the end of the response, so that the connection can be used again
        if len(data) <= _SLICE:
            return self._decode(data)
        return all(self._decode(data[i : i + _SLICE]) for i in range(0, len(data), _SLICE))

    def is_whole(self) -> bool:
        """Return whether the stream is complete; to be called once, at the end of the response."""
        if self._held:  # a single byte that may be the start of a magic number
            if self._n_members == 0:
                self.flags.add(Flag.NOT_ENCODED)
                self._parts.append(self._held)
            elif self._held.strip(b"\0"):
                self.flags.add(Flag.TRAILING_GARBAGE)
        return self._stream is None or self._is_past_end

    def _keep(self, content: bytes) -> bool:
        """Append content; return whether there is room for more.

        Raises:
            DecodeError: If it is a bomb.
        """
        self._parts.append(content)
        self._n_out += len(content)
        if self._make is not None and self._n_out > max(RATIO_FROM, MAX_RATIO * self._n_in):
            self._parts.clear()
            raise DecodeError(Cause.BOMB, f"{self._n_out} bytes from {self._n_in}")
        excess = self._n_out - self._max_bytes
        if excess <= 0:
            return True
        self._parts[-1] = content[:-excess]
        self._n_out = self._max_bytes
        self.flags.add(Flag.TRUNCATED_SIZE)
        return False

    def _decode(self, piece: bytes) -> bool:
        """Decode one slice, through the ends of members; return whether there is room for more."""
        if self._make is None:
            return self._keep(piece)
        self._n_in += len(piece)
        while piece and not self._is_past_end:
            if self._stream is None:
                piece, self._held = self._held + piece, b""
                begun = self._begin(piece)
                if begun is None:
                    return self._make is not None or self._keep(piece)
                self._stream, self._history = begun, []
            kept = (len(self._parts), self._n_out)
            try:
                if not self._drain(self._stream, piece):
                    return False
            except _FAULTS as error:
                del self._parts[kept[0] :]
                self._n_out = kept[1]
                return self._salvage(piece, error)
            piece = self._after(piece)
        return True

    def _begin(self, piece: bytes) -> _Stream | None:
        """Open the stream that `piece` begins. None if it begins none: too little data, garbage, or data without any coding."""
        assert self._make is not None
        start, magic = piece[: len(self._magic)], self._magic
        if start == magic and (magic or self._n_members == 0):
            self._n_members += 1
            if self._n_members > MAX_MEMBERS:
                raise DecodeError(Cause.BAD_ENCODING, f"more than {MAX_MEMBERS} members")
            return self._make()
        if magic and magic.startswith(start):
            self._held = piece
        elif self._n_members == 0:
            self.flags.add(Flag.NOT_ENCODED)
            self._make = None
        else:
            self._end(piece)
        return None

    def _end(self, garbage: bytes) -> None:
        self._is_past_end = True
        if garbage.strip(b"\0"):
            self.flags.add(Flag.TRAILING_GARBAGE)

    def _drain(self, stream: _Stream, piece: bytes) -> bool:
        """Decode all content of `piece`; return whether there is room for more."""
        content = stream.decode(piece, _STEP)
        while True:
            if content and not self._keep(content):
                return False
            if not stream.pending:
                return True
            content = stream.decode(b"", _STEP)

    def _after(self, piece: bytes) -> bytes:
        """Return the data that are left after `piece` was decoded; close the stream if it has ended."""
        assert self._stream is not None
        if not self._stream.ended:
            if self._history is not None:
                self._history.append(piece)
                if self._n_in > _REPLAYABLE:
                    self._history = None
            return b""
        rest = self._stream.rest
        self._stream = None
        return rest

    def _salvage(self, piece: bytes, error: Exception) -> bool:
        """Keep the content before a fault; return whether there is room for more.

        Raises:
            DecodeError: Unless only the end of the stream is wrong.
        """
        assert self._make is not None
        if self._history is not None:
            stream = self._make()
            for earlier in self._history:
                stream.decode(earlier, _STEP)
                while stream.pending:
                    stream.decode(b"", _STEP)
            for i in range(len(piece)):
                try:
                    has_room = self._drain(stream, piece[i : i + 1])
                except _FAULTS:
                    break
                if not has_room:
                    return False
                if stream.ended:
                    self._end(piece[i + 1 :])
                    return True
        if any(text in str(error) for text in _CHECKSUM_FAULTS):
            self.flags.add(Flag.BAD_CHECKSUM)
            self._is_past_end = True
            return True
        raise DecodeError(Cause.BAD_ENCODING, str(error))
