"""Makes crawled text safe to show on a terminal or a page."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text with control, bidirectional and other invisible characters shown as \\x1b, \\u202e …"""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
