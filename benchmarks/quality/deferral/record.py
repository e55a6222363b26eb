"""Record the graph of a living site: crawl it with all filters off, and keep the answer and the links of each URL.

A recording is JSON lines, gzipped, one line a URL in the order of the crawl: `u` URL, `d` clicks from the seed, `s` status (0: none), `t`
hash of the visible text ("" for none), `n` URLs that no earlier answer links to, `l` all links, as numbers of URLs: the seed is 0, and the
URLs of all `n` are numbered in order.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.living.crawls import Crawl, crawl, thresher
from benchmarks.living.site import Site
from benchmarks.living.sites import served


def record(site: Site, directory: Path, to: Path) -> int:
    """Serve a site, crawl all of it, write the recording; return the number of its lines."""
    store = directory / f"{site.name}-plain"
    with served(site, directory) as place:
        found = crawl(site, place, store, ())
    return write(found, place.url(site.hosts[0], site.seed), to)


def write(found: Crawl, seed: str, to: Path) -> int:
    """Write the recording of a crawl; return the number of lines. A document is a text without times of day, as in benchmarks.living."""
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
    """Yield all answers with their links in order of time, also redirects."""
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
