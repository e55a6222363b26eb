"""Every filter of a crawl, one line each; those of other distributions come last.

If several filters refuse a link, the first in this order gives the reason.

A filter that is `off` is not imported: five of them take a third of a second of every start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from thresher.config.settings import DustSettings, FilterSettings, Settings
from thresher.crawler.core.document_types import accepted_types
from thresher.crawler.core.model import Mode
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.ownership import Ownership
from thresher.filters import exact_duplicate, media, path_trap, scope
from thresher.filters.danger import Danger
from thresher.filters.plugin import OnFault, plugged, silent
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import Build, strongest, with_variants


def specs(settings: Settings, seeds: Sequence[str], owners: Ownership | None = None, on_fault: OnFault = silent) -> tuple[FilterSpec, ...]:
    """Build the configured filters; those that are `off` are left out.

    Args:
        settings: The configuration.
        seeds: The crawl's seeds.
        owners: The owners of sites, where there are several agents.
        on_fault: Called with each exception that a filter of another distribution raises at a gate.
    """
    of = strongest(settings)
    told_by, tells_copies = judges(of), of.exact_duplicate.mode != "enforce"
    overriding = Overriding(settings)

    def of_site(name: str) -> DustSettings:
        return overriding.of_host(name).filters.dust

    packages: tuple[FilterSpec | None, ...] = (
        with_variants(settings, ["filters.soft_error"], _package("soft_error", owners=owners)),
        with_variants(settings, ["filters.exact_duplicate"], _exact_duplicate),
        with_variants(settings, ["filters.near_replica"], _package("near_replica", owners=owners, tells_copies=tells_copies, shares=False)),
        with_variants(settings, ["filters.dust.mode"], _package("dust", judges=told_by, of_site=of_site)),
        with_variants(settings, ["filters.pattern_yield"], _package("pattern_yield", judges=told_by)),
        with_variants(settings, ["filters.depth_cutoff"], _package("depth_cutoff")),
        with_variants(settings, ["filters.canary"], _package("canary", shares=False), is_of_hosts=True),
    )
    return tuple(spec for spec in (*_of_links(settings, seeds), *packages, *plugged(settings, on_fault)) if spec is not None)


def static_specs(settings: Settings, seeds: Sequence[str]) -> tuple[FilterSpec, ...]:
    """Build only the configured filters with a static gate, in the order of `specs`: for commands that crawl nothing."""
    return tuple(spec for spec in (*_of_links(settings, seeds), *plugged(settings)) if spec is not None and spec.static is not None)


def _of_links(settings: Settings, seeds: Sequence[str]) -> tuple[FilterSpec | None, ...]:
    """Build the filters that judge a link by its URL. Of the other filters only plug-ins may have a static gate."""
    told_by = judges(strongest(settings))

    def of_scope(of: Settings, shared: Danger | None) -> FilterSpec:
        danger = shared if shared is not None and of.scope.danger == settings.scope.danger else Danger(of.scope.danger)
        static = scope.ScopeFilter(of.scope, settings.overrides, seeds, danger)
        return FilterSpec(scope.NAME, Mode.ENFORCE, static=static, shared=danger)

    def of_path_trap(of: Settings, shared: Any) -> FilterSpec | None:
        own = of.filters.path_trap
        return None if own.mode == "off" else path_trap.spec(own, judges=told_by, shared=shared)

    return (
        with_variants(settings, ["scope"], of_scope),
        with_variants(settings, ["filters.media", "parse.documents", "fetch.accept_types"], _media),
        with_variants(settings, ["filters.path_trap"], of_path_trap),
    )


def _media(of: Settings, _shared: object) -> FilterSpec | None:
    own, documents = of.filters.media, of.parse.documents
    types = media.TypeFilter(own, accepted_types(of.fetch.accept_types, documents=documents))
    made = FilterSpec(media.NAME, Mode(own.mode), static=media.ExtensionFilter(own, documents=documents), head=types)
    return None if made.mode is Mode.OFF else made


def _exact_duplicate(of: Settings, _shared: object) -> FilterSpec | None:
    own = of.filters.exact_duplicate
    return None if own.mode == "off" else exact_duplicate.spec(own)


def _package(name: str, *, shares: bool = True, **others: Any) -> Build:
    """Return the builder of a filter that is a package.

    Args:
        name: Name of the package, which is also the name of the filter.
        shares: Whether its parts cache some of the memory; its variants then share the cache.
        others: More arguments of its `spec`.
    """

    def build(of: Settings, shared: Any) -> FilterSpec | None:
        own = getattr(of.filters, name)
        if own.mode == "off":
            return None
        make: Callable[..., FilterSpec] = import_module(f"thresher.filters.{name}.filter").spec
        return make(own, **others, **({"shared": shared} if shares else {}))

    return build


def judges(of: FilterSettings) -> list[str]:
    """Return the filters that say whether a page is new; other filters learn from their verdicts."""
    tells_copies = of.exact_duplicate.mode == "enforce"
    others = {"soft_error": of.soft_error.mode, "near_replica": of.near_replica.mode}
    return [*([exact_duplicate.NAME] if tells_copies else ()), *(name for name, mode in others.items() if mode == "enforce")]
