"""Columns as bytes: what exports and tasks of a crawl of several machines pass on (tasks.py): numbers, keys, links, texts; never objects.

Time: that of two copies. An array that is read may be the bytes themselves, and is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.graph.csr import Graph

Value = npt.NDArray[Any] | Graph | dict[int, npt.NDArray[Any]] | list[str]
_KINDS: Final = "biufS"  # of arrays: truth, numbers, bytes of one length


class _Array(msgspec.Struct, array_like=True, tag=True, frozen=True):
    kind: str
    shape: list[int]
    data: memoryview


class _Arrays(msgspec.Struct, array_like=True, tag=True, frozen=True):
    of: dict[int, _Array]


class _Links(msgspec.Struct, array_like=True, tag=True, frozen=True):
    offsets: _Array
    targets: _Array


class _Texts(msgspec.Struct, array_like=True, tag=True, frozen=True):
    of: list[str]


_decode = msgspec.msgpack.Decoder(dict[str, _Array | _Arrays | _Links | _Texts]).decode


def pack(values: Mapping[str, Value]) -> bytes:
    """Return named values as bytes."""
    return msgspec.msgpack.encode({name: _packed(value) for name, value in values.items()})


def unpack(packed: bytes) -> dict[str, Any]:
    """Return the named values; b"" has none.

    Raises:
        msgspec.DecodeError: If these are no columns.
    """
    return {name: _unpacked(value) for name, value in _decode(packed).items()} if packed else {}


def pack_bytes(parts: Sequence[bytes]) -> bytes:
    """Return arrays as bytes as one."""
    return msgspec.msgpack.encode(parts)


def unpack_bytes(packed: bytes) -> list[bytes]:
    """Return what `pack_bytes` packed."""
    return msgspec.msgpack.decode(packed, type=list[bytes])


def _packed(value: Value) -> _Array | _Arrays | _Links | _Texts:
    match value:
        case Graph():
            return _Links(_array(value.offsets), _array(value.targets))
        case dict():
            return _Arrays({key: _array(one) for key, one in value.items()})
        case list():
            return _Texts(value)
        case _:
            return _array(value)


def _unpacked(value: _Array | _Arrays | _Links | _Texts) -> Value:
    match value:
        case _Links():
            return Graph(_read(value.offsets), _read(value.targets))
        case _Arrays():
            return {key: _read(one) for key, one in value.of.items()}
        case _Texts():
            return value.of
        case _Array():
            return _read(value)


def _array(value: npt.NDArray[Any]) -> _Array:
    assert value.dtype.kind in _KINDS, f"a column of {value.dtype}"
    return _Array(value.dtype.str, [*value.shape], np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)


def _read(column: _Array) -> npt.NDArray[Any]:
    kind = np.dtype(column.kind)
    if kind.kind not in _KINDS:
        raise msgspec.ValidationError(f"a column of {kind}")
    found = np.frombuffer(column.data, dtype=kind)
    return (found if found.flags.aligned else found.copy()).reshape(column.shape)
