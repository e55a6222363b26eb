"""The places of a replay's URLs in their hosts' queues: those that the real crawl gives them under its default order.

A URL waits by its depth within its site, then by its cash, then by discovery (crawler/core/order/breadth_first.py). One that is named again
nearer to the entry, or that has become worth more, moves forward. So does one that was held: released or audited, it takes the place of its
depth, among URLs that nobody has given cash yet.

Only `frontier.order: breadth_first` is replayed. Memory: some 300 bytes a URL. Time: 1 µs a link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from urllib.parse import urlsplit

import xxhash

from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.core.found_again import FoundPlace, found_again
from thresher.crawler.core.model import Purpose, State
from thresher.crawler.core.order.breadth_first import BreadthFirst, rank_of
from thresher.crawler.core.order.cash import Cash
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import directory_depth, hostname_of, is_home, origin_of, site_of

_FIRST = SeenRow(State.QUEUED, None, 0, 0, 0, Purpose.PAGE, 0, 0)


class FreshLane:
    """The URLs of one host that wait for their first request."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []  # (rank, number in the order of discovery, URL); a moved URL has an old row, too
        self._ranks: dict[int, int] = {}  # URLs that wait → their rank

    def put(self, number: int, rank: int, seq: int) -> None:
        """Queue a URL, or move it to another rank."""
        self._ranks[number] = rank
        heappush(self._heap, (rank, seq, number))

    def pop(self) -> int:
        """Take the first URL."""
        while True:
            rank, _, number = heappop(self._heap)
            if self._ranks.get(number) == rank:
                del self._ranks[number]
                return number

    def __contains__(self, number: int) -> bool:
        return number in self._ranks

    def __bool__(self) -> bool:
        return bool(self._ranks)


class ReplayedPlaces:
    """The places of all URLs of a replay."""

    def __init__(self, graph: RecordedGraph) -> None:
        self._graph = graph
        self._rows: dict[int, SeenRow] = {}
        self._named_by: dict[int, bytes] = {}  # number in the order of discovery → site of the page that named the URL first
        self._cash = Cash(BreadthFirst.cash_steps)
        self._sites: dict[str, bytes] = {}

    def place(self, number: int) -> tuple[int, int]:
        """Return the rank of a URL, and its number in the order of discovery."""
        row = self._rows[number]
        return rank_of(row.site_depth, row.worth), row.seq

    def discovered(self, number: int) -> int:
        """Return the number of a URL in the order of discovery."""
        return self._rows[number].seq

    def are_of_one_site(self, number: int, other: int) -> bool:
        return self._site(number) == self._site(other)

    def begin(self, root: int) -> None:
        """Make a seed known."""
        self._rows[root] = _FIRST._replace(seq=self._next())

    def stand_in(self, number: int, alias: int) -> None:
        """Make a URL known that takes the place of its alias."""
        self._rows[number] = self._rows[alias]._replace(seq=self._next(), worth=0)
        self._named_by[self._rows[number].seq] = self._site(alias)

    def gift(self, source: int, links: Sequence[int]) -> float:
        """Return how much cash a fetched page gives to each of its links."""
        row = self._rows[source]
        return self._cash.gift(row.seq, row.worth, len(links))

    def found_again(self, source: int, waiting: Iterable[int], gift: float) -> Iterator[int]:
        """Give known URLs that wait in their lanes what a fetched page gives them; yield those that move forward.

        Args:
            source: The page.
            waiting: Those of its links.
            gift: Cash for each of them.
        """
        urls = self._graph.urls
        known = [(self._key(number), self._rows[number], urls[number]) for number in waiting]
        moved = found_again(
            self._finding(source), known, State.QUEUED, worth=self._cash.giver(gift), first_site=lambda seq: self._named_by.get(seq, b"")
        )
        for of in moved:
            number = int.from_bytes(of.key[8:], "big")
            self._rows[number] = of.nearest
            yield number

    def name(self, source: int, number: int) -> None:
        """Make a URL known that a fetched page has named first."""
        finding, url = self._finding(source), self._graph.urls[number]
        is_inside = self._site(number) == finding.site
        depth = 0 if is_home(url) else finding.site_depth if is_inside else directory_depth(url)
        seq = self._next()
        self._rows[number] = _FIRST._replace(site_depth=depth, seed_distance=finding.seed_distance, hops=finding.hops, seq=seq)
        self._named_by[seq] = finding.site

    def give(self, number: int, gift: float) -> None:
        """Give cash to a URL that is queued as soon as it is known; one that is held gets none."""
        if gift:
            row = self._rows[number]
            self._rows[number] = row._replace(worth=self._cash.level_of(1.0 + gift))
            self._cash.begin(row.seq, 1.0 + gift)

    def _finding(self, source: int) -> FoundPlace:
        row, is_redirect = self._rows[source], self._graph.is_redirect(source)
        step = not is_redirect
        hops = row.hops + 1 if is_redirect else 0
        return FoundPlace(self._site(source), row.seed_distance + step, row.site_depth + step, hops, is_redirect)

    def _next(self) -> int:
        return len(self._rows) + 1

    def _key(self, number: int) -> bytes:
        return self._site(number) + number.to_bytes(8, "big")

    def _site(self, number: int) -> bytes:
        """Return a hash of the site of a URL."""
        host = urlsplit(self._graph.urls[number]).netloc
        if host not in self._sites:
            self._sites[host] = xxhash.xxh3_64_digest(site_of(hostname_of(origin_of(self._graph.urls[number]))).encode())
        return self._sites[host]
