"""`thresher demo`: a crawl that works anywhere, with no network: a deterministic web on loopback, crawled politely for some seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thresher.config.settings import (
    DnsSettings,
    FetchSettings,
    FilterSettings,
    IdentitySettings,
    LimitSettings,
    PathTrapSettings,
    ScopeSettings,
    Settings,
)
from thresher.crawler.cli.common import set_option
from thresher.crawler.cli.crawl import progress_option, run
from thresher.crawler.cli.durations import Duration

if TYPE_CHECKING:
    from thresher.crawler.demo.process import ServerProcess


@click.command(epilog="Example: thresher demo --seconds 10 -o demo-crawl")
@click.option(
    "-o",
    "--output",
    "directory",
    default="demo-crawl",
    show_default=True,
    metavar="DIR",
    help="Directory for the crawl; DIR-2 and so on if it exists.",
)
@click.option(
    "--seconds",
    type=Duration("1min", least_s=1, most_s=3600),
    default=12.0,
    show_default=True,
    help="How long to crawl, such as 30 or 1min.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Number that decides what the web is like.")
@set_option
@progress_option
def demo(directory: str, seconds: float, seed: int, sets: tuple[str, ...], progress: str) -> int:
    """Crawl a made-up web on this machine for some seconds.

    Its several hundred hosts have what real ones have: redirects, errors, slow answers, copies, session ids, a calendar trap,
    robots.txt. The crawl is polite, and no request leaves the machine.
    """
    from thresher.crawler.demo.process import ServerProcess
    from thresher.crawler.start.opening import check_startable, create_store, with_sets

    path = _fresh(Path(directory))
    with ServerProcess("demo", changes={"seed": seed}) as server:
        settings = with_sets(demo_settings(server, seconds), sets)
        check_startable(settings)
        create_store(path, settings)
        code = run(path, progress)
    print(_NEXT.format(dir=path), file=sys.stderr)
    return code


def demo_settings(server: ServerProcess, seconds: float | None) -> Settings:
    """Return the configuration of a crawl of a demo server: polite as by default, and kept on loopback."""
    return Settings(
        seeds=server.web.seeds(),
        identity=IdentitySettings(agent="thresher-demo", contact="https://example.org/demo"),
        scope=ScopeSettings(type="any"),
        limits=LimitSettings(max_time=seconds, min_free_disk=0),
        fetch=FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port]),
        dns=DnsSettings(static=server.web.static_dns()),
        filters=FilterSettings(path_trap=PathTrapSettings(max_calendar=2)),
    )


def _fresh(path: Path) -> Path:
    """Return the first of DIR, DIR-2, DIR-3 … that is not there yet, so that a demo never touches an earlier crawl."""
    candidate, n = path, 1
    while candidate.exists():
        n += 1
        candidate = path.with_name(f"{path.name}-{n}")
    return candidate


_NEXT = """
What to try next:
  thresher stats {dir} --by status        what was answered
  thresher hosts {dir} --top 10           how each host was treated
  thresher export {dir} --fields url,status,depth,title | head
  thresher explain {dir} URL              why a URL was, or was not, fetched
  thresher verify {dir}                   every invariant of the store
  thresher crawl https://example.org/ --contact YOU@example.org --max-pages 100 -o my-crawl
"""
