"""What all figures of commands share: they need matplotlib, the extra `report`."""

from __future__ import annotations

from crawler.core.errors import UsageError

DPI = 120


def require_matplotlib(option: str) -> None:
    """Raise UsageError if figures cannot be drawn.    option: by which one was asked for"""
    try:
        import matplotlib.figure  # noqa: F401 - only asked for
    except ImportError:
        raise UsageError(f"{option}: drawing needs matplotlib, which is not installed. Run: pip install 'thresher[report]'") from None
