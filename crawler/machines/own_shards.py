"""The shards of one machine for a command on the head: reads and exports them, does steps with them. Free of the engine (ray_actors.py)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from thresher.crawler.analysis.jobs import export
from thresher.crawler.machines.far_merges import AskOf
from thresher.crawler.machines.far_shards import FarShards
from thresher.storage.carrying import FetchPiece, FilePiece, read_piece
from thresher.storage.far_server import ShardServer
from thresher.storage.partitions import shard_path


class OwnShards:
    """All that is asked of a machine about its shards. A process cannot open a shard twice, so readers are closed before each step."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._shards = FarShards(directory)
        self._servers: dict[tuple[int, bool], ShardServer] = {}

    def read(self, agent: int, question: bytes, *, at_once: bool) -> bytes:
        """Answer a question about a shard."""
        return self._server(agent, at_once=at_once).answer(question)

    def export(self, agent: int, order: bytes) -> bytes:
        """Return columns of a shard, for tasks.

        Raises:
            StoreError: If it cannot be read.
        """
        return export(self._server(agent, at_once=(agent, True) in self._servers).view(), order)

    def step(self, what: str, argument: bytes, fetch: FetchPiece | None = None, ask_of: AskOf | None = None) -> bytes:
        """Do a step with a shard, which may change it; `fetch` and `ask_of` read from another machine."""
        self.close()
        return self._shards.answer(what, argument, fetch, ask_of)

    def piece(self, packed: bytes) -> bytes:
        """Return a part of a file of a shard."""
        return read_piece(self._directory, msgspec.json.decode(packed, type=FilePiece))

    def close(self) -> None:
        """Close the readers; the next question opens its shard again."""
        for server in self._servers.values():
            server.close()

    def _server(self, agent: int, *, at_once: bool) -> ShardServer:
        server = self._servers.get((agent, at_once))
        if server is None:
            server = self._servers[agent, at_once] = ShardServer(shard_path(self._directory, agent), at_once=at_once)
        return server
