"""One host of a simulated crawl (replayed_crawl.py): its queue, its tail, and opinions of its own."""

from __future__ import annotations

from bisect import insort
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from thresher.crawler.analysis.replayed_queue import FreshLane
from thresher.crawler.core.url import origin_of
from thresher.crawler.settlement.tail import lineage
from thresher.filters.evidence.decay import Recent
from thresher.filters.pattern_yield.patterns import shape_of
from thresher.filters.tail.membership import Membership, drop, keeps, leave, refill, refills
from thresher.filters.tail.records import HostTail, TailClass
from thresher.filters.tail.serve import Promotion, TailEnd


class HostOpinions(Protocol):
    """Opinions about URLs of one host, beside those of the filters."""

    has_lineage: bool  # URLs to which only held pages link are held, too

    def on_url(self, url: str) -> None: ...

    def learn(self, url: str, text: str, *, is_good: bool) -> None: ...

    def holder(self, url: str) -> str: ...

    def copies(self, url: str) -> str: ...

    def lineage(self, holder: str, url: str) -> str: ...

    def recent(self, holder: str) -> Recent: ...


class NoOpinions:
    """No opinions: only filters hold URLs. Classes of links from held pages have their names as in a crawl."""

    has_lineage = True

    def on_url(self, url: str) -> None:
        """Learn nothing."""

    def learn(self, url: str, text: str, *, is_good: bool) -> None:
        """Learn nothing."""

    def holder(self, url: str) -> str:
        return ""

    def copies(self, url: str) -> str:
        return ""

    def lineage(self, holder: str, url: str) -> str:
        return lineage(holder, shape_of(url, origin_of(url)))

    def recent(self, holder: str) -> Recent:
        return Recent()


@dataclass
class HeldPlace:
    """Where a held URL waits."""

    of: Membership
    cohort: int
    order: bytes


class ReplayedHost:
    """One host's queue: fresh URLs and audits, promoted ones, classes."""

    def __init__(self, name: str, opinions: HostOpinions) -> None:
        self.name = name
        self.fresh = FreshLane()
        self.promoted: deque[int] = deque()
        self.tail = HostTail()
        self.classes: dict[str, TailClass] = {}
        self.members: dict[tuple[str, int], list[tuple[bytes, int]]] = {}
        self.dropped: dict[tuple[str, int], list[tuple[bytes, int]]] = {}  # URLs that are counted, not stored
        self.waiting: dict[int, HeldPlace] = {}
        self.opinions = opinions
        self.end: TailEnd | None = None

    def hold(self, number: int, place: HeldPlace, *, cap: int) -> None:
        """Add a URL to a class: it is stored if it is among the first of its cohort, else only counted; so is one that it replaces.

        Args:
            number: The URL.
            place: Where it waits.
            cap: URLs of a cohort that are stored.
        """
        self.waiting[number] = place
        of, cohort, member = self.classes[place.of.holder], place.cohort, (place.order, number)
        members = self.members.setdefault((of.holder, cohort), [])
        last = members[-1][0] if members else b""
        if not keeps(member[0], n_stored=len(members), last=last, cap=cap):
            self._count(of, cohort, member)
            return
        if len(members) >= cap:
            self._count(of, cohort, members.pop())
        insort(members, member)

    def _count(self, of: TailClass, cohort: int, member: tuple[bytes, int]) -> None:
        drop(of, cohort)
        self.dropped.setdefault((of.holder, cohort), []).append(member)

    def refill(self, cap: int) -> None:
        """Find again the URLs that were only counted. The simulation remembers them; a crawl reads them from the links of stored pages.

        Args:
            cap: URLs of a cohort that are stored.
        """
        for of in self.classes.values():
            for cohort in refills(of):
                dropped = sorted(self.dropped[of.holder, cohort])
                again, self.dropped[of.holder, cohort] = dropped[:cap], dropped[cap:]
                self.members[of.holder, cohort].extend(again)
                refill(of, cohort, len(again))

    def draw(self, of: Promotion) -> list[int]:
        """Take drawn URLs out of their class."""
        members = self.members[of.draw.holder, of.draw.cohort]
        drawn, members[: of.n] = members[: of.n], []
        for _, number in drawn:
            self.waiting.pop(number)
        return [number for _, number in drawn]

    def release(self, number: int) -> bool:
        """Take a URL out of its class; return False if it is in none, or only counted there."""
        place = self.waiting.get(number)
        members = self.members[place.of.holder, place.cohort] if place else []
        if place is None or (place.order, number) not in members:
            return False
        self.waiting.pop(number)
        members.remove((place.order, number))
        leave(self.classes[place.of.holder], place.cohort)
        return True

    def held_by(self, holder: str) -> list[int]:
        """Return the URLs that wait in a class."""
        return [number for number, waits in self.waiting.items() if waits.of.holder == holder]
