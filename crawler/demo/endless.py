"""The endless parts of the demo web: calendars, and farms whose pages link to ever new subdomains.

The third trap, session ids, is part of a host's plan: it has few pages, and endless URLs that link to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from thresher.crawler.demo.links import DemoLink
from thresher.crawler.demo.plan import PathKind, PathPlan, PlannedHost
from thresher.crawler.demo.seeded_random import SeededRandom

_MONTH = re.compile(r"/calendar/(\d{4,5})/(0[1-9]|1[0-2])/(?:(0[1-9]|1\d|2[0-8])/)?", re.ASCII)
_FIRST_YEAR = 1970
_EVENTS = 5  # events a month
_N_FARM_LINKS = 12


@dataclass(frozen=True, slots=True)
class Trap:
    """An endless part of the web."""

    kind: PathKind
    host: str  # name of the host; for a farm ".farm0.test", which stands for all names that end with it
    marker: str = ""  # text that every URL of the trap contains

    def holds(self, host: str, path: str) -> bool:
        return (host.endswith(self.host) if self.host.startswith(".") else host == self.host) and self.marker in path


def calendar_place(path: str) -> PathPlan | None:
    """Return the calendar page at `path`, or None."""
    if (match := _MONTH.fullmatch(path)) is None:
        return None
    year, month, day = match.groups()
    return PathPlan(PathKind.CALENDAR, path, title=f"Events of {day or ''} {month}/{year}")


def calendar_links(plan: PlannedHost, rng: SeededRandom, place: PathPlan) -> list[DemoLink]:
    """Return the links of a calendar page: the months before and after, its events."""
    match = _MONTH.fullmatch(place.path)
    assert match is not None, place.path
    year, month = int(match[1]), int(match[2])
    links = [plan.link_writer.home(_month_path(year, month + 1), "Next month")]
    if year > _FIRST_YEAR:
        links.append(plan.link_writer.home(_month_path(year, month - 1), "Previous month"))
    if match[3] is None:
        days = sorted({1 + day for day in rng.indexes(_EVENTS, 28, "events", plan.host.name, year, month)})
        links += [plan.link_writer.home(f"{place.path}{day:02}/", f"{day:02} {month:02} {year}") for day in days]
    return links


def _month_path(year: int, month: int) -> str:
    year, month = (year + 1, 1) if month > 12 else (year - 1, 12) if month < 1 else (year, month)
    return f"/calendar/{year:04}/{month:02}/"


def farm_page(rng: SeededRandom, host: str, farm: str, path: str, origin_of: Callable[[str], str]) -> bytes:
    """Return a farm's page: some words, links to new subdomains and to more pages of its own."""
    throws = rng.indexes(_N_FARM_LINKS, 1 << 31, "farm", host, path)
    away = [f'<li><a href="{origin_of(f"{throw:08x}.{farm}")}/">Offer {throw % 1000}</a></li>' for throw in throws]
    own = [f'<li><a href="/offer-{throw % 100_000}">More of {throw % 100}</a></li>' for throw in throws[:3]]
    words = " ".join(f"cheap deal {throw % 10_000} today only" for throw in throws)
    return (
        f"<!DOCTYPE html>\n<html><head><title>Best offers {throws[0]}</title></head>\n<body><h1>Best offers of {host}</h1>\n"
        f"<p>{words}</p>\n<ul>{''.join(away + own)}</ul></body></html>\n"
    ).encode()
