"""Which options govern a refusal or failure: the settings that an operator can change so that a reason or cause occurs less or more often.

Every `Reason` and `Cause` is in exactly one of the two tables; a test checks this, and that each option exists.
"""

from __future__ import annotations

from collections.abc import Mapping

from thresher.crawler.core.model import Cause, Reason

NOTHING_QUEUED = "nothing is queued"  # of an agent without a host to wait for

OPTIONS: Mapping[str, tuple[str, ...]] = {
    Reason.BAD_SCHEME: ("scope.schemes",),
    Reason.BAD_PORT: ("fetch.allow_ports", "profile"),
    Reason.TOO_LONG: ("limits.max_url_length",),
    Reason.TOO_MANY_SEGMENTS: ("filters.path_trap.max_segments", "url.max_path_segments"),
    Reason.OUT_OF_SCOPE: ("scope.type", "scope.include"),
    Reason.EXCLUDED: ("scope.exclude", "overrides"),
    Reason.DEPTH_LIMIT: ("limits.max_depth",),
    Reason.NOFOLLOW: ("robots.nofollow_links",),
    Reason.LINK_LIMIT: ("limits.max_links_per_page",),
    Reason.PATH_TRAP: ("filters.path_trap.mode",),
    Reason.PREFIX_BUDGET: ("filters.path_trap.max_per_prefix",),
    Reason.UNSAFE: ("scope.danger.links", "scope.danger.harmless"),
    Reason.BAD_TYPE: ("fetch.accept_types", "filters.media.skip_extensions"),
    Reason.ANNOUNCED_TYPE: ("filters.media.skip_announced", "fetch.accept_types"),
    Reason.TOO_LARGE: ("filters.media.max_declared_size",),
    Reason.ROBOTS_DENIED: ("robots.obey",),
    Reason.ROBOTS_UNREACHABLE: ("robots.obey",),
    Reason.CRAWL_DELAY_TOO_LONG: ("politeness.max_crawl_delay",),
    Reason.DUPLICATE_CONTENT: ("filters.exact_duplicate.mode",),
    Reason.REWRITTEN: ("filters.dust.mode",),
    Reason.HELD_BY_FILTER: ("filters.tail_yield", "filters.tail_share"),
    Reason.HOST_BUDGET: ("limits.max_pages_per_host", "limits.max_bytes_per_host"),
    Reason.SITE_BUDGET: ("limits.max_pages_per_site",),
    Reason.SITE_HOST_LIMIT: ("limits.max_hosts_per_site",),
    Reason.HOST_DEAD: ("politeness.dead_after",),
    Reason.REDIRECT_LIMIT: ("limits.max_redirects",),
    Reason.SOFT_ERROR: ("filters.soft_error.mode",),
    Reason.WALLED: ("filters.soft_error.mode",),
    Reason.NEAR_REPLICA: ("filters.near_replica.mode",),
    Reason.MIRROR: ("filters.near_replica.mirrors",),
    Reason.NOT_ITS_HOST: ("sitemaps",),
    Reason.SUDDEN_LOSS: ("recrawl.park",),
    Reason.SITEMAP_LIMIT: ("limits.max_sitemaps_per_host", "limits.max_announced_per_host"),
    Reason.REQUISITE: ("archive.requisites",),
    Reason.REQUISITE_LIMIT: ("archive.max_requisites_per_host", "archive.max_requisites_per_page", "archive.max_imports"),
    Cause.BLOCKED_ADDRESS: ("fetch.allow_addresses", "profile"),
    Cause.DNS_FAIL: ("dns.servers",),
    Cause.DNS_TIMEOUT: ("dns.timeout",),
    Cause.CONN_TIMEOUT: ("fetch.connect_timeout",),
    Cause.TLS_CERT: ("fetch.ca_file",),
    Cause.TIMEOUT_FIRST_BYTE: ("fetch.first_byte_timeout",),
    Cause.TIMEOUT_HEADERS: ("fetch.first_byte_timeout",),
    Cause.TIMEOUT_TOTAL: ("fetch.total_timeout",),
    Cause.TOO_SLOW: ("fetch.min_rate", "fetch.read_timeout"),
    Cause.PROTOCOL_WIRE_BUDGET: ("fetch.max_body",),
    Cause.NO_DESCRIPTORS: ("fetch.concurrency",),
    Cause.PROXY: ("fetch.proxy",),
    Cause.PROXY_REFUSED: ("fetch.proxy",),
}

UNGOVERNED: frozenset[str] = frozenset(
    (
        *(Reason.BAD_URL, Reason.REFUSED_BY_FILTER, Reason.REDIRECT_INVALID, Reason.QUARANTINED, Reason.NO_HTTPS, Reason.FORGOTTEN),
        *(Cause.DNS_NXDOMAIN, Cause.DNS_NODATA, Cause.CONN_REFUSED, Cause.CONN_RESET, Cause.UNREACHABLE, Cause.TLS_PROTO),
        *(Cause.DISCONNECTED, Cause.INCOMPLETE, Cause.PROTOCOL, Cause.PROTOCOL_STATUS, Cause.PROTOCOL_HEADERS, Cause.BOMB),
        *(Cause.BAD_ENCODING, Cause.UNSUPPORTED_ENCODING, Cause.TRUNCATED_ENCODING, Cause.HTTP_5XX, Cause.HTTP_429, Cause.HTTP_RETRY),
        *(Cause.NO_LEASE, Cause.SLEPT, Cause.INTERNAL_ERROR),
    )
)


def options_of(name: str) -> str:
    """Return the options that govern a reason or cause by its name, separated by commas, "" if none does."""
    return ", ".join(OPTIONS.get(name, ()))


def governed(name: str, *details: str) -> str:
    """Return the name of a reason or cause with details and options: "bad_port (port 8000; fetch.allow_ports)"."""
    said = "; ".join(dict.fromkeys(filter(None, (*details, options_of(name)))))
    return f"{name} ({said})" if said else name


def counted(counts: Mapping[str, int]) -> str:
    """Return counts by reason or cause with their options, most first: "bad_port 3 (fetch.allow_ports), bad_url 1"."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {n:,}" + (f" ({options})" if (options := options_of(name)) else "") for name, n in ordered)
