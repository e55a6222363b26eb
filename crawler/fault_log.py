"""Logs exceptions of our own code, and of plug-ins, that concern one page only: the crawl goes on, and the operator is told.

Each place in the code is logged once in the life of an agent, with its traceback (errors.log): a fault of a filter usually comes with
every page. Which pages it concerned is in their records, `thresher explain` shows it.
"""

from __future__ import annotations

import logging
import traceback

from thresher.config.plugins import Plugin

_log = logging.getLogger(__name__)
_MOST_PLACES = 100  # an agent that has logged faults at so many places logs no more


class FaultLog:
    """The faults that an agent has logged."""

    def __init__(self) -> None:
        self._places: set[tuple[str, str, str, int]] = set()

    def on_page(self, url: str, error: Exception) -> None:
        """Log an exception of our own code on the answer of a URL."""
        if self._is_first(error):
            _log.error("%s: internal_error, a fault of Thresher's: %s", url, _named(error), exc_info=error)

    def on_plugin(self, plugin: Plugin, error: Exception) -> None:
        """Log an exception of a plug-in, in its own code or over what that returned."""
        if self._is_first(error, plugin.name):
            _log.error(
                "filters.%s: the plug-in of %s raised %s. The crawl goes on without its word where it does so; mend it, or stop the crawl",
                *(plugin.name, plugin.distribution, _named(error)),
                exc_info=error,
            )

    def _is_first(self, error: Exception, plugin: str = "") -> bool:
        """Return whether this place has not been logged yet, and remember it.

        Args:
            error: Raised at the place.
            plugin: Its name. What plug-ins return is checked at places that all of them share, so each has places of its own.
        """
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = (plugin, type(error).__name__, frame.filename, frame.lineno or 0)
        if place in self._places or len(self._places) >= _MOST_PLACES:
            return False
        self._places.add(place)
        return True


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
