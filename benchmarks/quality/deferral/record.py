"""Record the graph of a living site: crawl it with all filters off, keep what each URL answers and which URLs it names.

A recording is JSON lines, gzipped, one line a URL in the order of the crawl: `u` URL, `d` clicks from the seed, `s` status (0: none), `t`
hash of the visible text ("" for none), `n` URLs that this answer names first of all, `l` what it names, as numbers: the seed is 0, and the
URLs of `n` are numbered in order as they come.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.living.apache import PACKAGE, PROGRAM, Place, free_port, serving
from benchmarks.living.crawls import Crawl, crawl, thresher
from benchmarks.living.letters import LETTERS
from benchmarks.living.manuals import MANUALS
from benchmarks.living.repository import REPOSITORY
from benchmarks.living.site import Site
from benchmarks.living.wiki import WIKI

_MANUAL = Path("/usr/share/doc/apache2-doc/manual")
_DOCS = Path("/usr/share/doc")
_LISTED = 40  # folders of the listings


def _serve_manual(place: Place) -> str:
    return f"DocumentRoot {_MANUAL}\n<Directory {_MANUAL}>\n  Options Indexes FollowSymLinks\n</Directory>"


def _serve_listings(place: Place) -> str:
    root = place.directory / "root"
    root.mkdir()
    for folder in sorted(path for path in _DOCS.iterdir() if path.is_dir() and not path.is_symlink())[:: max(1, 600 // _LISTED)][:_LISTED]:
        (root / folder.name).symlink_to(folder)
    return f"""DocumentRoot {root}
<Directory {_DOCS}>
  Options +Indexes +FollowSymLinks
</Directory>
<Directory {root}>
  Options +Indexes +FollowSymLinks
  IndexOptions FancyIndexing
</Directory>"""


def _kind(url: str) -> str:
    return url


LANGUAGES = Site(
    name="languages",
    about="Apache's manual in eleven languages, of which most pages of most are the English ones",
    address="127.0.8.5",
    hosts=("httpd.example",),
    seed="/en/index.html",
    needs={PROGRAM: PACKAGE, _MANUAL / "en": "apache2-doc"},
    build=_serve_manual,
    kind=_kind,
)
LISTINGS = Site(
    name="listings",
    about="folders as Apache lists them, each in eight orders",
    address="127.0.8.6",
    hosts=("files.example",),
    seed="/",
    needs={PROGRAM: PACKAGE},
    build=_serve_listings,
    kind=_kind,
    modules="autoindex",
)
SITES = {site.name: site for site in (WIKI, MANUALS, REPOSITORY, LETTERS, LANGUAGES, LISTINGS)}


def record(site: Site, directory: Path, to: Path) -> int:
    """Serve a site, crawl it whole, write the recording; return its lines."""
    place = Place(directory / site.name, site.address, free_port(site.address))
    place.directory.mkdir(parents=True)
    directives = site.build(place)
    store = directory / f"{site.name}-plain"
    with serving(place, directives, modules=site.modules):
        found = crawl(site, place, store, ())
    return write(found, place.url(site.hosts[0], site.seed), to)


def write(found: Crawl, seed: str, to: Path) -> int:
    """Write the recording of a crawl; return its lines. A document is its text without times of day, as `benchmarks.living` has it."""
    documents = {answer.url: answer.document for answer in found.answers}
    numbers = {seed: 0}
    n = 0
    with gzip.open(to, "wt", encoding="utf-8") as out:
        for row in _answers(found.directory):
            new = [url for url in dict.fromkeys(row["links"]) if url not in numbers]
            numbers |= {url: number for number, url in enumerate(new, len(numbers))}
            named = [numbers[url] for url in row["links"]]
            line = {"u": row["url"], "d": row["depth"], "s": row["status"] or 0, "t": documents.get(row["url"], ""), "n": new, "l": named}
            out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            n += 1
    return n


def _answers(store: Path) -> Iterator[dict[str, Any]]:
    """Yield all answers in order of time, redirects among them, each with what it names."""
    links: dict[str, list[str]] = defaultdict(list)
    for link in _rows(store, "links", "source,target"):
        links[link["source"]].append(link["target"])
    pages = [row | {"at": row["fetched_at"]} for row in _rows(store, "pages", "url,status,depth,fetched_at")]
    hops = [
        {"url": row["url"], "status": row["status"], "depth": 0, "at": row["at"], "to": row["to"]}
        for row in _rows(store, "redirects", "url,to,status,at")
    ]
    for row in sorted(pages + hops, key=lambda row: str(row["at"])):
        target = row.get("to")
        yield row | {"links": [target] if target else links[row["url"]]}


def _rows(store: Path, what: str, fields: str) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, thresher("export", str(store), "--what", what, "--fields", fields).splitlines())
