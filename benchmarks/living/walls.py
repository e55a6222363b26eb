"""Walls before living sites: `python -m benchmarks.living walls [SITE…] [--seed N] [--set KEY=VALUE]… [--filters SET] [--kinds K,…]`
(`--no-plain`: leave out the crawl without filters; `--recorded DIR`: stand before recordings in place of the software; `--pace N`: walls
stand, and crawls wait for them, an N-th of their time).

Three sites (mediawiki, forum, listings, or those named) are crawled plainly without walls, then, through a proxy that puts up walls at
times drawn from the seed, plainly and with the default configuration (or what --set and --filters make of it). Each wall falls after
some requests or seconds, and the crawl goes on; robots.txt is always answered. With `--recorded` the answers are those that
`python -m benchmarks.living record DIR` has kept, which takes minutes and no software, and nothing is crawled without walls.

A document is lost if the plain crawl without walls has it and the crawl with walls kept neither it nor a near copy, by the clusters of
`thresher replicas`. Each loss is counted under the kind of wall that answered its URLs; as `never shown` if its URLs were asked for eight
times or more and each time behind a wall, so that no crawler could have it; or as `aftermath` if none of them was ever asked for behind a
wall: held or never met after what the walls taught. Exit 1 if anything is lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.anytime import clusters, never, run_of
from benchmarks.living.apache import Place
from benchmarks.living.barriers import Kind, without_banners
from benchmarks.living.crawls import Crawl, crawl_as, enforced, filters_of
from benchmarks.living.curve import Run
from benchmarks.living.proxy import walled
from benchmarks.living.recorded_site import served_again
from benchmarks.living.recordings import recorded
from benchmarks.living.site import Site
from benchmarks.living.sites import SITES, served, there

AFTERMATH = "aftermath"
NEVER_SHOWN = "never shown"
_OFTEN = 8  # requests
_DEFAULT = ("mediawiki", "forum", "listings")
_EXAMPLES = 3


def main(arguments: Sequence[str]) -> int:
    """Serve, put up walls, crawl, print; return 1 if a document is lost, 2 on a wrong option or if no site's software is there."""
    options = _options(arguments)
    try:
        settings = [*(enforced(filters_of(options.filters)) if options.filters else []), *options.set]
        kinds = [Kind[name.upper()] for name in options.kinds.split(",")] if options.kinds else list(Kind)
    except (KeyError, ValueError) as error:
        print(f"--filters or --kinds: {error}", file=sys.stderr)
        return 2
    sites = [SITES[name] for name in recorded(options.recorded, options.sites)] if options.recorded else there(options.sites or _DEFAULT)
    if not sites:
        return 2
    with ExitStack() as stack:
        keep = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thresher-walls-")))
        n_lost = sum(
            [
                before_recording(site, options.recorded, keep, settings, options.seed, kinds, pace=options.pace)
                if options.recorded
                else measure(site, keep, settings, options.seed, kinds, with_plain=not options.no_plain, pace=options.pace)
                for site in sites
            ]
        )
    print(f"missed: {n_lost} documents lost, goal 0" if n_lost else "all goals are met")
    return int(n_lost > 0)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living walls", description="Put walls before living sites.")
    parser.add_argument(
        "sites", nargs="*", metavar="SITE", choices=[*SITES, []], help=f"of {', '.join(SITES)}; default: {', '.join(_DEFAULT)}"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the walls (1)")
    parser.add_argument("--kinds", default="", metavar="K,…", help=f"of {', '.join(kind.name.lower() for kind in Kind)}; default: all")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change the configuration of the crawls with filters"
    )
    parser.add_argument("--filters", default="", metavar="SET", help="A+B, all, all-A: enforce these and no others; default: the defaults")
    parser.add_argument("--no-plain", action="store_true", help="leave out the crawl through walls without filters")
    parser.add_argument("--recorded", type=Path, metavar="DIR", help="recordings, by `python -m benchmarks.living record DIR`")
    parser.add_argument("--pace", type=int, default=1, metavar="N", help="walls and waits for them last an N-th of their time (1)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave sites and stores there")
    return parser.parse_args(arguments)


def measure(
    site: Site, directory: Path, settings: Sequence[str], seed: int, kinds: list[Kind], *, with_plain: bool = True, pace: int = 1
) -> int:
    """Serve a site behind walls; return what the crawl with filters lost."""
    with served(site, directory, is_fronted=True) as place:
        return through(site, place, directory, settings, seed, kinds, with_plain=with_plain, pace=pace)


