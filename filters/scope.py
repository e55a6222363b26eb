"""Scope: which URLs belong to this crawl, from the seeds and the operator's patterns.

`page` the seeds alone · `prefix` what lies below a seed's directory · `host` the seeds' hosts (http, https, www and bare count as one)
· `domain` their registrable domains with all hosts · `any` the whole web. `include` patterns add to it, `exclude` patterns and `skip`
overrides win over everything. Patterns are RE2 (linear time), searched in the canonical URL. Links that do something when they are
followed (danger.py) are never in scope. Scope has no mode: it is always enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import re2

from thresher.config.settings import Override, Scope
from thresher.crawler.core.model import Reason
from thresher.crawler.core.url import hostname_of, origin_of, queue_name, site_of
from thresher.filters.base import Candidate
from thresher.filters.danger import Danger

_HOSTS_REMEMBERED = 50_000


class ScopeFilter:
    """Decide membership; O(1) for hosts and domains, O(seeds of the host) for prefixes."""

    name = "scope"

    def __init__(self, settings: Scope, overrides: Sequence[Override], seeds: Iterable[str]) -> None:
        self._type = settings.type
        self._danger = Danger(settings.danger)
        self._schemes = frozenset(settings.schemes)
        self._include = [re2.compile(pattern) for pattern in settings.include]
        self._exclude = [re2.compile(pattern) for pattern in settings.exclude]
        self._skipped = [override.match for override in overrides if override.skip]
        self._pages: set[str] = set()
        self._hosts: set[str] = set()
        self._sites: set[str] = set()
        self._prefixes: dict[str, set[str]] = {}
        self._whole_hosts: dict[str, bool] = {}  # origin → does all of it belong? for types that ask no more than the host
        for seed in seeds:
            self._add_seed(seed)

    def refuses(self, candidate: Candidate, /) -> Reason | None:
        """Return why the link is outside, or None."""
        text = candidate.text
        if text[: text.index(":")] not in self._schemes:
            return Reason.BAD_SCHEME
        if self._skipped and any(matches(rule, candidate) for rule in self._skipped):
            return Reason.EXCLUDED
        if self._exclude and any(pattern.search(text) for pattern in self._exclude):
            return Reason.EXCLUDED
        if self._danger.pattern_of(candidate):
            return Reason.UNSAFE
        if self._belongs(candidate) or any(pattern.search(text) for pattern in self._include):
            return None
        return Reason.OUT_OF_SCOPE

    def detail(self, candidate: Candidate, /) -> str:
        """Return by which pattern a link is dangerous, "" by none."""
        return self._danger.pattern_of(candidate)

    def _belongs(self, candidate: Candidate) -> bool:
        match self._type:
            case "any":
                return True
            case "host" | "domain":
                belongs = self._whole_hosts.get(candidate.origin)
                return self._host_belongs(candidate) if belongs is None else belongs
            case "prefix":
                path = candidate.text[len(candidate.origin) :]
                return any(path.startswith(prefix) for prefix in self._prefixes.get(queue_name(candidate.origin), ()))
            case "page":
                return candidate.text in self._pages

    def _host_belongs(self, candidate: Candidate) -> bool:
        belongs = candidate.site in self._sites if self._type == "domain" else queue_name(candidate.origin) in self._hosts
        if len(self._whole_hosts) >= _HOSTS_REMEMBERED:
            self._whole_hosts.clear()
        self._whole_hosts[candidate.origin] = belongs
        return belongs

    def _add_seed(self, seed: str) -> None:
        origin = origin_of(seed)
        name = queue_name(origin)
        path = seed[len(origin) :].partition("?")[0]
        self._pages.add(seed)
        self._hosts.add(name)
        self._sites.add(site_of(hostname_of(origin)))
        self._prefixes.setdefault(name, set()).add(path[: path.rindex("/") + 1])


def matches(rule: str, candidate: Candidate) -> bool:
    """Return whether an override's `match` (a domain with its subdomains, or a URL prefix) covers the URL."""
    if "://" in rule:
        return candidate.text.startswith(rule)
    host = hostname_of(candidate.origin)
    return host == rule or host.endswith("." + rule)
