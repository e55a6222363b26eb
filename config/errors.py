"""The one error of this package. It is defined here because config imports none of our other modules; crawler/core/errors.py exports it,
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class ConfigError(ValueError):
    """A configuration value cannot be used: `file:line:column: key: expected …, got …. Write …`.

    The message is one line of printable text: where, what was expected, what was found and what to do. A command prints it unchanged and
    ends with `exit_code`. If there are several mistakes, their number comes first, then one line for each.
    """

    exit_code: Final = 2

    def __init__(self, message: str, *, key: str = "") -> None:
        """Create the config error.

        Args:
            key: Name of the option that the error is about, if it is known.
        """
        super().__init__(message)
        self.key = key
        self.mistakes: tuple[ConfigError, ...] = (self,)

    @classmethod
    def of(cls, errors: Sequence[ConfigError]) -> ConfigError:
        """Return one error with the messages of all, in order; a single error is returned unchanged."""
        mistakes = tuple(mistake for error in errors for mistake in error.mistakes)
        if len(mistakes) == 1:
            return mistakes[0]
        several = cls("\n".join([f"{len(mistakes)} mistakes:", *map(str, mistakes)]))
        several.mistakes = mistakes
        return several
