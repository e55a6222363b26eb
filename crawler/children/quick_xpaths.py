"""The XPath expressions by which trafilatura finds and discards parts of a page, evaluated in less time for the same answers.

They are half of what it costs, and nearly all of that is regular expressions on `id` and `class`. The same values stand on thousands of
elements, so that what a pattern finds in one is remembered (`re:test` of EXSLT, answered here); and an element that has none of the
attributes which an expression names is passed over before any pattern is tried. Expressions that use regular expressions otherwise are
left as they are.

Memory: at most 20 MB of remembered values.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from lxml import etree

_EXSLT: Final = "http://exslt.org/regular-expressions"
_NAMESPACES: Final = {"re": _EXSLT}
_REMEMBERED: Final = 1 << 16
_LONGEST: Final = 100  # characters of a value that is remembered
_FUNCTIONS: Final = re.compile(r"\bre:\w+\(.")
_ELEMENTS: Final = re.compile(r"\.//\*\[(?=self::|@)")
_TAGS: Final = re.compile(r"self::(\w+)")
_ATTRIBUTES: Final = re.compile(r"@[\w-]+")


def speed_up(module: ModuleType) -> None:
    """Replace the expressions in all lists of a module, in the lists themselves: others have imported these."""
    for value in vars(module).values():
        if isinstance(value, list) and all(isinstance(item, etree.XPath) for item in value):
            value[:] = map(quicker, value)


def quicker(expression: etree.XPath) -> etree.XPath:
    """Return an expression that finds the same elements."""
    text = expression.path
    if set(_FUNCTIONS.findall(text)) - {"re:test(@"}:
        return expression
    if _passes_over_bare_elements(expression, text):
        text = _ELEMENTS.sub(f".//*[{' or '.join(sorted(set(_ATTRIBUTES.findall(text))))}][", text)
    return etree.XPath(text, namespaces=_NAMESPACES, extensions={(_EXSLT, "test"): _test}, regexp=False, smart_strings=False)


def _passes_over_bare_elements(expression: etree.XPath, text: str) -> bool:
    """Return whether it finds none of the elements that it names where these have no attributes."""
    page = etree.Element("html")
    for tag in {"b", *_TAGS.findall(text)}:
        etree.SubElement(page, tag).text = "text"
    return not expression(page)


def _test(_: Any, value: Any, pattern: str, flags: str = "") -> bool:
    """Answer `re:test(value, pattern, flags)`: of several nodes the first counts."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return (_finds if len(value) <= _LONGEST else _finds.__wrapped__)(value, pattern, flags)


@lru_cache(_REMEMBERED)
def _finds(value: str, pattern: str, flags: str) -> bool:
    return re.search(pattern, value, re.IGNORECASE if "i" in flags else 0) is not None
