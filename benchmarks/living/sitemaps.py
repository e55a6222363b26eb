"""Living sites with and without the sitemaps that their own software makes: `python -m benchmarks.living sitemaps [SITE…] [--keep DIR]`.

WordPress (the site `blog`) names a sitemap index of its own in robots.txt. The site is crawled twice from its home page, with all filters
off, since what they draw by chance differs: with `sitemaps: off` and with `sitemaps: robots`. Prints the requests of both, and which pages
(answers 200) only links lead to, or only the sitemap.

Exits with 1 if no sitemap was read, if a page that links lead to was not found with the sitemap, or if a page that is only announced (an
orphan) was not fetched.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.living.crawls import MAX_PAGES, Crawl, crawl_as, enforced, thresher
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES, served, there

_ANNOUNCING = ("blog",)
_SHOWN = 12


@dataclass(frozen=True)
class Found:
    """Which pages each way of finding led to: URLs that were answered 200."""

    by_links: set[str]  # without sitemaps
    by_both: set[str]
    only_announced: set[str]  # orphans, as the crawl with sitemaps tells
    only_linked: set[str]  # unannounced, likewise
    n_sitemaps: int

    def faults(self) -> list[str]:
        """Return what is wrong, in words."""
        faults = [] if self.n_sitemaps else ["no sitemap was read"]
        faults += [f"not found with the sitemap: {url}" for url in sorted(self.by_links - self.by_both)]
        return faults + [f"announced, and not fetched: {url}" for url in sorted(self.only_announced - self.by_both)]


def compare(without: Crawl, both: Crawl) -> Found:
    """Compare a crawl without sitemaps with one that reads them."""
    orphans, unannounced = _exported(both.directory, "orphans"), _exported(both.directory, "unannounced")
    pages = _pages(both)
    return Found(
        by_links=_pages(without),
        by_both=pages,
        only_announced=orphans,
        only_linked=unannounced & pages,
        n_sitemaps=len(thresher("export", str(both.directory), "--what", "sitemaps").splitlines()),
    )


def _pages(crawl: Crawl) -> set[str]:
    return {answer.url for answer in crawl.answers if answer.status == 200}


def _exported(directory: Path, what: str) -> set[str]:
    lines = thresher("export", str(directory), "--what", what, "--fields", "url").splitlines()
    return {json.loads(line)["url"] for line in lines}


def measure(site: Site, directory: Path) -> list[str]:
    """Crawl a site both ways and print the differences; return what is wrong, in words."""
    with served(site, directory) as place:
        both_ways = (*enforced(()), f"limits.max_pages={MAX_PAGES}")
        without = crawl_as(site, place, directory / f"{site.name}-links", ('sitemaps="off"', *both_ways))
        both = crawl_as(site, place, directory / f"{site.name}-both", ("sitemaps=robots", *both_ways))
    found = compare(without, both)
    print(f"{site.name}: {site.about}; sitemaps read: {found.n_sitemaps}")
    for label, crawl, pages in (("links alone", without, found.by_links), ("with the sitemap", both, found.by_both)):
        print(f"  {label}: {len(pages):,} pages, {crawl.requests.total():,} requests, of which sitemaps {crawl.requests['sitemap']:,}")
    for label, urls in (("only announced", found.only_announced), ("only linked", found.only_linked)):
        print(f"  {label}: {len(urls):,}")
        print("".join(f"    {url}\n" for url in sorted(urls)[:_SHOWN]), end="")
    return found.faults()


def main(arguments: Sequence[str]) -> int:
    """Compare each site; return 1 if anything is wrong, 2 if packages are missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.living sitemaps", description="Living sites with and without their sitemaps."
    )
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"default: {', '.join(_ANNOUNCING)}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave sites and stores there")
    options = parser.parse_args(arguments)
    wanted = options.sites or list(_ANNOUNCING)
    sites = there(wanted)
    if len(sites) < len(wanted):
        return 2
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-living-")))
        faults = [fault for site in sites for fault in measure(site, keep)]
    for fault in faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    return int(bool(faults))
