"""The rules of canonical form that a configuration asks for."""

from __future__ import annotations

from collections.abc import Callable

from thresher.config.settings import Settings
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.unwanted_params import UnwantedParams
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
        unwanted=_unwanted(settings),
    )


def _unwanted(settings: Settings) -> Callable[[str], UnwantedParams] | None:
    """Return a function that gives the parameters to drop from a URL; overrides of prefixes apply to the URL before they are dropped."""
    overriding = Overriding(settings)
    if not overriding.anywhere(lambda of: bool(of.url.strip_params)):
        return None
    made: dict[tuple[str, ...], UnwantedParams] = {}

    def unwanted(url: str) -> UnwantedParams:
        names = tuple(overriding.of(url).url.strip_params)
        return made.get(names) or made.setdefault(names, UnwantedParams(names))

    return unwanted
