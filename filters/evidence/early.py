"""The first items of a host, listed until one of them may matter.

To learn from an answer takes time and several records. But nothing can be concluded from the first few answers of a host, and most hosts of
the web never have more than a few. So a filter only lists the first items of a host (its pages, its answers), and
learns from them, in their order,

    when an item comes that cannot be listed: it is like a listed one, for example, so that something may be believed soon
    when there are `EarlyList.most`
    when something that is learned from them is needed

Then the list is closed, and later items are learned from at once. The outcome is that of a filter that lists nothing; each filter that uses
this has a test that compares both.

The list lies in a record of its own (`RowList`), or in one that the filter reads and writes for each item anyway (`HeadList`).

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


class ListDecoder(Protocol[T]):
    """Reads the items of a list."""

    def decode(self, value: bytes, /) -> list[T]: ...


class LastDecoded(Generic[T]):
    """A decoder of items that cannot be changed; it remembers the last list, since a list is read several times for one answer."""

    def __init__(self, decoder: ListDecoder[T]) -> None:
        self._decoder = decoder
        self._value, self._items = b"", list[T]()

    def decode(self, value: bytes, /) -> list[T]:
        if value is not self._value:
            self._value, self._items = value, self._decoder.decode(value)
        return [*self._items]


class RowList(EarlyList[T]):
    """A list in a record of its own, which is empty once the list is closed."""

    def __init__(self, memory: Memory, key: bytes, decoder: ListDecoder[T], weight: float) -> None:
        """Read it.

        Args:
            key: Key of the record.
            decoder: Decodes the items.
            weight: Weight of the record in the filter's memory. It must be high enough that what was learned is dropped before the list.
        """
        self._memory, self._key, self._weight = memory, key, weight
        value = memory.get(key)
        self.items = decoder.decode(value) if value else None if value == _CLOSED else []

    def write(self) -> None:
        self._memory.put(self._key, _encode(self.items), self._weight)

    def _close(self) -> None:
        self._memory.put(self._key, _CLOSED, self._weight)


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
