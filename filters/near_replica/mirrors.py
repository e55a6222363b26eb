"""Mirrors: a host most of whose pages replicate another host's pages at the same paths.

Counted from clusters: if members of a cluster have the same path (with its query) on several hosts, each host replicates those before it. A
host is a mirror of the host that it replicates most often (exact copies count first), if most of its pages replicate that host in any way.

Memory: 100 bytes a pair of hosts. Time: O(members of clusters).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from thresher.config.settings import NearReplicaSettings

_DEFAULTS: Final = NearReplicaSettings()
_MOST_ORIGINALS: Final = 16  # hosts with a page of one path that are compared with each other


@dataclass(frozen=True, slots=True)
class Mirror:
    """`host` is a mirror of `of`."""

    host: str
    of: str
    pages: int  # of the mirror
    replicas: int  # of these, at the same path
    share: float  # replicas / pages


def mirrors(
    urls: Sequence[str],
    hosts: Sequence[str],
    texts: Sequence[bytes],
    clusters: Iterable[Sequence[int]],
    *,
    share: float = _DEFAULTS.mirror_share,
    least: int = 5,
) -> list[Mirror]:
    """Return the hosts that are mirrors, those with most pages first.

    Args:
        texts: Equal for pages with equal words.
        clusters: Numbers of pages that replicate one another.
        share: Share of a mirror's pages that are replicas, at least.
        least: Pages of a mirror, at least.
    """
    pages = Counter(hosts)
    rank = {host: number for number, host in enumerate(pages)}  # the order in which hosts were met
    alike: Counter[tuple[str, str]] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    for cluster in clusters:
        for copies in _by_path(urls, cluster):
            first_of = {hosts[page]: page for page in reversed(copies)}
            ordered = sorted(first_of, key=rank.__getitem__)
            for original, mirror in combinations(ordered[:_MOST_ORIGINALS], 2):
                alike[mirror, original] += 1
                equal[mirror, original] += texts[first_of[mirror]] == texts[first_of[original]]
    best: dict[str, Mirror] = {}
    for (mirror, original), n in sorted(alike.items(), key=lambda item: (-equal[item[0]], -item[1], rank[item[0][1]])):
        if pages[mirror] >= least and n >= share * pages[mirror]:
            best.setdefault(mirror, Mirror(mirror, original, pages[mirror], n, round(n / pages[mirror], 4)))
    return sorted(best.values(), key=lambda one: (-one.pages, one.host))


def _by_path(urls: Sequence[str], cluster: Sequence[int]) -> Iterable[list[int]]:
    """Return a cluster's pages that share their path with another one."""
    found: dict[str, list[int]] = {}
    for page in cluster:
        found.setdefault(path_of(urls[page]), []).append(page)
    return (copies for copies in found.values() if len(copies) > 1)


def path_of(url: str) -> str:
    """Return the part of a canonical URL after its authority, with the query."""
    start = url.find("/", url.find("://") + 3)
    return url[start:] if start >= 0 else "/"
