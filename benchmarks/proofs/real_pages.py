"""Crawl real manuals, and count the pages that are missing: `python -m benchmarks.proofs.real_pages`.

Needs Debian's nginx-light, postgresql-doc-15 and python3-doc. nginx serves the two manuals on two loopback addresses, each is crawled
from one seed by the command line, and the store is compared with a walk over the files on disk that shares no code with the crawler
(html.parser and urllib of the standard library): every page reachable by plain links must be there, none twice. Then `explain` is asked for
a URL of every kind that the crawl met, at least ten a site, and its answer printed.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from benchmarks.support.nginx import serving
from thresher.crawler.children import python

SITES = {
    "http://127.0.0.2:8802/": Path("/usr/share/doc/postgresql-doc-15/html"),
    "http://127.0.0.3:8803/": Path("/usr/share/doc/python3.11-doc/html"),
}
PAGE_TYPES = {".html": "text/html", ".htm": "text/html", ".txt": "text/plain"}


class Links(HTMLParser):
    """The plain links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.base = ""
        self._inert = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self._inert += tag == "template"
        if self._inert:
            return
        if tag == "base" and not self.base:
            self.base = of.get("href") or ""
        is_followed_link = tag == "link" and {"next", "prev", "alternate", "canonical"} & set((of.get("rel") or "").lower().split())
        target = of.get("href") if tag in ("a", "area") or is_followed_link else of.get("src") if tag in ("frame", "iframe") else None
        if target and "nofollow" not in (of.get("rel") or ""):
            self.found.append(target)

    def handle_endtag(self, tag: str) -> None:
        self._inert -= tag == "template"


def walk(seed: str, root: Path) -> set[str]:
    """Return the URLs of all pages on disk that plain links lead to from the seed."""
    found, queue = {seed}, [seed]
    while queue:
        url = queue.pop()
        parser = Links()
        parser.feed(_file(url, root).read_text("utf-8", "replace") if _type(url, root) == "text/html" else "")
        for href in parser.found:
            target = urldefrag(urljoin(urljoin(url, parser.base), href.strip()))[0]
            if target.startswith(seed) and target not in found and _type(target, root):
                found.add(target)
                queue.append(target)
    return found


def _file(url: str, root: Path) -> Path:
    path = root / unquote(urlsplit(url).path).lstrip("/")
    return path / "index.html" if path.is_dir() else path


def _type(url: str, root: Path) -> str:
    file = _file(url, root)
    return PAGE_TYPES.get(file.suffix, "") if file.is_file() else ""


def crawl(seed: str, directory: Path) -> list[dict[str, str]]:
    """Crawl from the seed with the command line; return the rows of its pages."""
    quick = ("politeness.min_delay=0", "politeness.delay_factor=0", "politeness.address_delay=0", "limits.min_free_disk=0")
    allowed = ("fetch.allow_addresses=[127.0.0.0/8]", "fetch.allow_ports=any", "identity.contact=https://example.org/bot")
    sets = [part for value in (*quick, *allowed) for part in ("--set", value)]
    subprocess.run(python.command("thresher", "crawl", seed, *sets, "-o", str(directory)), env=python.environment(), check=True)
    rows = _thresher("export", str(directory), "--fields", "url,status,type", "--format", "csv")
    return list(csv.DictReader(io.StringIO(rows)))


def kinds(directory: Path, seed: str, root: Path, truth: set[str]) -> dict[str, tuple[str, str]]:
    """Return a URL of each kind that the crawl met, with a phrase that the answer of `explain` must contain."""
    fields = "url,status,type,depth,keep"
    pages = [json.loads(line) for line in _thresher("export", str(directory), "--fields", fields).splitlines()]
    skipped = [json.loads(line) for line in _thresher("export", str(directory), "--what", "skipped", "--fields", "url,reason").splitlines()]
    read = [page for page in pages if page["status"] == 200]
    deepest = max((page for page in read if page["keep"]), key=lambda page: page["depth"])["url"]
    files = sorted(file.relative_to(root).as_posix() for file in root.rglob("*.*") if file.is_file())
    on_disk = [seed + file for file in files]
    urls = {
        "the seed": ([seed], "was fetched"),
        "the page farthest from it": ([deepest], "was fetched"),
        "a page with a fragment": ([f"{deepest}#top"], "was fetched"),
        "a page in another spelling": ([deepest.replace("http://", "HTTP://").replace(".html", "%2Ehtml")], "was fetched"),
        "a page that is plain text": ([page["url"] for page in read if page["type"] == "text/plain"], "was fetched"),
        "a copy of another page": ([page["url"] for page in read if not page["keep"]], "exact_duplicate"),
        "a dead link": ([page["url"] for page in pages if page["status"] == 404], "status 404"),
        "a page that no link leads to": ([url for url in on_disk if url.endswith(".html") and url not in truth], "not known"),
        "a page that is not there": ([f"{seed}no-such-page.html"], "not known"),
        "a picture": ([url for url in on_disk if url.endswith((".png", ".svg"))], "bad_type"),
        "a style sheet": ([url for url in on_disk if url.endswith(".css")], "bad_type"),
    }
    for reason in ("out_of_scope", "bad_scheme", "bad_type", "nofollow"):
        urls[f"a link refused as {reason}"] = ([skip["url"] for skip in skipped if skip["reason"] == reason], reason)
    return {kind: (found[0], phrase) for kind, (found, phrase) in urls.items() if found}


def explain(directory: Path, seed: str, root: Path, truth: set[str]) -> int:
    """Run `explain` for a URL of every kind and print its answers; return how many were wrong or missing."""
    asked = kinds(directory, seed, root, truth)
    wrong = max(0, 10 - len(asked))
    for kind, (url, phrase) in asked.items():
        answer = json.loads(_thresher("explain", str(directory), url, "--json"))["answer"]
        is_right = phrase in answer
        wrong += not is_right
        print(f"  {'' if is_right else 'WRONG: '}{kind}: {url}\n    {answer}")
    return wrong


def _thresher(*arguments: str) -> str:
    command = python.command("thresher", *arguments)
    return subprocess.run(command, env=python.environment(), check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Serve, crawl, compare, explain; return 0 if nothing is missing, nothing is there twice and every answer is right."""
    missing_roots = [str(root) for root in SITES.values() if not root.is_dir()]
    if missing_roots:
        print(f"not there: {', '.join(missing_roots)}. apt-get install nginx-light postgresql-doc-15 python3-doc", file=sys.stderr)
        return 2
    failures = 0
    with tempfile.TemporaryDirectory(prefix="thresher-real-") as temporary:
        servers = [f"listen {urlsplit(seed).netloc}; root {root};" for seed, root in SITES.items()]
        with serving(Path(temporary), servers, list(SITES)):
            for n, (seed, root) in enumerate(SITES.items()):
                truth = walk(seed, root)
                counts = Counter(row["url"] for row in crawl(seed, Path(temporary) / f"crawl{n}") if row["status"] == "200")
                missing, extra = truth - counts.keys(), counts.keys() - truth
                twice = [url for url, times in counts.items() if times > 1]
                print(f"{seed} ({root}): {len(truth)} pages on disk reachable, {len(counts)} stored,", end=" ")
                print(f"missing {len(missing)}, extra {len(extra)}, twice {len(twice)}")
                for label, urls in (("missing", missing), ("extra", extra), ("twice", twice)):
                    for url in sorted(urls)[:5]:
                        print(f"  {label}: {url}")
                failures += bool(missing or twice or explain(Path(temporary) / f"crawl{n}", seed, root, truth))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
