"""Filters of other distributions: the object that an entry point of the group `thresher.filters` names, and how it is checked and built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from thresher.config.plugins import Plugin, plugins
from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Mode
from thresher.filters.capabilities import BackgroundLearner, study_at
from thresher.filters.isolation import isolated
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import with_variants

OnFault = Callable[[Plugin, Exception], None]  # given what a plug-in's code raised while it judged
_METHODS = {
    "static": ("refuses",),
    "head": ("refuses",),
    "learned": ("measure", "decide", "observe"),
    "redirect": ("measure", "decide", "observe"),
    "page": ("measure", "decide", "observe"),
    "relinks": ("listens", "measure", "observe"),
    "prober": ("reduce", "on_answer"),
    "learner": ("gather", "on_finding"),
    "concluder": ("on_finding",),
    "peer_filter": ("on_news",),
}
_TYPES = {  # part → its attribute that says what one of its methods returns
    **dict.fromkeys(("learned", "redirect", "page", "relinks"), "measure_type"),
    "prober": "answer_type",
    **dict.fromkeys(("learner", "concluder"), "finding_type"),
    "peer_filter": "news_type",
}


class FilterPlugin(msgspec.Struct, frozen=True):
    """The object that the entry point of a filter names.

    Attributes:
        settings: Class of its options: a frozen msgspec Struct with `mode` ("off", "observe" or "enforce"), and a default for each option.
        spec: Builds the filter from its options; called in each process of a crawl, and once more for each combination of overrides that
            changes the options. All of these share one memory, so state must be kept in that memory only.
    """

    settings: type[Any]
    spec: Callable[[Any], FilterSpec]


def check() -> None:
    """Check every installed plug-in.

    Raises:
        UsageError: If a plug-in cannot be used; it names the first one.
    """
    for plugin in plugins():
        if plugin.fault:
            raise _unusable(plugin, plugin.fault)


def silent(_plugin: Plugin, _error: Exception, /) -> None:
    """Leave an exception of a plug-in unreported."""


def plugged(settings: Settings, on_fault: OnFault = silent) -> list[FilterSpec]:
    """Build the configured filters of other distributions.

    Args:
        settings: The configuration.
        on_fault: Called with each exception that a plug-in raises at a gate.

    Raises:
        UsageError: If a plug-in has not the required form.
    """
    usable = [plugin for plugin in plugins() if not plugin.fault]
    built = [with_variants(settings, [f"filters.{plugin.name}"], partial(_built, plugin, on_fault)) for plugin in usable]
    return [spec for spec in built if spec is not None]


def _built(plugin: Plugin, on_fault: OnFault, of: Settings, _shared: object) -> FilterSpec | None:
    options = getattr(of.filters, plugin.name, None)
    if options is None or options.mode == Mode.OFF.value:
        return None
    return isolated(_spec(plugin, options), partial(on_fault, plugin))


def _spec(plugin: Plugin, options: Any) -> FilterSpec:
    try:
        made = plugin.loaded.spec(options)
    except Exception as error:  # the plug-in's own code, at the start of a crawl
        raise _unusable(plugin, f"{type(error).__name__}: {error}") from error
    if not isinstance(made, FilterSpec):
        raise _unusable(plugin, f"its `spec` gave {type(made).__name__}, expected thresher.filters.spec.FilterSpec")
    if made.name != plugin.name:
        raise _unusable(plugin, f"its `spec` is called {made.name!r}, expected the entry point's name")
    for field, methods in _METHODS.items():
        part = getattr(made, field)
        missing = [name for name in methods if part is not None and not callable(getattr(part, name, None))]
        if missing:
            raise _unusable(plugin, f"its part `{field}` has no {', '.join(missing)}")
        if part is not None and field in _TYPES:
            _check_type(plugin, part, field)
        if part is not None and getattr(part, "name", None) != plugin.name:
            raise _unusable(plugin, f"its part `{field}` has another name than {plugin.name!r}")
    if made.learner is not None:
        _check_study(plugin, made.learner)
    return made


def _check_type(plugin: Plugin, part: Any, field: str) -> None:
    """Check that a part says the type of what one of its methods returns, and that msgspec can read this type."""
    attribute = _TYPES[field]
    if not hasattr(part, attribute):
        raise _unusable(plugin, f"its part `{field}` has no {attribute}")
    try:
        msgspec.msgpack.Decoder(getattr(part, attribute))
    except TypeError as error:
        raise _unusable(plugin, f"{attribute} of its part `{field}`: {error}") from None


def _check_study(plugin: Plugin, learner: BackgroundLearner) -> None:
    """Import a study before the crawl begins, so that an error is shown now and not by the process that would run it."""
    place = getattr(learner, "study", "")
    try:
        study = study_at(place)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise _unusable(plugin, f"its `study` is {place!r}, expected module:function: {error}") from None
    if not callable(study):
        raise _unusable(plugin, f"its `study` {place!r} is no function")


def _unusable(plugin: Plugin, why: str) -> UsageError:
    return UsageError(
        f"filters.{plugin.name}: the plug-in of {plugin.distribution} cannot be used: {why}. Mend it, or uninstall {plugin.distribution}"
    )
