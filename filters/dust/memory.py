"""A site's rules in the memory of the filter: they are kept between crawls, and commands read, add and disable them.

site 8 ‖ "R"  → RuleBook
site 8 ‖ "V"  → 8 bytes that change with the rules that are applied; none if the site has no such rule
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
import xxhash

from thresher.crawler.core.ports import Memory
from thresher.filters.dust.rules import LearnedRule, Rule

NAME: Final = "dust"
KEPT: Final = 1e30  # weight: these records are the last that the memory drops
_BOOK: Final = b"R"
_VERSION: Final = b"V"


class RuleBook(msgspec.Struct):
    """The rules of one site, in the order in which they are applied."""

    site: str
    rules: list[LearnedRule] = []

    @property
    def applied(self) -> list[Rule]:
        """The rules that are applied: valid and not disabled."""
        return [learned.rule for learned in self.rules if learned.is_applied]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RuleBook).decode


def read_book(memory: Memory, site: bytes) -> RuleBook | None:
    """Return the rules of a site by the first 8 bytes of its keys."""
    value = memory.get(site + _BOOK)
    return None if value is None else _decode(value)


def write_book(memory: Memory, site: bytes, book: RuleBook) -> None:
    """Write the rules of a site; a book without rules is deleted."""
    if book.rules:
        memory.put(site + _BOOK, _encode(book), weight=KEPT)
    else:
        memory.delete(site + _BOOK)
    if applied := book.applied:
        memory.put(site + _VERSION, xxhash.xxh3_64_digest(_encode(applied)), weight=KEPT)
    else:
        memory.delete(site + _VERSION)


def version(memory: Memory, site: bytes) -> bytes | None:
    """Return a version of the rules that are applied to a site, None if there are none."""
    return memory.get(site + _VERSION)


def all_books(memory: Memory) -> Iterator[tuple[bytes, RuleBook]]:
    """Yield (site, rules) of every site that has rules."""
    for key, value in memory.scan(b""):
        if key[8:] == _BOOK:
            yield key[:8], _decode(value)


def merged(old: Sequence[LearnedRule], new: Iterable[LearnedRule]) -> list[LearnedRule]:
    """Return old rules, with new ones in place of equal ones and the other new ones after them; disabled rules stay disabled."""
    rules = {learned.rule: learned for learned in old}
    for learned in new:
        earlier = rules.get(learned.rule)
        keeps_off = earlier is not None and earlier.disabled
        rules[learned.rule] = msgspec.structs.replace(learned, disabled=True) if keeps_off else learned
    return list(rules.values())
