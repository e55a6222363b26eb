"""Part "rank": a web whose whole link graph is known, for PageRank and for the order of a crawl.

    sites      sizes by Zipf's law; popularity by Zipf's law too: the larger a site, the more often it is linked to
    page       /p/7; of variant plain, hub or farm; it is its own document
    links      of a page: its site's menu (home page and five sections), its children in the site's tree, other pages of the site (low
               numbers more often); one in five to other sites, popular ones more often, mostly to their home pages
    hub        a popular site, but none of the largest twentieth, whose pages link to thirty other sites each
    farm       a local-link farm: hundreds of pages of one site that all link to five of it; one link from outside
    dangling   one childless page in ten has no links at all

Popularity follows size, since on the webs of Chile and Greece a crawl that takes the largest sites first finds pages of high PageRank
sooner than breadth-first [BCMR05]; that is only possible if pages of large sites are good ones. On this web, however, it finds them later
(benchmarks/quality/graph_orders.py).

Every site is linked from a page of an earlier site, so that all are reached from the three seeds. `LabelledWeb.graph` yields every page
with
its links as printed. A page's weight is stored nowhere: PageRank over that graph is the reference [NW01].

Memory: 100 bytes a site. Time: 30 µs for a page's links.
"""

from __future__ import annotations

from dataclasses import replace

from thresher.crawler.demo.labels import LabelledTrap
from thresher.crawler.demo.page_truth import PageTruth, PlannedLink
from thresher.crawler.demo.part_context import PartContext, PartHost, children, number_in
from thresher.crawler.demo.seeded_random import Word

N_SITES = 300
N_PAGES = 25  # pages of a site, on average
_FANOUT = 8
_SIZE_EXPONENT = 0.8
_N_SECTIONS = 5  # pages beside the home page in a site's menu; half the pages of eight Debian manuals link to 1 to 29, the median is 4
_HUB_SHARE = 0.02  # share of sites that are hubs
_LARGER_THAN_HUBS = 0.05  # share of sites larger than any hub: if hubs were the largest, two links in seven would lead to other sites
_N_FARMS = 4
_FARM_SHARE = 0.04  # share of all pages that one farm has
_N_BOOSTED = 5  # pages of a farm that all others endorse
_N_FARM_LINKS = 10
_N_HUB_LINKS = 30  # links of a hub's page to other sites
_LOCAL = (3, 14)  # further links of a page to its own site
_REMOTE_PER_LOCAL = 0.25
_HOME_SHARE = 0.65  # share of links to other sites that lead to a home page
_DANGLING_SHARE = 0.1  # share of childless pages that have no links
_N_SEEDS = 3


