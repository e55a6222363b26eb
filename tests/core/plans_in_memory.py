"""The records of a schedule, kept in dicts."""

from __future__ import annotations

from bisect import bisect_left, insort

from thresher.crawler.core.revisit_plans import FamilyPlan, HostPlan, PagePlan


class PlansInMemory:
    """Implements `thresher.crawler.core.revisit_schedule.PlanStore`."""

    def __init__(self) -> None:
        self.pages: dict[bytes, PagePlan] = {}
        self.hosts: dict[bytes, HostPlan] = {}
        self.families: dict[tuple[bytes, str], FamilyPlan] = {}
        self.listed: dict[bytes, list[bytes]] = {}

    def page(self, key: bytes) -> PagePlan | None:
        return self.pages.get(key)

    def save_page(self, key: bytes, plan: PagePlan) -> None:
        self.pages[key] = plan

    def host(self, queue: bytes) -> HostPlan:
        return self.hosts.setdefault(queue, HostPlan())

    def save_host(self, queue: bytes, plan: HostPlan) -> None:
        self.hosts[queue] = plan

    def family(self, queue: bytes, pattern: str) -> FamilyPlan | None:
        return self.families.get((queue, pattern))

    def save_family(self, queue: bytes, pattern: str, plan: FamilyPlan) -> None:
        self.families[queue, pattern] = plan

    def enlist(self, queue: bytes, place: bytes) -> None:
        listed = self.listed.setdefault(queue, [])
        if place not in listed:
            insort(listed, place)

    def strike(self, queue: bytes, place: bytes) -> None:
        if place in self.listed.get(queue, ()):
            self.listed[queue].remove(place)

    def places(self, queue: bytes, start: bytes, limit: int) -> list[bytes]:
        listed = self.listed.get(queue, [])
        at = bisect_left(listed, start)
        return listed[at : at + limit]
