"""Real manuals crawled with and without a sitemap; prints what only one of the two finds: `python -m benchmarks.quality.sitemaps_manuals`.

    [--min-delay 0.02]   politeness of the crawls, judged by the server's log

Needs Debian's nginx-light, postgresql-doc-15 and python3-doc. nginx serves each manual on a loopback address beside a sitemap made from its
files: an index of gzipped parts of 500 pages, with the files' own dates as lastmod, named by robots.txt. Each is crawled from its home
page, without sitemaps and with them. Prints what only links found and the sitemap leaves out, and what only the sitemap found (orphans).

Exits with 1 if a page is lost with a sitemap, if an orphan was not fetched, or if more than their share of orphans came before the last
page that a link names; and if the server's log shows a gap below the delay, or a URL twice that is no canary.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape

from benchmarks.support.nginx import serving
from thresher.crawler.children import python

SITES: Final = {
    "http://127.0.0.2:8812/": Path("/usr/share/doc/postgresql-doc-15/html"),
    "http://127.0.0.3:8813/": Path("/usr/share/doc/python3.11-doc/html"),
}
_PART: Final = 500
_SHOWN: Final = 10
_PURPOSE: Final = 4  # column of the request log
_LINE: Final = re.compile(r'(\d+\.\d+) (\d+\.\d+) "(\S+)"')


def sitemap(seed: str, root: Path, to: Path) -> int:
    """Write robots.txt, an index and its parts into `to`; return how many pages they name."""
    pages = sorted(file for file in root.rglob("*.html") if file.is_file())
    parts = [pages[i : i + _PART] for i in range(0, len(pages), _PART)]
    for n, part in enumerate(parts):
        urls = "".join(_url(seed, root, file) for file in part)
        body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        (to / f"sitemap-{n}.xml.gz").write_bytes(gzip.compress(body.encode()))
    entries = "".join(f"<sitemap><loc>{seed}sitemap-{n}.xml.gz</loc></sitemap>" for n in range(len(parts)))
    (to / "sitemap.xml").write_text(f"<sitemapindex>{entries}</sitemapindex>")
    (to / "robots.txt").write_text(f"User-agent: *\nDisallow:\nSitemap: {seed}sitemap.xml\n")
    return len(pages)


def _url(seed: str, root: Path, file: Path) -> str:
    date = datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return f"<url><loc>{escape(seed + quote(file.relative_to(root).as_posix()))}</loc><lastmod>{date}</lastmod></url>"


def crawl(seed: str, directory: Path, *, with_sitemap: bool, delay: float) -> int:
    """Crawl from the seed with the command line; return how many requests were canaries, which fetch a page again."""
    log = directory.with_suffix(".requests")
    sets = {
        "politeness.min_delay": delay, "politeness.delay_factor": 0, "politeness.address_delay": 0, "limits.min_free_disk": 0,
        "fetch.allow_addresses": "[127.0.0.0/8]", "fetch.allow_ports": "any", "identity.contact": "https://example.org/bot",
        "sitemaps": "robots" if with_sitemap else '"off"', "log.requests": log,
    }  # fmt: skip
    flags = [part for name, value in sets.items() for part in ("--set", f"{name}={value}")]
    command = python.command("thresher", "crawl", seed, *flags, "-o", str(directory))
    subprocess.run(command, env=python.environment(), check=True, capture_output=True)
    return sum(line.split("\t")[_PURPOSE] == "canary" for line in log.read_text().splitlines())


def exported(directory: Path, what: str) -> list[dict[str, object]]:
    """Return the rows of an export."""
    command = python.command("thresher", "export", str(directory), "--what", what)
    done = subprocess.run(command, env=python.environment(), check=True, capture_output=True, text=True)
    return [json.loads(line) for line in io.StringIO(done.stdout)]


def pages(directory: Path) -> set[str]:
    """Return the pages that answered 200."""
    return {str(page["url"]) for page in exported(directory, "pages") if page["status"] == 200}


def requests(log: Path) -> list[tuple[float, float, str]]:
    """Return (start, end, path) of each request of a server's log, in order of arrival."""
    found = [match for line in log.read_text().splitlines() if (match := _LINE.match(line))]
    return sorted((float(match[1]) - float(match[2]), float(match[1]), match[3]) for match in found)


def compare(seed: str, root: Path, directory: Path, delay: float) -> int:
    """Crawl a manual both ways and print the differences; return how many promises were broken."""
    aside, log = directory / "aside", directory / "access.log"
    aside.mkdir(parents=True)
    n_named = sitemap(seed, root, aside)
    served = f"listen {urlsplit(seed).netloc}; root {root}; access_log {log} times; "
    served += f"location ~ ^/(robots.txt|sitemap.*)$ {{ root {aside}; }}"
    with serving(directory / "nginx", [served], [seed]):
        crawl(seed, directory / "without", with_sitemap=False, delay=delay)
        n_before = len(requests(log))
        n_canaries = crawl(seed, directory / "with", with_sitemap=True, delay=delay)
        made = requests(log)
    without, both = pages(directory / "without"), pages(directory / "with")
    orphans = {str(row["url"]): row for row in exported(directory / "with", "orphans")}
    left_out = [str(row["url"]) for row in exported(directory / "with", "unannounced") if row["status"] == 200]
    lost, unread = without - both, [url for url, row in orphans.items() if row["state"] == "queued"]
    asked = made[n_before:]
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(asked)]
    n_repeated = sum(n - 1 for n in Counter(path for _, _, path in asked).values())
    early = _early(asked, {urlsplit(url).path for url in orphans})
    shared = 0.05 * len(asked) + 2
    print(f"{seed} ({root}): {n_named:,} pages on disk are announced")
    print(f"  found by links alone: {len(without):,}; with the sitemap: {len(both):,}; requests {n_before:,} and {len(asked):,}")
    print(f"  shortest gap by the server's log: {min(gaps):.3f} s of {delay} s; orphans before the last page that links name: {early}")
    for label, found in (("only by the sitemap", sorted(both - without)), ("only by links", sorted(left_out)), ("LOST", sorted(lost))):
        print(f"  {label}: {len(found):,}")
        for url in found[:_SHOWN]:
            print(f"    {url}")
    checks = (not lost, not unread, min(gaps) >= delay - 0.002, n_repeated <= n_canaries, early <= shared)
    return sum(not kept for kept in checks)


def _early(asked: list[tuple[float, float, str]], orphans: set[str]) -> int:
    """Return how many orphans were requested before the last page that a link names."""
    paths = [path for _, _, path in asked]
    last = max(i for i, path in enumerate(paths) if path not in orphans)
    return sum(path in orphans for path in paths[:last])


def main() -> int:
    """Compare every manual; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description="Real manuals with and without a sitemap.")
    parser.add_argument("--min-delay", type=float, default=0.02)
    options = parser.parse_args()
    absent = [str(root) for root in SITES.values() if not root.is_dir()]
    if absent:
        print(f"not there: {', '.join(absent)}. apt-get install nginx-light postgresql-doc-15 python3-doc", file=sys.stderr)
        return 2
    n_broken = 0
    with tempfile.TemporaryDirectory(prefix="sitemaps-manuals-") as temporary:
        Path(temporary).chmod(0o755)  # nginx reads files as the user nobody
        for n, (seed, root) in enumerate(SITES.items()):
            n_broken += compare(seed, root, Path(temporary) / str(n), options.min_delay)
    print(f"{n_broken} broken promises")
    return int(n_broken > 0)


if __name__ == "__main__":
    sys.exit(main())
