"""When pages are visited again, for `schedule: continuous`: implements `thresher.crawler.core.revisit_schedule.PlanStore`.

plans       kh 16              → PagePlan, while a visit of the URL is planned; its request is in `requests` and in the lane DUE
host_plans  q 16               → HostPlan
families    q 16 ‖ pattern 8   → FamilyPlan of a pattern's pages, by the pattern's keyed hash
            q 16 ‖ eight times 0 ‖ leaf pattern of a URL ‖ 0 ‖ kh 16
                               → (empty): for finding the pages below a pattern, while they have a plan
"""

from __future__ import annotations

import xxhash

from thresher.crawler.core.revisit_plans import FamilyPlan, HostPlan, PagePlan
from thresher.storage.records import Codec
from thresher.storage.rows import Rows
from thresher.storage.schema import FAMILIES, HOST_PLANS, PLANS

_PAGE = Codec(PagePlan)
_HOST = Codec(HostPlan)
_FAMILY = Codec(FamilyPlan)
_PLACES = bytes(8)  # in place of a pattern's hash


class SchedulePlans:
    """The rows of plans."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def page(self, key: bytes) -> PagePlan | None:
        value = self._rows.get(PLANS, key)
        return None if value is None else _PAGE.decode(value)

    def save_page(self, key: bytes, plan: PagePlan) -> None:
        self._rows.put(PLANS, key, _PAGE.encode(plan))

    def forget_page(self, key: bytes) -> None:
        self._rows.delete(PLANS, key)

    def pages(self, start: bytes, limit: int) -> list[tuple[bytes, PagePlan]]:
        """Return some plans from a key on, in order."""
        return [(key, _PAGE.decode(value)) for key, value in self._rows.scan(PLANS, start=start, limit=limit)]

    def host(self, queue: bytes) -> HostPlan:
        """Return the plan of a host queue, an empty one if there is none."""
        value = self._rows.get(HOST_PLANS, queue)
        return HostPlan() if value is None else _HOST.decode(value)

    def save_host(self, queue: bytes, plan: HostPlan) -> None:
        self._rows.put(HOST_PLANS, queue, _HOST.encode(plan))

    def hosts(self) -> list[tuple[bytes, HostPlan]]:
        """Return every host with planned visits. Memory: 1 KB each."""
        return [(key, _HOST.decode(value)) for key, value in self._rows.scan(HOST_PLANS)]

    def family(self, queue: bytes, pattern: str) -> FamilyPlan | None:
        value = self._rows.get(FAMILIES, _family_key(queue, pattern))
        return None if value is None else _FAMILY.decode(value)

    def save_family(self, queue: bytes, pattern: str, plan: FamilyPlan) -> None:
        self._rows.put(FAMILIES, _family_key(queue, pattern), _FAMILY.encode(plan))

    def enlist(self, queue: bytes, place: bytes) -> None:
        if self._rows.get(FAMILIES, queue + _PLACES + place) is None:
            self._rows.put(FAMILIES, queue + _PLACES + place, b"")

    def strike(self, queue: bytes, place: bytes) -> None:
        self._rows.delete(FAMILIES, queue + _PLACES + place)

    def places(self, queue: bytes, start: bytes, limit: int) -> list[bytes]:
        """Return some places of a host that are >= `start`, in order."""
        prefix = queue + _PLACES
        return [key[len(prefix) :] for key, _ in self._rows.scan(FAMILIES, prefix=prefix, start=prefix + start, limit=limit)]


def _family_key(queue: bytes, pattern: str) -> bytes:
    return queue + xxhash.xxh3_64_digest(queue + pattern.encode())
