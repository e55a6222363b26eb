"""The one error of this package. It lies here because config imports nothing of ours; crawler/core/errors.py hands it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class ConfigError(ValueError):
    """A configuration value cannot be used: `file:line:column: key: expected …, got …. Write …`.

    The message is one line of printable text that names where, what was expected, what was found and what to do, so that a
    command prints it as it is and ends with `exit_code`. Of several mistakes each has a line, below their number.
    """

    exit_code: Final = 2

    def __init__(self, message: str, *, key: str = "") -> None:
        """Create the config error.

        Args:
            key: Name of the option that the error is about, where it is known.
        """
        super().__init__(message)
        self.key = key
        self.mistakes: tuple[ConfigError, ...] = (self,)

    @classmethod
    def of(cls, errors: Sequence[ConfigError]) -> ConfigError:
        """Return one error that says what all of them say, in their order; one alone is returned as it is."""
        mistakes = tuple(mistake for error in errors for mistake in error.mistakes)
        if len(mistakes) == 1:
            return mistakes[0]
        several = cls("\n".join([f"{len(mistakes)} mistakes:", *map(str, mistakes)]))
        several.mistakes = mistakes
        return several
