"""The settings of the demo web: every option with unit and default, and the ready-made profiles.

A share is a number from 0 to 1: of sites, of hosts, or of a host's pages (so many planted URLs per page); each option says which.
A range is (least, most), both included.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

Size = Literal["small", "median", "mixed"]
MOST_LINKS = 600
PARTS = ("soft", "aliases", "patterns", "depth", "replicas", "rank")
_NO_RANGES = ("error_statuses", "parts")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSettings:
    """The settings of one demo web. Two webs with equal settings and port are equal to the byte."""

    seed: int = 0  # 0..2^64-1

    # extent
    n_sites: int = 10  # registrable domains
    hosts_per_site: tuple[int, int] = (1, 3)
    pages_per_host: tuple[int, int] = (10, 30)  # HTML pages in a host's tree; most hosts are near the lower end
    by_address: bool = False  # hosts have no names: their URLs name their address, one each
    tls: bool = False  # https only; not for labelled parts
    n_seeds: int = 1  # the seeds are the home pages of so many plain hosts
    fanout: int = 6  # children per page in a host's tree; also about how far a page's other links reach

    # pages
    size: Size = "small"  # small: 4,000 bytes, 15 links; median: 25,000 bytes, 60 links; mixed: log-normal around 25,000 and 40
    new_links: int = 0  # endless links of each page to pages of its host that no other page links to; its other links are on every page
    cross_site_share: float = 0.1  # share of a page's links that lead to other sites
    script_share: float = 0.5  # share of sites with text in scripts and comments that looks like links
    state_bytes: int = 0  # bytes of data for scripts in a page's head, as frameworks write it
    attribute_bytes: int = 0  # bytes of classes and data attributes around each paragraph
    charset_share: float = 0.0  # share of hosts with text that is not ASCII, in UTF-8 or a legacy charset
    gzip_share: float = 0.0  # share of hosts with compressed bodies

    # per page of a host
    redirect_share: float = 0.0  # 3xx chains
    redirect_hops: tuple[int, int] = (1, 3)  # hops of a chain
    broken_share: float = 0.0  # 404 and 410
    error_share: float = 0.0  # 5xx that recover: see `Web.respond`
    error_tries: tuple[int, int] = (1, 2)  # failing answers before the page comes
    error_statuses: tuple[int, ...] = (500, 502, 503)
    retry_after_s: int = 0  # seconds in the Retry-After of a 503; 0: no such header
    duplicate_share: float = 0.0  # the same body under another URL
    near_duplicate_share: float = 0.0  # the same text but for one paragraph, under another URL
    variant_share: float = 0.0  # the same page under a query that changes nothing (?utm_source=…)
    canonical_share: float = 0.0  # share of all pages and copies that have <link rel=canonical>
    asset_share: float = 0.0  # links to pdf, png, zip, jpg, docx
    nofollow_share: float = 0.0  # pages linked with rel=nofollow only
    meta_nofollow_share: float = 0.0  # pages that forbid to follow their links (meta robots or X-Robots-Tag), each with a page behind it

    # per host or site
    slow_host_share: float = 0.0  # share of hosts where every answer is late
    slow_delay_s: tuple[float, float] = (0.5, 2.0)  # seconds, drawn once per slow host
    session_id_share: float = 0.0  # share of hosts whose links have a session id that changes with every page: endless
    calendar_share: float = 0.0  # share of hosts with an endless calendar under /calendar/
    forward_share: float = 0.0  # share of sites whose bare name redirects to the www host
    shared_address_share: float = 0.0  # share of sites whose hosts are on a few addresses that other sites also use
    n_farms: int = 0  # wildcard domains whose pages link to ever new subdomains

    # robots.txt, shares of hosts; the first four exclude each other, all other hosts allow everything
    robots_closed_share: float = 0.0  # Disallow: /
    robots_broken_share: float = 0.0  # 503
    robots_missing_share: float = 0.0  # 404
    robots_disallow_share: float = 0.0  # Disallow: /private/, and one link per ten pages into it
    crawl_delay_share: float = 0.0  # share, of the hosts that serve a robots.txt, with a Crawl-delay
    crawl_delay_s: tuple[int, int] = (1, 3)  # seconds

    # labelled parts, for the filters: crawler/demo/labelled.py. If there are any, the web is made of them, and of the options above only
    # `seed` is used
    parts: tuple[str, ...] = ()  # names from PARTS
    part_sites: int = 0  # sites of a part with a free number of sites (aliases, rank); 0: the part's default
    part_pages: int = 0  # about how many pages a site of a part has; 0: the part's default
    shared_sites: int = 0  # all hosts of all parts belong to so many sites; 0: each host has a site of its own

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_share") and not 0 <= value <= 1:
                raise ValueError(f"{field.name}: expected a share from 0 to 1, got {value!r}")
            if isinstance(value, tuple) and field.name not in _NO_RANGES and (len(value) != 2 or not 0 <= value[0] <= value[1]):
                raise ValueError(f"{field.name}: expected a range (least, most), got {value!r}")
        if min(self.state_bytes, self.attribute_bytes) < 0:
            raise ValueError(f"state_bytes, attribute_bytes: expected at least 0, got {self.state_bytes}, {self.attribute_bytes}")
        if self.size not in get_args(Size):
            raise ValueError(f"size: expected one of {', '.join(get_args(Size))}, got {self.size!r}")
        if min(self.n_sites, self.hosts_per_site[0], self.pages_per_host[0], self.n_seeds, self.fanout) < 1:
            raise ValueError("n_sites, hosts_per_site, pages_per_host, n_seeds and fanout: expected at least 1")
        if self.robots_closed_share + self.robots_broken_share + self.robots_missing_share + self.robots_disallow_share > 1:
            raise ValueError("robots_closed, _broken, _missing and _disallow_share: expected a sum of at most 1")
        if not set(self.parts) <= set(PARTS):
            raise ValueError(f"parts: expected some of {', '.join(PARTS)}, got {self.parts!r}")
        if self.tls and self.parts:
            raise ValueError("tls: labelled parts are served without")
        if not 0 <= self.new_links <= MOST_LINKS:
            raise ValueError(f"new_links: expected 0 to {MOST_LINKS}, got {self.new_links}")
        if min(self.part_sites, self.part_pages, self.shared_sites) < 0:
            raise ValueError("part_sites, part_pages and shared_sites: expected 0 or more")


_PLANTED = DemoSettings(
    redirect_share=0.1,
    broken_share=0.05,
    error_share=0.02,
    duplicate_share=0.05,
    near_duplicate_share=0.03,
    variant_share=0.05,
    canonical_share=0.3,
    asset_share=0.1,
    nofollow_share=0.05,
    meta_nofollow_share=0.03,
    robots_closed_share=0.04,
    robots_broken_share=0.04,
    robots_missing_share=0.3,
    robots_disallow_share=0.3,
    charset_share=0.2,
    gzip_share=0.5,
    forward_share=0.2,
    shared_address_share=0.3,
)
_BENCH = DemoSettings(
    n_sites=1000, hosts_per_site=(2, 2), pages_per_host=(64, 400), n_seeds=2000, robots_missing_share=0.5, cross_site_share=0.1
)

PROFILES: dict[str, DemoSettings] = {
    # some 350 hosts with everything planted: what `thresher demo` crawls
    "demo": replace(
        _PLANTED,
        n_sites=120,
        hosts_per_site=(1, 5),
        pages_per_host=(5, 200),
        n_seeds=20,
        size="mixed",
        redirect_hops=(1, 7),
        slow_host_share=0.05,
        session_id_share=0.04,
        calendar_share=0.04,
        crawl_delay_share=0.1,
    ),
    # some 20 hosts of 10 to 30 pages with everything planted that is not endless or slow: for tests
    "story": replace(_PLANTED, n_sites=8, hosts_per_site=(2, 3), pages_per_host=(10, 30), n_seeds=2, fanout=4),
    # 60 hosts, 3,000 pages and some 1,600 planted URLs; finite, every host reachable, transient errors that do not stop a whole host
    "kill": replace(
        _PLANTED,
        n_sites=30,
        hosts_per_site=(2, 2),
        pages_per_host=(50, 50),
        n_seeds=3,
        error_statuses=(500, 502),
        robots_closed_share=0.0,
        robots_broken_share=0.0,
        forward_share=0.0,
    ),
    # 2,000 hosts without errors: every page exactly 25,000 bytes and 60 links, some 2,000 words
    "bench_median": replace(_BENCH, size="median", fanout=30, state_bytes=6_000, attribute_bytes=160),
    # 2,000 hosts without errors: every page exactly 4,000 bytes and 15 links, some 260 words
    "bench_small": replace(_BENCH, size="small", fanout=6, state_bytes=400, attribute_bytes=160),
    # 20 sites of some 10,000 URLs each, on some seven hosts: aliases on each, soft errors on each, replicas on nine
    "bench_sites": DemoSettings(parts=("aliases", "soft", "replicas"), part_sites=20, part_pages=1_900, shared_sites=20),
    # an ordinary web of 30 hosts that links to two wildcard farms
    "spam": DemoSettings(n_sites=15, hosts_per_site=(2, 2), pages_per_host=(20, 20), n_seeds=3, n_farms=2),
    # some 50 hosts of up to 300 URLs: soft errors of nine kinds, and honest hosts that look like them
    "soft": DemoSettings(parts=("soft",)),
    # three sites of 600 documents and 1,500 URLs: nine kinds of aliases, and decoys
    "aliases": DemoSettings(parts=("aliases",)),
    # six hosts of some 6,000 URLs: forum, booking calendar, wiki with dead links, late bloomer, paginated archive, half-translated manual
    "patterns": DemoSettings(parts=("patterns",)),
    # four hosts of 1,650 real pages: an endless calendar, endless facets and session ids; a chain of 40 pages, a tree of seven levels
    "depth": DemoSettings(parts=("depth",)),
    # nine hosts of some 1,750 pages: edits of known size in two languages, two mirrors, template twins, indexes of one archive
    "replicas": DemoSettings(parts=("replicas",)),
    # 304 sites of 8,700 pages with a known link graph: hubs, local-link farms, Zipf's law for sizes and popularity
    "rank": DemoSettings(parts=("rank",)),
    # all labelled parts together: some 36,000 URLs
    "labelled": DemoSettings(parts=PARTS),
}


def profile(name: str, **changes: object) -> DemoSettings:
    """Return a ready-made profile, with `changes`.

    Raises:
        ValueError: For an unknown name or option.
    """
    if name not in PROFILES:
        raise ValueError(f"profile: expected one of {', '.join(PROFILES)}, got {name!r}")
    known = {field.name for field in fields(DemoSettings)}
    if unknown := sorted(changes.keys() - known):
        raise ValueError(f"unknown option {unknown[0]!r}; there are {', '.join(sorted(known))}")
    return replace(PROFILES[name], **changes)  # type: ignore[arg-type]  # the names are checked above, the values by __post_init__
