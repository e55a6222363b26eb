"""The headers that the configuration sets: most are in every request; those that an override changes differ by URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.config.settings import FetchSettings
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.fetch.credentials import RequestHeader

_NOT_SET: Final = frozenset(("user-agent", "accept", "accept-encoding", "from"))  # headers that `fetch.headers` does not set


class RequestHeaders:
    """The headers of requests, without credentials, cookies and conditions."""

    def __init__(self, settings: FetchSettings, overriding: Overriding | None) -> None:
        """Create the headers.

        Args:
            settings: The settings that hold in general.
            overriding: Gives the settings that hold for a URL; None: there are no overrides.
        """
        self._general = _configured(settings)
        everywhere = [_configured(of.fetch).items() for of in overriding.everywhere()] if overriding is not None else []
        differ = {name.lower() for ours in everywhere for name, value in ours if any((name, value) not in other for other in everywhere)}
        self._differ = frozenset(differ)  # names of headers that differ by URL, in lower case

    def of_all(self, user_agent: str, from_header: str, encodings: str) -> dict[str, str]:
        """Return the headers of every request.

        Args:
            encodings: Content codings that are accepted.
        """
        all_ = {"User-Agent": user_agent, "Accept": self._general["Accept"], "Accept-Encoding": encodings}
        all_ |= ({"From": from_header} if from_header else {}) | self._general
        return {name: value for name, value in all_.items() if name.lower() not in self._differ}

    def beside(self, settings: FetchSettings) -> Sequence[RequestHeader]:
        """Return the further headers of a request, by the settings that hold for its URL."""
        if not self._differ:
            return ()
        return [RequestHeader(name, value) for name, value in _configured(settings).items() if name.lower() in self._differ]


def _configured(settings: FetchSettings) -> dict[str, str]:
    accept = {"Accept": f"{','.join(settings.accept_types)},*/*;q=0.1"}
    return accept | {name: value for name, value in settings.headers.items() if name.lower() not in _NOT_SET}
