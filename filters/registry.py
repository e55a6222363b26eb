"""Every filter of a crawl, one line each. The order is the order of effect: the first to refuse a link names the reason."""

from __future__ import annotations

from collections.abc import Sequence

from config.settings import Filters, Settings
from crawler.core.model import Mode
from filters import exact_duplicate, media, path_trap, scope
from filters.base import Plug
from filters.depth_cutoff import filter as depth_cutoff
from filters.dust import filter as dust
from filters.near_replica import filter as near_replica
from filters.pattern_yield import filter as pattern_yield
from filters.soft_error import filter as soft_errors


def plugs(settings: Settings, seeds: Sequence[str]) -> tuple[Plug, ...]:
    """Build the configured filters; those that are `off` are left out."""
    of = settings.filters
    every = (
        Plug("scope", Mode.ENFORCE, static=scope.ScopeFilter(settings.scope, settings.overrides, seeds)),
        Plug(
            media.NAME,
            Mode(of.media.mode),
            static=media.ExtensionFilter(of.media),
            head=media.TypeFilter(of.media, settings.fetch.accept_types),
        ),
        Plug(path_trap.NAME, Mode(of.path_trap.mode), static=path_trap.ShapeTrap(of.path_trap), learned=path_trap.YieldTrap(of.path_trap)),
        soft_errors.plug(of.soft_error),
        exact_duplicate.plug(of.exact_duplicate),
        near_replica.plug(of.near_replica, tells_copies=of.exact_duplicate.mode != "enforce"),
        dust.plug(of.dust),
        pattern_yield.plug(of.pattern_yield, judges=_judges(of)),
        depth_cutoff.plug(of.depth_cutoff),
    )
    return tuple(plug for plug in every if plug.mode is not Mode.OFF)


def _judges(of: Filters) -> list[str]:
    """Return the filters that drop pages."""
    drops_copies = of.exact_duplicate.mode == "enforce" and not of.exact_duplicate.store_copies
    others = {"soft_error": of.soft_error.mode, near_replica.NAME: of.near_replica.mode}
    return [*([exact_duplicate.NAME] if drops_copies else ()), *(name for name, mode in others.items() if mode == "enforce")]