class RankPart:
    """Sites 0 to n−1 and, after them, the farms."""

    def __init__(self, context: PartContext) -> None:
        self._context = context
        n_sites, n_pages = context.n_sites or N_SITES, context.n_pages or N_PAGES
        self._n_plain = n_sites
        weights = [(i + 1) ** -_SIZE_EXPONENT for i in range(n_sites)]
        total, scale = n_sites * n_pages, n_sites * n_pages / sum(weights)
        in_size_order = [max(2, round(scale * weight)) for weight in weights]
        order = sorted(range(n_sites), key=lambda i: context.throw("size", i))  # so site 0, a seed, is not the largest
        self.sizes = [in_size_order[i] for i in order] + [max(10, int(_FARM_SHARE * total))] * _N_FARMS
        self._popular = sorted(range(n_sites), key=order.__getitem__)
        first, n_hubs = round(_LARGER_THAN_HUBS * n_sites), max(1, round(_HUB_SHARE * n_sites))
        self._hubs = set(self._popular[first : first + n_hubs])
        self._hosts = [context.domain(i) for i in range(len(self.sizes))]
        self._numbers = {host: i for i, host in enumerate(self._hosts)}
        self._origins = [context.origin(host) for host in self._hosts]
        self._introduced: dict[tuple[int, int], list[int]] = {}
        for i in range(_N_SEEDS, len(self.sizes)):
            by = context.throw("introducer", i) % min(i, n_sites)
            self._introduced.setdefault((by, context.throw("introducing page", i) % self.sizes[by]), []).append(i)
        self._part_hosts: dict[int, PartHost] = {}

    def hosts(self) -> list[str]:
        return self._hosts

    def seeds(self) -> list[str]:
        return [origin + "/" for origin in self._origins[:_N_SEEDS]]

    def traps(self) -> tuple[LabelledTrap, ...]:
        return ()

    def farms(self) -> list[str]:
        """Return the hosts of local-link farms."""
        return self._hosts[self._n_plain :]

    def hubs(self) -> list[str]:
        return [self._hosts[i] for i in sorted(self._hubs)]

    def find(self, host: str, path: str) -> PageTruth:
        site = self._numbers[host]
        page = 0 if path == "/" else number_in(path, "/p/", below=self.sizes[site])
        part_host = self._part_host(site)
        if page < 0 or (page == 0 and path != "/"):
            return part_host.gone()
        truth = part_host.page(path, variant=self._variant(site))
        if self._is_dangling(site, page):
            return replace(truth, template=replace(part_host.template, menu=()))
        links = [PlannedLink(self._url(*place), f"{self._hosts[place[0]]} {place[1]}") for place in self._links(site, page)]
        return replace(truth, links=tuple(links))

    def _part_host(self, site: int) -> PartHost:
        if (part_host := self._part_hosts.get(site)) is None:
            sections = [(f"/p/{page}", f"Section {page}") for page in range(1, min(_N_SECTIONS + 1, self.sizes[site]))]
            part_host = self._part_hosts[site] = PartHost(self._context, self._hosts[site], subject=site, menu=(("/", "Home"), *sections))
        return part_host

    def _url(self, site: int, page: int) -> str:
        return f"{self._origins[site]}/p/{page}" if page else self._origins[site] + "/"

    def _variant(self, site: int) -> str:
        return "farm" if site >= self._n_plain else "hub" if site in self._hubs else "plain"

    def _is_dangling(self, site: int, page: int) -> bool:
        is_childless = not children(page, _FANOUT, self.sizes[site]) and (site, page) not in self._introduced
        return is_childless and self._variant(site) == "plain" and self._context.unit("dangling", site, page) < _DANGLING_SHARE

    # which page links to which

    def _links(self, site: int, page: int) -> list[tuple[int, int]]:
        own = [(site, child) for child in children(page, _FANOUT, self.sizes[site])]
        if site >= self._n_plain:
            n_links = min(_N_FARM_LINKS, self.sizes[site])
            others = self._context.rng.indexes(n_links, self.sizes[site], self._context.part, "farm", site, page)
            return [*own, *((site, boosted) for boosted in range(1, 1 + _N_BOOSTED)), *((site, other) for other in others)]
        n_local = self._context.rng.within(_LOCAL, self._context.part, "local", site, page)
        n_remote = _N_HUB_LINKS if site in self._hubs else round(n_local * _REMOTE_PER_LOCAL)
        local = [(site, self._low(self.sizes[site], "local page", site, page, i)) for i in range(n_local)]
        introduced = [(new, 0) for new in self._introduced.get((site, page), ())]
        return [*own, *introduced, *local, *(self._remote_page(site, page, i) for i in range(n_remote))]

    def _remote_page(self, *link: int) -> tuple[int, int]:
        """Return a page of another site, by popularity."""
        site = self._popular[self._low(self._n_plain, "remote site", *link)]
        is_home = self._context.unit("remote home", *link) < _HOME_SHARE
        return site, 0 if is_home else self._low(self.sizes[site], "remote page", *link)

    def _low(self, n: int, *question: Word) -> int:
        """Draw from 0..n−1; k has a weight of about 1/(k+1), so low numbers come more often."""
        return min(n - 1, int((n + 1) ** self._context.unit(*question)) - 1)
