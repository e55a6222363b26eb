"""Thresher: a polite breadth-first web crawler with inline quality filters.

    thresher.crawl(SEEDS, "DIR", **options)     crawl from a script or a notebook, in this process, until it ends
    thresher.Crawl("DIR", SEEDS, **options)     the same inside a running event loop: `await crawl.run(on_page=…)`
    thresher.open("DIR")                        read what a crawl has found, also while another process crawls

Each of these is imported at its first use: `import thresher` takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thresher.crawler.version import VERSION

if TYPE_CHECKING:
    from thresher.config.errors import ConfigError
    from thresher.crawler.core.errors import StoreError, ThresherError, UsageError
    from thresher.reading import CrawlReader, open  # noqa: A004 - as gzip.open and shelve.open
    from thresher.running import Crawl, CrawledPage, CrawlEnd, crawl

__version__ = VERSION
__all__ = [
    "ConfigError",
    "Crawl",
    "CrawlEnd",
    "CrawlReader",
    "CrawledPage",
    "StoreError",
    "ThresherError",
    "UsageError",
    "__version__",
    "crawl",
    "open",
]
_PLACES = {
    "ConfigError": "thresher.config.errors",
    "StoreError": "thresher.crawler.core.errors",
    "ThresherError": "thresher.crawler.core.errors",
    "UsageError": "thresher.crawler.core.errors",
    "CrawlReader": "thresher.reading",
    "open": "thresher.reading",
    "Crawl": "thresher.running",
    "CrawlEnd": "thresher.running",
    "CrawledPage": "thresher.running",
    "crawl": "thresher.running",
}


def __getattr__(name: str) -> Any:
    """Import a name of this package at its first use [PEP 562]."""
    if name not in _PLACES:
        raise AttributeError(f"module 'thresher' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
