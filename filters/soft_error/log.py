"""A redirect log in memory: distinct URLs and hosts by number, and the pairs of them.

In a log of years an original may have several targets. It counts once, with its last target: that is where it leads today.

Memory: 8 bytes a mention, and each distinct URL once, with 120 bytes of its own. Time: 2 µs a pair, without the test for spellings.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import NamedTuple

import numpy as np

from thresher.crawler.core.url import hostname_of, origin_of, queue_name, site_of
from thresher.filters.soft_error.score import I32, Columns
from thresher.filters.soft_error.spelling import same_page


class Named(NamedTuple):
    """A redirect log by number, with the texts of the numbers."""

    columns: Columns
    originals: list[str]
    targets: list[str]
    hosts: list[str]
    n_moved: int = 0  # originals that were mentioned with several targets


class RedirectLog:
    """Collects pairs; those that are one URL in another spelling are counted by kind and left out."""

    def __init__(self) -> None:
        self.spellings: Counter[str] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._originals: dict[str, int] = {}
        self._targets: dict[str, int] = {}
        self._hosts: dict[str, int] = {}
        self._places: dict[str, tuple[int, str]] = {}  # origin → number of its host, its site
        self._hosts_of_originals = array("i")
        self._hosts_of_targets = array("i")
        self._mentions = array("i")  # original, target, original, target …

    def add(self, original: str, target: str) -> None:
        """Add a pair of canonical URLs."""
        host, site = self._place(original)
        target_host, target_site = self._place(target)
        if site == target_site and (kind := same_page(original, target)):
            self.spellings[kind] += 1
            return
        number = self._originals.setdefault(original, len(self._originals))
        if number == len(self._hosts_of_originals):
            self._hosts_of_originals.append(host)
        target_number = self._targets.setdefault(target, len(self._targets))
        if target_number == len(self._hosts_of_targets):
            self._hosts_of_targets.append(target_host)
        self._mentions.append(number)
        self._mentions.append(target_number)

    def __len__(self) -> int:
        """Return how many pairs were added: repeated ones count, spellings do not."""
        return len(self._mentions) // 2

    def finish(self) -> Named:
        """Return the pairs, and empty the log."""
        mentions = _integers(self._mentions).reshape(-1, 2)
        last = np.zeros(len(self._originals), dtype=np.int32)
        last[mentions[:, 0]] = mentions[:, 1]  # of several targets the last one counts
        is_last = mentions[:, 1] == last[mentions[:, 0]]
        n_moved = len(np.unique(mentions[~is_last, 0]))
        originals, targets = mentions[is_last].T
        columns = Columns(originals, targets, _integers(self._hosts_of_originals), _integers(self._hosts_of_targets))
        named = Named(columns, list(self._originals), list(self._targets), list(self._hosts), n_moved)
        self._clear()
        return named

    def _place(self, url: str) -> tuple[int, str]:
        origin = origin_of(url)
        place = self._places.get(origin)
        if place is None:
            number = self._hosts.setdefault(queue_name(origin), len(self._hosts))
            place = self._places[origin] = (number, site_of(hostname_of(origin)))
        return place


def _integers(values: array[int]) -> I32:
    return np.frombuffer(values, dtype=np.int32) if values else np.empty(0, dtype=np.int32)
