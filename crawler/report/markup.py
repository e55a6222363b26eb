"""Makes HTML and SVG from elements; every text is escaped.

A child or an attribute's value is either `Markup`, made by `element`, or any other value, whose text is escaped. So text of the web never
becomes an element of the report. Control, bidirectional and other invisible characters are shown as \\x1b, \\u202e …
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from thresher.crawler.terminal.printable import printable

_VOID: Final = frozenset(("meta", "br", "hr", "link", "img"))
_HEAD: Final = 130  # characters of a long crawled text that are shown of its beginning
_TAIL: Final = 40  # and of its end
_MOST: Final = 1000  # most characters of a text that are read


class Markup(str):
    """A piece of HTML or SVG, complete and escaped."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def element(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """Return an element. A child may be a sequence of children, or None for nothing; `class_` is class, `aria_label` is aria-label."""
    said = "".join(f' {_name(key)}="{_text(value)}"' for key, value in attributes.items() if value is not None)
    if name in _VOID:
        assert not children, f"<{name}> holds nothing"
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Return children one after the other."""
    return Markup("".join(map(_child, children)))


def crawled(text: str, head: int = _HEAD) -> Markup:
    """Return a text of the web with invisible and bidirectional characters escaped: they could reorder the text around them.

    Args:
        head: Characters that are shown of a long text's beginning.
    """
    shown = printable(text if len(text) <= _MOST else f"{text[:head]}{text[-_MOST:]}")
    if len(shown) > head + _TAIL:
        shown = f"{shown[:head]} … {shown[-_TAIL:]}"
    return element("bdi", shown)


def style(css: str) -> Markup:
    """Return a style sheet of our own."""
    assert "<" not in css, "a style sheet holds no markup"
    return Markup(f"<style>{css}</style>")


def _child(child: Child) -> str:
    match child:
        case None:
            return ""
        case Markup():
            return child
        case str() | int() | float():
            return _text(child)
        case _:
            return join(child)


def _text(value: str | float) -> str:
    return escape(printable(str(value)), quote=True)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
