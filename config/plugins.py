"""Filters of other distributions: found by their entry points, configured like our own under `filters.NAME`.

An entry point of the group `thresher.filters` leads to an object with `settings`, the class of the filter's options (a msgspec Struct with
a `mode` and a default for each option), and `spec`, which builds the filter (filters/plugin.py). A plug-in that cannot be used has no
options; the error is shown when a crawl starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

import msgspec

from thresher.config.settings import FilterSettings, Settings

GROUP = "thresher.filters"
_OWN = frozenset(FilterSettings.__struct_fields__)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One loaded entry point of the group. `fault`: why it cannot be used, "" if it can."""

    name: str
    distribution: str
    loaded: Any = None
    fault: str = ""


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return every filter of other distributions, sorted by name."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    names = [point.name for point in points]
    return tuple(_load(point, is_only=names.count(point.name) == 1) for point in points)


@cache
def settings_type() -> type[Settings]:
    """Return the class of the whole configuration: `Settings` with the options of all usable plug-ins."""
    usable = [plugin for plugin in plugins() if not plugin.fault]
    if not usable:
        return Settings
    fields = [(plugin.name, plugin.loaded.settings, msgspec.field(default_factory=plugin.loaded.settings)) for plugin in usable]
    filters = _extended(FilterSettings, fields)
    return cast("type[Settings]", _extended(Settings, [("filters", filters, msgspec.field(default_factory=filters))]))


def _extended(base: type[msgspec.Struct], fields: list[tuple[str, type, Any]]) -> type[msgspec.Struct]:
    return msgspec.defstruct(base.__name__, fields, bases=(base,), frozen=True, forbid_unknown_fields=True, kw_only=True)


def missing(stored: bytes) -> list[str]:
    """Return the filters that a stored configuration names and that are not installed."""
    try:
        named = msgspec.json.decode(stored, type=dict[str, Any]).get("filters", {})
    except msgspec.MsgspecError:
        return []
    return sorted(set(named) - _OWN - {plugin.name for plugin in plugins() if not plugin.fault})


def without_missing(stored: bytes, *, all_of_them: bool = False) -> bytes:
    """Return a stored configuration without the filters that are not installed.

    Args:
        all_of_them: Leave out all of them, for reading only. Otherwise only those that were off everywhere: the crawl could not go on
            without the others.
    """
    names = missing(stored)
    if not names:
        return stored
    whole = msgspec.json.decode(stored, type=dict[str, Any])
    overridden = msgspec.json.encode(whole.get("overrides")).decode()
    for name in names:
        options = whole["filters"][name]
        is_unused = isinstance(options, dict) and options.get("mode") == "off" and name not in overridden
        if all_of_them or is_unused:
            del whole["filters"][name]
    if all_of_them:
        whole["overrides"] = [_without(names, override) for override in whole.get("overrides", [])]
    return msgspec.json.encode(whole)


def _without(names: list[str], override: dict[str, Any]) -> dict[str, Any]:
    """Return an override without the options of these filters."""
    filters = override.get("filters")
    if not isinstance(filters, dict):
        return override
    return override | {"filters": {name: options for name, options in filters.items() if name not in names}}


def _load(point: EntryPoint, *, is_only: bool) -> Plugin:
    distribution = point.dist.name if point.dist is not None else point.value
    try:
        loaded = point.load()
        fault = _fault(point.name, loaded) if is_only else "another distribution has a filter of the same name"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the plug-in's own code, which may raise anything: the error is shown, and the other filters work
        return Plugin(point.name, distribution, fault=f"{type(error).__name__}: {error}")
    return Plugin(point.name, distribution, loaded, fault)


def _fault(name: str, loaded: Any) -> str:
    """Return why a plug-in cannot be used."""
    settings = getattr(loaded, "settings", None)
    if name in _OWN or not name.isidentifier():
        return "its name is that of a filter of ours, or no name for an option"
    if not (isinstance(settings, type) and issubclass(settings, msgspec.Struct)):
        return "expected `settings`, a msgspec Struct class"
    if "mode" not in settings.__struct_fields__:
        return "expected an option `mode` among its settings"
    if not callable(getattr(loaded, "spec", None)):
        return "expected `spec`, which builds the filter"
    msgspec.convert({}, settings)
    return ""
