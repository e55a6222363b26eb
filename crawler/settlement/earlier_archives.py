"""Reads the archives that `archive.dedup` names, before the first request, so that the same payload is not written again.

Each path is read once in a crawl, in groups that are committed. If the process ends in between, the next one reads it again, which changes
nothing. Captures of this crawl itself are preferred as references.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from thresher.crawler.settlement.group_commit import Committer
from thresher.storage.archive.earlier import Earlier
from thresher.storage.schema import META, Meta
from thresher.storage.store import Store

_AT_ONCE: Final = 5000  # captures in one commit
_log = logging.getLogger(__name__)


async def learn_earlier(store: Store, paths: Sequence[str], committer: Committer, *, stopping: Callable[[], bool]) -> None:
    """Read the paths that were not read before. Once `stopping` returns True, the rest is left to the next process."""
    content = store.get(META, Meta.DEDUP)
    done: list[str] = msgspec.msgpack.decode(content, type=list[str]) if content else []
    for path in paths:
        if path in done:
            continue
        earlier = Earlier(Path(path))
        captures, n = iter(earlier), 0
        while chunk := await asyncio.to_thread(lambda captures=captures: [*islice(captures, _AT_ONCE)]):  # type: ignore[misc]  # no type is inferred for a lambda's default
            for capture in chunk:
                if store.tables.captures.earlier(capture.digest) is None:
                    store.tables.captures.remember(capture.digest, capture)
            n += len(chunk)
            store.end_visit()
            await committer.drain()
            if stopping():
                return
        for fault in earlier.faults:
            _log.warning("archive.dedup: %s", fault)
        _log.info("archive.dedup: %s: %d answers known, %d lines or records cannot be referred to", path, n, earlier.n_unusable)
        done = [*done, path]
        store.put(META, Meta.DEDUP, msgspec.msgpack.encode(done))
        store.end_visit()
        await committer.drain()
