"""The rules of canonical form that a configuration asks for."""

from __future__ import annotations

from thresher.config.settings import Settings
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.url import URLRules


def url_rules(settings: Settings) -> URLRules:
    """Return the rules of canonical form that the configuration asks for."""
    ports = None if settings.fetch.allow_ports == "any" else frozenset(settings.fetch.allow_ports)
    return URLRules(
        max_length=settings.limits.max_url_length,
        max_path_segments=settings.url.max_path_segments,
        ports=ports,
        own_ports=OwnSite.of(settings).ports,
        bare=tuple(scheme for scheme in ("https", "http") if scheme in settings.scope.schemes),
        strip_params=tuple(settings.url.strip_params),
    )
