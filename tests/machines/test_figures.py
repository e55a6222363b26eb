"""What watchers of a cluster are shown of an agent's reports."""

from __future__ import annotations

from recorded_figures import Recorded

from thresher.crawler.machines import figures
from thresher.crawler.status import Status


def test_counters_only_grow_and_what_is_over_is_zero() -> None:
    """Mutations: each report is added as a whole; a kind that is gone stays; an ended agent's queue stays; seconds of CPU of a further life
    are lost until they pass those of the last.
    """
    machine = Recorded("a")
    machine.figures.take(3, Status(pages=10, cpu_s=5.0, queued=7, skipped={"robots": 2}, hosts_parked={"wall": 1}))
    machine.figures.take(3, Status(pages=12, cpu_s=6.0, queued=5, skipped={"robots": 2, "scope": 1}))
    machine.figures.take(4, Status(pages=1, queued=2))
    assert machine.shown["thresher_pages", "3", ""] == 12
    assert machine.total("pages") == 13
    assert machine.total("queued") == 7
    assert (machine.shown["thresher_skipped", "3", "robots"], machine.shown["thresher_skipped", "3", "scope"]) == (2, 1)
    assert machine.shown["thresher_hosts_parked", "3", "wall"] == 0
    machine.figures.end(3)
    assert (machine.total("pages"), machine.total("queued")) == (13, 2)
    machine.figures.take(3, Status(pages=12, cpu_s=0.5))
    assert (machine.total("pages"), machine.shown["thresher_cpu_s", "3", ""]) == (13, 6.5)


def test_their_names_are_those_of_the_status() -> None:
    named = [*figures.COUNTERS, *figures.COUNTERS_BY_KIND, *figures.GAUGES, *figures.GAUGES_BY_KIND]
    assert {*named} <= {*Status.__struct_fields__}
    assert len({*named}) == len(named)
