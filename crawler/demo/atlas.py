"""The atlas: all hosts of a web, their addresses, the behaviour of each, and which page links to a new host. Drawn when the web is made.

Names are in the reserved domains .example (sites) and .test (farms), addresses in 127.0.0.0/8.

    oakfield3.example        first host of a site; where the bare name forwards, it is www.oakfield3.example
    docs.oakfield3.example   its other hosts

Every host but the seeds is linked from a page of an earlier plain host, so that all that robots.txt allows can be reached.
Memory: about 500 bytes per host. Time: 30 µs per host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from thresher.crawler.demo.demo_settings import DemoSettings
from thresher.crawler.demo.seeded_random import SeededRandom
from thresher.crawler.demo.words import FOREIGN_VOCABULARIES, HOST_LABELS, SITE_HEADS, SITE_TAILS, SUBJECTS, DemoVocabulary

_INTRODUCTIONS = 4  # new hosts per plain host
_SITES_PER_ADDRESS = 6  # sites per address, if addresses are shared
_HOSTS_PER_ADDRESS = 2  # hosts of one site per address, if addresses are not shared


class RobotsKind(StrEnum):
    """What a host answers to /robots.txt."""

    OPEN = "open"  # 200, allows everything
    DISALLOW = "disallow"  # 200, Disallow: /private/
    CLOSED = "closed"  # 200, Disallow: /
    MISSING = "missing"  # 404
    BROKEN = "broken"  # 503


class Declared(StrEnum):
    """Where a host declares its charset."""

    HEADER = "header"
    META = "meta"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class DemoHost:
    """One host as it was drawn."""

    index: int
    site: int
    name: str
    brand: str  # "Oakfield 3"
    address: str
    n_pages: int  # pages of its tree
    style: int  # style of its URLs, see links.page_path
    subject: int
    vocabulary: DemoVocabulary
    charset: str
    declared: Declared
    robots: RobotsKind
    crawl_delay_s: int  # seconds; 0: none
    delay_s: float  # delay of every answer
    gzips: bool
    has_sessions: bool
    has_calendar: bool
    has_scripts: bool
    forwards_to: str = ""  # name of the host to which everything is redirected

    @property
    def is_plain(self) -> bool:
        """Whether the whole tree can be reached by plain links, each page once."""
        return self.robots not in (RobotsKind.CLOSED, RobotsKind.BROKEN) and not self.has_sessions and not self.forwards_to


class Atlas:
    """All hosts of one web, in order. Immutable."""

    def __init__(self, demo_settings: DemoSettings, rng: SeededRandom) -> None:
        self._demo_settings, self._rng = demo_settings, rng
        self.hosts: list[DemoHost] = []
        for site in range(demo_settings.n_sites):
            self._draw_site(site)
        self.by_name = {host.name: host for host in self.hosts}
        self.plain = [host for host in self.hosts if host.is_plain]
        self.seeds = self.plain[: demo_settings.n_seeds]
        self.farms = tuple(f"farm{i}.test" for i in range(demo_settings.n_farms))
        self.of_site: dict[int, list[DemoHost]] = {}
        for host in self.hosts:
            if not host.forwards_to:
                self.of_site.setdefault(host.site, []).append(host)
        self.introduced_by = self._introduce()

    def _draw_site(self, site: int) -> None:
        rng, demo_settings = self._rng, self._demo_settings
        head, tail = rng.pick(SITE_HEADS, "site head", site), rng.pick(SITE_TAILS, "site tail", site)
        domain = f"{head}{tail}{site}.example"
        brand = f"{head.capitalize()}{tail} {site}"
        forwards = rng.unit("forward", site) < demo_settings.forward_share and site > 0
        if forwards:
            self.hosts.append(self._draw_host(site, 0, domain, brand, f"www.{domain}"))
        turn = rng.throw("labels", site)
        for i in range(rng.within(demo_settings.hosts_per_site, "hosts", site)):
            label = HOST_LABELS[(turn + i) % len(HOST_LABELS)] + (str(i) if i > len(HOST_LABELS) else "")
            name = f"{label}.{domain}" if i else f"www.{domain}" if forwards else domain
            if demo_settings.by_address:
                name = self._address(site, i)
            self.hosts.append(self._draw_host(site, i, name, f"{brand} {label}" if i else brand))

    def _draw_host(self, site: int, number: int, name: str, brand: str, forwards_to: str = "") -> DemoHost:
        rng, demo_settings = self._rng, self._demo_settings
        is_first = not self.hosts  # the first host is always plain, so that there is a seed
        subject, vocabulary, charset, declared = self._draw_vocabulary(name)
        robots = RobotsKind.OPEN if forwards_to else self._draw_robots(name, is_first)
        served = robots in (RobotsKind.OPEN, RobotsKind.DISALLOW)
        has_sessions = not is_first and not forwards_to and self._is("session_id", name)
        slow_from, slow_to = demo_settings.slow_delay_s
        return DemoHost(
            index=len(self.hosts),
            site=site,
            name=name,
            brand=brand,
            address=self._address(site, number),
            n_pages=1 if forwards_to else self._n_pages(name),
            style=rng.throw("style", name) % 4,
            subject=subject,
            vocabulary=vocabulary,
            charset=charset,
            declared=declared,
            robots=robots,
            crawl_delay_s=rng.within(demo_settings.crawl_delay_s, "wait", name) if served and self._is("crawl_delay", name) else 0,
            delay_s=slow_from + (slow_to - slow_from) * rng.unit("late", name) if not is_first and self._is("slow_host", name) else 0.0,
            gzips=self._is("gzip", name),
            has_sessions=has_sessions,
            has_calendar=not has_sessions and not forwards_to and self._is("calendar", name),
            has_scripts=rng.unit("script", site) < demo_settings.script_share,
            forwards_to=forwards_to,
        )

    def _is(self, what: str, name: str) -> bool:
        share: float = getattr(self._demo_settings, f"{what}_share")
        return self._rng.unit(what, name) < share

    def _draw_vocabulary(self, name: str) -> tuple[int, DemoVocabulary, str, Declared]:
        rng = self._rng
        if not self._is("charset", name):
            subject = rng.throw("subject", name) % len(SUBJECTS)
            return subject, SUBJECTS[subject], "utf-8", rng.pick((Declared.HEADER, Declared.META), "declared", name)
        subject = len(SUBJECTS) + rng.throw("tongue", name) % len(FOREIGN_VOCABULARIES)
        vocabulary = FOREIGN_VOCABULARIES[subject - len(SUBJECTS)]
        charset = rng.pick(vocabulary.charsets, "charset of", name)
        options = tuple(Declared) if charset == "utf-8" else (Declared.HEADER, Declared.META)
        return subject, vocabulary, charset, rng.pick(options, "declared", name)

    def _draw_robots(self, name: str, is_first: bool) -> RobotsKind:
        demo_settings, at = self._demo_settings, self._rng.unit("robots", name)
        shares = (
            (RobotsKind.CLOSED, demo_settings.robots_closed_share),
            (RobotsKind.BROKEN, demo_settings.robots_broken_share),
            (RobotsKind.MISSING, demo_settings.robots_missing_share),
            (RobotsKind.DISALLOW, demo_settings.robots_disallow_share),
        )
        for kind, share in shares:
            if at < share:
                return RobotsKind.OPEN if is_first and kind in (RobotsKind.CLOSED, RobotsKind.BROKEN) else kind
            at -= share
        return RobotsKind.OPEN

    def _n_pages(self, name: str) -> int:
        """Draw a number of pages from the range; small numbers are more frequent: half of the hosts are in its lowest third by ratio."""
        low, high = self._demo_settings.pages_per_host
        return min(high, round(low * math.pow(high / low, math.pow(self._rng.unit("pages", name), 1.6))))

    def _address(self, site: int, number: int) -> str:
        demo_settings, rng = self._demo_settings, self._rng
        if rng.unit("shared", site) < demo_settings.shared_address_share:
            shared = 1 + int(demo_settings.n_sites * demo_settings.shared_address_share) // _SITES_PER_ADDRESS
            return f"127.10.0.{1 + rng.throw('address', site) % min(shared, 250)}"
        place = number if demo_settings.by_address else number // _HOSTS_PER_ADDRESS
        return f"127.{20 + site // 250 % 200}.{1 + site % 250}.{1 + place % 250}"

    def _introduce(self) -> dict[int, list[tuple[int, DemoHost]]]:
        """Return {name of a host: (number of its page that links to a new host, the new host)}."""
        introduced: dict[int, list[tuple[int, DemoHost]]] = {}
        seeds = {host.index for host in self.seeds}
        n_plain = n_new = 0
        for host in self.hosts:
            if host.index not in seeds:
                introducer = self.plain[min(n_new // _INTRODUCTIONS, n_plain - 1)]
                n_new += 1
                page = self._rng.throw("introduction", host.name) % introducer.n_pages
                introduced.setdefault(introducer.index, []).append((page, host))
            n_plain += host.is_plain
        return introduced
