"""Small honest sites, each with and without tracking parameters: none of their pages may be dropped as an error.

    python -m benchmarks.quality.honest_sites [--pages 20] [--keep DIR]

Each kind of site answers on loopback as real sites of its kind do. Each is crawled in two variants: in the second, every link is followed
by another link to the same page with ?ref=…, ?utm_source=… or ?from=…. One crawl starts at all home pages, in the default configuration
without delays. A page is lost if the last verdict of soft_error does not keep it, if the filter refused it, or if its host was parked. The
web also has faulty sites, which answer 200 for missing pages in nine ways: a filter that drops nothing would fail there.

Prints a row for each kind: pages, lost as errors, dropped as copies, missing pages and how many were found, probes. Exit 1 unless all
honest pages are kept and .95 of the missing ones are found. Five seconds of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "stories")]

from little_web import Crawled, LittleWeb, crawl, settings  # found where the suite finds it
from soft_web import caught, standing

from benchmarks.quality.honest_kinds import (
    FAULTY,
    HOME,
    HONEST,
    NOTHING,
    Reply,
    Server,
    Site,
    number_of,
    numbered,
    words,
)
from thresher.config.settings import FilterSettings, LimitSettings, Settings
from thresher.filters.soft_error.probe import N_LETTERS

__all__ = [
    "FAULTY",
    "HOME",
    "HONEST",
    "NOTHING",
    "LittleWeb",
    "Outcome",
    "Reply",
    "Server",
    "Site",
    "crawl",
    "judge",
    "number_of",
    "numbered",
    "run",
    "served",
    "words",
]

N_PAGES = 20
MIN_RECALL = 0.95
_TRACKED = "-tracked"
_PORTAL = "portal.test"


@dataclass(frozen=True)
class Outcome:
    """The result for one site."""

    name: str
    n_pages: int  # honest URLs, with those that have a tracking parameter
    lost: list[str]  # honest URLs that were lost
    n_copies: int  # honest URLs that exact_duplicate dropped
    n_missing: int  # URLs of missing pages
    n_found: int  # of them
    n_probes: int


async def run(path: Path, n_pages: int = N_PAGES, sites: Sequence[Site] = (*HONEST, *FAULTY)) -> list[Outcome]:
    """Crawl all sites, each with and without tracking parameters."""
    async with LittleWeb() as web:
        hosts = {f"s{i}{mark}.test": site for i, site in enumerate(sites) for mark in ("", _TRACKED)}
        crawled = await crawl(path, served(web, hosts, n_pages, FilterSettings()))
        lost = caught(crawled.path, crawled, standing(crawled.path))
        return [_outcome(web, crawled, lost, host, site, n_pages) for host, site in hosts.items()]


def served(web: LittleWeb, hosts: Mapping[str, Site], n_pages: int, filters: FilterSettings) -> Settings:
    """Let a web answer as these sites do; return the configuration of a crawl of all of them, with these filters."""
    for host, site in hosts.items():
        web.missing[f"{host}/"] = _Served(web, host, site, n_pages)
    apps = [host + link for host, site in hosts.items() if site.is_app for link in links(site, host, n_pages)]
    web.page(f"{_PORTAL}/", *apps)
    limits = LimitSettings(min_free_disk=0, max_wait=1.0)
    return settings(web, [f"{host}/" for host in (*hosts, _PORTAL)], limits=limits, filters=filters, canaries=True)


class _Served:
    """Puts an answer of one site into the web when it is first asked for."""

    def __init__(self, web: LittleWeb, host: str, site: Site, n_pages: int) -> None:
        self._web, self._host, self._site, self._n_pages = web, host, site, n_pages

    def __call__(self, place: str) -> None:
        path, _, query = place[place.index("/") :].partition("?")
        fields = dict(field.partition("=")[::2] for field in query.split("&") if field)
        answer = self._site.answer(path, fields, self._n_pages)
        if answer.location:
            self._web.redirect(place, self._host + answer.location, answer.status)
            return
        has_menu = answer.has_menu or (path == "/" and not self._site.is_app)
        menu = "".join(f'<a href="{link}">{i}</a>' for i, link in enumerate(links(self._site, self._host, self._n_pages)) if has_menu)
        html = f"<html><head><title>{answer.title}</title></head><body><p>{answer.body}</p>{menu}</body></html>"
        self._web.file(place, "text/html; charset=utf-8", html.encode(), status=answer.status)


def links(site: Site, host: str, n_pages: int) -> Iterator[str]:
    """Yield the links of a site; on a site that tracks, after each link comes the same one with a tracking parameter."""
    for i, path in enumerate(site.paths(n_pages)):
        yield path
        if host.endswith(f"{_TRACKED}.test"):
            yield f"{path}{'&' if '?' in path else '?'}{('ref=home', 'utm_source=list', 'from=newsletter-of-june')[i % 3]}"


def _outcome(web: LittleWeb, crawled: Crawled, lost_anywhere: set[str], host: str, site: Site, n_pages: int) -> Outcome:
    urls = [web.url(f"{host}/"), *(web.url(host + link) for link in links(site, host, n_pages))]
    is_missing = {url for url in urls[1:] if site.is_faulty and _number(url) >= n_pages // 2}
    lost = lost_anywhere.intersection(urls)
    return Outcome(
        f"{site.name}{_TRACKED if _TRACKED in host else ''}",
        len(set(urls) - is_missing),
        sorted(lost - is_missing),
        sum(not crawled.pages[url].keep for url in set(urls) - is_missing - lost if url in crawled.pages),
        len(is_missing),
        len(lost & is_missing),
        sum(place.startswith(f"{host}/") and _is_probe(place) for place in web.requests),
    )


def _number(url: str) -> int:
    """Return the number of the page in a URL of a faulty site."""
    name = url.split("?ref=")[0].split("?utm")[0].split("?from")[0].split("&")[0]
    return int("".join(c for c in name.rpartition("/")[2].rpartition("=")[2] if c.isdigit()))


def _is_probe(place: str) -> bool:
    return any(len(name) == N_LETTERS and name.isalpha() for name in place.replace("?", "/").replace("=", "/").replace(".", "/").split("/"))


def main() -> int:
    """Run the proof."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.honest_sites", description="Crawl honest sites; drop none of their pages."
    )
    parser.add_argument("--pages", type=int, default=N_PAGES, help="pages of a site")
    parser.add_argument("--keep", type=Path, help="directory for the store")
    arguments = parser.parse_args()
    with nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="honest-sites-") as name:
        found = asyncio.run(run(Path(name) / "crawl", arguments.pages))
    return judge(found)


def judge(found: list[Outcome], min_recall: float = MIN_RECALL) -> int:
    """Print the table; return 1 if an honest page is lost, or if less than that share of the missing pages is found."""
    print(f"{'site':32} {'pages':>6} {'lost as errors':>15} {'copies':>7} {'missing':>8} {'found':>6} {'probes':>7}")
    for row in found:
        print(f"{row.name:32} {row.n_pages:6} {len(row.lost):15} {row.n_copies:7} {row.n_missing:8} {row.n_found:6} {row.n_probes:7}")
    total: Counter[str] = Counter()
    for row in found:
        total += Counter(pages=row.n_pages, lost=len(row.lost), missing=row.n_missing, found=row.n_found)
    print(f"{total['pages']:,} honest pages: {total['lost']} lost as errors; {total['missing']} missing pages: {total['found']} found")
    for url in [url for row in found for url in row.lost][:10]:
        print(f"lost: {url}")
    return int(total["lost"] > 0 or total["found"] < min_recall * total["missing"])


if __name__ == "__main__":
    sys.exit(main())
