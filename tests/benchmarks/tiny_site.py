"""A tiny site for the short forms of `python -m benchmarks.living`: a server of this process, on an address of loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import Place
from benchmarks.living.site import Site
from benchmarks.support.handler_server import serving
from benchmarks.support.ports import free_port

N_PAGES = 16
ANNOUNCED = "/99"  # a page that only the sitemap names, if there is one
ADDRESS = "127.0.8.99"


def _built(place: Place, /) -> str:
    return ""


SITE = Site(
    "tiny", "sixteen pages, each under two addresses", ADDRESS, ("tiny.example",), "/0", {}, _built, lambda url: urlsplit(url).query
)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    has_sitemap = False

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.strip("/")
        is_there = name.isdigit() and int(name) < N_PAGES and "sid=" not in self.path  # sessions are the proxy's, and stay there
        body, media_type = page(int(name)).encode() if is_there else b"not here", "text/html; charset=utf-8"
        if self.has_sitemap and self.path == ANNOUNCED:
            is_there, body = True, page(99).encode()
        if self.has_sitemap and self.path == "/sitemap.xml":
            listed = f"<url><loc>http://{self.headers['Host']}{ANNOUNCED}</loc></url>"
            is_there, body, media_type = True, f"<urlset>{listed}</urlset>".encode(), "application/xml"
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep still."""


def page(number: int) -> str:
    """Return a page of words of its own, with links to the next ones and to their printed forms."""
    words = " ".join(f"word{number}x{n}" for n in range(60))
    after = [(number * 2 + n) % N_PAGES for n in (1, 2)]
    links = " ".join(f'<a href="/{n}">{n}</a> <a href="/{n}?view=print">{n}, printed</a>' for n in after)
    return f"<html><head><title>Page {number}</title></head><body><h1>Page {number}</h1><p>{words}</p><p>{links}</p></body></html>"


@contextmanager
def serving_tiny(directory: Path, *, is_fronted: bool = False, has_sitemap: bool = False) -> Iterator[Place]:
    """Serve the site until the block ends.    is_fronted: at `own_port`, so that a proxy can stand at the place's port"""
    handler = type("_Sitemap", (_Handler,), {"has_sitemap": has_sitemap})
    place = Place(directory, ADDRESS, free_port(ADDRESS), free_port(ADDRESS) if is_fronted else 0)
    with serving(handler, ADDRESS, place.listens):
        yield place
