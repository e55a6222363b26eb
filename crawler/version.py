"""The version, as the User-Agent and `thresher --version` say it."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("thresher")
except PackageNotFoundError:  # run from a checkout that was never installed
    VERSION = "0"
