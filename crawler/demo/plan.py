"""The plan of one host: its tree of pages, what is planted among them, and which page links to what.

    pages    0 is the home page; page p links to its children p·f+1 … p·f+f (f = fanout), so that each is reached
    planted  redirects, copies, errors, … under paths of their own; each is linked from one page of the tree
    links    of a page: navigation, children, what is planted here, hosts introduced here, then others up to its number

A plan is made when its host is first requested. Memory: about 350 bytes per page. Time: 6 µs per page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from math import gcd
from statistics import NormalDist

from thresher.crawler.demo.atlas import Atlas, DemoHost, RobotsKind
from thresher.crawler.demo.demo_settings import MOST_LINKS, DemoSettings
from thresher.crawler.demo.links import MOST_PAGES, DemoLink, LinkWriter, canonical_path, page_number, page_path, slug
from thresher.crawler.demo.seeded_random import SeededRandom

_N_NAVIGATION = 4  # first pages of the tree
_N_SIBLINGS = 4  # other hosts of the site
_N_LEAF_LINKS = 4  # links of a planted page, beside the navigation
_HOME_SHARE = 0.6  # share of links to other sites that lead to the home page
_PRIVATE_SHARE = 0.1
_AWAY_SHARE = 0.2  # share of redirects that lead to another host
_MOVED = (301, 302, 303, 307, 308)
_EXTENSIONS = ("pdf", "png", "zip", "jpg", "docx")
_EXACT = {"small": (4_000, 15), "median": (25_000, 60)}
_NORMAL = NormalDist()


class PathKind(StrEnum):
    """What a URL of the demo web is."""

    PAGE = "page"
    COPY = "copy"  # the same body as a page
    NEAR_COPY = "near_copy"  # the same text but for one paragraph
    VARIANT = "variant"  # a page under a query that changes nothing
    REDIRECT = "redirect"
    GONE = "gone"  # 404 or 410
    FAULT = "fault"  # 5xx at first, then a page
    ASSET = "asset"  # no HTML
    PRIVATE = "private"  # under a Disallow rule
    SPONSORED = "sponsored"  # linked with rel=nofollow only
    DEAD_END = "dead_end"  # its links must not be followed
    HIDDEN = "hidden"  # linked from a dead end only
    CALENDAR = "calendar"  # endless
    SESSION = "session"  # endless
    FARM = "farm"  # endless
    ROBOTS = "robots"
    UNKNOWN = "unknown"  # not in this web: 404


@dataclass(frozen=True, slots=True)
class PathPlan:
    """What is at one path of one host."""

    kind: PathKind
    path: str  # as a client sends it, without a query that the server ignores
    page: int = 0  # number in the tree: of the page, or of the page that it copies
    title: str = ""
    status: int = 200  # HTTP status; of a fault: the one with which it fails
    tries: int = 0  # of a fault: number of failing answers
    target: str = ""  # of a redirect: canonical URL
    location: str = ""  # of a redirect: as the header has it
    session: str = ""  # the URL's own session id


# kind, option, directory, ending
_PLANTED = (
    (PathKind.COPY, "duplicate_share", "print", ".html"),
    (PathKind.NEAR_COPY, "near_duplicate_share", "mirror", ".html"),
    (PathKind.GONE, "broken_share", "old", ".html"),
    (PathKind.FAULT, "error_share", "busy", ""),
    (PathKind.ASSET, "asset_share", "files", ""),
    (PathKind.SPONSORED, "nofollow_share", "partner", ""),
    (PathKind.DEAD_END, "meta_nofollow_share", "directory", "/"),
)


class PlannedHost:
    """The plan of one host."""

    def __init__(
        self, demo_settings: DemoSettings, rng: SeededRandom, atlas: Atlas, host: DemoHost, origin_of: Callable[[str], str]
    ) -> None:
        self.host = host
        self.origin = origin_of(host.name)
        self._demo_settings, self._rng, self._atlas, self._origin_of = demo_settings, rng, atlas, origin_of
        self.link_writer = LinkWriter(rng, host, origin_of)
        self._titles = [page_path(rng, host, page) for page in range(host.n_pages)]
        self._pages = [self.link_writer.home(path, title) for path, title in self._titles]
        self.navigation = self._pages[: 1 + _N_NAVIGATION] + [
            self.link_writer.to_host(sibling, 0) for sibling in atlas.of_site[host.site][:_N_SIBLINGS] if sibling is not host
        ]
        self._planted: dict[str, PathPlan] = {}
        self._links_on: dict[int, list[DemoLink]] = {}
        self._behind: dict[str, DemoLink] = {}  # dead end → hidden page
        if not host.forwards_to and not host.has_sessions:
            self._plant()
        for page, newcomer in atlas.introduced_by.get(host.index, ()):
            self._links_on.setdefault(page, []).append(self.link_writer.to_host(newcomer, 0))

    # planted pages

    def _plant(self) -> None:
        for kind, option, directory, ending in _PLANTED:
            for number in range(self._n_planted(kind, getattr(self._demo_settings, option))):
                self._plant_one(kind, number, directory, ending)
        if self.host.robots is RobotsKind.DISALLOW:
            for number in range(self._n_planted(PathKind.PRIVATE, _PRIVATE_SHARE)):
                self._plant_one(PathKind.PRIVATE, number, "private", ".html")
        for number in range(self._n_planted(PathKind.VARIANT, self._demo_settings.variant_share)):
            self._plant_variant(number)
        for number in range(self._n_planted(PathKind.REDIRECT, self._demo_settings.redirect_share)):
            self._plant_redirect(number)
        if self.host.has_calendar:
            self._put(0, self.link_writer.home("/calendar/2024/01/", "Calendar"))

    def _n_planted(self, kind: PathKind, share: float) -> int:
        return int(share * self.host.n_pages + self._rng.unit("planted", self.host.name, kind))

    def _page_of(self, *what: str | int) -> int:
        return self._rng.throw("page of", self.host.name, *what) % self.host.n_pages

    def _put(self, page: int, link: DemoLink) -> None:
        self._links_on.setdefault(page, []).append(link)

    def _plant_one(self, kind: PathKind, number: int, directory: str, ending: str) -> None:
        rng, host = self._rng, self.host
        _, first, second = slug(rng, host, kind, number)
        if kind is PathKind.ASSET:
            ending = "." + rng.pick(_EXTENSIONS, "extension", host.name, number)
        path = f"/{directory}/{first}-{second}-{number}{ending}"
        page, title = 0, f"{first.capitalize()} {second}, {directory} {number}"
        status = tries = 0
        if kind in (PathKind.COPY, PathKind.NEAR_COPY):
            page = self._page_of("copied", kind, number)
            title = self._titles[page][1]
        elif kind is PathKind.GONE:
            status = rng.pick((404, 404, 404, 410), "gone", host.name, number)
        elif kind is PathKind.FAULT:
            status = rng.pick(self._demo_settings.error_statuses, "error", host.name, number)
            tries = rng.within(self._demo_settings.error_tries, "tries", host.name, number)
        elif kind is PathKind.DEAD_END:
            self._behind[canonical_path(path)] = self._plant_hidden(number)
        self._add(PathPlan(kind, canonical_path(path), page, title, status or 200, tries))
        self._put(self._page_of(kind, number), self.link_writer.home(path, title, nofollow=kind is PathKind.SPONSORED))

    def _plant_hidden(self, number: int) -> DemoLink:
        path, title = f"/hidden/room-{number}.html", f"Room {number}"
        self._add(PathPlan(PathKind.HIDDEN, path, 0, title))
        return self.link_writer.home(path, title)

    def _plant_variant(self, number: int) -> None:
        page = self._page_of("varied", number)
        path, title = self._titles[page]
        tail = self._rng.pick(("utm_source=feed{}", "utm_campaign=autumn{}", "ref=sidebar{}"), "variant", self.host.name, number)
        self._put(
            self._page_of(PathKind.VARIANT, number),
            self.link_writer.home(f"{path}{'&' if '?' in path else '?'}{tail.format(number)}", title),
        )

    def _plant_redirect(self, number: int) -> None:
        rng, host = self._rng, self.host
        _, first, second = slug(rng, host, PathKind.REDIRECT, number)
        n_hops = max(1, rng.within(self._demo_settings.redirect_hops, "hops", host.name, number))
        entry = f"/go/{first}-{second}-{number}"
        paths = [entry] + [f"{entry}/{hop}" for hop in range(2, n_hops + 1)]
        for hop, path in enumerate(paths):
            target = self.origin + canonical_path(paths[hop + 1]) if hop + 1 < n_hops else self._final_target(number)
            self._add(
                PathPlan(
                    PathKind.REDIRECT,
                    canonical_path(path),
                    status=rng.pick(_MOVED, "moved", host.name, number, hop),
                    target=target,
                    location=self._location(target, number + hop),
                )
            )
        self._put(self._page_of(PathKind.REDIRECT, number), self.link_writer.home(entry, f"{first.capitalize()} {second}"))

    def _final_target(self, number: int) -> str:
        host = self.host
        if self._rng.unit("away", host.name, number) < _AWAY_SHARE:
            host = self._rng.pick(self._atlas.plain, "away to", host.name, number)
        page = self._rng.throw("target", self.host.name, number) % host.n_pages
        return self._origin_of(host.name) + canonical_path(page_path(self._rng, host, page)[0])

    def _location(self, target: str, manner: int) -> str:
        if not target.startswith(self.origin + "/") or manner % 3 == 0:
            return target
        return target[len(self.origin) :] if manner % 3 == 1 else "../../../" + target[len(self.origin) + 1 :]

    def _add(self, place: PathPlan) -> None:
        self._planted[place.path] = place

    # what is at a path

    def find(self, path: str) -> PathPlan | None:
        """Return what is at a path (without an ignored query), or None."""
        if (place := self._planted.get(path)) is not None:
            return place
        number = page_number(path) if path != "/" else 0
        if 0 <= number < len(self._pages) and self._pages[number].url == self.origin + path:
            return PathPlan(PathKind.PAGE, path, number, self._titles[number][1])
        if number >= len(self._pages) and self._demo_settings.new_links:
            planned, title = page_path(self._rng, self.host, number)
            return PathPlan(PathKind.PAGE, path, number, title) if canonical_path(planned) == path else None
        return None

    def page_url(self, page: int) -> str:
        return self._pages[page].url if page < len(self._pages) else self.origin + canonical_path(page_path(self._rng, self.host, page)[0])

    # links of pages

    def extent(self, page: int) -> tuple[int, int]:
        """Return bytes and links of a page. Log-normal sizes: half of all pages within a factor 2 of the median."""
        if exact := _EXACT.get(self._demo_settings.size):
            return exact
        name = self.host.name
        size = 25_000 * 2.718281828 ** (_NORMAL.inv_cdf(self._rng.unit("size", name, page) * 0.998 + 0.001))
        links = 40 * 2.718281828 ** (0.8 * _NORMAL.inv_cdf(self._rng.unit("links", name, page) * 0.998 + 0.001))
        return int(min(max(size, 2_000), 400_000)), int(min(max(links, 4), MOST_LINKS))

    def links(self, place: PathPlan) -> list[DemoLink]:
        """Return the links of the page at `place`, navigation first."""
        if self.host.has_sessions:
            return self._links_in_session(place)
        match place.kind:
            case PathKind.PAGE | PathKind.COPY | PathKind.NEAR_COPY | PathKind.VARIANT:
                return self._links_of_page(place.page)
            case PathKind.DEAD_END:
                return [*self.navigation, self._behind[place.path]]
            case _:
                return self.navigation + self._others(_N_LEAF_LINKS, len(self._pages), place.path)

    def n_navigation(self) -> int:
        return len(self.navigation)

    def _links_of_page(self, page: int) -> list[DemoLink]:
        fanout = self._demo_settings.fanout
        if self._demo_settings.new_links:
            return self._links_to_news(page)
        links = self.navigation + self._pages[page * fanout + 1 : page * fanout + fanout + 1] + self._links_on.get(page, [])
        n_links = self.extent(page)[1]
        n_away = min(round(self._demo_settings.cross_site_share * n_links), max(0, n_links - len(links)))
        links += [self._away(page, i) for i in range(n_away)]
        if n_links > len(links):
            links += self._others(n_links - len(links), max(2 * n_links, 2 * fanout * (page + 1)), page)
        return links

    def _links_to_news(self, page: int) -> list[DemoLink]:
        """Return the links of a page in the endless tree below the finite one: links that only it has, and links that every page of the
        host has.
        """
        n_links, first = self.extent(page)[1], len(self._pages) + page * self._demo_settings.new_links
        own = range(first, min(first + self._demo_settings.new_links, MOST_PAGES))
        links = [self.link_writer.home(*page_path(self._rng, self.host, number)) for number in own]
        n_away = min(round(self._demo_settings.cross_site_share * n_links), max(0, n_links - len(links)))
        links += [self._home_of_another(page, i) for i in range(n_away)]
        return (self.navigation + self._pages[1 + _N_NAVIGATION :])[: max(0, n_links - len(links))] + links

    def _home_of_another(self, page: int, number: int) -> DemoLink:
        return self.link_writer.to_host(self._rng.pick(self._atlas.plain, "home of another", self.host.name, page, number), 0)

    def _away(self, page: int, number: int) -> DemoLink:
        throw = self._rng.throw("to other sites", self.host.name, page, number)
        if self._atlas.farms and throw % 16 == 0:
            farm = self._atlas.farms[throw // 16 % len(self._atlas.farms)]
            return self.link_writer.absolute(f"{self._origin_of(f'x{throw % 1000}.{farm}')}/", "Best offers")
        host = self._atlas.plain[(throw >> 20) % len(self._atlas.plain)]
        return self.link_writer.to_host(host, 0 if (throw >> 4) % 100 < 100 * _HOME_SHARE else (throw >> 12) % host.n_pages)

    def _others(self, n: int, reach: int, *page: str | int) -> list[DemoLink]:
        """Return n links to pages with numbers below `reach` (and after the navigation, if there are any), distinct if there are enough."""
        first = 1 + _N_NAVIGATION
        pages = self._pages[first : max(reach, first + 1)] or self._pages
        throw = self._rng.throw("others", self.host.name, *page)
        stride = next(step for step in count(1 + throw % len(pages)) if gcd(step, len(pages)) == 1)
        return [pages[((throw >> 32) + i * stride) % len(pages)] for i in range(n)]

    def _links_in_session(self, place: PathPlan) -> list[DemoLink]:
        """Return the tree's links with the session id of this page, which is a function of the id and number in its URL."""
        session = f"{self._rng.throw('session', self.host.name, place.page, place.session):016x}"
        fanout, page = self._demo_settings.fanout, place.page
        wanted = [0, *range(1, 1 + _N_NAVIGATION), *range(page * fanout + 1, page * fanout + fanout + 1)]
        links = []
        for number in wanted:
            if number < len(self._titles):
                path, title = self._titles[number]
                links.append(self.link_writer.home(f"{path}{'&' if '?' in path else '?'}sid={session}", title))
        return links
