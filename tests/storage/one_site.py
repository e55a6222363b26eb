"""URLs of one site, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from thresher.crawler.core.model import CrawlURL

SITE = b"S" * 8
QUEUE = SITE + b"q" * 8


def url(name: str, **place: Any) -> CrawlURL:
    key = SITE + name.encode().rjust(8, b".")[-8:]
    return CrawlURL(f"https://a.example/{name}", "a.example", "https://a.example", key, via=b"v" * 16, **place)
