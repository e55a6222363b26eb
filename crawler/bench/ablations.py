"""Which filters are on in each crawl of a benchmark. This imports settings only: a command's --help lists the filters."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thresher.config.settings import FilterSettings, Settings

PLAIN, ALL = "plain", "all"
_ALWAYS_ON = "media"


def names() -> list[str]:
    """Return the filters that can be left out."""
    every = [field.name for field in msgspec.structs.fields(FilterSettings) if hasattr(field.default_factory, "mode")]
    return [name for name in every if name != _ALWAYS_ON]


def ablations(without: Sequence[str]) -> dict[str, list[str]]:
    """Return row → the filters that are on: none, all, all but each of `without`."""
    every = names()
    return {PLAIN: [], ALL: every} | {f"all but {name}": [other for other in every if other != name] for name in without}


def with_filters(settings: Settings, on: Sequence[str]) -> Settings:
    """Return settings with these filters enforced, the others off."""
    of = settings.filters
    modes = {name: msgspec.structs.replace(getattr(of, name), mode="enforce" if name in on else "off") for name in names()}
    return msgspec.structs.replace(settings, filters=msgspec.structs.replace(of, **modes))


def without_tail(settings: Settings) -> Settings:
    """Return settings with which held URLs are never fetched, so that wrong opinions of filters become visible."""
    return msgspec.structs.replace(settings, filters=msgspec.structs.replace(settings.filters, tail_yield=1.0))
