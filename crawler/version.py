"""The version, as the User-Agent and `thresher --version` say it; the package takes its own from here."""

from typing import Final

VERSION: Final = "0.1.0"
