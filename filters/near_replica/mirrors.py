"""Mirrors: a host most of whose pages replicate another host's pages at the same paths.

Counted from clusters: where members of a cluster share a path (with its query) on several hosts, each of the later hosts replicates the
earliest there. A host is a mirror of the one that it replicates most often, if at least half of its pages do so.

Memory: 16 bytes a pair of hosts. Time: O(members of clusters).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mirror:
    """`host` is a mirror of `of`."""

    host: str
    of: str
    pages: int  # of the mirror
    replicas: int  # of these, at the same path
    share: float  # replicas / pages


def mirrors(
    urls: Sequence[str], hosts: Sequence[str], clusters: Iterable[Sequence[int]], *, share: float = 0.5, least: int = 5
) -> list[Mirror]:
    """Return the hosts that are mirrors, those with most pages first.

    clusters: numbers of pages that replicate one another, ascending    least: pages that a mirror has at least
    """
    pages = Counter(hosts)
    replicas: Counter[tuple[str, str]] = Counter()
    for cluster in clusters:
        earliest: dict[str, str] = {}
        counted: set[tuple[str, str]] = set()
        for page in cluster:
            host, path = hosts[page], path_of(urls[page])
            original = earliest.setdefault(path, host)
            if original != host and (host, path) not in counted:
                counted.add((host, path))
                replicas[host, original] += 1
    found = []
    for (host, original), n in replicas.items():
        if pages[host] >= least and n >= share * pages[host]:
            found.append(Mirror(host, original, pages[host], n, round(n / pages[host], 4)))
    best: dict[str, Mirror] = {}
    for mirror in sorted(found, key=lambda one: (-one.replicas, one.of)):
        best.setdefault(mirror.host, mirror)
    return sorted(best.values(), key=lambda one: (-one.pages, one.host))


def path_of(url: str) -> str:
    """Return what follows the authority of a canonical URL, its query included."""
    start = url.find("/", url.find("://") + 3)
    return url[start:] if start >= 0 else "/"
