"""Checks the effects that a plug-in asks for, before our own code carries them out, and puts the filter's name before its holders.

An effect that has a wrong type, a key of a wrong length, or bytes that its own filter could not decode is an error of the plug-in: it
raises a `TypeError` or `ValueError`, which `isolation.py` handles like any exception of the plug-in.
"""

from __future__ import annotations

from typing import Any, Final, get_args

import msgspec

from thresher.crawler.core.effects import Conclude, Effect, Hold, Recall, Release, ReleaseURL, Request, Revise, Study, Tell, Worthless
from thresher.filters.base import Effects
from thresher.filters.spec import FilterSpec

_EFFECTS: Final = get_args(Effect)
_LENGTHS: Final[dict[type[Any], tuple[str, int]]] = {  # effect → its field that is a key, bytes of that
    Conclude: ("site", 8),
    Recall: ("key", 8),
    ReleaseURL: ("key", 16),
    Request: ("beside", 16),
    Revise: ("page", 16),
    Study: ("site", 8),
    Tell: ("key", 16),
    Worthless: ("key", 16),
}


class PluginEffects:
    """The effects of one plug-in's filter."""

    def __init__(self, spec: FilterSpec) -> None:
        """Create the check.

        Args:
            spec: The plug-in's filter.
        """
        self._name = spec.name
        self._news_type = spec.peer_filter and spec.peer_filter.news_type
        concluder = spec.learner or spec.concluder
        self._finding_type = concluder and concluder.finding_type

    def checked(self, effects: Effects) -> Effects:
        """Return effects that can be carried out. A holder that does not begin with the filter's name has that put before it.

        Raises:
            TypeError: Something is no effect, or has a field of a wrong type.
            ValueError: A key has a wrong length, or bytes cannot be decoded.
        """
        return tuple(map(self._checked, effects)) if effects else effects

    def _checked(self, effect: Effect) -> Effect:
        if not isinstance(effect, _EFFECTS):
            raise TypeError(f"{effect!r:.80} is no effect; thresher.crawler.core.effects has them all")
        msgspec.convert(msgspec.structs.asdict(effect), type(effect))
        field, n_bytes = _LENGTHS.get(type(effect), ("", 0))
        if field and len(getattr(effect, field)) != n_bytes:
            raise ValueError(f"{type(effect).__name__}.{field} has {len(getattr(effect, field))} bytes, expected {n_bytes}")
        match effect:
            case Tell():
                _decode("Tell.news", effect.news, self._news_type)
            case Conclude():
                _decode("Conclude.finding", effect.finding, self._finding_type)
            case Hold() | Release() if effect.holder.partition(" ")[0] != self._name:
                return msgspec.structs.replace(effect, holder=f"{self._name} {effect.holder}")
        return effect


def _decode(what: str, data: bytes, type_: Any) -> None:
    if type_ is None:
        raise ValueError(f"{what}: the filter has no part that could be given it")
    try:
        msgspec.msgpack.decode(data, type=type_)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{what} cannot be decoded as the filter's own type: {error}") from error
