"""A site's rules in the memory of the filter: they outlive the crawl, and commands read, add and disable them.

site 8 ‖ "R"  → RuleBook
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from crawler.core.ports import Memory
from filters.dust.rules import LearnedRule

NAME: Final = "dust"
_BOOK: Final = b"R"
_WEIGHT: Final = 1e30  # the last to be forgotten


class RuleBook(msgspec.Struct):
    """The rules of one site, in the order in which they are applied."""

    site: str
    rules: list[LearnedRule] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RuleBook).decode


def read_book(memory: Memory, site: bytes) -> RuleBook | None:
    """Return the rules of a site by the first 8 bytes of its keys."""
    value = memory.get(site + _BOOK)
    return None if value is None else _decode(value)


def write_book(memory: Memory, site: bytes, book: RuleBook) -> None:
    """Write the rules of a site; a book without rules is taken away."""
    if book.rules:
        memory.put(site + _BOOK, _encode(book), weight=_WEIGHT)
    else:
        memory.delete(site + _BOOK)


def all_books(memory: Memory) -> Iterator[tuple[bytes, RuleBook]]:
    """Yield (site, rules) of every site that has rules."""
    for key, value in memory.scan(b""):
        if key[8:] == _BOOK:
            yield key[:8], _decode(value)


def merged(old: Sequence[LearnedRule], new: Iterable[LearnedRule]) -> list[LearnedRule]:
    """Return old rules with new ones in place of equal ones, others behind; what was disabled stays so."""
    rules = {learned.rule: learned for learned in old}
    for learned in new:
        earlier = rules.get(learned.rule)
        keeps_off = earlier is not None and earlier.disabled
        rules[learned.rule] = msgspec.structs.replace(learned, disabled=True) if keeps_off else learned
    return list(rules.values())
