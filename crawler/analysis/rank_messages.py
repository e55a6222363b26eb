"""What the head tells the shards of a crawl of several machines while these rank its pages (rank_far.py, rank_share.py)."""

from __future__ import annotations

import msgspec

from thresher.crawler.core.places import Level
from thresher.crawler.graph.pagerank import Variant

Mail = dict[int, list[bytes]]  # shard → arrays


class Start(msgspec.Struct, frozen=True):
    """What a share is of. owners: agent of each partition, a byte each"""

    shard: int
    n_shards: int
    owners: bytes
    jump: float
    with_redirects: bool
    self_links: bool
    level: Level = "page"  # what is ranked
    variant: Variant = "all"


class Step(msgspec.Struct, frozen=True):
    """An order of the head. share: a number for all nodes, each step says which; mail: what others have sent, which comes beside it"""

    name: str
    start: Start
    share: float = 0.0
    mail: Mail = {}
