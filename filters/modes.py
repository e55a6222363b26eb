"""The mode of each filter by URL: the general one, or that of the longest override that covers the URL and names the filter.

A filter is built in the strongest mode that it has for any URL, and the panel looks up its mode for each URL. So the filter has one memory
for all URLs; for a URL where it observes or is off, nothing that it has learned from other URLs has an effect.

Time: 1 µs a URL for each override that names filters; none if there is no such override.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from thresher.config.settings import FilterSettings, Settings
from thresher.crawler.core.effects import Conclude, Effect, Hold, Park, Recall, Release, ReleaseURL, Request, Rewrite, Study, Tell
from thresher.crawler.core.model import LinkBatch, Mode, Reason, Verdict
from thresher.crawler.core.overriding import covers
from thresher.crawler.core.url import origin_of
from thresher.filters.base import LinkRuling
from thresher.filters.spec import FilterSpec

_ORDER: Final = (Mode.OFF, Mode.OBSERVE, Mode.ENFORCE)


class ModeRule(NamedTuple):
    """The mode of a filter for what an override covers."""

    rule: str
    mode: Mode
    match: str  # as the configuration has it


class ModeByURL:
    """The modes of one filter that is named by overrides."""

    def __init__(self, general: Mode, ruled: Sequence[ModeRule]) -> None:
        self._general = general
        self._ruled = sorted(ruled, key=lambda one: len(one.rule), reverse=True)

    def __call__(self, text: str) -> Mode:
        """Return the filter's mode for a canonical URL."""
        found = self.ruled(text)
        return self._general if found is None else found.mode

    def ruled(self, text: str) -> ModeRule | None:
        """Return the longest override that covers a canonical URL, None if none does."""
        origin = origin_of(text)
        return next((one for one in self._ruled if covers(one.rule, text, origin)), None)


def modes_by_url(settings: Settings) -> dict[str, ModeByURL]:
    """Return the filters that overrides name, each with its modes by URL."""
    ruled: dict[str, list[ModeRule]] = {}
    for override in settings.overrides:
        for name, mode in override.filters.items():
            ruled.setdefault(name, []).append(ModeRule(override.rule, Mode(mode), override.match))
    return {name: ModeByURL(Mode(getattr(settings.filters, name).mode), rules) for name, rules in ruled.items()}


def strongest(settings: Settings) -> FilterSettings:
    """Return the settings of all filters, each in the strongest mode that it has for any URL."""
    of, most = settings.filters, dict[str, Mode]()
    for override in settings.overrides:
        for name, mode in override.filters.items():
            known = most.get(name) or Mode(getattr(of, name).mode)
            most[name] = max(known, Mode(mode), key=_ORDER.index)
    changed = {name: msgspec.structs.replace(getattr(of, name), mode=mode.value) for name, mode in most.items()}
    return msgspec.structs.replace(of, **changed) if changed else of


def with_modes(specs: Sequence[FilterSpec], settings: Settings) -> tuple[FilterSpec, ...]:
    """Give filters that were built in their strongest mode the mode of each URL; leave out those that are off for every URL."""
    found = modes_by_url(settings)
    ruled = (msgspec.structs.replace(spec, by_url=found[spec.name]) if spec.name in found else spec for spec in specs)
    return tuple(spec for spec in ruled if spec.mode is not Mode.OFF)


def may_have(spec: FilterSpec, effect: Effect, subject: str = "") -> bool:
    """Return whether a filter may have an effect: an observer may only ask for studies and conclude; any filter may release what it holds.

    Args:
        subject: URL from whose answer the filter learned, "" if it did not learn from a URL's answer.
    """
    if spec.mode is not Mode.ENFORCE:
        return isinstance(effect, Study | Conclude | Tell)
    if spec.by_url is None or isinstance(effect, Study | Conclude | Tell | Release | ReleaseURL | Recall):
        return True
    if subject and spec.by_url(subject) is not Mode.ENFORCE:
        return False
    url = effect.url if isinstance(effect, Rewrite | Hold | Request) else f"{effect.origin}/" if isinstance(effect, Park) else ""
    return not url or spec.by_url(url) is Mode.ENFORCE


def split_ruling(
    spec: FilterSpec, batch: LinkBatch, ruling: LinkRuling, asked: Sequence[Effect]
) -> tuple[Mapping[int, Verdict], Mapping[int, Verdict], list[Effect]]:
    """Divide a filter's ruling on links by its mode for each link.

    Returns:
        What it refuses, and what it would refuse where it only observes, both by position; and the effects that it may have.
    """
    if spec.by_url is None:
        of_all = (ruling.refused, {}) if spec.mode is Mode.ENFORCE else ({}, ruling.refused)
        return (*of_all, [*asked] if spec.mode is Mode.ENFORCE else [])
    modes = [*map(spec.by_url, batch.texts)]
    refused = {i: verdict for i, verdict in ruling.refused.items() if modes[i] is Mode.ENFORCE}
    said = {i: verdict for i, verdict in ruling.refused.items() if modes[i] is Mode.OBSERVE}
    position = {text: i for i, text in enumerate(batch.texts)}
    for effect in asked if spec.mode is Mode.ENFORCE else ():
        i = position.get(effect.url, -1) if isinstance(effect, Hold | Rewrite) else -1
        if i >= 0 and modes[i] is Mode.OBSERVE:
            said.setdefault(i, _would(spec.name, effect))
    return refused, said, [effect for effect in asked if may_have(spec, effect)]


def _would(name: str, effect: Effect) -> Verdict:
    """Return the verdict that is recorded if a filter would hold or rewrite a link, but only observes for its URL."""
    reason = Reason.REWRITTEN if isinstance(effect, Rewrite) else Reason.HELD_BY_FILTER
    by = {"to": effect.to} if isinstance(effect, Rewrite) else {"by": effect.holder} if isinstance(effect, Hold) else {}
    return Verdict(name, keep=False, follow=False, score=1.0, reason=reason, evidence=by)
