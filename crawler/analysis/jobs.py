"""Jobs over all shards of a crawl of several machines: what the machine of a shard does with it for a command on the head.

Its answers are arrays and numbers: neither bodies nor words leave the machine.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thresher.crawler.analysis.dust_lists import LooksJob, looks_here
from thresher.crawler.analysis.rank_messages import Step
from thresher.crawler.analysis.rank_share import RankServer
from thresher.crawler.analysis.replica_links import TargetsJob, targets_here
from thresher.crawler.analysis.replica_sketches import SketchJob, sketches_here
from thresher.storage.view import View

_read_job = msgspec.msgpack.Decoder(Step | LooksJob | SketchJob | TargetsJob).decode

_encode = msgspec.msgpack.encode


class JobServer:
    """Does jobs with one shard on this machine's disk. To be used by one thread at a time."""

    def __init__(self, view: Callable[[], View]) -> None:
        """view: opens the shard, or returns it if it is open"""
        self._view = view
        self._ranks = RankServer(view)

    def answer(self, packed: bytes) -> bytes:
        """Do a job, or a step of one."""
        match _read_job(packed):
            case Step() as step:
                return _encode(self._ranks.take(step))
            case LooksJob(visits=visits):
                return _encode(looks_here(self._view(), visits))
            case TargetsJob(visits=visits):
                return _encode(targets_here(self._view(), visits))
            case job:
                return _encode(sketches_here(self._view(), job))
