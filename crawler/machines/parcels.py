"""The format of data between two machines of a crawl: parcels, each signed with the crawl's secret, and the answer to each.

A parcel carries pieces of the connections between agents of both machines (courier.py). Data from the web are in it as bytes, and are never
decoded on the way.

    parcel   signature 32 ‖ version 1 ‖ session 8 ‖ number 8 ‖ pieces
    piece    kind 1 ‖ connection 8 ‖ size 4 ‖ bytes
    answer   signature 32 ‖ word 1

The signature is an HMAC-SHA256 over sender, addressee and everything after it; the signature of an answer also covers that of the parcel.
So a machine of another crawl is refused, and a parcel cannot be replayed to another machine.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple

MOST_BYTES: Final = 256 << 10  # most bytes of a parcel
MOST_OF_PIECE: Final = 64 << 10
_VERSION: Final = 1
_HEAD = struct.Struct(">BQQ")
_PIECE = struct.Struct(">BQI")
_SIGNATURE = 32


class PieceKind(IntEnum):
    """What a piece does to a connection. The side that opened the connection has numbered it."""

    OPEN = 1  # its bytes are the number of the called agent, 2 bytes
    DATA = 2  # data from the side that opened it
    CLOSE = 3  # closed by the side that opened it
    BACK = 4  # data from the other side
    HUNG_UP = 5  # closed by the other side


class Word(IntEnum):
    """The addressee's answer to a parcel."""

    TAKEN = 1
    UNKNOWN = 2  # it does not follow the last one: the sender begins a new session
    REFUSED = 3  # its signature is not the crawl's


class ConnectionPiece(NamedTuple):
    """Something that happens to a connection."""

    kind: int
    connection: int
    content: bytes

    @property
    def size(self) -> int:
        return _PIECE.size + len(self.content)


class Parcel(NamedTuple):
    """The pieces that one machine sends another in one call. number: counts from 1 within a session, without gaps"""

    session: int
    number: int
    pieces: list[ConnectionPiece]


class Seal:
    """Signs and checks parcels and answers between two machines."""

    def __init__(self, secret: bytes, sender: str, addressee: str) -> None:
        self._key = hmac.digest(secret, b"thresher parcels 1", "sha256")
        self._who = b"%s\0%s\0" % (sender.encode(), addressee.encode())

    def pack(self, parcel: Parcel) -> bytes:
        """Return a parcel as it is sent."""
        pieces = b"".join(_PIECE.pack(kind, number, len(content)) + content for kind, number, content in parcel.pieces)
        body = _HEAD.pack(_VERSION, parcel.session, parcel.number) + pieces
        return self._sign(body) + body

    def unpack(self, packed: bytes) -> Parcel | None:
        """Return a received parcel; None if it was not signed with this secret for this addressee.

        Raises:
            ValueError: If it was signed so and cannot be read: the sender runs another version.
        """
        signature, body = packed[:_SIGNATURE], packed[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(body)):
            return None
        try:
            version, session, number = _HEAD.unpack_from(body)
        except struct.error as error:
            raise ValueError(f"a parcel of {len(body)} bytes") from error
        if version != _VERSION:
            raise ValueError(f"a parcel of version {version}, expected {_VERSION}: both machines must run the same Thresher")
        return Parcel(session, number, [*_pieces(body, _HEAD.size)])

    def answer(self, packed: bytes, word: Word) -> bytes:
        """Return the answer to a parcel."""
        said = bytes((word,))
        return self._sign(packed[:_SIGNATURE] + said) + said

    def read_answer(self, packed: bytes, answer: bytes) -> Word:
        """Return the addressee's answer to a parcel; REFUSED also if it does not know the secret."""
        signature, said = answer[:_SIGNATURE], answer[_SIGNATURE:]
        if len(said) != 1 or not hmac.compare_digest(signature, self._sign(packed[:_SIGNATURE] + said)):
            return Word.REFUSED
        return Word(said[0])

    def _sign(self, body: bytes) -> bytes:
        return hmac.digest(self._key, self._who + body, "sha256")


def cut(kind: PieceKind, connection: int, content: bytes) -> Iterable[ConnectionPiece]:
    """Yield bytes of a connection as pieces."""
    for at in range(0, len(content), MOST_OF_PIECE):
        yield ConnectionPiece(kind, connection, content[at : at + MOST_OF_PIECE])


def _pieces(body: bytes, at: int) -> Iterator[ConnectionPiece]:
    while at < len(body):
        if len(body) - at < _PIECE.size:
            raise ValueError("a parcel ends within a piece")
        kind, connection, size = _PIECE.unpack_from(body, at)
        at += _PIECE.size
        if len(body) - at < size:
            raise ValueError("a parcel ends within a piece")
        yield ConnectionPiece(kind, connection, body[at : at + size])
        at += size
