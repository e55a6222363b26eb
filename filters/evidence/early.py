"""The first items of a host, listed until one of them may matter.

To learn from an answer takes time and several records. But nothing can be concluded from the first few answers of a host, and most hosts of
the web never have more than a few. So a filter only lists the first items of a host (its pages, its answers), and
learns from them, in their order,

    when an item comes that cannot be listed: it is like a listed one, for example, so that something may be believed soon
    when there are `EarlyList.most`
    when something that is learned from them is needed

Then the list is closed, and later items are learned from at once. The outcome is that of a filter that lists nothing; each filter that uses
this has a test that compares both.

The list lies in records of its own, and may be long then (`PackedList`), or in one that the filter reads and writes for each item anyway
(`HeadList`).

Memory: the entries. Time: a read and a write an item.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from thresher.crawler.core.ports import Memory

_EARLY: Final = 16
_CLOSED: Final = b""
_IN_ROW: Final = 16  # items in one record of a `PackedList`: one of some 100 bytes is then rewritten as a whole, with little to copy
_HEADER: Final = 1  # byte that says how many items follow
_LENGTH: Final = 2  # bytes before each that say how long it is

_encode = msgspec.msgpack.Encoder().encode


class Head(Protocol):
    """A record with a list in it; all else in it is as in a new one while the list has items, or agrees with them."""

    early: list[Any]


T = TypeVar("T")
H = TypeVar("H", bound=Head)


class EarlyList(ABC, Generic[T]):
    """The list of one host, as it was read; `items` is None once it is closed."""

    most: int = _EARLY  # items that may be listed
    items: list[T] | None

    def enter(self, entry: Callable[[Sequence[T]], T | None]) -> int:
        """List one more item, if the list has room and the item can be listed.

        Args:
            entry: Gets the items listed until now; returns what is to be listed, None if the item may matter.

        Returns:
            Number of listed items with this one; 0 if it is not listed, and so is to be learned from after those of `take`.
        """
        if self.items is None or len(self.items) >= self.most:
            return 0
        one = entry(self.items)
        if one is None:
            return 0
        self.items.append(one)
        self.write()
        return len(self.items)

    def take(self) -> list[T]:
        """Close the list, and return its items, which are to be learned from now; none if it was closed before."""
        items, self.items = self.items, None
        if items is not None:
            self._close()
        return items or []

    @abstractmethod
    def write(self) -> None:
        """Write the items after one was changed."""

    @abstractmethod
    def _close(self) -> None: ...


class PackedList:
    """A list of bytes in records of `_IN_ROW` items: one more is appended to the last record, and the others are only searched.

    So a list can be long: a site of which every page is new then costs a short write a page, and nothing is learned from it.
    """

    def __init__(self, memory: Memory, key: bytes, weight: float, most: int) -> None:
        """Read it.

        Args:
            key: Of its first record; those of the others begin with it.
            weight: Of the records in the filter's memory. It must be high enough that what was learned is dropped before the list.
            most: Items that may be listed.
        """
        self._memory, self._key, self._weight, self._most = memory, key, weight, most
        self._rows: list[bytes] = []
        value = memory.get(key)
        self.is_open = value != _CLOSED
        self._n = 0
        while value:
            self._rows.append(value)
            self._n += value[0]
            value = memory.get(self._row_key(len(self._rows))) if value[0] >= _IN_ROW else None

    def __len__(self) -> int:
        return self._n

    @property
    def has_room(self) -> bool:
        """Whether one more item may be listed."""
        return self.is_open and self._n < self._most

    def may_have(self, part: bytes) -> bool:
        """Return whether an item may contain these bytes: never wrong if it returns False."""
        rows = self._rows
        return part in rows[0] if len(rows) == 1 else any(part in row for row in rows)

    def tail(self, n: int) -> bytes:
        """Return the last `n` bytes of the last item, which has as many; b"" if there is none."""
        return self._rows[-1][-n:] if self._rows else b""

    def items(self) -> list[bytes]:
        """Return the items in their order."""
        found = []
        for row in self._rows:
            at = _HEADER
            for _ in range(row[0]):
                begin = at + _LENGTH
                at = begin + int.from_bytes(row[at:begin], "big")
                found.append(row[begin:at])
        return found

    def append(self, item: bytes) -> None:
        """List one more item, of 65,535 bytes at most."""
        if self._n == len(self._rows) * _IN_ROW:
            self._rows.append(bytes(_HEADER))
        self._n += 1
        last = self._rows[-1]
        self._rows[-1] = bytes((last[0] + 1,)) + last[_HEADER:] + len(item).to_bytes(_LENGTH, "big") + item
        self._memory.put(self._row_key(len(self._rows) - 1), self._rows[-1], self._weight)

    def take(self) -> list[bytes]:
        """Close the list, and return its items, which are to be learned from now; none if it was closed before."""
        if not self.is_open:
            return []
        items = self.items()
        for i in range(1, len(self._rows)):
            self._memory.delete(self._row_key(i))
        self._memory.put(self._key, _CLOSED, self._weight)
        self._rows, self._n, self.is_open = [], 0, False
        return items

    def _row_key(self, i: int) -> bytes:
        return self._key + bytes((i,)) if i else self._key


class LastWritten(Generic[H]):
    """Keeps the head that was written last, so that the next read of the same bytes need not decode them.

    It is given out once only, since whoever gets it may change it.
    """

    def __init__(self) -> None:
        self._value: bytes = b""
        self._head: H | None = None

    def keep(self, value: bytes, head: H) -> None:
        self._value, self._head = value, head

    def take(self, value: bytes) -> H | None:
        """Return the head whose bytes these very ones are, None if they are others."""
        head = self._head if value is self._value else None
        self._value, self._head = b"", None
        return head


class HeadList(EarlyList[T], Generic[T, H]):
    """A list in the head, the record of what the filter knows of a host; closed if there is a head without items.

    Whoever takes the items writes the head, with what was learned from them.
    """

    def __init__(
        self, memory: Memory, key: bytes, decoder: msgspec.msgpack.Decoder[H], weight: float, written: LastWritten[H] | None = None
    ) -> None:
        """Read the head.

        Args:
            key: Of the head.
            decoder: Of the head.
            weight: Of the head in the filter's memory.
            written: What was written last, if it is often read again at once.
        """
        self._memory, self._key, self._weight, self._written = memory, key, weight, written
        value = memory.get(key)
        found = written.take(value) if written is not None and value else None
        self.head: H = found or (decoder.decode(value) if value else decoder.type())
        self.items = None if value and not self.head.early else self.head.early

    def write(self) -> None:
        value = _encode(self.head)
        self._memory.put(self._key, value, self._weight)
        if self._written is not None:
            self._written.keep(value, self.head)

    def _close(self) -> None:
        self.head.early = []
