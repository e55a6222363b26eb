"""Connections to shards on other machines: a program that opens crawls registers a function for that, before it opens any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from thresher.crawler.core.errors import UsageError

if TYPE_CHECKING:  # every command imports this
    from pathlib import Path

    from thresher.storage.partitions import Partitions

Ask = Callable[[bytes], bytes]  # sends a question to the machine of a shard, and returns the answer (far.py)
Part = Any  # bytes, or what stands for bytes that lie on some machine or are not there yet


class FarConnection(Protocol):
    """A connection to the machines of one crawl."""

    def ask_of(self, agent: int, *, at_once: bool) -> Ask:
        """Return a function that sends questions about an agent's shard."""
        ...

    def export(self, agent: int, order: bytes) -> Part:
        """Let the machine of an agent's shard export columns of it; they stay there."""
        ...

    def put(self, packed: bytes) -> Part:
        """Keep bytes of this machine for tasks."""
        ...

    def task(self, name: str, parts: Sequence[Part], n_results: int, agent: int | None) -> list[Part]:
        """Start a task on the machine of an agent's shard, or on any machine; return what stands for its results."""
        ...

    def fetch(self, parts: Sequence[Part]) -> list[bytes]:
        """Wait for exports and results, and return them.

        Raises:
            StoreError: If a shard cannot be read, or a machine does not answer.
        """
        ...

    def change(self, agent: int, what: str, argument: bytes) -> bytes:
        """Let the machine of an agent's shard change it (changing.py); return the answer. Both are JSON.

        Raises:
            StoreError: If the shard cannot be used.
        """
        ...

    def close(self) -> None: ...


Connect = Callable[["Path", "Partitions"], FarConnection]


def _no_way(path: Path, table: Partitions) -> NoReturn:
    raise UsageError(f"{path}: a crawl of several machines ({', '.join(dict.fromkeys(table.machines))}), and nothing here leads to them")


_ways: list[Connect] = [_no_way]


def connect_by(connect: Connect) -> None:
    """Register how machines are reached, for all crawls that this process opens."""
    _ways[0] = connect


def connection(path: Path, table: Partitions) -> FarConnection:
    """Return a connection to the machines of a crawl.

    Raises:
        UsageError: If there is none.
    """
    return _ways[0](path, table)
