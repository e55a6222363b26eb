"""The version in the User-Agent and in `thresher --version`; the package's metadata take it from here."""

from typing import Final

VERSION: Final = "0.1.0"
