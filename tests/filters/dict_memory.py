"""A filter's memory in a dict: the contract of `thresher.crawler.core.ports.Memory` without caps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class DictMemory:
    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self.rows.get(key)

    def put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        self.rows[key] = value

    def delete(self, key: bytes, /) -> None:
        self.rows.pop(key, None)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted((key, value) for key, value in self.rows.items() if key.startswith(prefix)))

    def get_many(self, keys: Iterable[bytes], /) -> list[bytes | None]:
        return [self.rows.get(key) for key in keys]
