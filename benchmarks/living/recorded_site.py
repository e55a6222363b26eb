"""A recorded site as a server: it answers what the site's software answered when it was recorded (recordings.py), at the same addresses.

A URL that was not recorded is answered 404: what only filters ask for, and what lies beyond the limits of the recorded crawl. What the
site's sitemaps announced stands in one at /sitemap.xml, since sitemaps are not recorded.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from benchmarks.living.apache import Place
from benchmarks.living.barriers import ProxyAnswer
from benchmarks.living.crawls import thresher
from benchmarks.living.proxy import HOP, send
from benchmarks.living.site import Site
from benchmarks.support.handler_server import serving
from benchmarks.support.ports import free_port

_SITEMAP = "/sitemap.xml"
_URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
_NOT_RECORDED = ProxyAnswer(404, {"Content-Type": "text/html; charset=utf-8"}, b"<html><body>Not Found</body></html>")


@contextmanager
def served_again(site: Site, store: Path, directory: Path) -> Iterator[Place]:
    """Serve a recorded site at its own port behind that of its addresses, until the block ends.

    Args:
        site: The site.
        store: The recorded crawl.
        directory: For what is written.
    """
    answers = _answers(store)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            send(self, answers.get(f"{self.headers.get('Host', '')}{self.path}", _NOT_RECORDED))

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing."""

    ports = {int(host.rpartition(":")[2]) for host in (where.partition("/")[0] for where in answers) if ":" in host}
    place = Place(directory / site.name, site.address, ports.pop(), free_port(site.address))
    place.directory.mkdir(parents=True)
    with serving(Handler, site.address, place.own_port):
        yield place


def _answers(store: Path) -> dict[str, ProxyAnswer]:
    """Return host, path and query → the recorded answer."""
    found = {}
    for line in thresher("export", str(store), "--what", "pages", "--fields", "url,status,headers,body").splitlines():
        row = json.loads(line)
        headers = {name: value for name, value in row["headers"] if name.lower() not in HOP}
        found[_where(row["url"])] = ProxyAnswer(row["status"], headers, b64decode(row["body"] or ""))
    for line in thresher("export", str(store), "--what", "redirects", "--fields", "url,to,status").splitlines():
        row = json.loads(line)
        found[_where(row["url"])] = ProxyAnswer(row["status"], {"Location": row["to"]}, b"")
    for host, urls in _announced(store).items():
        listed = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
        found.setdefault(f"{host}{_SITEMAP}", ProxyAnswer(200, {"Content-Type": "application/xml"}, _URLSET.format(listed).encode()))
    return found


def _announced(store: Path) -> dict[str, list[str]]:
    """Return host → URLs that were found in sitemaps."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in thresher("export", str(store), "--what", "urls", "--fields", "url,purpose").splitlines():
        row = json.loads(line)
        if row["purpose"] == "announced":
            found[urlsplit(row["url"]).netloc].append(row["url"])
    return found


def _where(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
