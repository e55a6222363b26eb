"""Scope: which URLs belong to this crawl, from the seeds and the operator's patterns.

`page` the seeds alone · `prefix` what lies below a seed's directory · `host` the seeds' hosts (http, https, www and bare count as one)
· `domain` their registrable domains with all hosts · `any` the whole web. `include` patterns add to it, `exclude` patterns and `skip`
overrides win over everything. Patterns are RE2 (linear time), searched in the canonical URL. Links that do something when they are
followed (danger.py) are never in scope. Scope has no mode: it is always enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import re2

from thresher.config.settings import Override, ScopeSettings
from thresher.crawler.core.model import Reason
from thresher.crawler.core.overriding import covers
from thresher.crawler.core.url import hostname_of, origin_of, queue_name, site_of
from thresher.filters.base import LinkColumns
from thresher.filters.danger import Danger

NAME = "scope"
_HOSTS_REMEMBERED = 50_000


class ScopeFilter:
    """Decides whether a URL belongs to the crawl. O(1) for hosts and domains, O(seeds of the host) for prefixes."""

    name = NAME

    def __init__(self, settings: ScopeSettings, overrides: Sequence[Override], seeds: Iterable[str], danger: Danger | None = None) -> None:
        """Create the filter.

        Args:
            settings: The scope's settings.
            overrides: The overrides; only those that skip URLs are used.
            seeds: The crawl's seeds.
            danger: The filter built from `settings`, if there is one already: compiling its patterns takes a tenth of a second.
        """
        self._type = settings.type
        self._danger = danger or Danger(settings.danger)
        self._schemes = frozenset(settings.schemes)
        self._include = [re2.compile(pattern) for pattern in settings.include]
        self._exclude = [re2.compile(pattern) for pattern in settings.exclude]
        self._skipped = [override.rule for override in overrides if override.skip]
        self._pages: set[str] = set()
        self._hosts: set[str] = set()
        self._sites: set[str] = set()
        self._prefixes: dict[str, set[str]] = {}
        self._passing: set[str] = set()  # origins that were met whose URLs all belong to the crawl, by their scheme, too
        self._whole_hosts: dict[str, bool] = {}  # origin → whether all its URLs belong to the crawl, if the host alone decides that
        for seed in seeds:
            self._add_seed(seed)

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        """Return the links outside the scope: position → reason.

        If no pattern can match them, all links of a host that belongs as a whole pass together, except those that may be dangerous.
        """
        texts, hosts, sites = links
        if self._skipped or self._exclude or self._type in ("prefix", "page"):
            looked_at: Iterable[int] = range(len(texts))
        else:
            others = [] if self._passing.issuperset(hosts) else self._others(hosts, sites)
            looked_at = {*self._danger.suspects(texts), *others}
        return {i: reason for i in looked_at if (reason := self._refusal(texts[i], hosts[i], sites[i])) is not None}

    def _others(self, hosts: Sequence[str], sites: Sequence[str]) -> list[int]:
        """Return the positions of links whose hosts do not belong as a whole; remember the hosts that do."""
        if len(self._passing) >= _HOSTS_REMEMBERED:
            self._passing.clear()
        self._passing.update(host for host, site in dict(zip(hosts, sites, strict=True)).items() if self._is_whole(host, site))
        return [i for i, host in enumerate(hosts) if host not in self._passing]

    def _is_whole(self, host: str, site: str) -> bool:
        return host[: host.index(":")] in self._schemes and self._belongs("", host, site)

    def _refusal(self, text: str, host: str, site: str) -> Reason | None:
        """Return the reason why a link is outside the scope; None if it is inside."""
        if text[: text.index(":")] not in self._schemes:
            return Reason.BAD_SCHEME
        if self._skipped and any(covers(rule, text, host) for rule in self._skipped):
            return Reason.EXCLUDED
        if self._exclude and any(pattern.search(text) for pattern in self._exclude):
            return Reason.EXCLUDED
        if self._danger.pattern_of(text, host, site):
            return Reason.UNSAFE
        if self._belongs(text, host, site) or any(pattern.search(text) for pattern in self._include):
            return None
        return Reason.OUT_OF_SCOPE

    def detail(self, links: LinkColumns, /) -> str:
        """Return the pattern by which the first link is dangerous, "" if it is not."""
        return self._danger.pattern_of(links.texts[0], links.hosts[0], links.sites[0])

    def _belongs(self, text: str, host: str, site: str) -> bool:
        match self._type:
            case "any":
                return True
            case "host" | "domain":
                belongs = self._whole_hosts.get(host)
                return self._host_belongs(host, site) if belongs is None else belongs
            case "prefix":
                path = text[len(host) :]
                return any(path.startswith(prefix) for prefix in self._prefixes.get(queue_name(host), ()))
            case "page":
                return text in self._pages

    def _host_belongs(self, host: str, site: str) -> bool:
        belongs = site in self._sites if self._type == "domain" else queue_name(host) in self._hosts
        if len(self._whole_hosts) >= _HOSTS_REMEMBERED:
            self._whole_hosts.clear()
        self._whole_hosts[host] = belongs
        return belongs

    def _add_seed(self, seed: str) -> None:
        origin = origin_of(seed)
        name = queue_name(origin)
        path = seed[len(origin) :].partition("?")[0]
        self._pages.add(seed)
        self._hosts.add(name)
        self._sites.add(site_of(hostname_of(origin)))
        self._prefixes.setdefault(name, set()).add(path[: path.rindex("/") + 1])
