"""The changes of a shard that commands on the head make through this machine, while the crawl stands still (storage/changing.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from thresher.crawler.analysis import dust_store
from thresher.crawler.start import quarantined, rounds
from thresher.storage import forget
from thresher.storage.changing import Change
from thresher.storage.partitions import shard_path

_ALL: Final[tuple[Change[Any, Any], ...]] = (
    *rounds.CHANGES,
    *forget.CHANGES,
    *quarantined.CHANGES,
    *dust_store.CHANGES,
)
_BY_NAME: Final = {change.name: change for change in _ALL}


class ChangeShard(msgspec.Struct, frozen=True):
    """Change a shard. argument: JSON"""

    agent: int
    what: str
    argument: msgspec.Raw


def change(directory: Path, order: ChangeShard) -> Any:
    """Make the change; return its answer.

    Raises:
        StoreError: If the shard cannot be used.
    """
    return msgspec.to_builtins(_BY_NAME[order.what].done_by(shard_path(directory, order.agent), bytes(order.argument)))
