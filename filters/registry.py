"""Every filter of a crawl, one line each; those of other distributions come last.

If several filters refuse a link, the first in this order gives the reason.

A filter that is `off` is not imported: five of them take a third of a second of every start.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from thresher.config.settings import FilterSettings, Settings
from thresher.crawler.core.document_types import accepted_types
from thresher.crawler.core.model import Mode
from thresher.crawler.core.ownership import Ownership
from thresher.filters import exact_duplicate, media, path_trap, scope
from thresher.filters.modes import strongest, with_modes
from thresher.filters.plugin import plugged
from thresher.filters.spec import FilterSpec


def specs(settings: Settings, seeds: Sequence[str], owners: Ownership | None = None) -> tuple[FilterSpec, ...]:
    """Build the configured filters; those that are `off` are left out.

    Args:
        owners: The owners of sites, where there are several agents.
    """
    of = strongest(settings)
    every = (
        *_of_links(settings, seeds),
        _spec("soft_error", of, owners=owners),
        exact_duplicate.spec(of.exact_duplicate),
        _spec("near_replica", of, owners=owners, tells_copies=of.exact_duplicate.mode != "enforce"),
        _spec("dust", of, judges=judges(of)),
        _spec("pattern_yield", of, judges=judges(of)),
        _spec("depth_cutoff", of),
        _spec("canary", of),
        *plugged(settings),
    )
    return with_modes([spec for spec in every if spec is not None], settings)


def static_specs(settings: Settings, seeds: Sequence[str]) -> tuple[FilterSpec, ...]:
    """Build only the configured filters with a static gate, in the order of `specs`: for commands that crawl nothing."""
    every = (*_of_links(settings, seeds), *plugged(settings))
    return with_modes([spec for spec in every if spec.static is not None], settings)


def _of_links(settings: Settings, seeds: Sequence[str]) -> tuple[FilterSpec, ...]:
    """Build the filters that judge a link by its URL. None of the later ones has a static gate, plug-ins excepted."""
    of = strongest(settings)
    return (
        FilterSpec("scope", Mode.ENFORCE, static=scope.ScopeFilter(settings.scope, settings.overrides, seeds)),
        FilterSpec(
            media.NAME,
            Mode(of.media.mode),
            static=media.ExtensionFilter(of.media, documents=settings.parse.documents),
            head=media.TypeFilter(of.media, accepted_types(settings.fetch.accept_types, documents=settings.parse.documents)),
        ),
        path_trap.spec(of.path_trap, judges=judges(of), overrides=settings.overrides),
    )


def _spec(name: str, of: FilterSettings, **others: Any) -> FilterSpec | None:
    """Build the filter that has a package of its own, None if it is off."""
    settings = getattr(of, name)
    if settings.mode == "off":
        return None
    spec: FilterSpec = import_module(f"thresher.filters.{name}.filter").spec(settings, **others)
    return spec


def judges(of: FilterSettings) -> list[str]:
    """Return the filters that say whether a page is new; other filters learn from their verdicts."""
    tells_copies = of.exact_duplicate.mode == "enforce"
    others = {"soft_error": of.soft_error.mode, "near_replica": of.near_replica.mode}
    return [*([exact_duplicate.NAME] if tells_copies else ()), *(name for name, mode in others.items() if mode == "enforce")]
