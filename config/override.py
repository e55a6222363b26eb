"""Overrides: which options may differ by prefix, and settings with some options overridden.

An item of `overrides` has the sections of the configuration, with any of their options. Each option is looked up by:

    a URL    most options: those of the prefix of the URL; for a link, of its target
    a host   paces, budgets, robots.txt, the tail, the canary: a host has one of each, so a prefix sets them for its whole host
    a site   `OF_SITES`: as for the host with the name of the site; so an override of a domain sets them, and none of a subdomain
    nothing  `WHOLE_CRAWL`: options of the machine, the process or the whole crawl; an override of these is refused, with the reason
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec

_COUNTED: Final = "it counts over all hosts"
_PROCESS: Final = "a process has one"
_ONE_STORE: Final = "the crawl has one store"
_ONE_ARCHIVE: Final = "an archive is whole or none: its records refer to each other across hosts. To keep a prefix out of it, skip it"
_BEFORE: Final = "it decides what a URL is, before it is known below which prefix that lies"

_PARSER: Final = ("parse.isolate_above", "parse.timeout", "parse.memory", "parse.recycle_after", "parse.processes")

WHOLE_CRAWL: Final[Mapping[str, str]] = {  # option or section → why it cannot differ by prefix
    "profile": "it says what the crawl may reach when it starts",
    "agents": "a crawl has one number of processes",
    "seeds": "a seed is a URL by itself",
    "labels": "a label belongs to one seed",
    "schedule": "a crawl has an end or none",
    "overrides": "an override has no overrides of its own",
    "identity": "a crawl says everywhere who it is in the same words",
    **dict.fromkeys(("limits.max_pages", "limits.max_bytes", "limits.max_time", "limits.max_wait", "limits.max_error_rate"), _COUNTED),
    "limits.min_free_disk": "all hosts share the disk",
    **dict.fromkeys(("limits.max_url_length", "url.max_path_segments", "fetch.allow_ports"), _BEFORE),
    **dict.fromkeys(("frontier.workbench", "frontier.heads"), "all hosts share the memory"),
    "frontier.order": "the queues of a store are kept in one order",
    **dict.fromkeys(("politeness.address_connections", "politeness.address_delay"), "many hosts share an address"),
    "own_site.pinned": "the crawl writes it",
    **dict.fromkeys(("fetch.concurrency", "fetch.client", "fetch.ca_file"), _PROCESS),
    "fetch.allow_addresses": "a socket is judged by its address, whatever name led to it",
    "fetch.credentials": "the file has an origin in each line",
    **dict.fromkeys(("fetch.proxy", "fetch.bind"), "requests come from one address, or through one proxy"),
    "dns": "a process has one resolver. dns.static names hosts by itself",
    "filters.near_replica.max_distance": "the pages of all prefixes are filed together, in boxes of its size",
    **dict.fromkeys(_PARSER, "all pages share the parser's processes, and the loop that they guard"),
    "filters.site_bytes": "a filter has one memory",
    **dict.fromkeys(
        ("store.map_size", "store.commit_interval", "store.commit_visits", "store.commit_bytes", "store.skip_sample"), _ONE_STORE
    ),
    "store.compression_level": "the bodies of a group of visits are compressed together",
    **dict.fromkeys(("archive.format", "archive.max_file", "archive.dedup"), _ONE_ARCHIVE),
    "log": "a process has one log",
}

OF_HOSTS: Final = (  # options and sections that are looked up by host, except those in `OF_SITES`
    *("politeness", "own_site.delay", "retry", "sitemaps", "filters.canary", "filters.tail_yield", "filters.tail_share"),
    *("limits.max_pages_per_host", "limits.max_bytes_per_host", "limits.max_sitemaps_per_host", "limits.max_announced_per_host"),
    *("robots.cache_ttl", "robots.error_ttl", "robots.timeout", "robots.max_bytes", "robots.on_403"),
    *("frontier.announced_share", "archive.max_requisites_per_host", "recrawl.visits_per_day"),
    *("recrawl.park", "recrawl.policy", "recrawl.min_interval", "recrawl.max_interval", "recrawl.refresh_share"),
)
OF_SITES: Final = (  # options that are looked up by site
    *("limits.max_pages_per_site", "limits.max_hosts_per_site", "politeness.site_connections"),
    *("filters.dust.first_mining", "filters.dust.max_urls", "filters.dust.max_rules"),
    *("filters.dust.validations", "filters.dust.validation_share"),
)

S = TypeVar("S", bound=msgspec.Struct)


class OverrideScope(Enum):
    """How the value of an option is looked up, if overrides may set it."""

    URL = "url"
    HOST = "host"
    SITE = "site"


def why_whole(key: str) -> str:
    """Return why an option, by its dotted key, cannot differ by prefix; "" if it can."""
    return next((why for name, why in WHOLE_CRAWL.items() if _is_within(key, name)), "")


def kind_of(key: str) -> OverrideScope:
    """Return what an option is looked up by."""
    if any(_is_within(key, name) for name in OF_SITES):
        return OverrideScope.SITE
    return OverrideScope.HOST if any(_is_within(key, name) for name in OF_HOSTS) else OverrideScope.URL


def overridden(settings: S, options: Mapping[str, Any]) -> S:
    """Return settings with other values of some options, by dotted key. Mappings are merged entry by entry, as with files."""
    values: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for key, value in options.items():
        name, _, rest = key.partition(".")
        if rest:
            sections.setdefault(name, {})[rest] = value
        else:
            values[name] = {**getattr(settings, name), **value} if isinstance(value, dict) else value
    values |= {name: overridden(getattr(settings, name), inner) for name, inner in sections.items()}
    return msgspec.structs.replace(settings, **values)


def nested(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by dotted key as sections within sections, as a file has them."""
    root: dict[str, Any] = {}
    for key, value in options.items():
        *sections, name = key.split(".")
        level = root
        for section in sections:
            level = level.setdefault(section, {})
        level[name] = value
    return root


def _is_within(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")
