"""How commands on the head read the shards of other machines. Ray is imported only when a crawl with such shards is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thresher.storage.ways import FarConnection, connect_by

if TYPE_CHECKING:  # every command imports this file
    from pathlib import Path

    from thresher.storage.partitions import Partitions


def reach_machines() -> None:
    """Let this process open crawls of several machines, and use this user's token for Ray."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray reads it when it is imported
    connect_by(_connect)


def _connect(path: Path, table: Partitions) -> FarConnection:
    from thresher.crawler.terminal.extras import require

    require(f"{path}", module="ray", extra="ray")
    from thresher.crawler.machines import ray_engine

    ray_engine.connect()
    return ray_engine.FarReading(path, table)
