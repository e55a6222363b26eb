"""The type of an option that is a length of time, read as in a configuration: `30`, `25s`, `10 min`, `7d` (config/scalars.py)."""

from __future__ import annotations

from typing import Any

import click

from thresher.config.scalars import MismatchError, Range, number
from thresher.crawler.core.errors import UsageError

_LONGEST_S = 1e9  # as in the configuration


class Duration(click.ParamType[float]):
    """Seconds as a number, or a number and its unit."""

    name = "TIME"

    def __init__(self, example: str, *, least_s: float = 0.0, most_s: float = _LONGEST_S) -> None:
        """Create the type.

        Args:
            example: Value that an error message recommends.
            least_s: Smallest allowed number of seconds.
            most_s: Largest allowed number of seconds.
        """
        self._example = example
        self._range = Range(whole=False, unit="seconds", least=least_s, most=most_s)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds.

        Raises:
            UsageError: If it is not a duration, or out of bounds.
        """
        try:
            return number(str(value), self._range)
        except MismatchError as error:
            flag = param.opts[0] if param else self.name
            raise UsageError(
                f'{flag} {value}: expected {error}, got "{value}". {error.advice or f"Write {flag} {self._example}"}'
            ) from None
