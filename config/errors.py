"""The one error of this package. It lies here because config imports nothing of ours; crawler/core/errors.py hands it on."""

from __future__ import annotations

from typing import Final


class ConfigError(ValueError):
    """A configuration value cannot be used: `file:line:column: key: expected …, got …. Write …`.

    The message is one line of printable text that names where, what was expected, what was found and what to do, so that a
    command prints it as it is and ends with `exit_code`.
    """

    exit_code: Final = 2
