"""Recordings of living sites: `python -m benchmarks.living record DIR [SITE…] [--pages N]`.

Each site is crawled plainly (every learned filter off), and these files are kept: DIR/NAME is the store of the crawl, DIR/NAME.log its log
of requests, DIR/NAME.json the documents that the requests showed. `python -m benchmarks.living replay DIR` crawls the recordings again with
filters (replayed.py), in minutes and without the sites' software. A site that is recorded already is left as it is.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from benchmarks.living.anytime import clusters, never, run_of
from benchmarks.living.apache import Place
from benchmarks.living.crawls import MAX_PAGES, crawl_as, enforced
from benchmarks.living.curve import CurveRequest, Run
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES, served, there


class Recording(msgspec.Struct, frozen=True):
    """The documents that a plain crawl's requests showed."""

    requests: list[CurveRequest]
    clusters: Mapping[str, int]  # document → its cluster of near copies

    @property
    def run(self) -> Run:
        return Run(self.requests)


def main(arguments: Sequence[str]) -> int:
    """Serve and crawl the sites that are not recorded yet; return 2 if no site's software is installed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living record", description="Record plain crawls of living sites.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the recordings are kept")
    parser.add_argument("sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: all")
    parser.add_argument("--pages", type=int, default=MAX_PAGES, metavar="N", help=f"requests after which a crawl is cut ({MAX_PAGES})")
    options = parser.parse_args(arguments)
    sites = there(options.sites)
    options.directory.mkdir(parents=True, exist_ok=True)
    for site in sites:
        if not _facts(options.directory, site.name).exists():
            with tempfile.TemporaryDirectory(prefix="thresher-record-") as work, served(site, Path(work)) as place:
                found = record(site, place, options.directory, n_pages=options.pages)
            print(f"{site.name}: {len(found.requests):,} requests, {len(found.run.documents):,} documents", flush=True)
    return 0 if sites else 2


def record(site: Site, place: Place, directory: Path, *, n_pages: int = MAX_PAGES) -> Recording:
    """Crawl a site that is served already; return the recording, after it was written to the directory."""
    base = crawl_as(site, place, directory / site.name, (*enforced(()), f"limits.max_pages={n_pages}"))
    is_empty = site.empty(place.directory) if site.empty else never
    found = Recording(list(run_of(base, is_empty).requests), clusters(base))
    _facts(directory, site.name).write_bytes(msgspec.json.encode(found))
    return found


def recorded(directory: Path, names: Sequence[str] = ()) -> dict[str, Recording]:
    """Return name → recording of these sites; of all sites if no names are given."""
    found = {}
    for name in names or SITES:
        with suppress(FileNotFoundError):
            found[name] = msgspec.json.decode(_facts(directory, name).read_bytes(), type=Recording)
    return found


def _facts(directory: Path, name: str) -> Path:
    return directory / f"{name}.json"
