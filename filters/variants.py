"""Variants of a filter for different URLs: one for each combination of overrides that changes the filter, all with one memory.

The panel (panel.py) asks the variant for the page's URL, for the URL that a link leads to, or for the URL that redirects. The mode of the
filter as a whole is the strongest that it has for any URL. All variants learn into the same memory; but for URLs where a variant observes
or is off, nothing that another variant has learned has an effect.

Time: none if no override changes the filter; else 1 µs a URL. Memory: the parts of each variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from thresher.config.settings import FilterSettings, Settings
from thresher.crawler.core.effects import Conclude, Effect, Hold, Hurry, Park, Recall, Release, ReleaseURL, Request, Rewrite, Study, Tell
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Mode, Reason, Verdict
from thresher.crawler.core.overriding import Overriding, Which
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of, queue_name
from thresher.filters.base import Gate, LinkColumns
from thresher.filters.spec import FilterSpec

Build = Callable[[Settings, Any], FilterSpec | None]  # (settings, state that variants share) → the filter; None: it is off
_NONE: Final[Mapping[int, Verdict]] = MappingProxyType({})
_ORDER: Final = (Mode.OFF, Mode.OBSERVE, Mode.ENFORCE)


class Variants:
    """The variants of one filter, by URL."""

    def __init__(self, base: FilterSpec, overriding: Overriding, build: Build, *, is_of_hosts: bool) -> None:
        """Create the variants.

        Args:
            base: The filter in its strongest mode.
            overriding: The overrides that change the filter.
            build: Makes a variant.
            is_of_hosts: Whether all URLs of a host have one variant.
        """
        self._base, self._overriding, self._build, self._is_of_hosts = base, overriding, build, is_of_hosts
        self._made: dict[Which, FilterSpec] = {}

    def __call__(self, text: str) -> FilterSpec:
        """Return the filter's variant for a canonical URL."""
        overriding = self._overriding
        which = overriding.which_of_host(queue_name(origin_of(text))) if self._is_of_hosts else overriding.which(text)
        made = self._made.get(which)
        if made is None:
            built = self._build(overriding.made(which), self._base.shared)
            made = self._made[which] = built or msgspec.structs.replace(self._base, mode=Mode.OFF)
        return made


def with_variants(settings: Settings, concerns: Sequence[str], build: Build, *, is_of_hosts: bool = False) -> FilterSpec | None:
    """Build a filter in its strongest mode, with its variants if there are any; None if it is off everywhere.

    Args:
        settings: The configuration.
        concerns: Options, and sections of options, on which it depends.
        build: Makes the filter.
        is_of_hosts: Whether the filter judges hosts, so that all URLs of a host have one variant.
    """
    changing = [
        one for one in settings.overrides if any(key == name or key.startswith(f"{name}.") for key in one.options for name in concerns)
    ]
    base = build(msgspec.structs.replace(settings, filters=strongest(settings)), None)
    if base is None or not changing:
        return base
    overriding = Overriding(msgspec.structs.replace(settings, overrides=changing))
    return msgspec.structs.replace(base, by_url=Variants(base, overriding, build, is_of_hosts=is_of_hosts))


def _is_within(names: Sequence[str], key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in names)


def strongest(settings: Settings) -> FilterSettings:
    """Return the settings of all filters, each in the strongest mode that it has for any URL."""
    of = settings.filters
    every = [of, *(one.filters for one in Overriding(settings).everywhere())]
    for name in of.__struct_fields__:
        if hasattr(getattr(of, name), "mode"):
            mode = max((Mode(getattr(one, name).mode) for one in every), key=_ORDER.index)
            of = msgspec.structs.replace(of, **{name: msgspec.structs.replace(getattr(of, name), mode=mode.value)})
    return of


def grouped(spec: FilterSpec, texts: Sequence[str]) -> Iterator[tuple[FilterSpec, Sequence[int]]]:
    """Yield the variants of a filter for some URLs, each with the positions of its URLs, ascending."""
    if spec.by_url is None:
        yield spec, range(len(texts))
        return
    found: dict[int, tuple[FilterSpec, list[int]]] = {}
    for i, text in enumerate(texts):
        variant = spec.by_url(text)
        found.setdefault(id(variant), (variant, []))[1].append(i)
    yield from found.values()


def refused(spec: FilterSpec, links: LinkColumns, mode: Mode) -> Iterable[tuple[int, Reason]]:
    """Return the (position, reason) of links that a filter's static part refuses, for URLs where the filter has this mode."""
    if spec.by_url is not None:
        return _refused_by_variants(spec, links, mode)
    return spec.static.refuses(links).items() if spec.mode is mode and spec.static is not None else ()


def _refused_by_variants(spec: FilterSpec, links: LinkColumns, mode: Mode) -> Iterator[tuple[int, Reason]]:
    for variant, at in grouped(spec, links.texts):
        if variant.mode is mode and variant.static is not None:
            some = links if len(at) == len(links.texts) else LinkColumns(*([column[i] for i in at] for column in links))
            for i, reason in variant.static.refuses(some).items():
                yield at[i], reason


def may_have(spec: FilterSpec, effect: Effect, subject: str = "") -> bool:
    """Return whether a filter may have an effect: an observer may only ask for studies and conclude; any filter may release what it holds.

    Args:
        spec: The filter.
        effect: What it asks for.
        subject: URL from whose answer the filter learned, "" if it did not learn from a URL's answer.
    """
    if spec.mode is not Mode.ENFORCE:
        return isinstance(effect, Study | Conclude | Tell)
    if spec.by_url is None or isinstance(effect, Study | Conclude | Tell | Release | ReleaseURL | Recall):
        return True
    if subject and spec.mode_of(subject) is not Mode.ENFORCE:
        return False
    url = effect.url if isinstance(effect, Rewrite | Hold | Request) else f"{effect.origin}/" if isinstance(effect, Park | Hurry) else ""
    return not url or spec.mode_of(url) is Mode.ENFORCE


class Ruled(NamedTuple):
    """A filter's answer about links at the learned gate."""

    measure: Any  # the measure from which it learns
    refused: Mapping[int, Verdict]  # position → verdict
    said: Mapping[int, Verdict]  # position → verdict, for links that it only observes
    effects: Sequence[Effect]  # effects that it may have


def ruling_on(spec: FilterSpec, batch: LinkBatch, memory: Memory) -> Ruled:
    """Ask a filter at the learned gate about links, each by the variant of its URL. It learns by the variant of the page."""
    if spec.by_url is None and spec.learned is not None and spec.mode is Mode.ENFORCE:
        measure = spec.learned.measure(batch)
        ruling, asked = spec.learned.decide(measure, memory)
        return Ruled(measure, ruling.refused, _NONE, asked)
    own = spec.of(batch.source.text).part(Gate.LEARNED)
    measure = own.measure(batch)
    against: dict[int, Verdict] = {}
    would: dict[int, Verdict] = {}
    effects: list[Effect] = []
    for variant, at in grouped(spec, batch.texts):
        if variant.mode is Mode.OFF or variant.learned is None:
            continue
        some = batch if len(at) == len(batch) else batch.take(at)
        is_own = variant.learned is own and some is batch
        ruling, asked = variant.learned.decide(measure if is_own else variant.learned.measure(some), memory)
        into = against if variant.mode is Mode.ENFORCE else would
        into.update((at[i], verdict) for i, verdict in ruling.refused.items())
        if variant.mode is Mode.ENFORCE:
            effects += [effect for effect in asked if may_have(spec, effect)]
    return Ruled(measure, against, would, effects)
