"""Checks for matplotlib (extra `report`), which all figures of commands need."""

from __future__ import annotations

from thresher.crawler.terminal.extras import require

DPI = 120


def require_matplotlib(option: str) -> None:
    """Check that figures can be drawn.

    Args:
        option: The option of a command that asks for a figure.

    Raises:
        UsageError: If matplotlib is not installed.
    """
    require(option, module="matplotlib.figure", extra="report")
