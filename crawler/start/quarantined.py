"""Offers quarantined rows again: the next `resume` tries them."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from thresher.storage.changing import Change, agents, change
from thresher.storage.store import Store
from thresher.storage.tables.quarantine import name_of


def offer(path: Path, names: Collection[str]) -> None:
    """Mark rows of a crawl to be tried again; those of one shard in one commit.

    Raises:
        StoreLockedError: If the crawl runs.
    """
    change(path, OFFER, {agent: sorted(names) for agent in agents(path)})


def _offer(shard: Path, names: list[str]) -> None:
    with Store.open(shard, None, time.time()) as store:
        for key, record in store.tables.quarantine.all():
            if name_of(key) in names:
                store.tables.quarantine.offer(key, record)


OFFER: Final[Change[list[str], None]] = Change("offer quarantined rows", _offer, list[str], type(None))
CHANGES: Final = (OFFER,)
