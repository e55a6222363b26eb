"""A cache for the values of a function by its argument, of limited size. Time: one look-up in a dict for a cached value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(dict[str, T], Generic[T]):
    """A dict that is emptied when it has `most` values."""

    def __init__(self, make: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, key: str) -> T:
        value = self._make(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
