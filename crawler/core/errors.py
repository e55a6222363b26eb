"""Errors that an operator can act on. A fault of the web is a value (`Failed`), never an exception.

`ConfigError` is defined in config/, which imports none of our other modules, so it is no `ThresherError`: code that turns errors into exit
codes catches `(ThresherError, ConfigError)`; both have `exit_code`.
"""

from __future__ import annotations

from thresher.config.errors import ConfigError

__all__ = [
    "ConfigError",
    "DiskError",
    "MissingPluginError",
    "NoCrawlError",
    "StoreError",
    "StoreLockedError",
    "ThresherError",
    "UsageError",
]


class ThresherError(Exception):
    """Base of all errors with an exit code. The message says where, what was found, what was expected, and what to do."""

    exit_code = 1


class UsageError(ThresherError):
    """The command line or an input file cannot be used."""

    exit_code = 2


class StoreLockedError(ThresherError):
    """Another process crawls into this store."""

    exit_code = 5


class StoreError(ThresherError):
    """The store is damaged, of another version, or not a store."""

    exit_code = 6


class NoCrawlError(StoreError):
    """There is no crawl at the given path. Nothing is damaged; the path is wrong."""

    exit_code = 2


class MissingPluginError(StoreError):
    """The crawl cannot go on without a filter of another distribution. Nothing is damaged; it is not installed."""

    exit_code = 2


class DiskError(ThresherError):
    """The disk is full, read-only or failing; what was committed before is safe."""

    exit_code = 74
