"""What all figures of commands share: they need matplotlib, the extra `report`."""

from __future__ import annotations

from thresher.crawler.terminal.extras import require

DPI = 120


def require_matplotlib(option: str) -> None:
    """Raise UsageError if figures cannot be drawn.    option: by which one was asked for"""
    require(option, module="matplotlib.figure", extra="report")