def before_recording(
    site: Site, directory: Path, keep: Path, settings: Sequence[str], seed: int, kinds: list[Kind], *, pace: int = 1
) -> int:
    """Serve a recording behind walls; return what the crawl with filters lost."""
    recording = recorded(directory, [site.name])[site.name]
    print(f"\n{site.name}, recorded: {site.about}\nwithout walls: {len(recording.requests):,} requests", flush=True)
    with served_again(site, directory / site.name, keep) as place, walled(place, seed, kinds, pace) as walls:
        found = _shown(crawl_as(site, place, keep / f"{site.name}-walls-filters", (*_patience(pace), *settings)))
    return _told(recording.run, run_of(found, never), recording.clusters, found.states, walls.met, "filters")


def through(
    site: Site,
    place: Place,
    directory: Path,
    settings: Sequence[str],
    seed: int,
    kinds: list[Kind],
    *,
    with_plain: bool = True,
    pace: int = 1,
) -> int:
    """Crawl a site that is served already, without walls and through them; print; return what the crawl with filters lost."""
    n_lost = 0
    is_empty = site.empty(place.directory) if site.empty else never
    with walled(place, seed, []):
        base = crawl_as(site, place, directory / f"{site.name}-plain", (*_patience(pace), *enforced(())))
    print(f"\n{site.name}: {site.about}\nwithout walls: {base.requests.total():,} requests", flush=True)
    for name, own in ((("plain", enforced(())),) if with_plain else ()) + (("filters", settings),):
        with walled(place, seed, kinds, pace) as walls:
            found = _shown(crawl_as(site, place, directory / f"{site.name}-walls-{name}", (*_patience(pace), *own)))
        n_lost = _told(run_of(base, is_empty), run_of(found, is_empty), clusters(base), found.states, walls.met, name)
    return n_lost


def _patience(pace: int) -> tuple[str, ...]:
    """Return the settings by which a crawl waits for walls no longer than they stand."""
    return "limits.max_wait=60", f"politeness.backoff_initial={1 / pace:.3f}", f"politeness.backoff_max={5 / pace:.3f}"


def _shown(crawl: Crawl) -> Crawl:
    """Return a crawl whose pages are without what an experiment adds to them: a page with a banner counts as the page without it."""
    return replace(crawl, answers=[replace(answer, text=without_banners(answer.text)) for answer in crawl.answers])


def _told(
    plain: Run, found: Run, near: Mapping[str, int], states_of: Mapping[str, tuple[str, str]], met: Mapping[str, list[str]], name: str
) -> int:
    """Print what a crawl through walls lost, by kind of wall; return how many documents.

    Args:
        plain: The crawl without walls.
        found: The crawl through walls.
        near: Document → number of its cluster of near copies.
        states_of: URL → state and reason, of the crawl through walls.
        met: Host and path → the wall at each request.
        name: Of the crawl through walls.
    """
    kept, purposes = found.documents, Counter(request.purpose for request in found.requests)
    there_too = {near[document] for document in kept if document in near}
    urls: dict[str, list[str]] = defaultdict(list)
    for request in plain.requests:
        if request.document and request.document not in kept and near.get(request.document, -1) not in there_too:
            urls[request.document].append(request.url)
    blamed = {document: blame(its, met) for document, its in urls.items()}
    stood = Counter(kind for kinds in met.values() for kind in kinds if kind)
    print(
        f"{name}: {len(found.requests):,} requests, {purposes['canary']:,} of them canaries, {stood.total():,} behind walls; "
        f"lost {len(urls):,} of {len(plain.documents):,}"
    )
    for kind, n in Counter(blamed.values()).most_common():
        examples = [its[0] for document, its in urls.items() if blamed[document] == kind][:_EXAMPLES]
        states = Counter(
            " ".join(states_of.get(url, ("not met", ""))).strip() for d, its in urls.items() if blamed[d] == kind for url in its
        )
        told = ", ".join(f"{state} {m}" for state, m in states.most_common(4))
        print(
            f"  {kind}: {n} lost of {stood[kind]} requests; their URLs: {told}\n" + "\n".join(f"      {url}" for url in examples),
            flush=True,
        )
    return len(urls)


def blame(urls: Sequence[str], met: Mapping[str, Sequence[str]]) -> str:
    """Return the kind of wall that answered one of these URLs last, that none did, or that walls answered however often one was asked."""
    asked = [kind for url in urls for kind in met.get(_asked(url), ())]
    kinds = [kind for kind in asked if kind]
    if len(kinds) == len(asked) >= _OFTEN:
        return NEVER_SHOWN
    return kinds[-1] if kinds else AFTERMATH


def _asked(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
