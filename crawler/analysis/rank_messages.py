"""What the head and the shards of a crawl of several machines tell each other while they rank its pages (rank_far.py, rank_share.py)."""

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


class Step(msgspec.Struct, tag=True, frozen=True):
    """An order of the head. mail: what other shards have sent; share: a number for all nodes, each step says which"""

    name: str
    start: Start | None = None
    mail: Mail = {}
    share: float = 0.0


class Stepped(msgspec.Struct, frozen=True):
    """The answer. sums: integers as decimal digits, since some have more than 64 bits; fault: why the shard cannot be read, "" if it can"""

    mail: Mail = {}
    sums: list[str] = []
    fault: str = ""
