"""Thresher: a polite breadth-first web crawler with inline quality filters."""

from thresher.crawler.version import VERSION

__version__ = VERSION
__all__ = ["__version__"]
