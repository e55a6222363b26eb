"""One crawl of a site by the command line, with the results from its store and its log of requests."""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.living.apache import Place
from benchmarks.living.site import Site
from thresher.config.settings import FilterSettings
from thresher.crawler.children import python
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.view import View

MAX_PAGES = 5_000
_ALWAYS_ON = "media"  # files that are not pages are fetched by none of the crawls
_QUICK = (
    "politeness.delay_factor=0",
    "politeness.jitter=0",
    "politeness.address_delay=0",
    "limits.min_free_disk=0",
    "limits.max_wait=20",
)
_ALLOWED = ("fetch.allow_addresses=[127.0.0.0/8]", "fetch.allow_ports=any", "identity.contact=https://example.org/bot")
_WORD = re.compile(r"\w+")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")


def filters_of(name: str) -> list[str]:
    """Return the filters of a set: "a+b", or "all", or "all-c": all but c.

    Raises:
        ValueError: If a name is unknown.
    """
    first, *without = name.split("-")
    chosen = filter_names() if first == "all" else first.split("+")
    unknown = {*chosen, *without} - set(filter_names())
    if unknown:
        raise ValueError(f"no filter: {', '.join(sorted(unknown))}; there are {', '.join(filter_names())}, and all")
    return [filter_ for filter_ in chosen if filter_ not in without]


def filter_names() -> list[str]:
    """Return the filters that a crawl can be run with or without."""
    modes = [field.name for field in msgspec.structs.fields(FilterSettings) if hasattr(field.default_factory, "mode")]
    return [name for name in modes if name != _ALWAYS_ON]


@dataclass(frozen=True)
class CrawledPage:
    """A page of a crawl."""

    url: str
    status: int
    text: str  # its visible words, as `Site.shown` returns them: without the times of day that some servers add; "" if not stored
    fingerprint: str  # fingerprint of the unchanged text
    is_kept: bool
    verdicts: list[dict[str, Any]]

    @property
    def document(self) -> str:
        """What the page shows, by its text; "" if that is not stored."""
        return blake2b(self.text.encode(), digest_size=12).hexdigest() if self.text else ""

    def dropped_by(self) -> list[str]:
        """Return the filters that dropped it, with their reasons."""
        return [f"{verdict['filter']}:{verdict['reason']}" for verdict in self.verdicts if not verdict["keep"]]


@dataclass(frozen=True)
class Crawl:
    """The results of one crawl."""

    directory: Path
    answers: list[CrawledPage]
    states: dict[str, tuple[str, str]]  # URL → state, reason
    requests: Counter[str]  # requests by purpose, without robots.txt
    n_audited: int
    n_served: int  # requests in the server's own log
    cpu_s: float
    is_cut: bool  # ended by limits.max_pages
    log: Path = Path()  # log of requests
    seconds: float = 0.0  # wall-clock seconds


def enforced(filters: Sequence[str]) -> list[str]:
    """Return the settings by which these filters are enforced and all others off."""
    return [f"filters.{name}.mode={'enforce' if name in filters else 'off'}" for name in filter_names()]


def add_settings(parser: argparse.ArgumentParser, *, of: str) -> None:
    """Add the options that change a configuration.

    Args:
        of: What they configure, for the help text.
    """
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=f"change the configuration of {of}")
    parser.add_argument("--filters", default="", metavar="SET", help="A+B, all, all-A: enforce these and no others; default: the defaults")


def chosen_settings(options: argparse.Namespace) -> list[str] | None:
    """Return the settings that these options make; None if the name of a filter is unknown, which is then printed."""
    try:
        return [*(enforced(filters_of(options.filters)) if options.filters else []), *options.set]
    except ValueError as error:
        print(f"--filters: {error}", file=sys.stderr)
        return None


def crawl(site: Site, place: Place, directory: Path, filters: Sequence[str], delay_s: float = 0.0) -> Crawl:
    """Crawl the site with these filters enforced and all others off.

    Args:
        site: The site.
        place: Where it is served.
        directory: For the crawl's files.
        filters: Names of the filters.
        delay_s: Seconds from the end of an answer to the next request.
    """
    return crawl_as(site, place, directory, (*enforced(filters), f"limits.max_pages={MAX_PAGES}"), delay_s)


def crawl_as(site: Site, place: Place, directory: Path, settings: Sequence[str], delay_s: float = 0.0) -> Crawl:
    """Crawl the site with these settings, in addition to those that all crawls of this benchmark have."""
    log, access = directory.with_suffix(".log"), place.directory / "access.log"
    pace = f"politeness.min_delay={delay_s}"
    own = (pace, f'dns.static={{".example": "{place.address}"}}', f"log.requests={log}")
    sets = [part for value in (*_QUICK, *_ALLOWED, *own, *site.settings, *settings) for part in ("--set", value)]
    n_before, cpu_before = _count(access), _cpu()
    seed = place.url(site.hosts[0], site.seed)
    began = time.monotonic()
    command = python.command("thresher", "crawl", seed, *sets, "-o", str(directory), "--progress", "none")
    subprocess.run(command, env=python.environment(), check=True, stdout=sys.stderr)
    seconds = time.monotonic() - began
    cpu_s, n_served = _cpu() - cpu_before, _count(access) - n_before
    totals = json.loads(thresher("stats", str(directory), "--json"))
    requests = Counter(line.split("\t")[4] for line in log.read_text("ascii").splitlines())
    return Crawl(
        directory=directory,
        answers=list(_answers(site, directory)),
        states={row["url"]: (row["state"], row["reason"] or "") for row in _rows(directory, "urls", "url,state,reason")},
        requests=Counter({purpose: n for purpose, n in requests.items() if purpose != "robots"}),
        n_audited=totals["audited"],
        n_served=n_served,
        cpu_s=cpu_s,
        is_cut=totals["pages"] >= MAX_PAGES,
        log=log,
        seconds=seconds,
    )


def thresher(*arguments: str) -> str:
    """Run a command; return its standard output."""
    command = python.command("thresher", *arguments)
    return subprocess.run(command, env=python.environment(), check=True, stdout=subprocess.PIPE, text=True).stdout


def holders(directory: Path, urls: Iterable[str]) -> dict[str, list[str]]:
    """Return held URL → the filters that hold it, each with its pattern or rule."""
    with View(directory) as view:
        space = URLSpace(view.secret, url_rules(view.settings))
        return {url: view.tables.held.holders(space.key(url)) for url in urls}


def refusals(directory: Path) -> dict[str, list[str]]:
    """Return URL → its entries in the log of skipped URLs: reason and filter."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in _rows(directory, "skipped", "url,reason,by"):
        found[row["url"]].append(f"{row['by'] or 'core'}:{row['reason']}")
    return found


def _answers(site: Site, directory: Path) -> Iterator[CrawledPage]:
    for row in _rows(directory, "pages", "url,status,text,fingerprint,keep,verdicts"):
        text = " ".join(_WORD.findall(site.shown(row["url"], _CLOCK.sub("", row["text"] or ""))))
        yield CrawledPage(row["url"], row["status"] or 0, text, row["fingerprint"] or "", row["keep"], row["verdicts"])


def _rows(directory: Path, what: str, fields: str) -> Iterator[dict[str, Any]]:
    for line in thresher("export", str(directory), "--what", what, "--fields", fields).splitlines():
        yield json.loads(line)


def _count(access: Path) -> int:
    """Return the number of lines of the server's log, without robots.txt and the server's requests to itself."""
    lines = access.read_text("utf-8", "replace").splitlines() if access.exists() else []
    return sum(".example /" in line and ".example /robots.txt" not in line for line in lines)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
