"""What the parser makes of an HTML body, before its links are resolved and its text is measured (model.py: `Page`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from crawler.core.model import Directives, Flag


class Link(NamedTuple):
    """One link as the page writes it."""

    href: str
    rel: str  # lower case, "" if none
    tag: str  # a area frame iframe link refresh


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one parse of an HTML body yields; crosses the process border of the isolated parser."""

    title: str
    base: str  # value of the first <base href>, "" if none
    canonical: str  # raw value of rel=canonical, "" if none
    links: tuple[Link, ...]
    directives: Directives
    text: str  # visible text, blocks separated by a space
    charset: str
    flags: frozenset[Flag] = frozenset()
    n_links: int = 0  # before the cap
